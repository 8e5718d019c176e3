/* run - runs row files of the whiteboard: run [--workers N] FILE...
 *
 *   # a comment
 *   set-up: S A: /a; S B: /b              for the rows that follow, each in a fresh server
 *   A1 | | /a | 200 A sp=/a pi=-          id | steps | requests | expected
 *   E2 | then; S C: /a | /a, /b | 200 C; 200 B; log: init C
 *
 * "then" goes on with the server of the row before. Steps: things.c and objects.c; what a thing does:
 * actions.c; expectations: check.c. A file of canonical paths is asked a request a row: targets.c. The server is
 * world.h's: linked with world.c it is this process, linked with gateway.c (run_gateway) a gateway of one
 * worker, or of several that must answer alike.
 * Each failing row is printed with what was expected and what was got. The closing line counts; the
 * exit code is 0 only if at least one row ran and all passed. */
#include "check.h"
#include "targets.h"

#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 4

static struct words set_up;
static unsigned     passed, failed, left, beyond;

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

static struct words steps_of(const char *text)
{
	struct words all = { NULL, 0 }, w = text_split(text, "; ");

	for (size_t i = 0; i < w.n; i++) {
		struct words steps = text_steps(w.items[i]);

		for (size_t k = 0; k < steps.n; k++)
			words_add(&all, steps.items[k]);
	}
	return all;
}

static bool can_all(struct words steps)
{
	size_t i = 0;

	while (i < steps.n && world_can(steps.items[i]))
		i++;
	return i == steps.n;
}

/* False: this server cannot, and so it cannot go on from there either. */
static bool run_steps(const char *text)
{
	static bool  is_there; /* the server of the row before */
	struct words w = steps_of(text);
	bool         then = w.n > 0 && strcmp(w.items[0], "then") == 0;

	is_there = (is_there || !then) && can_all(w);
	if (is_there && then)
		world_go_on((struct words){ w.items + 1, w.n - 1 });
	else if (is_there)
		world_begin(set_up, w);
	return is_there;
}

static void fail_row(const char *file, const char *id, const char *item, const char *got)
{
	printf("%s: %s\n  expected %s\n  got      %s\n", file, id, item, got);
}

static bool check_one(const char *file, const char *id, const char *item,
                      const struct answer *answer)
{
	char *got = check_item(item, answer);

	if (got)
		fail_row(file, id, item, got);
	return !got;
}

/* One expectation about answers holds for all requests, several for one each. */
static bool check_items(const char *file, const char *id, struct words items,
                        struct answer **answers, size_t n_answers)
{
	size_t n_answer_items = 0, at = 0;
	bool   ok = true;

	for (size_t i = 0; i < items.n; i++)
		n_answer_items += check_is_answer(items.items[i]);
	if (n_answer_items > 1 && n_answer_items != n_answers) {
		fail_row(file, id, "as many answers as requests", "another number");
		return false;
	}
	for (size_t i = 0; i < items.n; i++) {
		const char *item = items.items[i];
		bool        is_answer = check_is_answer(item);

		if (check_is_beyond(item))
			beyond++;
		else if (!is_answer)
			ok = check_one(file, id, item, NULL) && ok;
		else if (n_answer_items > 1 || n_answers == 0)
			ok = check_one(file, id, item, n_answers ? answers[at++] : NULL) && ok;
		else
			for (size_t k = 0; k < n_answers; k++)
				ok = check_one(file, id, item, answers[k]) && ok;
	}
	return ok;
}

/* At every worker. */
static bool check_row(const char *file, const char *id, struct words items, struct answer **answers,
                      size_t n_answers)
{
	bool ok = items.n > 0;

	if (!ok)
		fail_row(file, id, "something", "an empty column");
	for (unsigned worker = 0; worker < world_workers(); worker++) {
		world_look_at(worker);
		ok = check_items(file, id, items, answers, n_answers) && ok;
		for (size_t i = 0; i < n_answers; i++)
			answers[i] = answers[i]->other;
	}
	return ok;
}

static void count(bool ok)
{
	if (ok)
		passed++;
	else
		failed++;
}

static void run_target(const char *file, char *line)
{
	struct target_row r = targets_read(line);
	struct answer    *answer;

	if (!r.request)
		fatalx("%s: not a target: %s", file, line);
	world_begin(set_up, r.steps);
	answer = world_request(r.request);
	count(check_row(file, r.id, r.items, &answer, 1));
}

static void run_row(const char *file, char *line)
{
	char          *column[COLUMNS];
	struct words   requests;
	struct answer *answers[32];

	if (!cut(line, column))
		fatalx("%s: not four columns: %s", file, line);
	if (!run_steps(column[1])) {
		left++;
		return;
	}
	requests = text_split(column[2], ", ");
	if (requests.n > sizeof(answers) / sizeof(*answers))
		fatalx("%s: too many requests: %s", file, column[0]);
	for (size_t i = 0; i < requests.n; i++)
		answers[i] = world_request(requests.items[i]);
	count(check_row(file, column[0], text_split(column[3], "; "), answers, requests.n));
}

static void run_file(const char *file)
{
	FILE  *in = fopen(file, "r");
	char  *line = NULL;
	size_t cap = 0;
	void (*run)(const char *file, char *line) = run_row;

	if (!in)
		fatal("%s", file);
	set_up = (struct words){ NULL, 0 };
	while (getline(&line, &cap, in) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (targets_are(line)) {
			set_up = targets_set_up();
			run = run_target;
		} else if (text_begins(line, "set-up:")) {
			set_up = steps_of(line + strlen("set-up:"));
		} else if (line[0] && line[0] != '#') {
			run(file, line);
		}
	}
	free(line);
	fclose(in);
}

int main(int argc, char **argv)
{
	int first = 1, workers = 1;

	if (argc > 2 && strcmp(argv[1], "--workers") == 0) {
		workers = atoi(argv[2]);
		first = 3;
	}
	log_init("conformance", LOG_LEVEL_ERROR);
	world_start(workers > 0 ? (unsigned)workers : 0);
	for (int i = first; i < argc; i++)
		run_file(argv[i]);
	world_done();
	if (left + beyond > 0)
		printf("not for this server: %u rows, and %u expectations of others\n", left,
		       beyond);
	printf("%u passed, %u failed\n", passed, failed);
	return failed == 0 && passed > 0 ? 0 : 1;
}
