/* gateway/management.c: the three pages, and one probe for all who ask at the same time. */
#include "gateway/management.c"

#include "fiber.h"
#include "http/internal.h"
#include "offload.h"

#include <criterion/criterion.h>

struct http_server http_server; /* internal.h's; transport and server are not linked here */

static struct shared_worker own;
static int                  probes, ended;
static const char          *verdict;

static void stopped(struct bw_req *req)
{
	if (req->state == REQ_RESPONDING) {
		ended++;
		request_release(req);
	}
}

static const char *probe(struct bw_req *req)
{
	probes++;
	if (offload_sleep_ms(req, 30) != BW_OK)
		return "cut off";
	return verdict;
}

static struct bw_req *ask(const char *method, const char *path)
{
	struct bw_req *req = request_new();

	req->method = bw_str(method);
	req->path = bw_str(path);
	cr_assert(request_start(req, management_serve));
	return req;
}

static void init(void)
{
	struct shared *shared = shared_map(2);

	atomic_store(&shared->restarts, 7);
	atomic_store(&shared->worker[1].requests, 41);
	atomic_store(&shared->worker[1].responses[4], 5);
	atomic_store(&shared->worker[0].in_requests, 3);
	atomic_store(&shared->worker[1].crashes, 6);
	atomic_store(&shared->worker[0].ready, 1);
	atomic_store(&shared->worker[1].ready, 1);
	fiber_pool_init(16);
	request_on_stop(stopped);
	loop_init(0, &own);
	management_init(shared, probe);
}

static void done(void)
{
	loop_done();
	request_pool_done();
	fiber_pool_done();
}

static void expect(struct bw_req *req, int status, const char *body)
{
	cr_expect(req->status == status, "%s: %d", req->path.p, req->status);
	buf_append(&req->body, "", 1);
	cr_expect(strstr((char *)buf_data(&req->body), body) != NULL, "%s: %s", req->path.p,
	          (char *)buf_data(&req->body));
	request_release(req);
}

static void run_until(int n)
{
	while (ended < n)
		loop_turn();
}

Test(management, pages, .init = init)
{
	expect(ask("GET", "/health/live"), 200, "live\n");
	expect(ask("GET", "/"), 404, "404 Not Found");
	expect(ask("GET", "/health/live/"), 404, "404");
	expect(ask("POST", "/metrics"), 405, "405");
	expect(ask("GET", "/metrics"), 200, "\nboardwalk_worker_restarts_total 7\n");
	expect(ask("GET", "/metrics"), 200, "\nboardwalk_requests_total{worker=\"1\"} 41\n");
	expect(ask("GET", "/metrics"), 200,
	       "\nboardwalk_responses_total{worker=\"1\",class=\"4xx\"} 5\n");
	expect(ask("GET", "/metrics"), 200, "\nboardwalk_requests_in_flight{worker=\"0\"} 3\n");
	expect(ask("GET", "/metrics"), 200, "\nboardwalk_crashes_total{worker=\"1\"} 6\n");
	cr_expect(probes == 0);
	done();
}

Test(management, one_probe_for_all, .init = init)
{
	struct bw_req *req[5];

	for (int i = 0; i < 5; i++)
		req[i] = ask("GET", "/health/ready");
	cr_expect(probes == 1 && ended == 0);
	run_until(5);
	for (int i = 0; i < 5; i++)
		expect(req[i], 200, "ready\n");
	verdict = "repo is away";
	state.known_us = loop_now_us();
	expect(ask("GET", "/health/ready"), 200, "ready\n"); /* remembered */
	cr_expect(probes == 1);
	state.known_us -= REMEMBER_US;
	req[0] = ask("GET", "/health/ready");
	run_until(7);
	expect(req[0], 503, "repo is away\n");
	cr_expect(probes == 2);
	done();
}

/* Each worker has connections of its own: a node is ready when all have. */
Test(management, every_worker_has_to_be_ready, .init = init)
{
	_Atomic uint32_t *other = &((struct shared *)state.shared)->worker[1].ready;
	struct bw_req    *req;

	atomic_store(other, 0);
	req = ask("GET", "/health/ready");
	run_until(1);
	expect(req, 503, "a worker is not connected yet\n");
	atomic_store(other, 1);
	expect(ask("GET", "/health/ready"), 200, "ready\n");
	done();
}

/* The others accept in its place; but nobody does at the first start. */
Test(management, one_that_is_replaced_is_not_waited_for, .init = init)
{
	struct shared_worker *other = &((struct shared *)state.shared)->worker[1];

	struct bw_req *req = ask("GET", "/health/ready");

	run_until(1);
	expect(req, 200, "ready\n");
	atomic_store(&other->ready, 0);
	atomic_store(&other->started, 1);
	expect(ask("GET", "/health/ready"), 200, "ready\n");
	atomic_store(&other->accepting, 1);
	expect(ask("GET", "/health/ready"), 503, "a worker is not connected yet\n");
	done();
}

/* The one who probes goes away: its verdict is none, and another of those who wait takes over. */
Test(management, the_prober_leaves, .init = init)
{
	struct bw_req *a = ask("GET", "/health/ready"), *b = ask("GET", "/health/ready"),
		      *c = ask("GET", "/health/ready"), *d = ask("GET", "/health/ready");

	request_abort(c, false); /* while it waits */
	cr_expect(ended == 1);
	request_abort(a, false);
	cr_expect(ended == 2);
	run_until(4);
	cr_expect(probes == 2);
	expect(b, 200, "ready\n");
	expect(d, 200, "ready\n");
	request_release(a);
	request_release(c);
	done();
}
