/* gateway/request.c: the states, the two owners, and every order in which a wait can end. */
#include "gateway/request.c"

#include <criterion/criterion.h>
#include <signal.h>

static int             stops, cancels, result;
static struct bw_req  *stopped_req;
static struct req_wait wait_;
static bool            cancellable;

static void stopped(struct bw_req *req)
{
	stops++;
	stopped_req = req;
}

static void cancel(struct req_wait *w)
{
	cr_assert(w == &wait_);
	cancels++;
}

static void serve_wait(struct bw_req *req)
{
	wait_.cancel = cancellable ? cancel : NULL;
	result = request_park(req, &wait_);
}

static struct bw_req *begin(bool can_cancel)
{
	struct bw_req *req;

	fiber_pool_init(2);
	request_on_stop(stopped);
	cancellable = can_cancel;
	stops = cancels = 0;
	result = 1234;
	req = request_new();
	cr_assert(req->owners == 2 && req->state == REQ_NEW && req->status == 200);
	cr_assert(request_start(req, serve_wait));
	return req;
}

static void end(struct bw_req *req)
{
	cr_assert(req->state == REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
	fiber_pool_done();
}

Test(request, woken)
{
	struct bw_req *req = begin(true);

	cr_assert(req->state == REQ_PARKED && stops == 1 && stopped_req == req);
	request_wake(req);
	cr_assert(result == BW_OK && stops == 2 && cancels == 0);
	end(req);
}

Test(request, aborted_while_it_waits)
{
	for (int late = 0; late <= 1; late++) {
		struct bw_req *req = begin(true);

		request_abort(req, late);
		cr_assert(result == (late ? BW_ETIME : BW_EGONE) && cancels == 1 && stops == 2);
		cr_assert(request_check(req) == result);
		request_abort(req, true); /* over already: no more than a flag */
		cr_assert(stops == 2);
		end(req);
	}
}

Test(request, what_cannot_be_cancelled_is_waited_for)
{
	struct bw_req *req = begin(false);

	request_abort(req, false);
	cr_assert(req->state == REQ_PARKED && stops == 1 && result == 1234);
	request_wake(req);
	cr_assert(result == BW_EGONE && stops == 2);
	end(req);
}

static void serve_two_waits(struct bw_req *req)
{
	cr_assert(request_park(req, &wait_) == BW_EGONE);
	wait_.cancel = cancel;
	cr_assert(request_park(req, &wait_) == BW_EGONE); /* at once; forgotten again */
	cr_assert(cancels == 2);
	wait_.cancel = NULL;
	result = request_park(req, &wait_); /* parked all the same */
}

Test(request, waits_after_the_end)
{
	struct bw_req *req;

	fiber_pool_init(2);
	request_on_stop(stopped);
	wait_.cancel = cancel;
	req = request_new();
	cr_assert(request_start(req, serve_two_waits));
	request_abort(req, false);
	cr_assert(req->state == REQ_PARKED && cancels == 2);
	request_wake(req);
	cr_assert(result == BW_EGONE);
	end(req);
}

static void serve_once(struct bw_req *req)
{
	request_dup(req, BW_STR("x"));
}

Test(request, no_stack_no_start)
{
	struct bw_req *a = begin(true), *b, *c = request_new();

	b = request_new();
	cr_assert(request_start(b, serve_wait));
	cr_assert(!request_start(c, serve_once) && c->state == REQ_NEW);
	request_set_state(c, REQ_RESPONDING);
	request_release(c);
	request_release(c);
	request_wake(b);
	request_release(b);
	request_release(b);
	request_wake(a);
	end(a);
}

Test(request, memory_is_used_again)
{
	struct bw_req *req = request_new();
	uint8_t       *mem;

	buf_append(&req->body, "x", 1);
	mem = req->body.mem;
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	cr_assert(request_new() == req && req->body.mem == mem && buf_size(&req->body) == 0);
	buf_reserve(&req->body, RESPONSE_BUFFER + 1); /* too large to be kept */
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	cr_assert(request_new() == req && req->body.mem == NULL);
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
}

Test(request, body_read)
{
	struct bw_req *req = request_new();
	char           buf[8];
	size_t         n = 99;

	cr_assert(request_body_read(req, 0, buf, 8, &n) == BW_OK && n == 0);
	req->body_in = (const uint8_t *)"hello";
	req->body_length = 5;
	cr_assert(request_body_read(req, 3, buf, 8, &n) == BW_OK && n == 2 &&
	          memcmp(buf, "lo", 2) == 0);
	cr_assert(request_body_read(req, 5, buf, 8, &n) == BW_OK && n == 0);
	cr_assert(request_body_read(req, UINT64_MAX, buf, 8, &n) == BW_OK && n == 0);
	cr_assert(request_body_read(req, 1, buf, 2, &n) == BW_OK && n == 2 &&
	          memcmp(buf, "el", 2) == 0);
	req->body_in = NULL; /* libh2o's request is gone */
	cr_assert(request_body_read(req, 0, buf, 8, &n) == BW_EGONE);
	req->late = true;
	cr_assert(request_body_read(req, 0, buf, 8, &n) == BW_ETIME);
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
}

Test(request, impossible_moves_are_fatal, .exit_code = 1)
{
	struct bw_req *req = request_new();

	request_set_state(req, REQ_ENDED);
}

Test(request, waking_who_does_not_wait_is_fatal, .exit_code = 1)
{
	struct bw_req *req = begin(true);

	request_wake(req);
	request_wake(req);
}
