/* gateway/offload.c: jobs on threads, the bound of the queue, sleep. The loop is driven by hand. */
#include "fiber.h"
#include "http/internal.h"
#include "offload.h"

#include <base/clock.h>
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>

static struct shared_worker shared_worker;
static sem_t                gate;
static int                  results[8], ended;
static pthread_t            job_threads[8];

struct http_server http_server; /* internal.h's; transport and server are not linked here */

static void stopped(struct bw_req *req)
{
	if (req->state == REQ_RESPONDING) {
		ended++;
		request_release(req);
	}
}

static void wait_at_gate(void *arg)
{
	*(pthread_t *)arg = pthread_self();
	sem_wait(&gate);
}

static void serve_job(struct bw_req *req)
{
	results[req->id] = offload_run(req, wait_at_gate, &job_threads[req->id]);
}

static void serve_sleep(struct bw_req *req)
{
	results[req->id] = offload_sleep_ms(req, 50);
}

static struct bw_req *start(uint64_t id, void (*serve)(struct bw_req *))
{
	struct bw_req *req = request_new();

	req->id = id;
	results[id] = 1234;
	cr_assert(request_start(req, serve));
	return req;
}

static void init(void)
{
	sem_init(&gate, 0, 0);
	fiber_pool_init(8);
	request_on_stop(stopped);
	loop_init(0, &shared_worker);
	offload_init(1, 2);
}

static void done(void)
{
	offload_done();
	loop_poke();
	loop_turn();
	loop_done();
	request_pool_done();
	fiber_pool_done();
}

Test(offload, a_bounded_queue_before_the_threads, .init = init)
{
	struct bw_req *req[4];

	req[0] = start(0, serve_job);
	while (job_threads[0] == 0) /* the one thread has it */
		loop_turn();
	req[1] = start(1, serve_job);
	req[2] = start(2, serve_job);
	req[3] = start(3, serve_job);
	cr_expect(results[3] == BW_EBUSY && ended == 1, "one on the thread, two waiting, no more");
	request_abort(req[1], false); /* the job will still write to its stack */
	cr_expect(results[1] == 1234);
	for (int i = 0; i < 3; i++)
		sem_post(&gate);
	while (ended < 4)
		loop_turn();
	cr_expect(results[0] == BW_OK && results[1] == BW_EGONE && results[2] == BW_OK);
	cr_expect(!pthread_equal(job_threads[0], pthread_self()));
	for (int i = 0; i < 4; i++)
		request_release(req[i]);
	done();
}

Test(offload, after_the_end_no_job_begins, .init = init)
{
	struct bw_req *req = request_new();

	req->gone = true;
	cr_assert(request_start(req, serve_job));
	cr_expect(results[0] == BW_EGONE && job_threads[0] == 0);
	request_release(req);
	done();
}

Test(offload, sleep, .init = init)
{
	uint64_t       start_us = clock_mono_us();
	struct bw_req *a = start(0, serve_sleep), *b = start(1, serve_sleep);

	request_abort(b, true);
	cr_expect(results[1] == BW_ETIME && ended == 1);
	while (ended < 2)
		loop_turn();
	cr_expect(results[0] == BW_OK && clock_mono_us() - start_us >= 50000);
	request_release(a);
	request_release(b);
	done();
}
