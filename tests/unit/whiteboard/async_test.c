/* gateway/whiteboard/async.c: word from threads, time-outs, clients that leave, and what happens in
 * which order. */
#include "site.h"

#include <pthread.h>

static struct bw_async *kept;
static int              results[4];
static unsigned         completed, timed_out, failed, served;
static int              failed_with;
static int (*on_timeout_do)(struct bw_async *a); /* what the listener decides */
static int (*on_error_do)(struct bw_async *a);
static uint32_t timeout_ms;
static int      servlet_returns;
static unsigned written;

/* ---- the bundle ---- */

static void tell_complete(void *self, struct bw_req *req)
{
	(void)self, (void)req;
	completed++;
}

static void tell_timeout(void *self, struct bw_req *req, struct bw_async *a)
{
	(void)self, (void)req;
	timed_out++;
	if (on_timeout_do)
		on_timeout_do(a);
}

static void tell_error(void *self, struct bw_req *req, struct bw_async *a, int err)
{
	(void)self, (void)req;
	failed++;
	failed_with = err;
	if (on_error_do)
		on_error_do(a);
}

static const struct bw_async_listener listener = { .size = sizeof(listener),
	                                           .on_complete = tell_complete,
	                                           .on_timeout = tell_timeout,
	                                           .on_error = tell_error };

static int start(void *self, struct bw_req *req)
{
	(void)self;
	served++;
	results[0] = async_start(req, &kept);
	if (results[0] != BW_OK)
		return results[0];
	async_set_timeout(kept, timeout_ms);
	async_listen(kept, &listener, NULL);
	return servlet_returns;
}
static const struct bw_servlet start_type = { .size = sizeof(start_type), .service = start };

static int write_type_of_dispatch(void *self, struct bw_req *req)
{
	(void)self;
	return response_write(req, req->dispatcher == BW_ASYNC ? "A" : "R", 1);
}
static const struct bw_servlet t_type = { .size = sizeof(t_type),
	                                  .service = write_type_of_dispatch };

static void write_x(struct bw_req *req, void *arg)
{
	written++;
	*(int *)arg = response_write(req, "x", 1);
}

static int dispatch_to_t(struct bw_async *a)
{
	return async_dispatch(a, BW_STR("/t"));
}

static void set_up(void)
{
	site_start();
	site_servlet("/start", &start_type);
	site_servlet("/t", &t_type);
}

TestSuite(async, .init = set_up, .fini = site_stop);

/* ---- threads ---- */

static void *answer_in_a_thread(void *arg)
{
	for (int i = 0; i < 3; i++)
		if (async_run(arg, write_x, &results[1]) != BW_OK)
			results[2]++;
	results[2] += async_complete(arg);
	results[3] = async_run(arg, write_x, &results[1]);
	async_release(arg);
	return NULL;
}

Test(async, is_answered_by_a_thread)
{
	struct bw_req *req = site_begin("/start");
	pthread_t      thread;

	cr_assert(site_ended == false && req->state == REQ_PARKED && req->unhurried);
	pthread_create(&thread, NULL, answer_in_a_thread, kept);
	site_wait();
	pthread_join(thread, NULL);
	cr_assert(eq(int, req->status, 200));
	cr_assert(site_body_is(req, "xxx"));
	cr_assert(eq(int, results[2], 0));
	cr_assert(eq(int, results[3], BW_ESTATE));
	cr_assert(eq(uint, completed, 1));
	cr_assert(eq(uint, timed_out + failed, 0));
	site_end(req);
}

/* Many requests and as many threads, each after its own request and all at once. */
Test(async, is_answered_by_many_threads)
{
	enum { N = 6, ROUNDS = 50 };
	struct bw_req *reqs[N];
	pthread_t      threads[N];

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < N; i++) {
			reqs[i] = site_begin("/start");
			pthread_create(&threads[i], NULL, answer_in_a_thread, kept);
		}
		for (int i = 0; i < N; i++) {
			while (reqs[i]->state != REQ_RESPONDING)
				fake_loop_turn(1000);
			pthread_join(threads[i], NULL);
			cr_assert(site_body_is(reqs[i], "xxx"));
			site_end(reqs[i]);
		}
	}
	cr_assert(eq(uint, completed, N * ROUNDS));
}

static int poke(void *self, struct bw_req *req)
{
	(void)self;
	async_run(kept, write_x, &results[1]);
	async_complete(kept);
	async_release(kept);
	return response_write(req, "poked", 5);
}
static const struct bw_servlet poke_type = { .size = sizeof(poke_type), .service = poke };

Test(async, is_answered_by_another_request)
{
	struct bw_req *waiting, *other;

	site_servlet("/poke", &poke_type);
	waiting = site_begin("/start");
	other = site_begin("/poke");
	cr_assert(other->state == REQ_RESPONDING && waiting->state == REQ_PARKED,
	          "nobody runs on another one's stack");
	cr_assert(site_body_is(other, "poked"));
	while (waiting->state == REQ_PARKED)
		fake_loop_turn(1000);
	cr_assert(site_body_is(waiting, "x"));
	request_release(waiting);
	request_release(other);
}

/* ---- time ---- */

Test(async, that_times_out_is_500)
{
	struct bw_req *req;

	timeout_ms = 20;
	req = site_begin("/start");
	site_wait();
	cr_assert(eq(int, req->status, 500));
	cr_assert(eq(uint, timed_out, 1));
	cr_assert(eq(uint, completed, 1));
	cr_assert(eq(uint, failed, 0));
	cr_assert(eq(int, async_complete(kept), BW_ESTATE));
	cr_assert(eq(int, async_dispatch(kept, BW_ABSENT), BW_ESTATE));
	cr_assert(eq(int, async_set_timeout(kept, 5), BW_ESTATE));
	cr_assert(eq(int, async_listen(kept, &listener, NULL), BW_ESTATE));
	site_end(req);
	cr_assert(eq(int, async_complete(kept), BW_ESTATE), "the request is freed, this is not");
	async_release(kept);
}

Test(async, time_out_is_the_listeners_to_decide)
{
	struct bw_req *req;

	timeout_ms = 20;
	on_timeout_do = async_complete;
	req = site_begin("/start");
	site_wait();
	cr_assert(eq(int, req->status, 200));
	site_end(req);
	async_release(kept);
	on_timeout_do = dispatch_to_t;
	req = site_begin("/start");
	site_wait();
	cr_assert(eq(int, req->status, 200));
	cr_assert(site_body_is(req, "A"));
	site_end(req);
	async_release(kept);
	cr_assert(eq(uint, completed, 2));
}

Test(async, that_waits_for_ever_ends_with_the_worker)
{
	struct bw_req   *first, *second;
	struct bw_async *of_first;

	first = site_begin("/start"); /* for ever: timeout_ms is 0 */
	of_first = kept;
	timeout_ms = 20;
	second = site_begin("/start");
	async_drain(200);
	cr_assert(first->state == REQ_PARKED && second->state == REQ_PARKED);
	while (second->state == REQ_PARKED)
		fake_loop_turn(1000);
	cr_assert(first->state == REQ_PARKED, "the shorter of the two times counts");
	while (first->state == REQ_PARKED)
		fake_loop_turn(1000);
	cr_assert(eq(int, first->status, 500));
	cr_assert(eq(int, second->status, 500));
	cr_assert(eq(uint, timed_out, 2));
	request_release(first);
	request_release(second);
	async_release(of_first);
	async_release(kept);
}

/* ---- the client, and errors ---- */

Test(async, client_that_leaves_is_told_and_nothing_is_lost)
{
	struct bw_req *req = site_begin("/start");

	cr_assert(eq(int, async_run(kept, write_x, &results[1]), BW_OK));
	request_abort(req, false);
	cr_assert(site_ended);
	cr_assert(eq(uint, failed, 1));
	cr_assert(eq(int, failed_with, BW_EGONE));
	cr_assert(eq(uint, completed, 1));
	cr_assert(eq(uint, written, 1), "what was accepted is run");
	cr_assert(eq(int, results[1], BW_EGONE));
	site_end(req);
	fake_loop_turn(0); /* the bell of before finds nobody */
	cr_assert(eq(int, async_run(kept, write_x, &results[1]), BW_ESTATE));
	async_release(kept);
}

Test(async, error_of_the_servlet_ends_it)
{
	struct bw_req *req;

	servlet_returns = BW_EBUSY;
	req = site_begin("/start");
	cr_assert(site_ended);
	cr_assert(eq(int, req->status, 503));
	cr_assert(eq(int, failed_with, BW_EBUSY));
	cr_assert(eq(uint, completed, 1));
	site_end(req);
	async_release(kept);
	on_error_do = dispatch_to_t;
	req = site_begin("/start");
	cr_assert(eq(int, req->status, 200));
	cr_assert(site_body_is(req, "A"));
	site_end(req);
	async_release(kept);
}

/* ---- dispatches ---- */

Test(async, is_dispatched_where_it_was)
{
	struct bw_req *req = site_begin("/start?q");

	cr_assert(eq(int, async_dispatch(kept, BW_STR("t")), BW_EINVAL));
	cr_assert(eq(int, async_dispatch(kept, BW_STR("")), BW_EINVAL));
	async_dispatch(kept, BW_ABSENT);
	async_release(kept);
	while (served < 2)
		fake_loop_turn(1000);
	cr_assert(site_ended == false, "it has started anew");
	async_complete(kept);
	site_wait();
	cr_assert(eq(uint, completed, 2));
	site_end(req);
	async_release(kept);
}

Test(async, is_404_where_nobody_is)
{
	struct bw_req *req = site_begin("/start");

	async_dispatch(kept, BW_STR("/nobody"));
	site_wait();
	cr_assert(eq(int, req->status, 404));
	cr_assert(eq(uint, completed, 1));
	site_end(req);
	async_release(kept);
}

static int go_round(void *self, struct bw_req *req)
{
	struct bw_async *a;

	(void)self;
	served++;
	if (async_start(req, &a) != BW_OK)
		return BW_EIO;
	async_dispatch(a, BW_ABSENT);
	async_release(a);
	return BW_OK;
}
static const struct bw_servlet round_type = { .size = sizeof(round_type), .service = go_round };

Test(async, does_not_go_round_for_ever)
{
	struct bw_req *req;

	site_servlet("/round", &round_type);
	req = site_begin("/round");
	cr_assert(site_ended);
	cr_assert(eq(int, req->status, 500));
	cr_assert(eq(uint, served, 1001));
	site_end(req);
}

/* ---- the servlet goes meanwhile ---- */

static unsigned destroyed;

static void count_destroy(void *self)
{
	(void)self;
	destroyed++;
}
static const struct bw_servlet mortal_type = { .size = sizeof(mortal_type),
	                                       .destroy = count_destroy,
	                                       .service = start };

Test(async, keeps_what_it_began_with)
{
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	const struct bw_service_object object = { .type = &mortal_type };
	const struct bw_prop           props[] = { BW_P_STRING(BW_SERVLET_PATTERN, "/mortal"),
		                                   BW_P_BOOL(BW_SERVLET_ASYNC, true) };
	struct bw_service             *s;
	struct bw_req                 *req;

	registry_register(site_registry, site_bundle(), interfaces, &object, props, 2, &s);
	req = site_begin("/mortal");
	registry_unregister(s);
	cr_assert(eq(uint, destroyed, 0));
	async_dispatch(kept, BW_ABSENT); /* it is still there, for this request */
	async_release(kept);
	while (served < 2)
		fake_loop_turn(1000);
	async_complete(kept);
	site_wait();
	cr_assert(eq(int, req->status, 200));
	cr_assert(eq(uint, destroyed, 0));
	site_end(req);
	cr_assert(eq(uint, destroyed, 1));
	async_release(kept);
}

/* ---- refused ---- */

static int start_twice(void *self, struct bw_req *req)
{
	struct bw_async *again;

	start(self, req);
	results[1] = async_start(req, &again);
	for (results[2] = 0; async_run(kept, write_x, &results[3]) == BW_OK; results[2]++)
		;
	results[3] = async_run(kept, write_x, &results[3]);
	return async_complete(kept);
}

static int start_late(void *self, struct bw_req *req, struct bw_chain *chain)
{
	int err = whiteboard_chain_next(chain, req);

	(void)self;
	results[1] = async_start(req, &kept);
	return err;
}
static const struct bw_servlet twice_type = { .size = sizeof(twice_type), .service = start_twice };
static const struct bw_filter  late_type = { .size = sizeof(late_type), .filter = start_late };

Test(async, starts_once_and_has_a_bounded_queue)
{
	struct bw_req *req;

	site_servlet("/twice", &twice_type);
	req = site_begin("/twice");
	cr_assert(site_ended);
	cr_assert(eq(int, results[0], BW_OK));
	cr_assert(eq(int, results[1], BW_ESTATE));
	cr_assert(eq(int, results[2], 1024));
	cr_assert(eq(uint, written, 1024));
	site_end(req);
	async_release(kept);
}

Test(async, needs_every_filter_to_support_it)
{
	const struct bw_prop props[] = { BW_P_STRING(BW_FILTER_PATTERN, "/*"),
		                         BW_P_STRING(BW_FILTER_ASYNC, "blah") };
	struct bw_req       *req;

	site_register(BW_FILTER, &late_type, props, 2);
	req = site_begin("/start");
	cr_assert(eq(int, results[0], BW_ESTATE));
	cr_assert(eq(int, results[1], BW_ESTATE));
	cr_assert(eq(int, req->status, 500));
	cr_assert(eq(uint, completed, 0));
	site_end(req);
}

Test(async, is_refused_what_makes_no_sense)
{
	const struct bw_async_listener old = { .size = sizeof(size_t) };
	struct bw_req                 *req = site_begin("/start");

	cr_assert(eq(int, async_listen(kept, &old, NULL), BW_EINVAL));
	cr_assert(eq(int, async_listen(kept, NULL, NULL), BW_EINVAL));
	cr_assert(eq(int, async_run(kept, NULL, NULL), BW_EINVAL));
	cr_assert(eq(int, async_run(NULL, write_x, NULL), BW_EINVAL));
	cr_assert(eq(int, async_complete(NULL), BW_EINVAL));
	cr_assert(eq(int, async_dispatch(NULL, BW_ABSENT), BW_EINVAL));
	cr_assert(eq(int, async_set_timeout(NULL, 1), BW_EINVAL));
	async_release(NULL);
	async_complete(kept);
	site_wait();
	site_end(req);
	async_release(kept);
}
