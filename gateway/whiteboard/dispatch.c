/* Serving one request: snapshot, context, security, filters, servlet.
 *
 *   snapshot_current -> [preprocessors -> ] snapshot_find -> handle_security -> filters ... servlet -> finish_security
 *                            |                 |                                        |
 *                            +--- nothing -----+---- denied, error ---------------------+-> fault.c
 *
 * A request holds its snapshot until it is freed, so whatever is registered or taken away meanwhile,
 * it completes with what it began with. Nothing is allocated on the way of an answer without error.
 *
 * Owns: the request's reference to the snapshot, through its arena. Runs in: the request's fiber.
 * Tests: tests/unit/whiteboard/dispatch_test.c, tests/conformance (A, C, F, H). */
#include "dispatch.h"

#include "async.h"
#include "attr.h"
#include "listener.h"
#include "preprocess.h"
#include "whiteboard.h"

#include <bundle/crash_limits.h>
#include <fiber.h>

/* Says whose code runs now: the watchdog names it if it never comes back. */
static void note(const struct bw_req *req, const char *text)
{
	if (req->fiber)
		fiber_set_note(req->fiber, text);
}

/* ---- the chain ---- */

static int run_from(struct dispatch *d, struct bw_req *req, size_t i)
{
	for (; i < d->n_steps; i++) {
		const struct snapshot_filter *f = d->steps[i].filter;
		struct bw_chain chain = { .dispatch = d, .next = i + 1, .note = f->note };

		if (!snapshot_step_runs(&d->steps[i], d->path, d->servlet->name))
			continue;
		d->sync |= !f->async;
		note(req, f->note);
		return f->type->filter ? f->type->filter(f->self, req, &chain)
		                       : whiteboard_chain_next(&chain, req);
	}
	note(req, d->servlet->note);
	return servlet_call(d->servlet->type, d->servlet->self, req);
}

int whiteboard_chain_next(struct bw_chain *chain, struct bw_req *req)
{
	int err;

	if (chain->used)
		return BW_ESTATE;
	chain->used = true;
	err = chain->preprocess ? preprocess_from(chain->preprocess, req, chain->next)
	                        : run_from(chain->dispatch, req, chain->next);
	note(req, chain->note);
	return err;
}

int dispatch_run(struct dispatch *d, struct bw_req *req)
{
	int err = run_from(d, req, 0);

	return err < 0 ? err : BW_OK; /* BW_DECLINED from a servlet: it has answered */
}

void dispatch_forbid_async(struct bw_req *req)
{
	req->whiteboard->sync = true;
}

struct bw_str dispatch_path(struct bw_str rest)
{
	return rest.n > 0 ? rest : BW_STR("/");
}

struct dispatch dispatch_of(const struct snapshot_servlet *servlet, enum bw_dispatcher type,
                            struct bw_str rest)
{
	const struct snapshot_chain *chain = &servlet->chains[type];

	return (struct dispatch){ .servlet = servlet,
		                  .steps = chain->steps,
		                  .n_steps = chain->n,
		                  .path = dispatch_path(rest) };
}

/* ---- path values ---- */

/* Context path + servlet path + path info is the canonical path, but for the pattern "" asked for
 * without a slash. */
void dispatch_set_path_values(struct bw_req *req, const struct snapshot_hit *hit)
{
	const struct pattern *p = hit->pattern->pattern;
	struct bw_str         rest = hit->rest;
	size_t                n;

	req->context = hit->context->context;
	req->context_path = hit->context->path;
	req->servlet_path = rest;
	req->path_info = BW_ABSENT;
	req->match_value = BW_STR("");
	req->pattern = p->text;
	req->servlet_name = hit->pattern->servlet->name;
	switch (p->kind) {
	case PATTERN_EXACT:
		req->match_value = (struct bw_str){ rest.p + 1, rest.n - 1 };
		break;
	case PATTERN_ROOT:
		req->servlet_path = BW_STR("");
		req->path_info = BW_STR("/");
		break;
	case PATTERN_PREFIX:
		n = p->key.n;
		req->servlet_path = hit->pattern->prefix;
		if (rest.n > n) {
			req->path_info = (struct bw_str){ rest.p + n, rest.n - n };
			req->match_value = (struct bw_str){ rest.p + n + 1, rest.n - n - 1 };
		}
		break;
	case PATTERN_EXTENSION:
		n = rest.n - 1 - (p->key.n + 1); /* without the first slash and ".html" */
		req->match_value = request_dup(req, (struct bw_str){ rest.p + 1, n });
		break;
	case PATTERN_DEFAULT:
		break;
	}
}

/* ---- security ---- */

static void take_identity(struct bw_req *req)
{
	struct bw_str user = attr_get(req, BW_ATTR_REMOTE_USER),
		      type = attr_get(req, BW_ATTR_AUTH_TYPE);

	if (user.p)
		req->remote_user = user;
	if (type.p)
		req->auth_type = type;
}

/* BW_OK: go on. BW_DECLINED: answered. */
static int admit(struct bw_req *req, const struct helper *h)
{
	int err;

	if (!h->type || !h->type->handle_security)
		return BW_OK;
	note(req, h->context->reading->note);
	err = h->type->handle_security(h->self, req);
	if (err == BW_OK && req->attrs)
		take_identity(req);
	/* It declined and did nothing: nobody else will answer. */
	if (err == BW_DECLINED && !req->committed && !req->closed && req->status == 200)
		response_send_error(req, 403, NULL);
	return err;
}

void dispatch_finish(const struct helper *h, struct bw_req *req)
{
	if (!h->type || !h->type->finish_security)
		return;
	note(req, h->context->reading->note);
	h->type->finish_security(h->self, req);
}

int dispatch_begin(struct dispatch *d, struct bw_req *req, bool *ret_admitted)
{
	int err;

	d->outer = req->whiteboard;
	req->whiteboard = d;
	req->upload = d->servlet->upload;
	err = admit(req, d->servlet->helper);
	*ret_admitted = err == BW_OK;
	if (err == BW_OK)
		err = dispatch_run(d, req);
	d->sync = true; /* it is too late to start anything */
	return err < 0 ? err : BW_OK;
}

int dispatch_serve(struct dispatch *d, struct bw_req *req)
{
	bool admitted;
	int  err = dispatch_begin(d, req, &admitted);

	/* What the client asked for directly lasts until its asynchronous work is through. */
	if (req->async && !d->outer) {
		err = async_await(req, err);
		if (req->later)
			err = req->later->finish(req, req->later, err);
	}
	if (admitted)
		dispatch_finish(d->servlet->helper, req);
	req->whiteboard = d->outer;
	if (d->outer)
		req->upload = d->outer->servlet->upload;
	return err;
}

/* ---- the request ---- */

static const struct bw_bundle *doubt;

void dispatch_doubt(const struct bw_bundle *b)
{
	doubt = b;
}

const struct bw_bundle *dispatch_doubtful(const struct snapshot_hit *hit)
{
	return hit && hit->pattern->pattern->kind <= PATTERN_ROOT ? NULL : doubt;
}

static void answer_doubt(struct bw_req *req)
{
	response_header(req, "retry-after", BW_STR("5"), true);
	response_builtin_page(req, 503);
}

static void release_snapshot(void *arg)
{
	snapshot_unref(arg);
}

int dispatch_request(struct bw_req *req)
{
	struct snapshot_hit hit;
	bool                found = snapshot_find(req->snapshot, req->path, &hit);
	struct dispatch     d;
	int                 err;

	if (doubt && dispatch_doubtful(found ? &hit : NULL)) {
		answer_doubt(req);
		return BW_OK;
	}
	if (!found) {
		fault_not_found(req, req->snapshot);
		return BW_OK;
	}
	dispatch_set_path_values(req, &hit);
	if (req->fiber)
		fiber_set_subject(req->fiber,
		                  (struct fiber_subject){ hit.context->context->reading->name.p,
		                                          hit.pattern->pattern->text.p });
	if (hit.pattern->limit && limits_answer(hit.pattern->limit, req))
		return BW_OK;
	if (hit.context->listens)
		listener_request_initialized(hit.context, req);
	d = dispatch_of(hit.pattern->servlet, BW_REQUEST, hit.rest);
	err = dispatch_serve(&d, req);
	if (err != BW_OK || req->error_status != 0)
		fault_answer(req, hit.context, hit.pattern->servlet, err);
	if (hit.context->listens)
		listener_request_destroyed(hit.context, req);
	return err;
}

void whiteboard_serve(struct bw_req *req)
{
	struct snapshot *s = snapshot_ref(snapshot_current());

	req->snapshot = s;
	arena_on_done(&req->arena, release_snapshot, s);
	req->dispatcher = BW_REQUEST;
	if (bw_str_eq(req->method, BW_STR("HEAD")))
		req->head_only = true;
	if (s->n_preprocessors > 0)
		preprocess_request(req);
	else
		dispatch_request(req);
}
