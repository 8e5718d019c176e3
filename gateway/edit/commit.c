/* commit.c - all pending changes at once: written, forgotten, or kept over a refresh; and a resolver's end.
 *
 * A commit is one message with the whole log, in order (wire/changes.h), and one answer. What it did not
 * write stays pending, also where nobody knows whether it was written: to look is a refresh.
 *
 * Owns: the message while it is sent. Runs in: a request's fiber; waits for repo. Fails with: what repo
 * says (BW_ECONFLICT, BW_EFORBIDDEN, BW_ECONTENT, BW_ECONTENTSIZE, BW_ENOTFOUND), BW_ETOOBIG,
 * BW_ESTATE. Tests: tests/unit/gateway/commit_test.c, tests/conformance/resolver. */
#include "edit.h"
#include "commit.h"
#include "peers/ask_impl.h"
#include "request.h"
#include <base/fatal.h>
#include <stdlib.h>

/* ---- the message ---- */

static int compare(const void *a, const void *b)
{
	const struct bw_str *x = &(*(struct space_value *const *)a)->name;
	const struct bw_str *y = &(*(struct space_value *const *)b)->name;
	size_t               n = x->n < y->n ? x->n : y->n;
	int                  diff = memcmp(x->p, y->p, n);

	return diff ? diff : (x->n > y->n) - (x->n < y->n);
}

static void put_created(struct buf *out, size_t at, const struct space_change *c)
{
	struct space_value **sorted;
	size_t               n = 0, i = 0;

	for (unsigned m = 0; m < c->n_mixins; m++)
		change_put_mixin(out, at, c->mixins[m]);
	for (struct space_value *v = c->props; v; v = v->next)
		n += !v->removed;
	sorted = xmalloc((n + 1) * sizeof(struct space_value *));
	for (struct space_value *v = c->props; v; v = v->next)
		if (!v->removed)
			sorted[i++] = v;
	qsort(sorted, n, sizeof(struct space_value *), compare);
	for (i = 0; i < n; i++)
		change_put_prop(out, at, sorted[i]->name, &sorted[i]->value);
	free(sorted);
}

static void put_change(struct buf *out, size_t list, const struct space_change *c)
{
	enum change_kind kind = c->kind;
	size_t           at;

	if (kind == CHANGE_SET && c->set.removed)
		kind = CHANGE_UNSET;
	at = change_begin(out, kind, c->version, c->path, c->name);
	if (kind == CHANGE_CREATE)
		put_created(out, at, c);
	if (kind == CHANGE_SET || kind == CHANGE_UNSET)
		change_put_base(out, c->base, c->base == CHANGE_BASE_VALUE ? &c->old : NULL);
	if (kind == CHANGE_SET)
		change_put_value(out, &c->set.value);
	if (kind == CHANGE_SET_TYPE)
		change_put_type(out, c->old_type);
	if (kind == CHANGE_ACE_ADD || kind == CHANGE_ACE_REMOVE) {
		change_put_entry(out, c->allow, &c->set.value);
		for (const struct space_value *v = c->props; v; v = v->next)
			change_put_prop(out, at, v->name, &v->value);
	}
	change_end(out, list, at);
}

void commit_encode(const struct space *s, struct buf *out)
{
	const struct space_change *c;
	size_t                     list = changes_begin(out);

	STAILQ_FOREACH (c, &s->log, next)
		if (!c->is_void)
			put_change(out, list, c);
	changes_end(out, list);
}

/* ---- all of them ---- */

static int send_all(struct bw_resolver *r)
{
	struct bw_str reason;
	struct buf    out;
	int           err;

	buf_init(&out);
	commit_encode(r->space, &out);
	err = ask_resource_commit(
		r, (struct bw_str){ (const char *)buf_data(&out), buf_size(&out) }, &reason);
	if (err == BW_ETOOBIG)
		err = edit_fail(r, err, BW_ABSENT,
		                "the changes are %zu octets, too many for one commit",
		                buf_size(&out));
	r->error_text = reason.p ? reason : r->error_text;
	buf_done(&out);
	return err;
}

int commit_all(struct bw_resolver *r)
{
	int err = edit_begin(r);

	if (err == BW_OK && !commit_has_changes(r))
		edit_drop(r); /* what was tried and failed */
	if (err != BW_OK || !r->space)
		return err;
	err = send_all(r);
	if (err != BW_OK)
		return err;
	edit_drop(r);
	resolver_forget(r);
	return BW_OK;
}

int commit_revert(struct bw_resolver *r)
{
	int err = edit_begin(r);

	edit_drop(r);
	return err;
}

int commit_refresh(struct bw_resolver *r)
{
	int err = edit_begin(r);

	resolver_forget(r);
	if (r->space)
		r->space->unsure = true;
	return err;
}

bool commit_has_changes(const struct bw_resolver *r)
{
	return r->space && r->space->n_changes > 0;
}

struct bw_str commit_error(const struct bw_resolver *r, struct bw_str *ret_path)
{
	if (ret_path)
		*ret_path = r->error_path;
	return r->error_text;
}

/* ---- the end ---- */

bool commit_is_live(const struct bw_resolver *r)
{
	return !r->closed && r->failed == BW_OK &&
	       (!r->handle.p || r->connection == ask_connection());
}

/* What has been read is to be read anew, which fails from now on, as a mint does. */
int commit_close(struct bw_resolver *r)
{
	if (r->closed)
		return BW_OK;
	if (r == r->req->resolver)
		return BW_ESTATE;
	ask_handle_close(r);
	edit_drop(r);
	r->handle = BW_ABSENT;
	r->failed = BW_ESTATE;
	r->closed = true;
	resolver_forget(r);
	return BW_OK;
}
