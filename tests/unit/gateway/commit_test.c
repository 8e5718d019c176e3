/* gateway/edit/commit.c and gateway/peers/ask_repo.c: what a commit says to repo, what is made of its
 * answer, and what is left when the client or repo goes meanwhile. */
#include "peers.h"
#include <gateway/edit/commit.h>
#include <gateway/edit/edit.h>
#include <wire/changes.h>

static int                 result, done;
static struct bw_resolver *r;
static bool                pending; /* behind the commit */
static char                reason[80], reason_path[80];

static void set_and_commit(struct bw_req *req)
{
	const struct bw_value value = BW_V_LONG(5);
	struct bw_str         path, text;

	r = resolver_new(req, RESOLVER_ANONYMOUS);
	result = edit_set(r, BW_STR("/a"), BW_STR("text"), &value);
	done++;
	if (result != BW_OK)
		return;
	result = commit_all(r);
	pending = commit_has_changes(r);
	text = commit_error(r, &path);
	snprintf(reason, sizeof(reason), "%s", text.p ? text.p : "(none)");
	snprintf(reason_path, sizeof(reason_path), "%s", path.p ? path.p : "(none)");
	done++;
}

/* Up to where repo has the commit. */
static struct bw_req *committing(void)
{
	struct bw_req *req;

	world_ready();
	req = start(set_and_commit);
	answer_handle("anonymous", 1);
	cr_assert(asked_path("/a"));
	answer_found("/a", "old", 2);
	cr_assert_eq(done, 1);
	cr_assert_eq(repo.last.q.id, WIRE_RESOURCE_COMMIT);
	return req;
}

static void over(struct bw_req *req)
{
	request_release(req);
	world_done();
}

static void answer_committed(const struct wire_question *q)
{
	Bw__Wire__Committed m = BW__WIRE__COMMITTED__INIT;

	m.changed = 1;
	wire_answer(repo.chan, q, 0, 0, &m.base);
	turn();
}

Test(commit, says_what_the_change_was_decided_upon)
{
	struct bw_req       *req = committing();
	struct changes       list;
	struct change        c;
	const uint8_t       *at;
	size_t               next = 0;
	ProtobufCBinaryData *bytes = &repo.last.m.any.resource_commit.changes;

	cr_assert_not(repo.last.m.any.resource_commit.has_handle); /* the reading has opened it */
	cr_assert_eq(changes_get(bytes->data, bytes->len, &list), BW_OK);
	cr_assert(list.n == 1 && changes_next(&list, &next, &c));
	cr_assert(c.kind == CHANGE_SET && c.version == 1 && c.base == CHANGE_BASE_VALUE);
	cr_assert(bw_str_eq(c.path, BW_STR("/a")) && bw_str_eq(c.name, BW_STR("text")));
	at = c.old.at;
	cr_assert(c.old.type == BW_VALUE_STRING && c.old.n == 1 &&
	          bw_str_eq(change_next_str(&at), BW_STR("old")));
	at = c.value.at;
	cr_assert(c.value.type == BW_VALUE_LONG && c.value.n == 1 && !c.value.multiple &&
	          bw_str_eq(change_next_str(&at), BW_STR("5")));
	answer_committed(&repo.last.q);
	cr_assert(done == 2 && result == BW_OK && !pending);
	over(req);
}

static void answer_refused(int err, const char *text)
{
	wire_fail(repo.chan, &repo.last.q, err, 0, text);
	turn();
}

/* Repo's words are for a client where they were made for one. */
Test(commit, reasons_for_the_client)
{
	static const struct {
		int  err;
		bool told;
	} rows[] = {
		{ BW_ECONFLICT, true },    { BW_EFORBIDDEN, true }, { BW_ECONTENT, true },
		{ BW_ECONTENTSIZE, true }, { BW_ENOTFOUND, false }, { BW_EBUSY, false },
		{ BW_EIO, false },         { BW_ETIME, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bw_req *req;

		done = 0;
		repo.n_questions = auth.n_questions = 0;
		req = committing();
		answer_refused(rows[i].err, "/a: because");
		cr_assert(done == 2 && result == rows[i].err, "row %zu", i);
		cr_assert_str_eq(reason, rows[i].told ? "/a: because" : "(none)", "row %zu", i);
		cr_assert_str_eq(reason_path, "(none)");
		cr_assert(pending, "row %zu: they are still pending", i);
		over(req);
	}
}

/* Nobody can say whether it was written. */
Test(commit, repo_goes_meanwhile)
{
	struct bw_req *req = committing();

	fake_stop(&repo);
	turn();
	cr_assert(done == 2 && result == BW_EGONE && pending);
	over(req);
}

Test(commit, client_goes_meanwhile)
{
	struct bw_req       *req = committing();
	struct wire_question commit = repo.last.q;

	request_abort(req, false);
	turn();
	cr_assert(done == 2 && result == BW_EGONE && pending);
	answer_committed(&commit); /* nobody waits for it any more */
	over(req);
	cr_assert_eq(done, 2);
}

Test(commit, deadline_passes_meanwhile)
{
	struct bw_req *req = committing();

	request_abort(req, true);
	turn();
	cr_assert(done == 2 && result == BW_ETIME && pending);
	over(req);
}

/* ---- the end of a resolver ---- */

static void close_and_try(struct bw_req *req)
{
	struct bw_resource *res;
	struct bw_str       value;

	r = resolver_new(req, RESOLVER_ANONYMOUS);
	cr_assert_eq(resolver_get(r, BW_STR("/a"), &res), BW_OK);
	cr_assert(commit_is_live(r));
	cr_assert_eq(commit_close(r), BW_OK);
	cr_assert_eq(commit_close(r), BW_OK);
	cr_assert_not(commit_is_live(r));
	cr_assert_eq(resource_property(res, "text", 0, NULL, &value), BW_ESTATE);
	cr_assert_eq(resolver_get(r, BW_STR("/a"), &res), BW_ESTATE);
	cr_assert_eq(edit_delete(r, BW_STR("/a")), BW_ESTATE);
	cr_assert_eq(commit_all(r), BW_ESTATE);
	req->resolver = resolver_new(req, RESOLVER_ANONYMOUS);
	cr_assert_eq(commit_close(req->resolver), BW_ESTATE); /* not the servlet's to close */
	cr_assert(commit_is_live(req->resolver));
	done++;
}

Test(commit, closed_once_and_for_all)
{
	struct bw_req *req;

	world_ready();
	req = start(close_and_try);
	answer_handle("anonymous", 9);
	answer_found("/a", "old", 2);
	turn();
	cr_assert_eq(done, 1);
	cr_assert(repo.n_closes_of_handles == 1 && repo.closed_sequence == 9 &&
	          repo.n_questions == 1);
	cr_assert_eq(shared.handles_open, 0);
	over(req);
}
