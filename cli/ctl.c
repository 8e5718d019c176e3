/* ctl.c - the command `ctl`: asks every worker of the gateway to tell about itself.
 *
 * To add a verb: a row here; what workers answer is in gateway/control/obey.c.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1, also if workers differ or a route's
 * path is none, 2 if it was called wrongly. Tests: tests/system/console_test.c. */
#include <stdio.h>
#include <string.h>

#include "alike.h"
#include "cli.h"
#include "instance.h"
#include "route.h"
#include "speak.h"

static const struct verb {
	const char *name, *operands;
	int         min_operands, max_operands;
} verbs[] = {
	{ "whiteboard", "", 0, 0 },
	{ "route", "METHOD PATH", 2, 2 },
};

static const struct verb *find_verb(const struct cli *cli)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(verbs[i].name, cli->operands[0]) == 0) {
			int n = cli->n_operands - 1;

			if (n >= verbs[i].min_operands && n <= verbs[i].max_operands)
				return &verbs[i];
			complain("ctl %s takes %s", verbs[i].name,
			         *verbs[i].operands ? verbs[i].operands : "nothing more");
			return NULL;
		}
	complain("ctl: there is no '%s'", cli->operands[0]);
	return NULL;
}

static json_t *request_of(const struct cli *cli)
{
	json_t *args = json_array();

	for (int i = 1; i < cli->n_operands; i++)
		json_array_append_new(args, json_string(cli->operands[i]));
	return json_pack("{s:s, s:o}", "verb", cli->operands[0], "args", args);
}

/* What is no path has no route: a request for it is answered 400 before anything is looked up. */
static bool is_path(const struct cli *cli, const json_t *answer)
{
	return strcmp(cli->operands[0], "route") != 0 ||
	       json_is_string(json_object_get(answer, "path")) ||
	       complain("ctl route: '%s' is no path; it is answered 400", cli->operands[2]);
}

/* One answer if all are alike, else everything, so that the difference can be looked for. */
static bool print(const struct cli *cli, json_t *lines)
{
	bool    all_alike = alike_check(lines);
	json_t *first = json_object_get(json_array_get(lines, 0), "answer");

	if (all_alike && first != NULL && !is_path(cli, first))
		return false;
	if (all_alike && first != NULL && !cli->json && strcmp(cli->operands[0], "route") == 0) {
		route_print(first, stdout);
		return true;
	}
	if (json_dumpf(all_alike && first != NULL ? first : lines, stdout,
	               JSON_INDENT(2) | JSON_ENCODE_ANY) != 0)
		all_alike = complain("the answer could not be printed");
	putchar('\n');
	return all_alike;
}

static bool ask(const struct cli *cli, const struct instance *instance)
{
	struct speaker gateway;
	json_t        *lines = NULL, *last = NULL;
	const char    *error;
	bool           done = speak_open(&gateway, instance);

	if (done)
		last = speak_ask(&gateway, request_of(cli), &lines);
	error = json_string_value(json_object_get(last, "error"));
	if (error != NULL)
		done = complain("%s", error);
	else
		done = last != NULL && print(cli, lines);
	json_decref(lines);
	json_decref(last);
	speak_close(&gateway);
	return done;
}

int ctl_main(struct cli *cli)
{
	struct instance instance;
	bool            done;

	if (find_verb(cli) == NULL)
		return CLI_USAGE;
	if (!instance_find_gateway(&instance, &cli->settings))
		return CLI_FAILED;
	done = ask(cli, &instance);
	instance_done(&instance);
	return done ? CLI_OK : CLI_FAILED;
}
