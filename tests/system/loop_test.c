/* loop_test.c - a servlet that takes its worker away, in an endless loop or by a crash, while both
 * workers are busy. Proves: it costs that one worker, for six seconds or for none, and nobody else
 * notices; the log says who it was; afterwards all is as before. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <support/http.h>
#include <support/instance.h>
#include <support/load.h>

#define N_CLIENTS 64u
#define BEGIN_MS  2000u /* when the servlet is asked */
#define AFTER_MS  3000u /* how long the load goes on when the worker must have been replaced */

/* What a client of the other worker may wait at most: the stuck one takes a core for itself. */
#ifdef BOARDWALK_SANITIZED
#define NORMAL_MS 4000u
#define START_MS  5000u /* of a worker */
#define CRASHED   "store to null pointer"
#else
#define NORMAL_MS 1000u
#define START_MS  1000u
#define CRASHED   "SIGSEGV in fiber request serving boardwalk.test:crash"
#endif

/* The first look that finds five seconds without a turn comes up to a second later. */
static const struct fault {
	const char *request, *log;
	uint64_t    least_ms, most_ms; /* until the worker is gone */
} faults[] = {
	{ "GET /t/loop HTTP/1.1\r\nHost: localhost\r\n\r\n",
	  "SIGABRT in fiber request serving boardwalk.test:loop", 5000, 6500 },
	{ "GET /t/crash HTTP/1.1\r\nHost: localhost\r\n\r\n", CRASHED, 0, 500 },
};

static const struct load_question questions[] = {
	{ "GET /test/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "Hello World" },
	{ "GET /content/test/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "Hello World" },
};

struct run {
	const struct fault  *fault;
	struct test_instance instance;
	struct load          load;
	struct http          asker; /* who asks for the servlet */
	bool                 asked;
	uint64_t             end_ms;
};

static bool ask_once(void *arg, uint64_t now_ms)
{
	struct run *r = arg;

	if (!r->asked && now_ms >= BEGIN_MS) {
		http_open(&r->asker, r->instance.port);
		r->asked = http_send(&r->asker, r->fault->request, strlen(r->fault->request));
	}
	return now_ms >= r->end_ms;
}

/* The first time since then that something bad was seen, to a bucket. */
static uint64_t first_bad(const struct load *load, uint64_t from_ms, uint64_t until_ms)
{
	while (from_ms < until_ms && load_bad(load, from_ms, from_ms + LOAD_BUCKET_MS) == 0)
		from_ms += LOAD_BUCKET_MS;
	return from_ms;
}

/* Clients of the worker that went lost a question, the others nothing at all. */
static void expect_two_kinds_of_clients(const struct load *load, const struct fault *f)
{
	unsigned lost = 0;
	uint64_t slowest = 0, slowest_lost = 0;

	for (unsigned n = 0; n < load->n_clients; n++) {
		const struct load_client_counts *c = &load->of_client[n];

		cr_expect(gt(u64, c->ok, 0), "client %u", n);
		if (c->bad > 0) {
			lost++;
			slowest_lost = c->slowest_ms > slowest_lost ? c->slowest_ms : slowest_lost;
		} else {
			slowest = c->slowest_ms > slowest ? c->slowest_ms : slowest;
		}
	}
	printf("%u clients lost a question, after at most %llu ms; the others waited at most %llu "
	       "ms\n",
	       lost, (unsigned long long)slowest_lost, (unsigned long long)slowest);
	cr_expect(gt(uint, lost, 0));
	cr_expect(lt(uint, lost, load->n_clients));
	cr_expect(le(u64, load->counts.closed, lost));
	cr_expect(lt(u64, slowest_lost, f->most_ms + NORMAL_MS));
	cr_expect(lt(u64, slowest, NORMAL_MS));
}

static void expect_good_service(const struct run *r)
{
	const struct load        *load = &r->load;
	const struct load_counts *c = &load->counts;
	uint64_t                  gone = first_bad(load, BEGIN_MS, r->end_ms);
	uint64_t                  well = load_last_bad(load, gone, r->end_ms);

	printf("gone after %llu ms, well after %llu ms; 200 %llu, 503 %llu, closed %llu\n",
	       (unsigned long long)(gone - BEGIN_MS), (unsigned long long)(well - BEGIN_MS),
	       (unsigned long long)c->by_status[200], (unsigned long long)c->by_status[503],
	       (unsigned long long)c->closed);
	cr_expect(eq(u64, c->wrong_bodies + c->malformed + c->stuck + c->refused, 0));
	cr_expect(eq(u64, load_other(c), 0));
	cr_expect(eq(u64, load_bad(load, 0, BEGIN_MS), 0));
	cr_expect(ge(u64, gone - BEGIN_MS + LOAD_BUCKET_MS, r->fault->least_ms));
	cr_expect(le(u64, gone - BEGIN_MS, r->fault->most_ms));
	cr_expect(le(u64, well - gone, START_MS));
	/* One sample, on a machine that may do other things: not more than that it goes on. */
	cr_expect(gt(dbl, load_rate(load, r->end_ms - AFTER_MS, r->end_ms),
	             load_rate(load, 500, BEGIN_MS) * 0.3));
}

static bool contains(const pid_t *pids, size_t n, pid_t pid)
{
	while (n > 0 && pids[n - 1] != pid)
		n--;
	return n > 0;
}

static void run_fault(const struct fault *fault)
{
	static const char *const two[] = { "BOARDWALK_GATEWAY_WORKERS=2", NULL };
	static struct run        r;
	struct http_response     response;
	pid_t                    before[4], after[4];

	r.fault = fault;
	r.end_ms = BEGIN_MS + fault->most_ms + START_MS + AFTER_MS;
	test_instance_start(&r.instance, &(struct test_instance_options){ .environment = two,
	                                                                  .bundle = "test" });
	r.load = (struct load){
		.port = (uint16_t)r.instance.port,
		.n_clients = N_CLIENTS,
		.questions = questions,
		.n_questions = 2,
		.answer_within_ms = 8000,
		.tick = ask_once,
		.arg = &r,
	};
	cr_assert(eq(sz, test_instance_workers(&r.instance, before, 4), 2));
	load_run(&r.load);
	cr_assert(eq(sz, test_instance_workers(&r.instance, after, 4), 2));
	expect_good_service(&r);
	expect_two_kinds_of_clients(&r.load, fault);
	cr_expect(contains(before, 2, after[0]) != contains(before, 2, after[1]),
	          "one worker is another, one is the same");
	http_read(&r.asker, false, &response);
	cr_expect(eq(int, response.status, 0), "who asked is told by the connection's end");
	http_response_done(&response);
	cr_expect(test_instance_logged(&r.instance, fault->log), "%s", fault->log);
	http_close(&r.asker);
	load_done(&r.load);
	r.instance.crashes_on_purpose = true;
	test_instance_stop(&r.instance);
}

Test(loop, a_servlet_that_never_returns_costs_its_worker_and_nobody_else)
{
	run_fault(&faults[0]);
}

Test(loop, a_servlet_that_crashes_costs_its_worker_for_a_moment)
{
	run_fault(&faults[1]);
}
