/* Forward, include, and the asynchronous dispatch (Jakarta Servlet 9.2 to 9.7).
 *
 *                 getters       attributes    parameters     response
 *    forward      the target's  forward.*     query's first  body dropped, finished on return
 *    include      unchanged     include.*     query's first  only the body may be added to
 *    async        the target's  async.*       query's first  as it stands
 *    by name      unchanged     unchanged     unchanged      as above
 *
 * Everything a dispatch changes in the request is saved on the stack of the one who dispatches and put
 * back in brackets, so that a request that dispatches nothing has no more than pointers that stay NULL.
 *
 * Owns: nothing. Runs in: the request's fiber. Fails with: BW_ESTATE (committed or finished), BW_EINVAL
 * (not a dispatcher of this request), BW_ECYCLE (too deep), what the servlet returns.
 * Tests: tests/conformance (F, G, H, K), tests/unit/whiteboard/dispatcher_test.c. */
#include "async.h"
#include "attr.h"
#include "dispatcher_impl.h"

#include <fiber.h>

/* What must be left of the stack for a servlet that is dispatched to. */
#define STACK_RESERVE (64u * 1024u)

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
	const struct path_values v = dispatcher_get_values(req);

	return origin_of(&t, &v);
}

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
	f->values = dispatcher_get_values(req);
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
	dispatcher_put_values(req, &f->values);
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
	dispatcher_put_values(req, &d->values);
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
	struct dispatch *around = req->whiteboard;
	struct frame     f;
	struct dispatch  run;
	struct admitted *a;
	bool             is_admitted;
	int              err;

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
