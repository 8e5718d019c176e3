/* later.c - a bundle that answers from a thread of its own: the one of docs/bundles.md, and what its test
 * (tests/system/async_test.c) wants to see.
 *
 *   /later          an answer after a while             /later/stream   in parts, each sent as it comes
 *   /later/hold     never, so its time-out of 1.5 s     /later/counts   what the listener was told
 *
 * Owns: the thread and the queue before it, from start to stop. */
#include <boardwalk/boardwalk.h>
#include <pthread.h>
#include <unistd.h>

#define QUEUE_MAX 64
#define PARTS     5

struct job {
	struct bw_async *async;
	bool             stream;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t  more;
	struct job      jobs[QUEUE_MAX];
	size_t          n;
	bool            stopping;
	pthread_t       thread;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };

static unsigned completed, timed_out, gone;

/* ---- the thread ---- */

static void write_answer(struct bw_req *req, void *text)
{
	if (bw_res_puts(req, text) == BW_OK)
		bw_res_flush(req);
}

static void answer(const struct job *job)
{
	static char text[] = "at last\n", part[] = "part\n";

	for (int i = 0; job->stream && i < PARTS; i++) {
		usleep(30000);
		bw_async_run(job->async, write_answer, part);
	}
	usleep(30000);
	bw_async_run(job->async, write_answer, text);
	bw_async_complete(job->async);
	bw_async_release(job->async);
}

static void *think(void *arg)
{
	pthread_mutex_lock(&queue.lock);
	for (;;) {
		struct job job;

		while (queue.n == 0 && !queue.stopping)
			pthread_cond_wait(&queue.more, &queue.lock);
		if (queue.n == 0)
			break;
		job = queue.jobs[0];
		queue.n--;
		memmove(queue.jobs, queue.jobs + 1, queue.n * sizeof(job));
		pthread_mutex_unlock(&queue.lock);
		answer(&job);
		pthread_mutex_lock(&queue.lock);
	}
	pthread_mutex_unlock(&queue.lock);
	return arg;
}

static int push(struct bw_async *a, bool stream)
{
	int err = BW_OK;

	pthread_mutex_lock(&queue.lock);
	if (queue.n < QUEUE_MAX)
		queue.jobs[queue.n++] = (struct job){ a, stream };
	else
		err = BW_EBUSY;
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
	if (err != BW_OK)
		bw_async_release(a);
	return err;
}

/* ---- the servlets ---- */

static int get_later(void *self, struct bw_req *req)
{
	struct bw_async *a;
	int              err = bw_req_start_async(req, &a);

	return err != BW_OK ? err : push(a, self != NULL);
}

static void tell_complete(void *self, struct bw_req *req)
{
	(void)req;
	completed++;
	bw_async_release(self);
}

static void tell_timeout(void *self, struct bw_req *req, struct bw_async *a)
{
	(void)self;
	(void)req;
	(void)a;
	timed_out++;
}

static void tell_error(void *self, struct bw_req *req, struct bw_async *a, int err)
{
	(void)self;
	(void)req;
	(void)a;
	gone += err == BW_EGONE;
}

static int get_hold(void *self, struct bw_req *req)
{
	static const struct bw_async_listener listener = { .size = sizeof(listener),
		                                           .on_complete = tell_complete,
		                                           .on_timeout = tell_timeout,
		                                           .on_error = tell_error };
	struct bw_async                      *a;
	int                                   err = bw_req_start_async(req, &a);

	(void)self;
	if (err != BW_OK)
		return err;
	bw_async_set_timeout(a, 1500);
	return bw_async_listen(a, &listener, a);
}

static int get_counts(void *self, struct bw_req *req)
{
	(void)self;
	return bw_res_printf(req, "completed %u, timed out %u, gone %u\n", completed, timed_out,
	                     gone);
}

static const struct bw_servlet later = { .size = sizeof(later), .get = get_later };
static const struct bw_servlet hold = { .size = sizeof(hold), .get = get_hold };
static const struct bw_servlet counts = { .size = sizeof(counts), .get = get_counts };

static int start(struct bw_bundle *self)
{
	static char stream[] = "stream";

	if (pthread_create(&queue.thread, NULL, think, NULL) != 0)
		return BW_EBUSY;
	bw_register_servlet(self, &later, NULL, BW_P_STRING(BW_SERVLET_PATTERN, "/later"),
	                    BW_P_BOOL(BW_SERVLET_ASYNC, true));
	bw_register_servlet(self, &later, stream, BW_P_STRING(BW_SERVLET_PATTERN, "/later/stream"),
	                    BW_P_BOOL(BW_SERVLET_ASYNC, true));
	bw_register_servlet(self, &hold, NULL, BW_P_STRING(BW_SERVLET_PATTERN, "/later/hold"),
	                    BW_P_BOOL(BW_SERVLET_ASYNC, true));
	return bw_register_servlet(self, &counts, NULL,
	                           BW_P_STRING(BW_SERVLET_PATTERN, "/later/counts"));
}

/* What is in the queue is answered still. */
static void stop(struct bw_bundle *self)
{
	(void)self;
	pthread_mutex_lock(&queue.lock);
	queue.stopping = true;
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
	pthread_join(queue.thread, NULL);
}

BW_BUNDLE("test.later", "1.0.0", start, stop);
