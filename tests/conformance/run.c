/* run - runs row files of the whiteboard: run FILE...
 *
 *   # a comment
 *   set-up: S A: /a; S B: /b              for the rows that follow, each in a fresh server
 *   A1 | | /a | 200 A sp=/a pi=-          id | steps | requests | expected
 *   E2 | then; S C: /a | /a, /b | 200 C; 200 B; log: init C
 *
 * "then" goes on with the server of the row before. Steps: world.c and objects.c; expectations: check.c.
 * Each failing row is printed with what was expected and what was got. The closing line counts; the
 * exit code is 0 only if at least one row ran and all passed. */
#include "check.h"

#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>

#define COLUMNS 4

static struct words set_up;
static unsigned     passed, failed;

/* Columns are cut at " | "; they may be empty. */
static bool cut(char *line, char *column[COLUMNS])
{
	size_t n = 0;

	column[n++] = line;
	for (char *bar = line; n < COLUMNS && (bar = strchr(bar, '|')) != NULL; bar++) {
		if (bar == line || bar[-1] != ' ' || (bar[1] != ' ' && bar[1] != '\0'))
			continue;
		bar[-1] = '\0';
		column[n++] = bar + 1;
	}
	return n == COLUMNS;
}

static void run_steps(const char *text)
{
	struct words w = text_split(text, "; ");
	bool         then = w.n > 0 && strcmp(w.items[0], "then") == 0;

	if (!then) {
		world_reset();
		for (size_t i = 0; i < set_up.n; i++)
			world_step(set_up.items[i]);
	}
	world_mark();
	for (size_t i = then ? 1 : 0; i < w.n; i++)
		world_step(w.items[i]);
}

static void fail_row(const char *file, const char *id, const char *item, const char *got)
{
	printf("%s: %s\n  expected %s\n  got      %s\n", file, id, item, got);
}

/* One expectation about answers holds for all requests, several for one each. */
static bool check_row(const char *file, const char *id, struct words items, struct answer **answers,
                      size_t n_answers)
{
	size_t n_answer_items = 0, at = 0;
	bool   ok = items.n > 0;

	if (!ok)
		fail_row(file, id, "something", "an empty column");
	for (size_t i = 0; i < items.n; i++)
		n_answer_items += check_is_answer(items.items[i]);
	for (size_t i = 0; i < items.n; i++) {
		bool   is_answer = check_is_answer(items.items[i]);
		size_t first = is_answer && n_answer_items > 1 ? at++ : 0;
		size_t last =
			is_answer && n_answer_items == 1 && n_answers > 0 ? n_answers : first + 1;

		for (size_t k = first; k < last; k++) {
			char *got = check_item(items.items[i], k < n_answers ? answers[k] : NULL);

			if (got) {
				fail_row(file, id, items.items[i], got);
				ok = false;
			}
		}
	}
	if (n_answer_items > 1 && n_answer_items != n_answers) {
		fail_row(file, id, "as many answers as requests", "another number");
		ok = false;
	}
	return ok;
}

static void run_row(const char *file, char *line)
{
	char          *column[COLUMNS];
	struct words   requests;
	struct answer *answers[32];

	if (!cut(line, column))
		fatalx("%s: not four columns: %s", file, line);
	run_steps(column[1]);
	requests = text_split(column[2], ", ");
	if (requests.n > sizeof(answers) / sizeof(*answers))
		fatalx("%s: too many requests: %s", file, column[0]);
	for (size_t i = 0; i < requests.n; i++)
		answers[i] = world_request(requests.items[i]);
	if (check_row(file, column[0], text_split(column[3], "; "), answers, requests.n))
		passed++;
	else
		failed++;
}

static void run_file(const char *file)
{
	FILE  *in = fopen(file, "r");
	char  *line = NULL;
	size_t cap = 0;

	if (!in)
		fatal("%s", file);
	set_up = (struct words){ NULL, 0 };
	while (getline(&line, &cap, in) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (text_begins(line, "set-up:"))
			set_up = text_split(line + strlen("set-up:"), "; ");
		else if (line[0] && line[0] != '#')
			run_row(file, line);
	}
	free(line);
	fclose(in);
}

int main(int argc, char **argv)
{
	log_init("conformance", LOG_LEVEL_ERROR);
	world_reset();
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	world_done();
	printf("%u passed, %u failed\n", passed, failed);
	return failed == 0 && passed > 0 ? 0 : 1;
}
