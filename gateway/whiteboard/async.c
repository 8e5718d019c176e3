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
 * Word from another thread goes through a list and an eventfd to the loop, which wakes the fiber: only
 * there may libh2o be called. A request parked here has no deadline but its own time-out.
 *
 * Owns: the list and the eventfd (process lifetime); a struct bw_async has one owner in the request and
 * one in the bundle for each start. Runs in: the request's fiber, the loop (on_bell, on_due), any thread
 * (run, complete, dispatch, release). Fails with: BW_ESTATE, BW_EINVAL, BW_EBUSY; BW_EGONE and BW_ETIME
 * when nobody listens any more. Tests: tests/unit/whiteboard/async_test.c, tests/conformance (F, K, N). */
#include "async.h"

#include "dispatcher.h"

#include <base/fatal.h>
#include <errno.h>
#include <http/loop.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TIMEOUT_MS     30000u
#define MAX_POSTS      1024u /* functions that wait to be run for one request */
#define MAX_DISPATCHES 1000u /* of one request */
#define MAX_PATH       8192u

enum async_state { ASYNC_STARTED, ASYNC_COMPLETE, ASYNC_DISPATCH, ASYNC_RUNNING, ASYNC_OVER };

/* A function that somebody wants to be run on the fiber. */
struct post {
	struct post *next;
	void (*fn)(struct bw_req *req, void *arg);
	void *arg;
};

struct listening {
	struct listening               *next;
	const struct bw_async_listener *listener;
	void                           *self;
};

struct bw_async {
	struct req_wait wait; /* first: its cancel gets here */
	/* Under the lock. */
	unsigned         refs;
	enum async_state state;
	struct post     *posts, **last_post;
	unsigned         n_posts;
	char            *path;    /* to dispatch to; NULL: what the request is about */
	bool             waiting; /* the fiber is parked for word */
	bool             rung;    /* in the list, which holds a reference */
	struct bw_async *next_rung;
	/* The fiber's, and the loop's while it is parked. */
	struct bw_req    *req;
	struct listening *listeners, **last_listener; /* in the request's arena */
	struct loop_timer timer;
	uint32_t          timeout_ms; /* 0: never */
	uint64_t          due_us;     /* 0: not set yet */
	bool              timed_out;
	unsigned          dispatches;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct bw_async *first; /* under the lock */
	int              bell;
	struct loop_fd  *watch;
} rung = { .bell = -1 };

/* ---- from other threads to the fiber ---- */

/* The lock is held. Word has come in. */
static void ring(struct bw_async *a)
{
	const uint64_t one = 1;

	if (!a->waiting || a->rung)
		return; /* the fiber will look before it parks */
	a->rung = true;
	a->refs++;
	a->next_rung = rung.first;
	rung.first = a;
	if (!a->next_rung && write(rung.bell, &one, sizeof(one)) != sizeof(one))
		fatal("async: bell");
}

/* On the loop's stack. */
static void wake(struct bw_async *a)
{
	bool waiting;

	pthread_mutex_lock(&lock);
	waiting = a->waiting;
	a->waiting = false;
	pthread_mutex_unlock(&lock);
	if (waiting)
		request_wake(a->req);
}

static void on_bell(void *arg)
{
	uint64_t         n;
	struct bw_async *a, *next;

	(void)arg;
	if (read(rung.bell, &n, sizeof(n)) < 0 && errno != EAGAIN)
		fatal("async: bell");
	pthread_mutex_lock(&lock);
	a = rung.first;
	rung.first = NULL;
	pthread_mutex_unlock(&lock);
	for (; a; a = next) {
		pthread_mutex_lock(&lock);
		next = a->next_rung;
		a->rung = false;
		pthread_mutex_unlock(&lock);
		wake(a);
		async_release(a);
	}
}

static void on_due(struct loop_timer *t)
{
	struct bw_async *a = (struct bw_async *)((char *)t - offsetof(struct bw_async, timer));

	a->timed_out = true;
	wake(a);
}

static void forget(struct req_wait *w)
{
	pthread_mutex_lock(&lock);
	((struct bw_async *)w)->waiting = false;
	pthread_mutex_unlock(&lock);
}

/* ---- what any thread may call ---- */

/* From STARTED to another state, once. */
static int give_word(struct bw_async *a, enum async_state to, char *path)
{
	int r = BW_ESTATE;

	pthread_mutex_lock(&lock);
	if (a->state == ASYNC_STARTED) {
		a->state = to;
		a->path = path;
		ring(a);
		r = BW_OK;
	}
	pthread_mutex_unlock(&lock);
	return r;
}

int async_complete(struct bw_async *a)
{
	return a ? give_word(a, ASYNC_COMPLETE, NULL) : BW_EINVAL;
}

int async_dispatch(struct bw_async *a, struct bw_str path)
{
	char *copy = NULL;
	int   r;

	if (!a || (path.p && (path.n == 0 || path.n > MAX_PATH || path.p[0] != '/')))
		return BW_EINVAL;
	if (path.p) {
		copy = xmalloc(path.n + 1);
		memcpy(copy, path.p, path.n);
		copy[path.n] = '\0';
	}
	r = give_word(a, ASYNC_DISPATCH, copy);
	if (r != BW_OK)
		free(copy);
	return r;
}

int async_run(struct bw_async *a, void (*fn)(struct bw_req *req, void *arg), void *arg)
{
	struct post *p;
	int          r = BW_OK;

	if (!a || !fn)
		return BW_EINVAL;
	p = xmalloc(sizeof(*p));
	*p = (struct post){ NULL, fn, arg };
	pthread_mutex_lock(&lock);
	if (a->state != ASYNC_STARTED) {
		r = BW_ESTATE;
	} else if (a->n_posts == MAX_POSTS) {
		r = BW_EBUSY;
	} else {
		*a->last_post = p;
		a->last_post = &p->next;
		a->n_posts++;
		ring(a);
	}
	pthread_mutex_unlock(&lock);
	if (r != BW_OK)
		free(p);
	return r;
}

void async_release(struct bw_async *a)
{
	bool last;

	if (!a)
		return;
	pthread_mutex_lock(&lock);
	last = --a->refs == 0;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	free(a->path);
	free(a);
}

/* ---- starting ---- */

static enum async_state state_of(const struct bw_async *a)
{
	enum async_state state;

	pthread_mutex_lock(&lock);
	state = a->state;
	pthread_mutex_unlock(&lock);
	return state;
}

bool async_is_open(const struct bw_req *req)
{
	return req->async && state_of(req->async) < ASYNC_RUNNING;
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
	pthread_mutex_lock(&lock);
	if (a->state == ASYNC_RUNNING) {
		a->state = ASYNC_STARTED;
		a->refs++;
	} else {
		r = BW_ESTATE;
	}
	pthread_mutex_unlock(&lock);
	if (r != BW_OK)
		return r;
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
	if (state_of(a) != ASYNC_STARTED)
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
	if (state_of(a) == ASYNC_OVER)
		return BW_ESTATE;
	l = arena_alloc(&a->req->arena, sizeof(*l));
	*l = (struct listening){ NULL, listener, self };
	*a->last_listener = l;
	a->last_listener = &l->next;
	return BW_OK;
}

/* ---- waiting, on the fiber ---- */

static struct post *take_post(struct bw_async *a)
{
	struct post *p;

	pthread_mutex_lock(&lock);
	p = a->posts;
	if (p) {
		a->posts = p->next;
		a->n_posts--;
		if (!a->posts)
			a->last_post = &a->posts;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

/* Those that were accepted are run, also when the request is over: what they own is theirs to free. */
static void run_posts(struct bw_async *a)
{
	struct post *p;

	while ((p = take_post(a)) != NULL) {
		p->fn(a->req, p->arg);
		free(p);
	}
}

/* False: there is word already. */
static bool begin_wait(struct bw_async *a)
{
	pthread_mutex_lock(&lock);
	a->waiting = a->state == ASYNC_STARTED && !a->posts;
	pthread_mutex_unlock(&lock);
	return a->waiting;
}

/* Parks until there is word or time is up. BW_EGONE: the client is not there any more. */
static int park(struct bw_async *a)
{
	struct bw_req *req = a->req;
	uint64_t       now_us = loop_now_us();
	int            r;

	if (a->timeout_ms > 0 && a->due_us == 0)
		a->due_us = now_us + UINT64_C(1000) * a->timeout_ms;
	a->timed_out = a->timeout_ms > 0 && a->due_us <= now_us;
	if (a->timed_out || !begin_wait(a))
		return BW_OK;
	if (a->timeout_ms > 0)
		loop_timer_link(&a->timer, (uint32_t)((a->due_us - now_us + 999) / 1000));
	req->unhurried = true;
	r = request_park(req, &a->wait);
	req->unhurried = false;
	loop_timer_unlink(&a->timer);
	return r;
}

/* The listeners may still decide; else it is an error of ours, and not one that has a name. */
static void time_out(struct bw_async *a)
{
	bool undecided;

	for (const struct listening *l = a->listeners; l; l = l->next)
		if (l->listener->on_timeout)
			l->listener->on_timeout(l->self, a->req, a);
	pthread_mutex_lock(&lock);
	undecided = a->state == ASYNC_STARTED;
	if (undecided)
		a->state = ASYNC_COMPLETE;
	pthread_mutex_unlock(&lock);
	if (undecided && response_send_error(a->req, 500, NULL) == BW_ESTATE)
		a->req->truncated = true;
}

static int wait_for_word(struct bw_async *a)
{
	int r = BW_OK;

	while (r == BW_OK) {
		run_posts(a);
		if (state_of(a) != ASYNC_STARTED)
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
	pthread_mutex_lock(&lock);
	free(a->path);
	a->path = NULL;
	a->state = ASYNC_STARTED;
	pthread_mutex_unlock(&lock);
	for (const struct listening *l = a->listeners; l; l = l->next)
		if (l->listener->on_error)
			l->listener->on_error(l->self, a->req, a, err);
	if (request_check(a->req) != BW_OK || state_of(a) == ASYNC_STARTED)
		return err;
	return BW_OK;
}

static int redispatch(struct bw_async *a, struct admitted **admitted)
{
	struct bw_request_dispatcher *d;
	char                         *path;
	int                           err;

	pthread_mutex_lock(&lock);
	a->state = ASYNC_RUNNING;
	path = a->path;
	a->path = NULL;
	pthread_mutex_unlock(&lock);
	d = path ? dispatcher_of_context(a->req, bw_str(path)) : dispatcher_of_self(a->req);
	free(path);
	if (++a->dispatches > MAX_DISPATCHES)
		err = BW_ECYCLE;
	else if (d)
		err = dispatcher_async(a->req, d, admitted);
	else
		err = response_send_error(a->req, 404, NULL);
	pthread_mutex_lock(&lock);
	if (a->state == ASYNC_RUNNING)
		a->state = ASYNC_COMPLETE;
	pthread_mutex_unlock(&lock);
	return err;
}

static void end(struct bw_async *a)
{
	pthread_mutex_lock(&lock);
	a->state = ASYNC_OVER;
	pthread_mutex_unlock(&lock);
	run_posts(a);
	for (const struct listening *l = a->listeners; l; l = l->next)
		if (l->listener->on_complete)
			l->listener->on_complete(l->self, a->req);
}

int async_await(struct bw_req *req, int err)
{
	struct bw_async *a = req->async;
	struct admitted *admitted = NULL;

	for (;;) {
		if (err == BW_OK)
			err = wait_for_word(a);
		if (err != BW_OK)
			err = tell_error(a, err);
		if (err != BW_OK || state_of(a) != ASYNC_DISPATCH)
			break;
		err = redispatch(a, &admitted);
	}
	end(a);
	for (; admitted; admitted = admitted->next)
		dispatch_finish(admitted->helper, req);
	return err;
}

/* ---- life ---- */

void async_init(void)
{
	rung.bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (rung.bell < 0)
		fatal("async: eventfd");
	rung.watch = loop_fd_watch(rung.bell, on_bell, NULL);
}

void async_done(void)
{
	/* No request is left to be woken, but word for one may have come late. */
	while (rung.first) {
		struct bw_async *a = rung.first;

		rung.first = a->next_rung;
		async_release(a);
	}
	loop_fd_close(rung.watch);
	close(rung.bell);
	rung.bell = -1;
}
