/* Word for asynchronous requests, from any thread. A request's state is under one lock of the worker, and so
 * is what it is told:
 *
 *    any thread: change the state, put it into the list, ring  ->  loop: on_bell, wake the fiber
 *
 * A fiber that does not wait looks at its state before it parks; then nobody rings.
 *
 * Owns: the lock, the list and the eventfd (process lifetime); the list holds references. Runs in: any
 * thread, and the loop (on_bell, async_wake). Fails with: BW_ESTATE, BW_EINVAL, BW_EBUSY.
 * Tests: tests/unit/whiteboard/async_test.c, tests/conformance (N). */
#include "async_impl.h"

#include <base/fatal.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MAX_POSTS 1024u /* functions that wait to be run for one request */
#define MAX_PATH  8192u

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

void async_wake(struct bw_async *a)
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
		async_wake(a);
		async_release(a);
	}
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

/* ---- what the fiber asks ---- */

enum async_state async_state_of(const struct bw_async *a)
{
	enum async_state state;

	pthread_mutex_lock(&lock);
	state = a->state;
	pthread_mutex_unlock(&lock);
	return state;
}

bool async_move(struct bw_async *a, enum async_state from, enum async_state to)
{
	bool moves;

	pthread_mutex_lock(&lock);
	moves = a->state == from;
	if (moves)
		a->state = to;
	pthread_mutex_unlock(&lock);
	return moves;
}

char *async_set_state(struct bw_async *a, enum async_state to)
{
	char *path;

	pthread_mutex_lock(&lock);
	a->state = to;
	path = a->path;
	a->path = NULL;
	pthread_mutex_unlock(&lock);
	return path;
}

bool async_restart(struct bw_async *a)
{
	bool restarts;

	pthread_mutex_lock(&lock);
	restarts = a->state == ASYNC_RUNNING;
	if (restarts) {
		a->state = ASYNC_STARTED;
		a->refs++;
	}
	pthread_mutex_unlock(&lock);
	return restarts;
}

struct post *async_take_post(struct bw_async *a)
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

bool async_begin_wait(struct bw_async *a)
{
	bool waits;

	pthread_mutex_lock(&lock);
	waits = a->waiting = a->state == ASYNC_STARTED && !a->posts;
	pthread_mutex_unlock(&lock);
	return waits;
}

void async_end_wait(struct bw_async *a)
{
	pthread_mutex_lock(&lock);
	a->waiting = false;
	pthread_mutex_unlock(&lock);
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
