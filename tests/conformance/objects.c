/* What the things of a row do: servlets, filters and helpers that follow a small script. Each action is
 * a call of the public API, through the host table, as a bundle would make it.
 *
 *   label            writes the thing's label          write(t)        writes t
 *   chain            the rest of the chain             status(n)       sets the status
 *   header(N,v)      sets a header                     sendError(n,t)  ends with an error page
 *   flush            commits                           fail(name,t)    returns this error
 *   err(n)           returns this number               deny            returns BW_DECLINED
 *   block            waits for "resume"                user(u,type)    says who is there
 *   log              logs servlet path and path info   step(S B: /b)   any step of a row */
#include "world.h"

#include <base/fatal.h>
#include <boardwalk/boardwalk.h>
#include <stdlib.h>
#include <whiteboard/attr.h>

const struct bw_host *bw_host; /* as BW_BUNDLE defines it */

void objects_start(void)
{
	bw_host = bundles_host();
}

const char *const error_attributes[8] = { "status_code",  "message",       "request_uri",
	                                  "query_string", "method",        "servlet_name",
	                                  "exception",    "exception_type" };

struct object {
	struct thing *thing;
};

static char *text_of(struct bw_str s)
{
	return s.p ? text_dup(s.p, s.n) : NULL;
}

static char *kind_of(struct bw_str pattern)
{
	const char *kind;

	if (!pattern.p)
		return NULL;
	if (pattern.n == 0)
		kind = "CONTEXT_ROOT";
	else if (pattern.n == 1)
		kind = "DEFAULT";
	else if (pattern.p[0] == '*')
		kind = "EXTENSION";
	else
		kind = pattern.p[pattern.n - 1] == '*' ? "PATH" : "EXACT";
	return text_printf("%s", kind);
}

static void see(struct bw_req *req)
{
	static const char *const types[] = { "REQUEST", "FORWARD", "INCLUDE", "ASYNC", "ERROR" };
	struct seen             *s = &world_answer(req)->seen;

	s->cp = text_of(bw_req_get(req, BW_REQ_CONTEXT_PATH));
	s->sp = text_of(bw_req_get(req, BW_REQ_SERVLET_PATH));
	s->pi = text_of(bw_req_get(req, BW_REQ_PATH_INFO));
	s->uri = text_of(bw_req_get(req, BW_REQ_URI));
	s->query = text_of(bw_req_get(req, BW_REQ_QUERY));
	s->match = text_of(bw_req_get(req, BW_REQ_MATCH_VALUE));
	s->kind = kind_of(bw_req_get(req, BW_REQ_PATTERN));
	s->name = text_of(bw_req_get(req, BW_REQ_SERVLET_NAME));
	s->user = text_of(bw_req_get(req, BW_REQ_REMOTE_USER));
	s->auth = text_of(bw_req_get(req, BW_REQ_AUTH_TYPE));
	s->type = text_printf("%s", types[bw_req_dispatcher(req)]);
	for (size_t i = 0; i < 8; i++) {
		char *name = text_printf("jakarta.servlet.error.%s", error_attributes[i]);

		s->errors[i] = text_of(bw_req_attr(req, name));
	}
}

/* ---- actions ---- */

struct action {
	struct thing    *thing;
	struct bw_req   *req;
	struct bw_chain *chain; /* of a filter */
	const char      *a, *b; /* arguments, NULL if not given */
};

static int do_label(struct action *x)
{
	return bw_res_puts(x->req, x->thing->label);
}

static int do_write(struct action *x)
{
	return bw_res_puts(x->req, x->a);
}

static int do_chain(struct action *x)
{
	return bw_chain_next(x->chain, x->req);
}

static int do_status(struct action *x)
{
	return bw_res_status(x->req, atoi(x->a));
}

static int do_header(struct action *x)
{
	return bw_res_set_header(x->req, x->a, bw_str(x->b));
}

static int do_send_error(struct action *x)
{
	int err = bw_res_send_error(x->req, atoi(x->a), x->b);

	if (err == BW_ESTATE)
		world_log(&world.calls, "state");
	return BW_OK; /* what the caller does not return does not travel */
}

static int do_flush(struct action *x)
{
	return bw_res_flush(x->req);
}

static int do_fail(struct action *x)
{
	return bw_req_fail(x->req, x->a, x->b);
}

static int do_err(struct action *x)
{
	return atoi(x->a);
}

static int do_deny(struct action *x)
{
	(void)x;
	return BW_DECLINED;
}

static int do_user(struct action *x)
{
	int err = bw_req_set_attr(x->req, ATTR_REMOTE_USER, bw_str(x->a));

	return err == BW_OK ? bw_req_set_attr(x->req, ATTR_AUTH_TYPE, bw_str(x->b)) : err;
}

static int do_log(struct action *x)
{
	struct bw_str sp = bw_req_get(x->req, BW_REQ_SERVLET_PATH);
	struct bw_str pi = bw_req_get(x->req, BW_REQ_PATH_INFO);

	world_log(&world.calls, "sp %s", sp.p ? sp.p : "-");
	world_log(&world.calls, "pi %s", pi.p ? pi.p : "-");
	return BW_OK;
}

static int do_step(struct action *x)
{
	world_step(x->a);
	return BW_OK;
}

static int do_block(struct action *x)
{
	struct req_wait wait = { .cancel = NULL };

	return request_park(x->req, &wait);
}

/* A second call of the chain is refused with a state error, which the row wants to see. */
static int do_again(struct action *x)
{
	int err = bw_chain_next(x->chain, x->req);

	if (err == BW_ESTATE)
		world_log(&world.calls, "state");
	return BW_OK;
}

static const struct {
	const char *name;
	int (*fn)(struct action *x);
} actions[] = {
	{ "label", do_label },
	{ "write", do_write },
	{ "chain", do_chain },
	{ "again", do_again },
	{ "status", do_status },
	{ "header", do_header },
	{ "sendError", do_send_error },
	{ "flush", do_flush },
	{ "fail", do_fail },
	{ "err", do_err },
	{ "deny", do_deny },
	{ "user", do_user },
	{ "log", do_log },
	{ "step", do_step },
	{ "block", do_block },
};

static int run_action(struct action *x, const char *word)
{
	char        *name, *argument;
	struct words args = { NULL, 0 };

	x->a = x->b = NULL;
	if (!text_call(word, &name, &argument))
		name = text_printf("%s", word);
	else if (strcmp(name, "step") == 0)
		x->a = argument;
	else
		args = text_split(argument, ",");
	if (args.n > 0)
		x->a = text_value(args.items[0]);
	if (args.n > 1)
		x->b = text_value(args.items[1]);
	for (size_t i = 0; i < sizeof(actions) / sizeof(*actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return actions[i].fn(x);
	fatalx("no such action: %s", word);
}

static int run_script(struct thing *t, const char *script, struct bw_req *req,
                      struct bw_chain *chain)
{
	struct words  w = text_split(script, "+");
	struct action x = { .thing = t, .req = req, .chain = chain };

	for (size_t i = 0; i < w.n; i++) {
		int err = run_action(&x, w.items[i]);

		if (err != BW_OK)
			return err;
	}
	return BW_OK;
}

/* ---- the callbacks ---- */

static int on_init(void *self, const struct bw_config *cfg)
{
	struct thing *t = ((struct object *)self)->thing;

	world_log(&world.life, "init %s", t->label);
	for (size_t i = 0; i + 1 < t->params.n; i += 2)
		t->params.items[i + 1] = text_of(cfg->param(cfg, t->params.items[i]));
	if (t->on_init)
		run_script(t, t->on_init, NULL, NULL);
	return t->init_fails ? BW_EIO : BW_OK;
}

static void on_destroy(void *self)
{
	world_log(&world.life, "destroy %s", ((struct object *)self)->thing->label);
}

static int on_service(void *self, struct bw_req *req)
{
	struct thing *t = ((struct object *)self)->thing;

	world_log(&world.calls, "%s", t->label);
	see(req);
	return run_script(t, t->script ? t->script : "label", req, NULL);
}

static int on_filter(void *self, struct bw_req *req, struct bw_chain *chain)
{
	struct thing *t = ((struct object *)self)->thing;
	int           err;

	world_log(&world.calls, "%s", t->label);
	err = run_script(t, t->script ? t->script : "label+chain+label", req, chain);
	world_log(&world.calls, "%s", t->label);
	return err;
}

static int on_handle(void *self, struct bw_req *req)
{
	struct thing *t = ((struct object *)self)->thing;

	world_log(&world.calls, "handle");
	return t->script ? run_script(t, t->script, req, NULL) : BW_OK;
}

static void on_finish(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	world_log(&world.calls, "finish");
}

static void *on_make(void *self, struct bw_bundle *for_bundle)
{
	struct thing  *t = self;
	struct object *o;

	if (t->gives_null || (t->null_for && t->null_for == for_bundle))
		return NULL;
	o = xmalloc(sizeof(*o));
	o->thing = t;
	t->made++;
	return o;
}

static void on_release(void *self, void *object)
{
	((struct thing *)self)->released++;
	free(object);
}

static const struct bw_servlet servlet_type = {
	.size = sizeof(servlet_type),
	.init = on_init,
	.destroy = on_destroy,
	.service = on_service,
};
/* The same with a method table: GET only. */
static const struct bw_servlet get_type = {
	.size = sizeof(get_type),
	.init = on_init,
	.destroy = on_destroy,
	.get = on_service,
};
static const struct bw_filter filter_type = {
	.size = sizeof(filter_type),
	.init = on_init,
	.destroy = on_destroy,
	.filter = on_filter,
};
static const struct bw_context_helper helper_type = {
	.size = sizeof(helper_type),
	.handle_security = on_handle,
	.finish_security = on_finish,
};

struct bw_service_object thing_object(struct thing *t)
{
	struct bw_service_object o = { .type = t->kind == 'F'   ? (const void *)&filter_type
		                               : t->kind == 'C' ? (const void *)&helper_type
		                               : t->kind == 'G' ? (const void *)&get_type
		                                                : (const void *)&servlet_type };
	struct object           *single;

	if (t->factory) {
		o.self = t;
		o.make = on_make;
		o.release = on_release;
		return o;
	}
	single = text_alloc(sizeof(*single));
	single->thing = t;
	o.self = single;
	return o;
}
