/* Asynchronous requests. The request's fiber stays: where the servlet has returned it parks, and goes on
 * when there is word from anywhere; so all that the bundle is told, and all that it writes, happens on
 * that fiber, and what waits for the end simply comes after it.
 *
 *    servlet: start ------> STARTED <------------------------------ start --- RUNNING
 *                             |  complete, or time is up                         |    \
 *    any thread: word ----->  +-----------------------> COMPLETE --> OVER        |     returns
 *                             |  dispatch                                        |      |
 *                             +-----------------------> DISPATCH ----------------+   COMPLETE
 *
 * Word comes through async_word.c and the loop, which wakes the fiber: only there may libh2o be called. A
 * request parked here has no deadline but its own time-out.
 *
 * Owns: a struct bw_async has one owner in the request and one in the bundle for each start. Runs in: the
 * request's fiber, and the loop (on_due). Fails with: BW_ESTATE, BW_EINVAL; BW_EGONE and BW_ETIME when
 * nobody listens any more. Tests: tests/unit/whiteboard/async_test.c, tests/conformance (F, K, N). */
#include "async_impl.h"
#include "dispatcher.h"

#include <base/fatal.h>
#include <fiber.h>
#include <stdlib.h>

#define TIMEOUT_MS     30000u
#define MAX_DISPATCHES 1000u /* of one request */

struct listening {
	struct listening               *next;
	const struct bw_async_listener *listener;
	void                           *self;
};

static struct bw_async *open_ones;    /* that have been started and have not ended */
static uint64_t         drain_due_us; /* 0: the worker does not end */

/* ---- starting ---- */

bool async_is_open(const struct bw_req *req)
{
	return req->async && async_state_of(req->async) < ASYNC_RUNNING;
}

/* Everything the request has come through since the client, or an asynchronous dispatch, sent it. */
static bool is_supported(const struct bw_req *req)
{
	if (!req->whiteboard)
		return false;
	for (const struct dispatch *d = req->whiteboard; d; d = d->outer)
		if (d->sync || !d->servlet->async)
			return false;
	return true;
}

static void release_with_request(void *arg)
{
	async_release(arg);
}

static void forget(struct req_wait *w)
{
	async_end_wait((struct bw_async *)w);
}

static void on_due(struct loop_timer *t)
{
	struct bw_async *a = (struct bw_async *)((char *)t - offsetof(struct bw_async, timer));

	a->timed_out = true;
	async_wake(a);
}

static struct bw_async *make(struct bw_req *req)
{
	struct bw_async *a = xcalloc(1, sizeof(*a));

	a->wait.cancel = forget;
	a->timer.on_due = on_due;
	a->refs = 1;
	a->state = ASYNC_RUNNING;
	a->last_post = &a->posts;
	a->last_listener = &a->listeners;
	a->req = req;
	a->next_open = open_ones;
	a->at_open = &open_ones;
	if (open_ones)
		open_ones->at_open = &a->next_open;
	open_ones = a;
	arena_on_done(&req->arena, release_with_request, a);
	return a;
}

int async_start(struct bw_req *req, struct bw_async **ret)
{
	struct bw_async *a = req->async;
	int              r = request_check(req);

	if (r != BW_OK)
		return r;
	if (req->closed || !is_supported(req))
		return BW_ESTATE;
	if (!a)
		a = req->async = make(req);
	if (!async_restart(a))
		return BW_ESTATE;
	a->timeout_ms = TIMEOUT_MS;
	a->due_us = 0;
	a->timed_out = false;
	*ret = a;
	return BW_OK;
}

int async_set_timeout(struct bw_async *a, uint32_t ms)
{
	if (!a)
		return BW_EINVAL;
	if (async_state_of(a) != ASYNC_STARTED)
		return BW_ESTATE;
	a->timeout_ms = ms;
	a->due_us = 0;
	return BW_OK;
}

int async_listen(struct bw_async *a, const struct bw_async_listener *listener, void *self)
{
	struct listening *l;

	if (!a || !listener || listener->size < sizeof(*listener))
		return BW_EINVAL;
	if (async_state_of(a) == ASYNC_OVER)
		return BW_ESTATE;
	l = arena_alloc(&a->req->arena, sizeof(*l));
	*l = (struct listening){ NULL, listener, self };
	*a->last_listener = l;
	a->last_listener = &l->next;
	return BW_OK;
}

/* ---- waiting ---- */

/* Those that were accepted are run, also when the request is over: what they own is theirs to free. */
static void run_posts(struct bw_async *a)
{
	struct post *p;

	while ((p = async_take_post(a)) != NULL) {
		p->fn(a->req, p->arg);
		free(p);
	}
}

/* When its time is up; 0: never. */
static uint64_t due_us(struct bw_async *a, uint64_t now_us)
{
	if (a->timeout_ms > 0 && a->due_us == 0)
		a->due_us = now_us + UINT64_C(1000) * a->timeout_ms;
	if (drain_due_us > 0 && (a->due_us == 0 || a->due_us > drain_due_us))
		return drain_due_us;
	return a->due_us;
}

/* Parks until there is word or time is up. BW_EGONE: the client is not there any more. */
static int park(struct bw_async *a)
{
	struct bw_req *req = a->req;
	uint64_t       now_us = loop_now_us(), end_us = due_us(a, now_us);
	int            r;

	a->timed_out = end_us > 0 && end_us <= now_us;
	if (a->timed_out || !async_begin_wait(a))
		return BW_OK;
	if (end_us > 0)
		loop_timer_link(&a->timer, (uint32_t)((end_us - now_us + 999) / 1000));
	req->unhurried = true;
	r = request_park(req, &a->wait);
	req->unhurried = false;
	loop_timer_unlink(&a->timer);
	return r;
}

/* The listeners may still decide; else it is an error of ours, and not one that has a name. */
static void time_out(struct bw_async *a)
{
	for (const struct listening *l = a->listeners; l; l = l->next)
		if (l->listener->on_timeout)
			l->listener->on_timeout(l->self, a->req, a);
	if (async_move(a, ASYNC_STARTED, ASYNC_COMPLETE) &&
	    response_send_error(a->req, 500, NULL) == BW_ESTATE)
		a->req->truncated = true;
}

static int wait_for_word(struct bw_async *a)
{
	int r = BW_OK;

	while (r == BW_OK) {
		run_posts(a);
		if (async_state_of(a) != ASYNC_STARTED)
			return request_check(a->req);
		if (a->timed_out)
			time_out(a);
		else
			r = park(a);
	}
	return r;
}

/* BW_OK: a listener has decided what becomes of it; else err. */
static int tell_error(struct bw_async *a, int err)
{
	free(async_set_state(a, ASYNC_STARTED));
	for (const struct listening *l = a->listeners; l; l = l->next)
		if (l->listener->on_error)
			l->listener->on_error(l->self, a->req, a, err);
	if (request_check(a->req) != BW_OK || async_state_of(a) == ASYNC_STARTED)
		return err;
	return BW_OK;
}

static int redispatch(struct bw_async *a, struct admitted **admitted)
{
	struct bw_request_dispatcher *d;
	char                         *path = async_set_state(a, ASYNC_RUNNING);
	int                           err;

	d = path ? dispatcher_of_context(a->req, bw_str(path)) : dispatcher_of_self(a->req);
	free(path);
	if (++a->dispatches > MAX_DISPATCHES)
		err = BW_ECYCLE;
	else if (d)
		err = dispatcher_async(a->req, d, admitted);
	else
		err = response_send_error(a->req, 404, NULL);
	async_move(a, ASYNC_RUNNING, ASYNC_COMPLETE);
	return err;
}

static void end(struct bw_async *a)
{
	*a->at_open = a->next_open;
	if (a->next_open)
		a->next_open->at_open = a->at_open;
	free(async_set_state(a, ASYNC_OVER));
	run_posts(a);
	for (const struct listening *l = a->listeners; l; l = l->next)
		if (l->listener->on_complete)
			l->listener->on_complete(l->self, a->req);
}

int async_await(struct bw_req *req, int err)
{
	struct bw_async *a = req->async;
	struct admitted *admitted = NULL;

	/* From here on it is the servlet's bundle that listens and writes. */
	if (req->fiber)
		fiber_set_note(req->fiber,
		               req->later ? req->later->note : req->whiteboard->servlet->note);
	for (;;) {
		if (err == BW_OK)
			err = wait_for_word(a);
		if (err != BW_OK)
			err = tell_error(a, err);
		if (err != BW_OK || async_state_of(a) != ASYNC_DISPATCH)
			break;
		err = redispatch(a, &admitted);
	}
	end(a);
	for (; admitted; admitted = admitted->next)
		dispatch_finish(admitted->helper, req);
	return err;
}

void async_drain(uint32_t ms)
{
	struct bw_async *next;

	drain_due_us = loop_now_us() + UINT64_C(1000) * ms;
	/* Each parks anew, if it is not through; who ends takes only itself out. */
	for (struct bw_async *a = open_ones; a; a = next) {
		next = a->next_open;
		async_wake(a);
	}
}
