/* resolve.c - finds the resource that a request is about.
 *
 *    /new/x*        a star resource: the form for something that is not there yet
 *    /bin/test      mounted at this very path: nobody is asked
 *    /a/b.x.html    else the longest path that exists, cut at dots: repo finds the stored one, the
 *                   mount tree the mounted one; of equal length the mounted one hides the other
 *    /nowhere.html  else a missing resource
 *
 * Owns: nothing; resources are in the request's arena. Runs in: a request's fiber; waits for auth (the
 * handle of anonymous) and repo. Fails with: BW_E* of those. Tests: tests/unit/engine/engine_test.c,
 * tests/conformance/engine/dec.rows. */
#include "peers/ask.h"
#include "edit/look.h"
#include "engine/mount.h"
#include "engine/resolve.h"
#include "request.h"
#include "peers/resolver.h"

/* What is left of path behind its first n octets. */
static struct bw_str rest_of(struct bw_str path, size_t n)
{
	return (struct bw_str){ path.p + n, path.n - n };
}

static void split_at(struct bw_req *req, size_t n, struct resolution *ret)
{
	struct bw_str path = request_dispatch_path(req);

	pathinfo_split(rest_of(path, n), &ret->path_info);
	ret->path_info.resource_path = (struct bw_str){ path.p, n };
}

static struct bw_resource *new_resource(struct bw_req *req)
{
	struct bw_resource *res = arena_zalloc(&req->arena, sizeof(*res));

	res->resolver = req->resolver;
	res->made = true;
	return res;
}

/* A resource that is stored nowhere. Its path ends where the octets of the request's path do, or is a
 * copy, so that it can be printed. */
static void make_synthetic(struct bw_req *req, struct bw_str type, size_t n, struct resolution *ret)
{
	struct bw_resource *res = new_resource(req);
	struct bw_str       whole = request_dispatch_path(req), path = { whole.p, n };
	const char         *slash;

	if (n < whole.n)
		path = request_dup(req, path);
	slash = memrchr(path.p, '/', path.n);
	res->record.path = path;
	res->record.name = (struct bw_str){ slash + 1, path.n - (size_t)(slash + 1 - path.p) };
	res->record.resource_type = type;
	res->missing = true;
	ret->resource = res;
}

static void make_mounted(struct bw_req *req, const struct mount_node *node, size_t n,
                         struct resolution *ret)
{
	struct bw_resource *res = new_resource(req);

	mount_node_record(node, &req->arena, &res->record);
	ret->resource = res;
	split_at(req, n, ret);
}

/* The whole path names it, so that a default servlet can create it there; selectors and extension are
 * what follows the first dot. */
static void make_missing(struct bw_req *req, struct resolution *ret)
{
	struct bw_str path = request_dispatch_path(req);
	const char   *dot = memchr(path.p, '.', path.n);

	make_synthetic(req, BW_STR("sling:nonexisting"), path.n, ret);
	split_at(req, dot != NULL ? (size_t)(dot - path.p) : path.n, ret);
	ret->path_info.resource_path = path;
}

static const struct mount_node *mounted_servlet_at(struct bw_str path)
{
	const struct mount_node *node = mount_find(path);

	return node != NULL && mount_node_servlet(node) != NULL ? node : NULL;
}

/* The longest mounted path after at least one cut, of at least min octets. */
static const struct mount_node *find_mounted_prefix(struct bw_str path, size_t min, size_t *ret_n)
{
	const struct mount_node *node;

	while (pathinfo_cut(&path) && path.n >= min) {
		node = mounted_servlet_at(path);
		if (node != NULL) {
			*ret_n = path.n;
			return node;
		}
	}
	return NULL;
}

/* As the request's resolver sees it: a servlet that includes or forwards may have changed something. */
static int find_stored(struct bw_req *req, size_t *ret_n, struct bw_resource **ret,
                       uint64_t *ret_types)
{
	struct record record;
	int           rc;

	if (req->resolver->space != NULL)
		return look_resolve(req->resolver, request_dispatch_path(req), ret_n, ret);
	rc = ask_resource_resolve(req->resolver, request_dispatch_path(req), ret_n, &record,
	                          ret_types);
	if (rc == BW_OK)
		*ret = resolver_add(req->resolver, &record, false);
	return rc;
}

static int resolve_stored(struct bw_req *req, struct bw_str first, struct resolution *ret)
{
	const struct mount_node *node;
	struct bw_resource      *res = NULL;
	size_t                   stored = 0, mounted;
	int                      rc = find_stored(req, &stored, &res, &ret->types);

	if (rc != BW_OK && rc != BW_ENOTFOUND)
		return rc;
	/* Only now: the tree may have changed while we waited. */
	node = find_mounted_prefix(first, rc == BW_OK ? stored : 1, &mounted);
	if (node != NULL) {
		make_mounted(req, node, mounted, ret);
	} else if (rc == BW_OK) {
		ret->resource = res;
		split_at(req, stored, ret);
	} else {
		make_missing(req, ret);
	}
	return BW_OK;
}

/* The octets up to and with the first segment that begins with a star; 0: there is none. */
static size_t find_star(struct bw_str path)
{
	const char *end = path.p + path.n, *star = memchr(path.p, '*', path.n);

	while (star != NULL && (star == path.p || star[-1] != '/'))
		star = memchr(star + 1, '*', (size_t)(end - star) - 1);
	return star != NULL ? (size_t)(star - path.p) + 1 : 0;
}

int resolve_request(struct bw_req *req, struct resolution *ret)
{
	struct bw_str            path = request_dispatch_path(req), first = pathinfo_first(path);
	const struct mount_node *node;
	size_t                   n = find_star(path);

	ret->types = 0;
	if (n > 0) {
		make_synthetic(req, BW_STR("sling:syntheticStarResource"), n, ret);
		split_at(req, n, ret);
		return BW_OK;
	}
	node = mounted_servlet_at(first);
	if (node == NULL)
		return resolve_stored(req, first, ret);
	make_mounted(req, node, first.n, ret);
	return BW_OK;
}
