/* resolver.c - what a servlet sees of the repository: resolvers, and the resources read through
 * them.
 *
 * A resolver is minted lazily for the guest, at its creation for a service user (it has to tell the
 * user's name), and by the authenticator for a user. It ends with its request: resolvers_close.
 *
 * Owns: nothing beyond the request's arena, and the promise that each opened handle is closed once.
 * Runs in: the gateway, on a request's fiber.
 * Fails with: what auth and repo say; BW_EINVAL for a path that is not absolute and canonical.
 * Tests: tests/unit/gateway/resolver_test.c. */
#include "resolver.h"
#include "ahead.h"
#include "ask.h"
#include "bundle/bundles.h"
#include "edit/look.h"
#include "request.h"
#include <base/log.h>

#define FIRST_BUCKETS 8u

/* ---- identity ---- */

struct bw_resolver *resolver_new(struct bw_req *req, enum resolver_kind kind)
{
	struct bw_resolver *r = arena_zalloc(&req->arena, sizeof(*r));

	r->req = req;
	r->kind = kind;
	if (kind == RESOLVER_ANONYMOUS)
		r->user = BW_STR("anonymous");
	r->next = req->resolvers;
	req->resolvers = r;
	return r;
}

/* Cloned, and not closed by whom it was cloned for. */
static void note_left(const struct bw_resolver *r)
{
	log_warning(r->req->id, "a resolver of %s, cloned at %s:%u, was left open", r->user.p,
	            r->opened_file, r->opened_line);
	ask_count_left();
}

void resolvers_close(struct bw_req *req)
{
	for (struct bw_resolver *r = req->resolvers; r; r = r->next) {
		if (r->opened_file && !r->closed)
			note_left(r);
		if (r->space)
			look_drop(r);
		ask_handle_close(r);
	}
}

int resolver_mint(struct bw_resolver *r)
{
	if (r->handle.p)
		return BW_OK;
	if (r->failed != BW_OK)
		return r->failed;
	switch (r->kind) {
	case RESOLVER_ANONYMOUS:
	case RESOLVER_SERVICE:
		r->failed = r->fresh ? ask_handle(r) : ahead_take(r);
		break;
	case RESOLVER_USER: /* has no credentials to ask with: those were the authenticator's */
		r->failed = BW_ESTATE;
		break;
	}
	return r->failed;
}

int resolver_of_request(struct bw_req *req, struct bw_resolver **ret)
{
	if (!req->resolver)
		return BW_ESTATE;
	*ret = req->resolver;
	return BW_OK;
}

static struct bw_resolver *find_service(struct bw_req *req, struct bw_str bundle,
                                        struct bw_str subservice)
{
	for (struct bw_resolver *r = req->resolvers; r; r = r->next)
		if (r->kind == RESOLVER_SERVICE && !r->closed && !r->cloned &&
		    bw_str_eq(r->bundle, bundle) && bw_str_eq(r->subservice, subservice))
			return r;
	return NULL;
}

int resolver_of_service(struct bw_req *req, struct bw_bundle *b, const char *subservice,
                        struct bw_resolver **ret)
{
	struct bw_str       bundle = bw_str(b->name);
	struct bw_str       sub = subservice && *subservice ? bw_str(subservice) : BW_ABSENT;
	struct bw_resolver *r = find_service(req, bundle, sub);
	int                 err;

	if (!r) {
		r = resolver_new(req, RESOLVER_SERVICE);
		r->bundle = bundle; /* a bundle outlives its requests */
		if (sub.p)
			r->subservice = request_dup(req, sub);
	}
	err = resolver_mint(r);
	if (err == BW_OK)
		*ret = r;
	return err;
}

struct bw_str resolver_user(const struct bw_resolver *r)
{
	return r->user;
}

/* ---- items read ---- */

static uint64_t hash_path(struct bw_str path)
{
	uint64_t h = path.n, word;

	for (size_t at = 0; at < path.n; at += sizeof(word)) {
		word = 0;
		memcpy(&word, path.p + at, path.n - at < sizeof(word) ? path.n - at : sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15u;
		h ^= h >> 32;
	}
	return h;
}

static struct bw_resource **bucket(const struct bw_resolver *r, struct bw_str path)
{
	return &r->read[hash_path(path) & (r->n_buckets - 1)];
}

struct bw_resource *resolver_find(const struct bw_resolver *r, struct bw_str path)
{
	struct bw_resource *res = r->n_buckets ? *bucket(r, path) : NULL;

	while (res && !bw_str_eq(res->record.path, path))
		res = res->next;
	return res;
}

static void grow(struct bw_resolver *r)
{
	struct bw_resource **old = r->read, *res, *next, **at;
	unsigned             n_old = r->n_buckets;

	r->n_buckets = n_old ? 2 * n_old : FIRST_BUCKETS;
	r->read = arena_zalloc(&r->req->arena, r->n_buckets * sizeof(*r->read));
	for (unsigned i = 0; i < n_old; i++) {
		for (res = old[i]; res; res = next) {
			next = res->next;
			at = bucket(r, res->record.path);
			res->next = *at;
			*at = res;
		}
	}
}

struct bw_resource *resolver_add(struct bw_resolver *r, const struct record *rec, bool partial)
{
	struct bw_resource *res = resolver_find(r, rec->path), **at;

	if (res) {
		if (res->stale || (res->partial && !partial)) {
			res->record = *rec;
			res->partial = partial;
			res->stale = false;
		}
		return res;
	}
	if (r->n_read >= r->n_buckets)
		grow(r);
	res = arena_zalloc(&r->req->arena, sizeof(*res));
	res->resolver = r;
	res->record = *rec;
	res->partial = partial;
	at = bucket(r, rec->path);
	res->next = *at;
	*at = res;
	r->n_read++;
	return res;
}

struct bw_resource *resolver_show(struct bw_resolver *r, struct bw_str path)
{
	struct bw_resource *res = resolver_find(r, path);
	struct record       nothing = { .path = path };
	const char         *slash;

	if (res)
		return res;
	nothing.path = request_dup(r->req, path);
	slash = memrchr(nothing.path.p, '/', path.n);
	nothing.name = (struct bw_str){ slash + 1, path.n - (size_t)(slash + 1 - nothing.path.p) };
	res = resolver_add(r, &nothing, true);
	res->stale = true;
	return res;
}

/* Their strings stay: somebody may have them. */
void resolver_forget(struct bw_resolver *r)
{
	for (unsigned i = 0; i < r->n_buckets; i++)
		for (struct bw_resource *res = r->read[i]; res; res = res->next)
			res->partial = res->stale = true;
}

/* Others would be a mistake in a servlet, and repo would take them for an attack. */
bool resolver_is_canonical(struct bw_str path)
{
	size_t start = 1;

	if (path.n == 0 || path.p[0] != '/' || memchr(path.p, '\0', path.n))
		return false;
	for (size_t i = 1; path.n > 1 && i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		if (i == start || (i == start + 1 && path.p[start] == '.') ||
		    (i == start + 2 && path.p[start] == '.' && path.p[start + 1] == '.'))
			return false;
		start = i + 1;
	}
	return true;
}

/* What a child page has named and is gone since has no properties; what was to be read anew is not
 * there. */
int resolver_complete(struct bw_resource *res)
{
	struct record record;
	int           err;

	if (!res->partial)
		return BW_OK;
	err = ask_resource_get(res->resolver, res->record.path, &record);
	if (err == BW_OK)
		res->record = record;
	else if (err != BW_ENOTFOUND || res->stale)
		return err;
	res->partial = res->stale = false;
	return BW_OK;
}

int resolver_read(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret)
{
	struct bw_resource *res = resolver_find(r, path);
	struct record       record;
	int                 err;

	if (!res || res->stale) {
		err = ask_resource_get(r, path, &record);
		if (err != BW_OK)
			return err;
		res = resolver_add(r, &record, false);
	}
	*ret = res;
	return BW_OK;
}

int resolver_get(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret)
{
	if (!resolver_is_canonical(path))
		return BW_EINVAL;
	return r->space ? look_get(r, path, ret) : resolver_read(r, path, ret);
}

int resolver_page(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                  struct bw_resource ***ret, size_t *ret_n, bool *ret_more)
{
	struct bw_resource **children;
	struct record       *records;
	size_t               n;
	int                  err;

	err = ask_resource_children(r, path, after, (unsigned)max, &records, &n, ret_more);
	if (err != BW_OK)
		return err;
	children = arena_alloc(&r->req->arena, n * sizeof(*children));
	for (size_t i = 0; i < n; i++)
		children[i] = resolver_add(r, &records[i], true);
	*ret = children;
	*ret_n = n;
	return BW_OK;
}

int resolver_children(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                      struct bw_resource ***ret, size_t *ret_n, bool *ret_more)
{
	if (!resolver_is_canonical(path) || max < 1 || max > RESOLVER_PAGE)
		return BW_EINVAL;
	if (r->space)
		return look_children(r, path, after, max, ret, ret_n, ret_more);
	return resolver_page(r, path, after, max, ret, ret_n, ret_more);
}

/* ---- a resource ---- */

static struct bw_str absent_if_empty(struct bw_str s)
{
	return s.n > 0 ? s : BW_ABSENT;
}

struct bw_str resource_field(const struct bw_resource *res, enum bw_resource_field f)
{
	const struct record *rec = &res->record;

	if (res->resolver->space && !res->made)
		return look_field(res, f);
	switch (f) {
	case BW_RESOURCE_PATH:
		return rec->path;
	case BW_RESOURCE_NAME:
		return rec->name;
	case BW_RESOURCE_TYPE:
		return rec->resource_type.n > 0 ? rec->resource_type
		                                : absent_if_empty(rec->primary_type);
	case BW_RESOURCE_SUPER_TYPE:
		return absent_if_empty(rec->super_type);
	case BW_RESOURCE_PRIMARY_TYPE:
		return absent_if_empty(rec->primary_type);
	}
	return BW_ABSENT;
}

int resource_property(struct bw_resource *res, const char *name, size_t index,
                      enum bw_value_type *ret_type, struct bw_str *ret_value)
{
	struct record_prop prop;
	int                err;

	if (res->resolver->space && !res->made)
		return look_property(res, bw_str(name), index, ret_type, ret_value);
	if (res->missing)
		return BW_ENOTFOUND;
	if (res->partial) {
		err = resolver_complete(res);
		if (err != BW_OK)
			return err;
	}
	if (!record_prop(&res->record, bw_str(name), &prop) || index >= prop.n)
		return BW_ENOTFOUND;
	if (ret_type)
		*ret_type = prop.type;
	*ret_value = record_value(&res->record, &prop, (unsigned)index);
	return BW_OK;
}
