/* gateway/edit with a repo in memory: what a tree looks like before a commit is what it is after it,
 * whatever was done to it; a question that fails changes nothing; and how much may be pending. The rows of
 * tests/conformance/resolver say what each change does. */
#include "resolver/random.h"
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

/* Ten thousand commits. Each tree is a commit's outcome, so that what is stored, moved, copied,
 * hidden and made anew meets in all ways. */
Test(edit, what_is_seen_before_a_commit_is_there_after_it)
{
	static char before[SAID];
	const char *steps;
	size_t      largest, total = 0;

	for (unsigned seed = 1; seed <= 500; seed++) {
		random_begin(seed);
		stage_begin(ROOT);
		largest = 0;
		for (int round = 0; round < 20; round++) {
			steps = random_steps(16, "tree / ; commit");
			strcpy(before, last_said(steps));
			largest = strlen(before) > largest ? strlen(before) : largest;
			cr_assert_str_eq(before, last_said("tree /"), "history %u, round %d: %s",
			                 seed, round, steps);
			if (strlen(before) > 8000) /* copies of copies */
				say("clean / ; commit");
		}
		fake_repo_end();
		total += largest;
	}
	cr_assert_gt(total / 500, 100, "the trees have been small: %zu octets", total / 500);
}

/* The same with a revert: nothing has happened. */
Test(edit, revert_forgets_all)
{
	static char before[SAID];

	stage_begin(ROOT);
	random_begin(7);
	while (fake_repo_commits < 200) {
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

/* ---- what the engine resolves ---- */

static int resolve(struct bw_resolver *r, const char *path, size_t *ret_n, struct bw_str *ret_type)
{
	struct bw_resource *res;
	int                 err = look_resolve(r, bw_str(path), ret_n, &res);

	if (err == BW_OK) {
		cr_assert_eq(res->record.path.n, *ret_n);
		cr_assert_eq(memcmp(res->record.path.p, path, *ret_n), 0);
		*ret_type = res->record.resource_type;
	}
	return err;
}

/* A servlet has changed something, and includes what it has changed. */
Test(edit, engine_resolves_what_is_pending)
{
	const struct bw_property props[] = {
		{ BW_STR("sling:resourceType"), BW_V_STRING(BW_STR("demo/n")) },
		{ BW_STR("sling:resourceSuperType"), BW_V_STRING(BW_STR("demo/base")) },
	};
	struct world  w;
	struct record rec;
	struct bw_str type;
	size_t        n;

	world_begin(&w);
	cr_assert_eq(edit_create(w.r, BW_STR(ROOT), BW_STR("n.m"), props, 2, NULL), BW_OK);
	cr_assert_eq(edit_move(w.r, BW_STR(ROOT "/a"), BW_STR(ROOT "/n.m"), BW_ABSENT, NULL),
	             BW_OK);
	cr_assert_eq(resolve(w.r, ROOT "/n.m.s1.html/x.y", &n, &type), BW_OK);
	cr_assert(n == strlen(ROOT "/n.m") && bw_str_eq(type, BW_STR("demo/n")));
	cr_assert_eq(resolve(w.r, ROOT "/n.m/a/x.html", &n, &type), BW_OK);
	cr_assert_eq(n, strlen(ROOT "/n.m/a/x"));
	cr_assert_eq(resolve(w.r, ROOT "/n.m/a/x", &n, &type), BW_OK);
	cr_assert_eq(resolve(w.r, ROOT "/b/", &n, &type), BW_OK);
	cr_assert_eq(n, strlen(ROOT "/b"));
	cr_assert_eq(resolve(w.r, ROOT "/a.html", &n, &type), BW_ENOTFOUND);
	cr_assert_eq(resolve(w.r, ROOT "/a/x.html", &n, &type), BW_ENOTFOUND);
	cr_assert_eq(resolve(w.r, ROOT "/n..html", &n, &type), BW_ENOTFOUND);
	cr_assert_eq(resolve(w.r, "/nowhere/.x/a.b", &n, &type), BW_ENOTFOUND);
	cr_assert_eq(look_record(w.r, BW_STR(ROOT "/n.m"), &rec), BW_OK);
	cr_assert(rec.n_chain == 1 && bw_str_eq(record_chain(&rec, 0), BW_STR("demo/base")));
	world_end(&w);
}

/* ---- memory ---- */

static int set_and_commit(struct bw_resolver *r, int i)
{
	const struct bw_value value = BW_V_LONG(i);
	char                  name[24];
	int                   err;

	snprintf(name, sizeof(name), "n%d", i % 2);
	err = edit_set(r, BW_STR(ROOT), BW_STR("a.property"), &value);
	if (err == BW_OK)
		err = edit_create(r, BW_STR(ROOT), bw_str(name), NULL, 0, NULL);
	if (err == BW_OK)
		err = edit_delete(r, bw_str(i % 2 ? ROOT "/n0" : ROOT "/n1"));
	return err == BW_OK ? commit_all(r) : err;
}

/* What a round is to leave in the request's arena are the records that it has read. */
Test(edit, many_commits_of_one_request_take_little_memory)
{
	struct bw_req      *req;
	struct bw_resolver *r;
	size_t              used;

	stage_begin(ROOT);
	req = request_new();
	r = resolver_new(req, RESOLVER_SERVICE);
	for (int i = 0; i < 10; i++)
		cr_assert_eq(set_and_commit(r, i), BW_OK);
	used = req->arena.used;
	for (int i = 10; i < 1010; i++)
		cr_assert_eq(set_and_commit(r, i), BW_OK);
	cr_assert_lt(req->arena.used - used, 1000 * 700, "%zu octets a commit",
	             (req->arena.used - used) / 1000);
	printf("%zu octets a commit\n", (req->arena.used - used) / 1000);
	resolvers_close(req);
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
}
