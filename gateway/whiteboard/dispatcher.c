/* Dispatchers: from a path or a name to a servlet of the same context, and calling it (Jakarta Servlet
 * 9, OSGi 140.4).
 *
 *                 getters       attributes    parameters     response
 *    forward      the target's  forward.*     query's first  body dropped, finished on return
 *    include      unchanged     include.*     query's first  only the body may be added to
 *    async        the target's  async.*       query's first  as it stands
 *    by name      unchanged     unchanged     unchanged
 *
 * Everything a dispatch changes in the request is saved on the stack of the one who dispatches and put
 * back in brackets, so that a request that dispatches nothing has no more than pointers that stay NULL.
 *
 * Owns: nothing; dispatchers are in the request's arena. Runs in: the request's fiber.
 * Fails with: BW_ESTATE (committed or finished), BW_EINVAL (not a dispatcher of this request), BW_ECYCLE
 * (too deep), what the servlet returns. Tests: tests/conformance (F, G, H, K),
 * tests/unit/whiteboard/dispatcher_test.c. */
#include "dispatcher.h"

#include "async.h"
#include "attr.h"

#include <fiber.h>
#include <path.h>

#define TARGET_MAX 8192u
/* What must be left of the stack for a servlet that is dispatched to. */
#define STACK_RESERVE (64u * 1024u)

/* What path and pattern decide. */
struct path_values {
	struct bw_str context_path, servlet_path, path_info, servlet_name, pattern, match_value;
};

struct bw_request_dispatcher {
	const struct bw_req           *req;
	const struct snapshot_servlet *servlet;
	bool                           named; /* what follows is not set */
	struct req_target              target;
	struct bw_str                  rest; /* of the path, inside the context */
	struct path_values             values;
};

static const struct bw_str attribute_names[3][ORIGIN_VALUES] = {
#define NAMES(family) \
	{ \
		BW_STR(family "request_uri"), BW_STR(family "context_path"), \
			BW_STR(family "servlet_path"), BW_STR(family "path_info"), \
			BW_STR(family "query_string"), BW_STR(family "mapping") \
	}
	NAMES(BW_ATTR_FORWARD),
	NAMES(BW_ATTR_INCLUDE),
	NAMES(BW_ATTR_ASYNC),
#undef NAMES
};
enum family { FAMILY_FORWARD, FAMILY_INCLUDE, FAMILY_ASYNC };

/* ---- values ---- */

static struct path_values get_values(const struct bw_req *req)
{
	return (struct path_values){ req->context_path, req->servlet_path, req->path_info,
		                     req->servlet_name, req->pattern,      req->match_value };
}

static void put_values(struct bw_req *req, const struct path_values *v)
{
	req->context_path = v->context_path;
	req->servlet_path = v->servlet_path;
	req->path_info = v->path_info;
	req->servlet_name = v->servlet_name;
	req->pattern = v->pattern;
	req->match_value = v->match_value;
}

static struct req_origin origin_of(const struct req_target *t, const struct path_values *v)
{
	return (struct req_origin){ { [ORIGIN_URI] = t->uri,
		                      [ORIGIN_CONTEXT_PATH] = v->context_path,
		                      [ORIGIN_SERVLET_PATH] = v->servlet_path,
		                      [ORIGIN_PATH_INFO] = v->path_info,
		                      [ORIGIN_QUERY] = t->query,
		                      [ORIGIN_MAPPING] = v->pattern } };
}

/* As the getters show the request now. */
static struct req_origin origin_now(const struct bw_req *req)
{
	const struct req_target  t = { request_uri(req), request_query(req), request_path(req) };
	const struct path_values v = get_values(req);

	return origin_of(&t, &v);
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
	const struct path_values       saved = get_values(req);
	struct snapshot_hit            hit = { .context = c, .rest = d->rest };

	hit.pattern = match_find(&c->table, d->rest);
	if (!hit.pattern)
		return NULL;
	d->req = req;
	d->servlet = hit.pattern->servlet;
	dispatch_set_path_values(req, &hit);
	d->values = get_values(req);
	put_values(req, &saved);
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

/* ---- using it ---- */

/* What a dispatch changes, and what it puts in its place, for as long as it lasts. */
struct frame {
	const struct req_target *target, *included;
	struct req_query        *extra;
	const struct req_origin *origin;
	struct path_values       values;
	enum bw_dispatcher       type;
	const char              *note;
	bool                     body_only;
	struct bw_resource      *resource; /* of the engine */
	struct bw_str            resource_path, selectors, extension, suffix;

	struct req_target own_target;
	struct req_query  own_query;
	struct req_origin own_origin;
	struct req_attr   attributes[ORIGIN_VALUES];
	bool              pushed; /* attributes */
};

static void enter(struct bw_req *req, struct frame *f, enum bw_dispatcher type)
{
	f->target = req->target;
	f->included = req->included;
	f->extra = req->extra;
	f->origin = req->origin;
	f->values = get_values(req);
	f->type = req->dispatcher;
	f->note = req->fiber ? fiber_note(req->fiber) : NULL;
	f->body_only = req->body_only;
	f->resource = req->resource;
	f->resource_path = req->resource_path;
	f->selectors = req->selectors;
	f->extension = req->extension;
	f->suffix = req->suffix;
	f->pushed = false;
	req->dispatcher = type;
	req->nested++;
}

static void leave(struct bw_req *req, const struct frame *f)
{
	if (f->pushed)
		attr_pop(req, f->attributes, ORIGIN_VALUES);
	req->target = f->target;
	req->included = f->included;
	req->extra = f->extra;
	req->origin = f->origin;
	put_values(req, &f->values);
	req->dispatcher = f->type;
	req->body_only = f->body_only;
	req->resource = f->resource;
	req->resource_path = f->resource_path;
	req->selectors = f->selectors;
	req->extension = f->extension;
	req->suffix = f->suffix;
	req->nested--;
	if (f->note)
		fiber_set_note(req->fiber, f->note);
}

static void push_attributes(struct bw_req *req, struct frame *f, enum family family,
                            const struct req_origin *o)
{
	for (size_t i = 0; i < ORIGIN_VALUES; i++)
		f->attributes[i] = (struct req_attr){ .name = attribute_names[family][i],
			                              .value = o->values[i] };
	attr_push(req, f->attributes, ORIGIN_VALUES);
	f->pushed = true;
}

static void push_query(struct bw_req *req, struct frame *f, struct bw_str query)
{
	if (!query.p)
		return;
	f->own_query = (struct req_query){ .next = req->extra, .query = query };
	req->extra = &f->own_query;
}

/* The getters show the target; the first dispatch of this kind keeps what they showed before. */
static void move_to(struct bw_req *req, struct frame *f, const struct bw_request_dispatcher *d,
                    enum family family)
{
	if (!req->origin) {
		f->own_origin = origin_now(req);
		req->origin = &f->own_origin;
	}
	if (family == FAMILY_ASYNC || !req->forwarded)
		push_attributes(req, f, family, req->origin);
	push_query(req, f, d->target.query);
	f->own_target = d->target;
	if (!d->target.query.p)
		f->own_target.query = request_query(req);
	req->target = &f->own_target;
	req->included = NULL;
	put_values(req, &d->values);
}

static struct dispatch plan(struct bw_req *req, const struct bw_request_dispatcher *d,
                            enum bw_dispatcher type)
{
	struct dispatch       run = dispatch_of(d->servlet, type, d->rest);
	struct snapshot_step *steps;
	size_t                n = 0;

	if (!d->named || run.n_steps == 0)
		return run;
	/* There is no path: only filters that name the servlet. */
	steps = arena_alloc(&req->arena, run.n_steps * sizeof(*steps));
	for (size_t i = 0; i < run.n_steps; i++)
		if (reading_filters_name(run.steps[i].filter->reading, d->servlet->name))
			steps[n++] = (struct snapshot_step){ run.steps[i].filter, true };
	run.steps = steps;
	run.n_steps = n;
	return run;
}

static int check(const struct bw_req *req, const struct bw_request_dispatcher *d)
{
	int r = request_check(req);

	if (r != BW_OK)
		return r;
	if (!d || d->req != req)
		return BW_EINVAL;
	if (req->nested >= DISPATCHER_DEPTH || fiber_stack_left() < STACK_RESERVE)
		return BW_ECYCLE;
	return BW_OK;
}

int dispatcher_forward(struct bw_req *req, struct bw_request_dispatcher *d)
{
	struct frame    f;
	struct dispatch run;
	bool            forwarded = req->forwarded;
	int             err = check(req, d);

	if (err != BW_OK)
		return err;
	if (req->committed || req->closed)
		return BW_ESTATE;
	response_reset_body(req);
	enter(req, &f, BW_FORWARD);
	run = plan(req, d, BW_FORWARD);
	if (!d->named) {
		move_to(req, &f, d, FAMILY_FORWARD);
		req->forwarded = true;
	}
	err = dispatch_serve(&run, req);
	req->forwarded = forwarded;
	leave(req, &f);
	/* Finished, unless it goes on asynchronously. An error is the caller's to pass on or to mend. */
	if (err == BW_OK && !async_is_open(req))
		req->closed = true;
	return err;
}

int dispatcher_include(struct bw_req *req, struct bw_request_dispatcher *d)
{
	struct frame      f;
	struct dispatch   run;
	struct req_origin o;
	bool              closed = req->closed;
	int               err = check(req, d);

	if (err != BW_OK)
		return err;
	enter(req, &f, BW_INCLUDE);
	run = plan(req, d, BW_INCLUDE);
	if (!d->named) {
		o = origin_of(&d->target, &d->values);
		push_attributes(req, &f, FAMILY_INCLUDE, &o);
		push_query(req, &f, d->target.query);
		req->included = &d->target;
	}
	req->body_only = true;
	err = dispatch_serve(&run, req);
	leave(req, &f);
	req->closed = closed; /* a forward in there finished what it was included for, no more */
	return err;
}

int dispatcher_async(struct bw_req *req, struct bw_request_dispatcher *d,
                     struct admitted **admitted)
{
	const struct dispatch *around = req->whiteboard;
	struct frame           f;
	struct dispatch        run;
	struct admitted       *a;
	bool                   is_admitted;
	int                    err;

	enter(req, &f, BW_ASYNC);
	req->nested--; /* nobody has called it */
	run = plan(req, d, BW_ASYNC);
	move_to(req, &f, d, FAMILY_ASYNC);
	req->whiteboard = NULL;
	err = dispatch_begin(&run, req, &is_admitted);
	req->whiteboard = around;
	req->nested++;
	leave(req, &f);
	if (is_admitted) {
		a = arena_alloc(&req->arena, sizeof(*a));
		*a = (struct admitted){ *admitted, d->servlet->helper };
		*admitted = a;
	}
	return err;
}
