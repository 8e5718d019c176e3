/* version.c - versions of resources: each change a commit of its own; histories asked of repo.
 *
 * Owns: nothing beyond the request's arena. Runs in: a request's fiber; waits for repo. Fails with: what
 * repo says, BW_ESTATE, BW_EINVAL. Tests: tests/conformance/resolver/version.rows. */
#include "version.h"
#include "commit.h"
#include "edit.h"
#include "peers/ask.h"
#include "request.h"
#include <base/buf.h>

#define PAGE 64u

/* ---- changes ---- */

static bool is_at_or_below(struct bw_str path, struct bw_str node)
{
	if (node.n == 1)
		return true;
	return path.n >= node.n && memcmp(path.p, node.p, node.n) == 0 &&
	       (path.n == node.n || path.p[node.n] == '/');
}

static bool is_pending(const struct bw_resolver *r, struct bw_str path)
{
	const struct space_change *c;

	if (!commit_has_changes(r))
		return false;
	STAILQ_FOREACH (c, &r->space->log, next) {
		bool adds = c->kind == CHANGE_MOVE || c->kind == CHANGE_COPY;

		if (!c->is_void &&
		    (is_at_or_below(c->path, path) || (adds && is_at_or_below(c->name, path))))
			return true;
	}
	return false;
}

static const enum change_kind kinds[] = {
	[BW_VERSION_CHECKIN] = CHANGE_CHECKIN,
	[BW_VERSION_CHECKOUT] = CHANGE_CHECKOUT,
	[BW_VERSION_RESTORE] = CHANGE_RESTORE,
	[BW_VERSION_ADD_LABEL] = CHANGE_LABEL_ADD,
	[BW_VERSION_REMOVE_LABEL] = CHANGE_LABEL_REMOVE,
	[BW_VERSION_REMOVE] = CHANGE_VERSION_REMOVE,
};

/* The one change, as RESOURCE_COMMIT has it. */
static void encode(struct buf *out, enum change_kind kind, struct bw_str path, struct bw_str name,
                   struct bw_str version, bool replace)
{
	size_t list = changes_begin(out);
	size_t at = change_begin(out, kind, 0, path, name);

	if (kind == CHANGE_RESTORE || kind == CHANGE_LABEL_ADD)
		change_put_removing(out, replace);
	if (kind == CHANGE_LABEL_ADD)
		change_put_type(out, version);
	change_end(out, list, at);
	changes_end(out, list);
}

static int check(struct bw_resolver *r, enum bw_version_change what, struct bw_str path,
                 struct bw_str name, struct bw_str version)
{
	int err = edit_begin(r);

	if (err != BW_OK)
		return err;
	if (what < BW_VERSION_CHECKIN || what > BW_VERSION_REMOVE)
		return BW_EINVAL;
	if (!resolver_is_canonical(path))
		return edit_fail(r, BW_EINVAL, path, "not an absolute path");
	if ((what >= BW_VERSION_RESTORE && name.n == 0) ||
	    (what == BW_VERSION_ADD_LABEL && version.n == 0))
		return edit_fail(r, BW_EINVAL, path, "a version or label without a name");
	if (what == BW_VERSION_RESTORE ? commit_has_changes(r)
	                               : what == BW_VERSION_CHECKIN && is_pending(r, path))
		return edit_fail(r, BW_ESTATE, path, "changes are pending");
	return BW_OK;
}

static int change(struct bw_resolver *r, enum bw_version_change what, struct bw_str path,
                  struct bw_str name, struct bw_str version, bool replace)
{
	struct bw_str reason;
	struct buf    out;
	int           err = check(r, what, path, name, version);

	if (err != BW_OK)
		return err;
	buf_init(&out);
	encode(&out, kinds[what], path, name, version, replace);
	err = ask_resource_commit(
		r, (struct bw_str){ (const char *)buf_data(&out), buf_size(&out) }, &reason);
	buf_done(&out);
	if (err == BW_OK)
		return commit_refresh(r);
	return reason.p ? edit_fail(r, err, path, "%.*s", EDIT_TEXT(reason)) : err;
}

/* ---- reading ---- */

static int is_checked_out(struct bw_resolver *r, struct bw_str path, bool *ret)
{
	struct bw_resource *res;
	enum bw_value_type  type;
	struct bw_str       value;
	int                 err = resolver_get(r, path, &res);

	while (err == BW_OK) {
		err = resource_property(res, "jcr:isCheckedOut", 0, &type, &value);
		if (err == BW_OK && type == BW_VALUE_BOOLEAN) {
			*ret = bw_str_eq(value, BW_STR("true"));
			return BW_OK;
		}
		*ret = true;
		if ((err != BW_OK && err != BW_ENOTFOUND) || path.n == 1)
			return err == BW_ENOTFOUND ? BW_OK : err;
		while (path.p[--path.n] != '/')
			;
		path.n += path.n == 0;
		err = resolver_get(r, path, &res);
		if (err == BW_ENOTFOUND)
			return BW_OK;
	}
	return err;
}

static struct bw_str text_of(const struct record *rec, struct bw_str name)
{
	struct record_prop prop;

	return record_prop(rec, name, &prop) && prop.n > 0 ? record_value(rec, &prop, 0)
	                                                   : BW_ABSENT;
}

static const struct bw_str *texts_of(struct bw_resolver *r, const struct record *rec,
                                     struct bw_str name, size_t *ret_n)
{
	struct record_prop prop;
	struct bw_str     *texts;

	*ret_n = 0;
	if (!record_prop(rec, name, &prop))
		return NULL;
	texts = arena_alloc(&r->req->arena, (prop.n + 1) * sizeof(*texts));
	for (; *ret_n < prop.n; ++*ret_n)
		texts[*ret_n] = record_value(rec, &prop, (unsigned)*ret_n);
	return texts;
}

static void version_of(struct bw_resolver *r, const struct record *rec, struct bw_version *ret)
{
	struct bw_str by = text_of(rec, BW_STR("jcr:createdBy"));

	*ret = (struct bw_version){
		.name = rec->name,
		.created = text_of(rec, BW_STR("jcr:created")),
		.created_by = by.n > 0 ? by : BW_ABSENT,
		.is_base = bw_str_eq(text_of(rec, BW_STR("base")), BW_STR("true")),
	};
	ret->predecessors = texts_of(r, rec, BW_STR("jcr:predecessors"), &ret->n_predecessors);
	ret->successors = texts_of(r, rec, BW_STR("jcr:successors"), &ret->n_successors);
	ret->labels = texts_of(r, rec, BW_STR("labels"), &ret->n_labels);
}

static int versions(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                    const struct bw_version **ret, size_t *ret_n, bool *ret_more)
{
	struct bw_version *all;
	struct record     *records;
	size_t             n;
	int                err;

	if (!resolver_is_canonical(path) || max < 1 || max > PAGE)
		return BW_EINVAL;
	err = ask_version_list(r, path, after, (unsigned)max, &records, &n, ret_more);
	if (err != BW_OK)
		return err;
	all = arena_alloc(&r->req->arena, (n + 1) * sizeof(*all));
	for (size_t i = 0; i < n; i++)
		version_of(r, &records[i], &all[i]);
	*ret = all;
	*ret_n = n;
	return BW_OK;
}

/* In no table: what is read at its path is another resource. */
static int frozen(struct bw_resolver *r, struct bw_str path, struct bw_str name,
                  struct bw_str below, struct bw_resource **ret)
{
	struct bw_resource *res;
	struct frozen      *part;
	struct record       record;
	int                 err;

	if (!resolver_is_canonical(path) || name.n == 0)
		return BW_EINVAL;
	if (below.p && !resolver_is_canonical(space_join(&r->req->arena, path, below)))
		return BW_EINVAL;
	part = arena_alloc(&r->req->arena, sizeof(*part));
	part->path = request_dup(r->req, path);
	part->version = request_dup(r->req, name);
	part->below = below.n > 0 ? request_dup(r->req, below) : BW_ABSENT;
	err = ask_version_get(r, part, &record);
	if (err != BW_OK)
		return err;
	res = arena_zalloc(&r->req->arena, sizeof(*res));
	res->resolver = r;
	res->record = record;
	res->made = true;
	res->frozen = part;
	*ret = res;
	return BW_OK;
}

static int version(struct bw_resolver *r, struct bw_str path, struct bw_str name,
                   struct bw_resource **ret)
{
	return frozen(r, path, name, BW_ABSENT, ret);
}

const struct bw_versioning resolver_versioning = {
	.size = sizeof(resolver_versioning),
	.change = change,
	.is_checked_out = is_checked_out,
	.versions = versions,
	.version = version,
	.frozen = frozen,
};
