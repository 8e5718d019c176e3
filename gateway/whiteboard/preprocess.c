/* Preprocessors: they run before any context is known, and see on the way back what was answered.
 *
 *   preprocess_request -> a -> b -> dispatch_request: resolution ... error page
 *                         a <- b <-  the error that was returned, answered already
 *
 * One that crashed a worker is not run for a while, and not left out either, since it may be there for
 * protection: every request is answered 503 in its place.
 *
 * Owns: nothing. Runs in: the request's fiber. Tests: tests/conformance (H),
 * tests/unit/gateway/crashes_test.c. */
#include "preprocess.h"

#include "dispatch.h"
#include "fault.h"

#include <bundle/crash_limits.h>
#include <fiber.h>

/* On the stack of preprocess_request. */
struct preprocess {
	int answered; /* an error that came out of the whiteboard, with its page */
};

/* No context yet, or not any more: the path as a whole. */
static void set_path_values(struct bw_req *req)
{
	req->dispatcher = BW_REQUEST;
	req->context = req->snapshot->server;
	req->context_path = req->servlet_path = BW_STR("");
	req->path_info = req->path;
	req->servlet_name = req->pattern = req->match_value = BW_ABSENT;
}

static int run_inside(struct preprocess *p, struct bw_req *req)
{
	struct fiber_subject outer = { NULL, NULL };

	if (req->fiber)
		outer = fiber_subject(req->fiber);
	p->answered = dispatch_request(req);
	if (req->fiber)
		fiber_set_subject(req->fiber, outer);
	req->error_status = 0; /* from here on it is what a preprocessor sends */
	set_path_values(req);
	return p->answered;
}

/* What it passes the request on to has a subject of its own, and leaves this one as it was. */
static int call(const struct snapshot_filter *f, struct bw_req *req, struct bw_chain *chain)
{
	struct fiber_subject outer;
	int                  err;

	if (!req->fiber)
		return f->type->filter(f->self, req, chain);
	outer = fiber_subject(req->fiber);
	fiber_set_subject(req->fiber, (struct fiber_subject){ PREPROCESS_SCOPE, f->subject });
	fiber_set_note(req->fiber, f->note);
	err = f->type->filter(f->self, req, chain);
	fiber_set_subject(req->fiber, outer);
	return err;
}

int preprocess_from(struct preprocess *p, struct bw_req *req, size_t i)
{
	const struct snapshot *s = req->snapshot;

	for (; i < s->n_preprocessors; i++) {
		const struct snapshot_filter *f = s->preprocessors[i];
		struct bw_chain chain = { .preprocess = p, .next = i + 1, .note = f->note };

		if (!f->type->filter)
			continue;
		if (f->limit && limits_answer(f->limit, req))
			return BW_OK;
		return call(f, req, &chain);
	}
	return run_inside(p, req);
}

void preprocess_request(struct bw_req *req)
{
	struct preprocess p = { BW_OK };
	int               err;

	set_path_values(req);
	err = preprocess_from(&p, req, 0);
	if (err > BW_OK || err == p.answered)
		err = BW_OK;
	if (err != BW_OK || req->error_status != 0)
		fault_answer(req, NULL, NULL, err);
}
