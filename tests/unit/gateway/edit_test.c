/* gateway/edit with a repo in memory: what a tree looks like before a commit is what it is after it,
 * whatever was done to it; a question that fails changes nothing; and how much may be pending. The rows of
 * tests/conformance/resolver say what each change does. */
#include "resolver/stage.h"
#include "support/fake_repo.h"
#include <boardwalk/boardwalk.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <gateway/edit/commit.h>
#include <gateway/edit/edit.h>
#include <gateway/request.h>

#define ROOT "/content/rows"
#define SAID 65536

static char said[SAID];

static const char *say(const char *steps)
{
	char *text = strdup(steps);

	stage_ask(ROOT, text, said, SAID);
	free(text);
	return said;
}

static const char *last_said(const char *steps)
{
	const char *at = say(steps), *next;

	while ((next = strstr(at, " ; ")) != NULL)
		at = next + 3;
	return at;
}

/* ---- whatever is done ---- */

static uint64_t state;

static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

/* A path of up to three names. */
static const char *a_path(void)
{
	static char paths[8][32];
	static int  next;
	char       *path = paths[next++ % 8];
	size_t      n = 0;

	for (unsigned depth = 1 + draw(2) * draw(3); depth > 0; depth--)
		n += (size_t)sprintf(path + n, "/%c", 'a' + draw(4));
	return path;
}

static size_t add_step(char *out, size_t size)
{
	char name = (char)('a' + draw(4)), other = (char)('a' + draw(4));

	switch (draw(20)) {
	case 0:
		return (size_t)snprintf(out, size, "delete %s", a_path());
	case 1:
	case 2:
	case 3:
		return (size_t)snprintf(out, size, "move %s %s %c", a_path(),
		                        draw(3) ? a_path() : "/", name);
	case 4:
	case 5:
		return (size_t)snprintf(out, size, "copy %s %s %c", a_path(),
		                        draw(3) ? a_path() : "/", name);
	case 6:
	case 7:
		return (size_t)snprintf(out, size, "order %s %c before %c",
		                        draw(2) ? a_path() : "/", name, other);
	case 8:
		return (size_t)snprintf(out, size, "order %s %c last", draw(2) ? a_path() : "/",
		                        name);
	case 9:
		return (size_t)snprintf(out, size, "unset %s %c", a_path(), 'p' + draw(3));
	case 10:
	case 11:
	case 12:
		return (size_t)snprintf(out, size, "set %s %c=%u", a_path(), 'p' + draw(3),
		                        draw(4));
	default:
		return (size_t)snprintf(out, size, "create %s %c p=%u", draw(3) ? a_path() : "/",
		                        name, draw(3));
	}
}

/* n random steps with ends behind them. */
static const char *random_steps(unsigned n, const char *end)
{
	static char text[8192];
	size_t      at = 0;

	while (n-- > 0) {
		at += add_step(text + at, sizeof(text) - at);
		at += (size_t)sprintf(text + at, " ; ");
	}
	strcpy(text + at, end);
	return text;
}

/* Ten thousand commits. Each tree is a commit's outcome, so that what is stored, moved, copied,
 * hidden and made anew meets in all ways. */
Test(edit, what_is_seen_before_a_commit_is_there_after_it)
{
	static char before[SAID];
	const char *steps;
	size_t      largest, total = 0;

	for (state = 1; state <= 500; state++) {
		uint64_t seed = state;

		stage_begin(ROOT);
		largest = 0;
		for (int round = 0; round < 20; round++) {
			steps = random_steps(1 + draw(16), "tree / ; commit");
			strcpy(before, last_said(steps));
			largest = strlen(before) > largest ? strlen(before) : largest;
			cr_assert_str_eq(before, last_said("tree /"), "history %llu, round %d: %s",
			                 (unsigned long long)seed, round, steps);
			if (strlen(before) > 8000) /* copies of copies */
				say("clean / ; commit");
		}
		fake_repo_end();
		total += largest;
		state = seed;
	}
	cr_assert_gt(total / 500, 100, "the trees have been small: %zu octets", total / 500);
}

/* The same with a revert: nothing has happened. */
Test(edit, revert_forgets_all)
{
	static char before[SAID];

	stage_begin(ROOT);
	for (state = 7; fake_repo_commits < 200;) {
		say(random_steps(12, "commit"));
		strcpy(before, last_said("tree /"));
		cr_assert_str_eq(before, last_said(random_steps(12, "revert ; tree /")));
	}
	fake_repo_end();
}

/* ---- failures ---- */

struct world {
	struct bw_req      *req;
	struct bw_resolver *r;
};

static void world_begin(struct world *w)
{
	stage_begin(ROOT);
	say("create / a p=1 ; create /a x ; create / b ; commit");
	w->req = request_new();
	w->r = resolver_new(w->req, RESOLVER_SERVICE);
}

static void world_end(struct world *w)
{
	resolvers_close(w->req);
	request_set_state(w->req, REQ_RESPONDING);
	request_release(w->req);
	request_release(w->req);
	request_pool_done();
	fake_repo_end();
}

static int all_changes(struct bw_resolver *r, int which)
{
	const struct bw_property prop = { BW_STR("p"), BW_V_STRING(BW_STR("2")) };
	const struct bw_str      a = BW_STR(ROOT "/a"), b = BW_STR(ROOT "/b");
	bool                     moved;

	switch (which) {
	case 0:
		return edit_create(r, BW_STR(ROOT), BW_STR("n"), &prop, 1, NULL);
	case 1:
		return edit_delete(r, a);
	case 2:
		return edit_move(r, a, b, BW_ABSENT, NULL);
	case 3:
		return edit_copy(r, a, b, BW_ABSENT, NULL);
	case 4:
		return edit_order_before(r, BW_STR(ROOT), BW_STR("b"), BW_STR("a"), &moved);
	case 5:
		return edit_set(r, a, prop.name, &prop.value);
	case 6:
		return edit_set_type(r, a, BW_STR("sling:Folder"));
	default:
		return edit_mixin(r, a, BW_STR("mix:title"), true);
	}
}

Test(edit, a_question_that_fails_changes_nothing)
{
	static const int errors[] = { BW_EGONE, BW_ETIME, BW_EBUSY };
	struct world     w;

	for (int which = 0; which < 8; which++) {
		world_begin(&w);
		for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
			fake_repo_error = errors[i];
			cr_assert_eq(all_changes(w.r, which), errors[i], "change %d", which);
			cr_assert_not(commit_has_changes(w.r));
		}
		fake_repo_error = BW_OK;
		cr_assert_eq(all_changes(w.r, which), BW_OK, "change %d", which);
		cr_assert(commit_has_changes(w.r));
		fake_repo_error = BW_EGONE; /* nobody knows whether it was made */
		cr_assert_eq(commit_all(w.r), BW_EGONE);
		cr_assert(commit_has_changes(w.r));
		fake_repo_error = BW_OK;
		cr_assert_eq(commit_all(w.r), BW_OK);
		cr_assert_not(commit_has_changes(w.r));
		cr_assert_eq(fake_repo_changes, 1);
		world_end(&w);
	}
}

/* ---- limits ---- */

Test(edit, four_mib_are_the_most)
{
	static char     text[65536];
	struct bw_value value;
	char            name[8];
	struct world    w;
	int             err = BW_OK;
	unsigned        n = 0;

	world_begin(&w);
	memset(text, 'x', sizeof(text));
	value = BW_V_STRING(((struct bw_str){ text, sizeof(text) }));
	for (; err == BW_OK && n < 100; n++) {
		snprintf(name, sizeof(name), "p%u", n);
		err = edit_set(w.r, BW_STR(ROOT "/a"), bw_str(name), &value);
	}
	cr_assert_eq(err, BW_ETOOBIG);
	cr_assert_eq(n, 64, "the one with number %u is too much", n);
	cr_assert_not_null(commit_error(w.r, NULL).p);
	/* One that is there may become another one, and smaller. */
	value = BW_V_STRING(BW_STR("y"));
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(edit_set(w.r, BW_STR(ROOT "/a"), BW_STR("p1"), &value), BW_OK);
	cr_assert_eq(edit_set(w.r, BW_STR(ROOT "/a"), BW_STR("q"), &value), BW_OK);
	world_end(&w);
}

Test(edit, values_that_are_none)
{
	static const struct bw_value values[] = {
		{ .type = BW_VALUE_STRING },                                 /* absent */
		{ .type = BW_VALUE_STRING, .u.string = { "a\0b", 3 } },      /* a NUL */
		{ .type = BW_VALUE_STRING, .u.string = { "\xff", 1 } },      /* no UTF-8 */
		{ .type = 99, .u.string = { "a", 1 } },                      /* no type */
		{ .type = BW_VALUE_LONG, .is_list = true, .n = 65536 },      /* too many */
		{ .type = BW_VALUE_STRING, .is_list = true, .n = SIZE_MAX }, /* far too many */
	};
	struct world w;

	world_begin(&w);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		cr_expect_eq(edit_set(w.r, BW_STR(ROOT "/a"), BW_STR("v"), &values[i]), BW_ECONTENT,
		             "value %zu", i);
	cr_expect_eq(edit_set(w.r, BW_STR("no/path"), BW_STR("v"), NULL), BW_EINVAL);
	cr_expect_eq(edit_set(w.r, BW_STR(ROOT "/a"), BW_STR(""), NULL), BW_ECONTENT);
	cr_expect_eq(edit_set(w.r, BW_STR(ROOT "/a"), BW_ABSENT, NULL), BW_ECONTENT);
	cr_expect_not(commit_has_changes(w.r));
	world_end(&w);
}
