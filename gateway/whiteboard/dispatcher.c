/* Dispatchers: from a path or a name to a servlet of the same context (Jakarta Servlet 9.1, OSGi 140.4).
 * A path is URI text and goes through the same door as a client's target; a relative one is joined to the
 * current directory, which is decoded and is written as text for that.
 *
 * Owns: nothing; dispatchers are in the request's arena. Runs in: the request's fiber.
 * Fails with: NULL. Tests: tests/conformance (K), tests/unit/whiteboard/dispatcher_test.c. */
#include "dispatcher_impl.h"

#include <path.h>

#define TARGET_MAX 8192u

/* ---- values ---- */

struct path_values dispatcher_get_values(const struct bw_req *req)
{
	return (struct path_values){ req->context_path, req->servlet_path, req->path_info,
		                     req->servlet_name, req->pattern,      req->match_value };
}

void dispatcher_put_values(struct bw_req *req, const struct path_values *v)
{
	req->context_path = v->context_path;
	req->servlet_path = v->servlet_path;
	req->path_info = v->path_info;
	req->servlet_name = v->servlet_name;
	req->pattern = v->pattern;
	req->match_value = v->match_value;
}

/* ---- URI text ---- */

static bool is_path_octet(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("-._~!$&'()*+,=:@/", c));
}

/* Decoded path to URI text; to has room for 3 * path.n. */
static char *encode(char *to, struct bw_str path)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < path.n; i++) {
		unsigned char c = (unsigned char)path.p[i];

		if (is_path_octet(c)) {
			*to++ = (char)c;
			continue;
		}
		*to++ = '%';
		*to++ = hex[c >> 4];
		*to++ = hex[c & 15];
	}
	return to;
}

/* The text of a decoded path, with tail, which is URI text already, behind it. */
static struct bw_str join(struct bw_req *req, struct bw_str path, struct bw_str tail)
{
	char *text = arena_alloc(&req->arena, 3 * path.n + tail.n + 1);
	char *end = encode(text, path);

	memcpy(end, tail.p, tail.n);
	end += tail.n;
	*end = '\0';
	return (struct bw_str){ text, (size_t)(end - text) };
}

/* ---- getting one ---- */

/* Fills in what the pattern table says of rest; NULL: nothing takes it. */
static struct bw_request_dispatcher *resolve(struct bw_req *req, struct bw_request_dispatcher *d)
{
	const struct snapshot_context *c = req->whiteboard->servlet->context;
	const struct path_values       saved = dispatcher_get_values(req);
	struct snapshot_hit            hit = { .context = c, .rest = d->rest };

	hit.pattern = match_find(&c->table, d->rest);
	if (!hit.pattern)
		return NULL;
	d->req = req;
	d->servlet = hit.pattern->servlet;
	dispatch_set_path_values(req, &hit);
	d->values = dispatcher_get_values(req);
	dispatcher_put_values(req, &saved);
	return d;
}

/* text: a path inside the context, ours to change. */
static struct bw_request_dispatcher *of_text(struct bw_req *req, struct bw_str text)
{
	struct bw_request_dispatcher *d;
	struct bw_str                 prefix = req->whiteboard->servlet->context->path;
	struct path_target            t;
	char                         *whole;

	if (text.n > TARGET_MAX || path_canonical(&req->arena, text, &t) != BW_OK)
		return NULL;
	if (t.query.p)
		((char *)(uintptr_t)t.query.p)[-1] = '\0'; /* where the path's text ends */
	d = arena_zalloc(&req->arena, sizeof(*d));
	d->target = (struct req_target){ t.uri, t.query, t.path };
	d->rest = t.path;
	if (prefix.n > 0) {
		whole = arena_printf(&req->arena, "%s%s", prefix.p, t.path.p);
		d->target.path = bw_str(whole);
		d->rest = bw_str(whole + prefix.n);
		d->target.uri = join(req, prefix, t.uri);
	}
	return resolve(req, d);
}

struct bw_request_dispatcher *dispatcher_of_context(struct bw_req *req, struct bw_str path)
{
	if (!req->whiteboard || path.n == 0 || path.p[0] != '/')
		return NULL;
	return of_text(req, request_dup(req, path));
}

/* The current path inside its context, without what follows the last slash. */
static struct bw_str directory(const struct bw_req *req)
{
	struct bw_str path = request_dispatch_path(req), rest = path;

	snapshot_contains(req->whiteboard->servlet->context, path, &rest);
	rest = dispatch_path(rest);
	rest.n = (size_t)((const char *)memrchr(rest.p, '/', rest.n) - rest.p) + 1;
	return rest;
}

struct bw_request_dispatcher *dispatcher_of_request(struct bw_req *req, struct bw_str path)
{
	if (path.n > 0 && path.p[0] == '/')
		return dispatcher_of_context(req, path);
	if (!req->whiteboard || path.n == 0 || path.n > TARGET_MAX)
		return NULL;
	return of_text(req, join(req, directory(req), path));
}

struct bw_request_dispatcher *dispatcher_named(struct bw_req *req, struct bw_str name)
{
	const struct snapshot_servlet *servlet;
	struct bw_request_dispatcher  *d;

	if (!req->whiteboard)
		return NULL;
	servlet = names_find(&req->whiteboard->servlet->context->names, name);
	if (!servlet)
		return NULL;
	d = arena_zalloc(&req->arena, sizeof(*d));
	d->req = req;
	d->servlet = servlet;
	d->named = true;
	return d;
}

struct bw_request_dispatcher *dispatcher_of_self(struct bw_req *req)
{
	struct bw_request_dispatcher *d = arena_zalloc(&req->arena, sizeof(*d));

	d->target = (struct req_target){ request_uri(req), BW_ABSENT, request_path(req) };
	if (!snapshot_contains(req->whiteboard->servlet->context, d->target.path, &d->rest))
		return NULL;
	return resolve(req, d);
}
