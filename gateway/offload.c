/* offload.c - blocking work of servlets on a small bounded pool of threads, and their sleep.
 *
 *    fiber: queue the job, park  ->  thread: run it, put it into done, ring  ->  loop: wake the fiber
 *
 * A job lies on its fiber's stack. It cannot be forgotten, since the thread writes there; so its wait
 * has no cancel, and the fiber stays parked until the job is back, even if the client is gone.
 *
 * Owns: the threads, the queue, an eventfd (process lifetime). Runs in: the loop, and run_jobs in each
 * thread. Fails with: BW_EBUSY, BW_EGONE, BW_ETIME. Tests: tests/unit/gateway/offload_test.c. */
#include "offload.h"

#include "fiber.h"
#include "http/loop.h"
#include "request.h"

#include <base/fatal.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct job {
	struct req_wait wait;
	struct bw_req  *req;
	void (*fn)(void *arg);
	void       *arg;
	struct job *next;
};

struct jobs {
	struct job *first, **last;
};

static struct {
	pthread_mutex_t lock; /* over queue, done, n_queued, stopping */
	pthread_cond_t  more;
	struct jobs     queue, done;
	unsigned        n_queued, max_queued;
	bool            stopping;
	pthread_t      *threads;
	unsigned        n_threads;
	int             bell;
	struct loop_fd *watch;
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER, .bell = -1 };

static void jobs_init(struct jobs *j)
{
	j->first = NULL;
	j->last = &j->first;
}

static void jobs_add(struct jobs *j, struct job *job)
{
	job->next = NULL;
	*j->last = job;
	j->last = &job->next;
}

static struct job *jobs_take(struct jobs *j)
{
	struct job *job = j->first;

	j->first = job->next;
	if (j->first == NULL)
		j->last = &j->first;
	return job;
}

static void *run_jobs(void *arg)
{
	const uint64_t one = 1;

	pthread_mutex_lock(&pool.lock);
	for (;;) {
		struct job *job;

		while (pool.queue.first == NULL && !pool.stopping)
			pthread_cond_wait(&pool.more, &pool.lock);
		if (pool.queue.first == NULL)
			break;
		job = jobs_take(&pool.queue);
		pool.n_queued--;
		pthread_mutex_unlock(&pool.lock);
		fiber_work_for(job->req->fiber);
		job->fn(job->arg);
		fiber_work_for(NULL);
		pthread_mutex_lock(&pool.lock);
		jobs_add(&pool.done, job);
		if (write(pool.bell, &one, sizeof(one)) != sizeof(one))
			fatal("offload: bell");
	}
	pthread_mutex_unlock(&pool.lock);
	return arg;
}

static void on_bell(void *arg)
{
	uint64_t    n;
	struct job *job;

	(void)arg;
	if (read(pool.bell, &n, sizeof(n)) < 0 && errno != EAGAIN)
		fatal("offload: bell");
	pthread_mutex_lock(&pool.lock);
	job = pool.done.first;
	jobs_init(&pool.done);
	pthread_mutex_unlock(&pool.lock);
	while (job != NULL) {
		struct job *next = job->next; /* the fiber's stack goes on */

		request_wake(job->req);
		job = next;
	}
}

int offload_run(struct bw_req *req, void (*fn)(void *arg), void *arg)
{
	struct job job = { .req = req, .fn = fn, .arg = arg };
	int        r = request_check(req);

	if (r != BW_OK)
		return r;
	pthread_mutex_lock(&pool.lock);
	if (pool.n_queued >= pool.max_queued) {
		r = BW_EBUSY;
	} else {
		pool.n_queued++;
		jobs_add(&pool.queue, &job);
		pthread_cond_signal(&pool.more);
	}
	pthread_mutex_unlock(&pool.lock);
	return r == BW_OK ? request_park(req, &job.wait) : r;
}

struct sleeper {
	struct req_wait   wait;
	struct loop_timer timer;
	struct bw_req    *req;
};

static void on_sleep_due(struct loop_timer *t)
{
	struct sleeper *s = (struct sleeper *)((char *)t - offsetof(struct sleeper, timer));

	request_wake(s->req);
}

static void cancel_sleep(struct req_wait *w)
{
	loop_timer_unlink(&((struct sleeper *)w)->timer);
}

int offload_sleep_ms(struct bw_req *req, unsigned ms)
{
	struct sleeper s = { .wait.cancel = cancel_sleep,
		             .timer.on_due = on_sleep_due,
		             .req = req };

	loop_timer_link(&s.timer, ms);
	return request_park(req, &s.wait);
}

void offload_init(unsigned threads, unsigned queue)
{
	sigset_t all, old;

	jobs_init(&pool.queue);
	jobs_init(&pool.done);
	pool.max_queued = queue;
	pool.stopping = false;
	pool.bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (pool.bell < 0)
		fatal("offload: eventfd");
	pool.watch = loop_fd_watch(pool.bell, on_bell, NULL);
	pool.threads = xcalloc(threads, sizeof(pthread_t));
	/* Signals are the main thread's business. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (; pool.n_threads < threads; pool.n_threads++) {
		int error = pthread_create(&pool.threads[pool.n_threads], NULL, run_jobs, NULL);

		if (error != 0)
			fatalx("offload: thread: %s", strerror(error));
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void offload_done(void)
{
	pthread_mutex_lock(&pool.lock);
	pool.stopping = true;
	pthread_cond_broadcast(&pool.more);
	pthread_mutex_unlock(&pool.lock);
	while (pool.n_threads > 0)
		pthread_join(pool.threads[--pool.n_threads], NULL);
	free(pool.threads);
	loop_fd_close(pool.watch);
	close(pool.bell);
}
