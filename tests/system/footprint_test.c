/* footprint_test.c - what an instance takes while it does nothing, and how long it takes to do something.
 * Proves: a worker stays below 20 MiB after its start and below 100 MiB with 10,000 idle connections; the
 * three processes are there again, on a migrated database, in a fraction of a second. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/http.h>
#include <support/instance.h>
#include <support/load.h>
#include <sys/resource.h>

#define N_IDLE 10000u

#ifdef BOARDWALK_SANITIZED
#define START_KIB (1u << 20)
#define IDLE_KIB  (4u << 20)
#define START_MS  10000u
#else
#define START_KIB (20u << 10)
#define IDLE_KIB  (100u << 10)
#define START_MS  1000u /* 200 on a machine that does nothing else */
#endif

static const struct test_instance_options one_worker = {
	.environment = (const char *[]){ "BOARDWALK_GATEWAY_WORKERS=1",
	                                 "BOARDWALK_GATEWAY_MAX_CONNECTIONS=10100", NULL },
};

static uint64_t resident_kib(pid_t pid)
{
	return strtoull(test_process_status(pid, "VmRSS"), NULL, 10);
}

struct resting {
	struct load load;
	pid_t       worker;
	uint64_t    rested_ms, kib;
};

/* Each connection has been served before it rests: what a request needs is given back. */
static bool rest(void *arg, uint64_t now_ms)
{
	struct resting *r = arg;

	if (r->rested_ms == 0) {
		unsigned n = 0;

		while (n < N_IDLE && r->load.of_client[n].ok > 0)
			n++;
		if (n == N_IDLE) {
			r->load.n_idle = N_IDLE;
			r->rested_ms = now_ms;
		}
	} else if (now_ms > r->rested_ms + 2000) {
		r->kib = resident_kib(r->worker);
		return true;
	}
	return now_ms > 50000;
}

Test(footprint, of_a_worker_and_of_ten_thousand_idle_connections)
{
	static const struct load_question question = {
		"GET /test/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "Hello World"
	};
	static struct resting r;
	struct test_instance  i;
	struct rlimit         files = { N_IDLE + 100, N_IDLE + 100 };
	uint64_t              start_kib;

	cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &files), 0));
	test_instance_start(&i, &one_worker);
	cr_assert(eq(sz, test_instance_workers(&i, &r.worker, 1), 1));
	start_kib = resident_kib(r.worker);
	r.load = (struct load){
		.port = (uint16_t)i.port,
		.n_clients = N_IDLE,
		.questions = &question,
		.n_questions = 1,
		.answer_within_ms = 20000,
		.tick = rest,
		.arg = &r,
	};
	load_run(&r.load);
	printf("a worker: %llu KiB; with %u idle connections: %llu KiB\n",
	       (unsigned long long)start_kib, N_IDLE, (unsigned long long)r.kib);
	cr_expect(gt(u64, start_kib, 0));
	cr_expect(lt(u64, start_kib, START_KIB));
	cr_expect(gt(u64, r.kib, start_kib));
	cr_expect(lt(u64, r.kib, IDLE_KIB));
	cr_expect(eq(u64, r.load.counts.closed + r.load.counts.refused + r.load.counts.stuck, 0));
	load_done(&r.load);
	test_instance_stop(&i);
}

/* All three at once, from their death to an answer that went through all of them. */
Test(footprint, of_a_start)
{
	static const char *const names[] = { "auth", "repo", "gateway" };
	struct test_instance     i;
	pid_t                    pids[3];
	unsigned long long       began, took;
	int                      status;

	test_instance_start(&i, &one_worker);
	for (int n = 0; n < 3; n++) {
		pids[n] = test_instance_pid(&i, names[n]);
		cr_assert(gt(int, pids[n], 0), "%s", names[n]);
	}
	began = test_now_ms();
	for (int n = 0; n < 3; n++)
		kill(pids[n], SIGKILL);
	do {
		struct http_response r;

		http_ask_once(i.port, "GET", "/content/test/serviceuser", NULL, &r);
		status = r.status;
		http_response_done(&r);
		took = test_now_ms() - began;
	} while (status != 200 && took < START_MS);
	printf("the three processes start in %llu ms\n", took);
	cr_expect(eq(int, status, 200));
	cr_expect(lt(u64, took, START_MS));
	for (int n = 0; n < 3; n++)
		cr_expect(ne(int, test_instance_pid(&i, names[n]), pids[n]), "%s", names[n]);
	test_instance_stop(&i);
}
