/* bundle_list.c - `bundle list`: what each worker has, and what the parent knows of failures.
 *
 *   NAME                             VERSION      GENERATION  STATE
 *   acme.hello                       1.0.0                 7  started
 *   acme.shop                        2.1.0                 9  differs
 *     worker 0: started (generation 9, services 3)
 *     worker 1: refused (generation 9, services 3): it failed to start (-1)
 *
 * Owns: nothing. Runs in: the command. Fails with: false, also if workers differ, or one does not run.
 * Tests: tests/unit/cli/bundle_list_test.c, tests/system/bundle_test.c. */
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

/* Of a worker that has it; NULL: this one does not. */
static const json_t *find_bundle(const json_t *line, const char *name)
{
	size_t  i;
	json_t *b;

	json_array_foreach (json_object_get(line, "answer"), i, b)
		if (strcmp(text_of(b, "name"), name) == 0)
			return b;
	return NULL;
}

/* Do all workers that answer say this of it? */
static bool is_agreed(const json_t *lines, const json_t *bundle)
{
	size_t  i;
	json_t *line;

	json_array_foreach (lines, i, line) {
		const json_t *its = find_bundle(line, text_of(bundle, "name"));

		if (json_object_get(line, "answer") != NULL && (its == NULL || !alike(its, bundle)))
			return false;
	}
	return true;
}

static void print_worker(const json_t *line, const json_t *b, FILE *out)
{
	fprintf(out, "  worker %lld: ", json_integer_value(json_object_get(line, "worker")));
	if (b == NULL) {
		fputs("it does not have it\n", out);
		return;
	}
	fprintf(out, "%s (generation %lld, services %lld)%s%s\n", state_of(b),
	        json_integer_value(json_object_get(b, "generation")),
	        json_integer_value(json_object_get(b, "services")),
	        *text_of(b, "reason") != '\0' ? ": it " : "", text_of(b, "reason"));
}

static void print_bundle(const json_t *lines, const json_t *b, const struct store *store, FILE *out)
{
	bool    agreed = is_agreed(lines, b);
	size_t  i;
	json_t *line;

	fprintf(out, "%-32s %-12s %10lld  %s\n", text_of(b, "name"), version_of(b, store),
	        json_integer_value(json_object_get(b, "generation")),
	        agreed ? state_of(b) : "differs");
	if (agreed && *text_of(b, "reason") != '\0')
		fprintf(out, "  it %s\n", text_of(b, "reason"));
	if (agreed)
		return;
	json_array_foreach (lines, i, line)
		if (json_object_get(line, "answer") != NULL)
			print_worker(line, find_bundle(line, text_of(b, "name")), out);
}

/* Each bundle once, where the first worker that has it says so. */
static void print_bundles(const json_t *lines, const struct store *store, FILE *out)
{
	size_t  i, k;
	json_t *line, *b;

	json_array_foreach (lines, i, line)
		json_array_foreach (json_object_get(line, "answer"), k, b) {
			size_t before = 0;

			while (before < i && find_bundle(json_array_get(lines, before),
			                                 text_of(b, "name")) == NULL)
				before++;
			if (before == i)
				print_bundle(lines, b, store, out);
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

	printf("%-32s %-12s %10s  %s\n", "NAME", "VERSION", "GENERATION", "STATE");
	print_bundles(lines, store, stdout);
	print_failures(json_object_get(parent, "failed"));
	return alike_check(lines);
}

static bool print_json(json_t *lines, json_t *last)
{
	bool    all_alike = alike_check(lines);
	json_t *all = json_pack("{s:b, s:O, s:O}", "alike", all_alike, "parent",
	                        json_object_get(last, "parent"), "workers", lines);

	if (all == NULL || json_dumpf(all, stdout, JSON_INDENT(2)) != 0)
		all_alike = complain("the gateway's answer is not as expected");
	putchar('\n');
	json_decref(all);
	return all_alike;
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
