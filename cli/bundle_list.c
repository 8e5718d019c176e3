/* bundle_list.c - `bundle list`: what each worker has, and what the parent knows of failures.
 *
 * Owns: nothing. Runs in: the command. Fails with: false, also if workers differ.
 * Tests: tests/system/bundle_test.c. */
#include <base/fatal.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>

#include "alike.h"
#include "bundle.h"
#include "speak.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* The operator's words for the states of OSGi. */
static const char *state_of(const json_t *bundle)
{
	static const struct {
		const char *state, *word;
	} words[] = { { "ACTIVE", "started" },
		      { "RESOLVED", "stopped" },
		      { "INSTALLED", "refused" } };
	const char *state = text_of(bundle, "state");

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(words[i].state, state) == 0)
			return words[i].word;
	return state;
}

/* A worker does not know the version of what it does not load. */
static const char *version_of(const json_t *bundle, const struct store *store)
{
	const char                *version = text_of(bundle, "version");
	const struct store_bundle *b = store_find(store, text_of(bundle, "name"));

	return *version == '\0' && b != NULL ? b->version : version;
}

static void print_bundles(const json_t *bundles, const struct store *store)
{
	size_t  i;
	json_t *b;

	json_array_foreach (bundles, i, b) {
		printf("%-32s %-12s %10lld  %s\n", text_of(b, "name"), version_of(b, store),
		       (long long)json_integer_value(json_object_get(b, "generation")),
		       state_of(b));
		if (*text_of(b, "reason") != '\0')
			printf("  it %s\n", text_of(b, "reason"));
	}
}

static void print_failures(const json_t *failed)
{
	size_t  i;
	json_t *f;

	json_array_foreach (failed, i, f)
		printf("%s, generation %lld, was not taken: %s\n", text_of(f, "name"),
		       (long long)json_integer_value(json_object_get(f, "generation")),
		       text_of(f, "reason"));
}

static bool print_text(const json_t *lines, const json_t *last, const struct store *store)
{
	const json_t *parent = json_object_get(last, "parent");
	const json_t *first = NULL;
	json_t       *line;
	size_t        i;

	json_array_foreach (lines, i, line)
		if (first == NULL)
			first = json_object_get(line, "answer");
	printf("%-32s %-12s %10s  %s\n", "NAME", "VERSION", "GENERATION", "STATE");
	print_bundles(first, store);
	print_failures(json_object_get(parent, "failed"));
	return alike_check(lines);
}

static bool print_json(json_t *lines, json_t *last)
{
	bool    alike = alike_check(lines);
	json_t *all = json_pack("{s:b, s:O, s:O}", "alike", alike, "parent",
	                        json_object_get(last, "parent"), "workers", lines);

	if (all == NULL || json_dumpf(all, stdout, JSON_INDENT(2)) != 0)
		alike = complain("the gateway's answer is not as expected");
	putchar('\n');
	json_decref(all);
	return alike;
}

bool bundle_list(struct cli *cli, const struct instance *instance)
{
	struct store   store = { 0 };
	struct speaker gateway;
	json_t        *lines = NULL, *last = NULL;
	char          *folder = xasprintf("%s/bundles", instance->data), err[512];
	const char    *error;
	bool           done = speak_open(&gateway, instance);

	if (!store_read(folder, &store, err, sizeof(err)))
		complain("%s", err);
	if (done)
		last = speak_ask(&gateway, json_pack("{s:s}", "verb", "bundle.list"), &lines);
	error = json_string_value(json_object_get(last, "error"));
	if (error != NULL)
		done = complain("%s", error);
	else if (last == NULL)
		done = false;
	else
		done = cli->json ? print_json(lines, last) : print_text(lines, last, &store);
	json_decref(lines);
	json_decref(last);
	speak_close(&gateway);
	store_done(&store);
	free(folder);
	return done;
}
