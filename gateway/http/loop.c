/* loop.c - the worker's event loop over h2o_evloop: one turn polls, runs libh2o, our timers and the
 * hooks that flush the peers.
 *
 * libh2o's own timers hang on the wall clock and are walked each turn; ours are a wheel on the
 * monotonic clock, 256 slots of 10 ms, with a bit per slot that is in use, so that the time to sleep
 * is found in four words. An entry further away than one round stays in its slot for more rounds.
 *
 * Owns: the h2o_evloop and the wheel (process lifetime). Runs in: the worker's thread.
 * Fails with: fatal when a descriptor cannot be duplicated. Tests: tests/unit/gateway/loop_test.c. */
#include "http/internal.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define SLOTS     256u
#define SLOT_US   10000u
#define MAX_HOOKS 8u

struct loop_fd {
	h2o_socket_t *sock; /* over a dup: libh2o closes what it is given */
	void (*on_readable)(void *arg);
	void (*on_writable)(void *arg);
	void *arg;
};

static struct {
	h2o_evloop_t         *h2o;
	struct shared_worker *shared;
	uint64_t              now_us; /* 0: not read in this turn yet */
	uint64_t              spin_us, active_us;
	bool                  active, again, running;
	struct loop_timer     slots[SLOTS]; /* heads of rings */
	uint64_t              used[SLOTS / 64];
	uint64_t              tick; /* the last slot time that was run */
	struct {
		void (*fn)(void *arg);
		void *arg;
	} hooks[MAX_HOOKS];
	size_t n_hooks;
} loop;

/* ---- descriptors --------------------------------------------------------------------------- */

static void on_read(h2o_socket_t *sock, const char *err)
{
	struct loop_fd *w = sock->data;

	(void)err; /* the reader sees it itself */
	loop.active = true;
	w->on_readable(w->arg); /* may free w */
}

static void on_write(h2o_socket_t *sock, const char *err)
{
	struct loop_fd *w = sock->data;
	void (*fn)(void *arg) = w->on_writable;

	(void)err;
	loop.active = true;
	w->on_writable = NULL;
	fn(w->arg);
}

struct loop_fd *loop_fd_watch(int fd, void (*on_readable)(void *arg), void *arg)
{
	struct loop_fd *w = xmalloc(sizeof(*w));
	int             copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		fatal("loop: dup");
	*w = (struct loop_fd){ .on_readable = on_readable, .arg = arg };
	w->sock = h2o_evloop_socket_create(loop.h2o, copy, H2O_SOCKET_FLAG_DONT_READ);
	w->sock->data = w;
	h2o_socket_read_start(w->sock, on_read);
	return w;
}

void loop_fd_notify_write(struct loop_fd *w, void (*on_writable)(void *arg))
{
	bool waiting = w->on_writable != NULL;

	w->on_writable = on_writable;
	if (!waiting)
		h2o_socket_notify_write(w->sock, on_write);
}

void loop_fd_pause_read(struct loop_fd *w, bool pause)
{
	if (pause)
		h2o_socket_read_stop(w->sock);
	else if (!h2o_socket_is_reading(w->sock))
		h2o_socket_read_start(w->sock, on_read);
}

void loop_fd_close(struct loop_fd *w)
{
	h2o_socket_close(w->sock);
	free(w);
}

/* ---- timers -------------------------------------------------------------------------------- */

static void ring_insert(struct loop_timer *head, struct loop_timer *t)
{
	t->next = head;
	t->prev = head->prev;
	head->prev->next = t;
	head->prev = t;
}

void loop_timer_link(struct loop_timer *t, uint32_t ms)
{
	uint64_t slot;

	loop_timer_unlink(t);
	t->due_us = loop_now_us() + (uint64_t)ms * 1000;
	slot = t->due_us / SLOT_US + 1; /* the first slot time that is not too early */
	ring_insert(&loop.slots[slot % SLOTS], t);
	loop.used[slot % SLOTS / 64] |= UINT64_C(1) << slot % 64;
}

void loop_timer_unlink(struct loop_timer *t)
{
	if (t->due_us == 0)
		return;
	t->prev->next = t->next;
	t->next->prev = t->prev;
	t->due_us = 0;
}

/* Runs what is due in one slot. A callback may link and unlink any timer: the due ones are moved to
 * a ring of their own first, from which unlinking works as well. */
static void run_slot(unsigned slot, uint64_t now_us)
{
	struct loop_timer *head = &loop.slots[slot], *t = head->next, due;

	due.next = due.prev = &due;
	while (t != head) {
		struct loop_timer *next = t->next;

		if (t->due_us <= now_us) {
			t->prev->next = t->next;
			t->next->prev = t->prev;
			ring_insert(&due, t);
		}
		t = next;
	}
	if (head->next == head)
		loop.used[slot / 64] &= ~(UINT64_C(1) << slot % 64);
	while ((t = due.next) != &due) {
		loop_timer_unlink(t);
		t->on_due(t);
	}
}

static void run_timers(void)
{
	uint64_t now_us = loop_now_us(), now = now_us / SLOT_US;

	if (now - loop.tick > SLOTS)
		loop.tick = now - SLOTS;
	while (loop.tick < now) {
		unsigned slot = (unsigned)(++loop.tick % SLOTS);

		if (loop.used[slot / 64] & UINT64_C(1) << slot % 64)
			run_slot(slot, now_us);
	}
}

/* Milliseconds until the next slot in use is due; a whole round if there is none. */
static int32_t timers_wait(uint64_t now_us)
{
	uint64_t now = now_us / SLOT_US;

	for (unsigned i = 1; i <= SLOTS; i++) {
		unsigned slot = (unsigned)((now + i) % SLOTS);

		if (loop.used[slot / 64] == 0)
			i += 63 - slot % 64; /* nothing in the rest of this word */
		else if (loop.used[slot / 64] & UINT64_C(1) << slot % 64)
			return (int32_t)(((now + i) * SLOT_US - now_us + 999) / 1000);
	}
	return (int32_t)(SLOTS * SLOT_US / 1000);
}

/* ---- turns --------------------------------------------------------------------------------- */

void loop_on_turn(void (*hook)(void *arg), void *arg)
{
	if (loop.n_hooks == MAX_HOOKS)
		fatalx("loop: too many hooks");
	loop.hooks[loop.n_hooks].fn = hook;
	loop.hooks[loop.n_hooks++].arg = arg;
}

uint64_t loop_now_us(void)
{
	if (loop.now_us == 0)
		loop.now_us = clock_mono_us();
	return loop.now_us;
}

void loop_active(void)
{
	loop.active = true;
}

void loop_poke(void)
{
	if (!loop.running)
		loop.again = true;
}

/* After activity the loop polls without sleeping for spin_us: an idle virtual core takes long to
 * wake, and the next request of the same client is usually near. */
static int32_t time_to_wait(void)
{
	uint64_t now_us = loop_now_us();

	if (loop.active) {
		loop.active = false;
		loop.active_us = now_us;
	}
	if (loop.again || now_us - loop.active_us < loop.spin_us) {
		loop.again = false;
		return 0;
	}
	return timers_wait(now_us);
}

void loop_turn(void)
{
	int32_t wait_ms = time_to_wait();

	loop.now_us = 0;
	loop.running = true;
	if (h2o_evloop_run(loop.h2o, wait_ms) != 0 && errno != EINTR)
		fatal("loop: epoll");
	loop.running = false;
	run_timers();
	for (size_t i = 0; i < loop.n_hooks; i++)
		loop.hooks[i].fn(loop.hooks[i].arg);
	atomic_store_explicit(&loop.shared->turn_us, loop_now_us(), memory_order_relaxed);
}

h2o_evloop_t *loop_init(uint64_t spin_us, struct shared_worker *shared)
{
	memset(&loop, 0, sizeof(loop));
	for (unsigned i = 0; i < SLOTS; i++)
		loop.slots[i].next = loop.slots[i].prev = &loop.slots[i];
	loop.spin_us = spin_us;
	loop.shared = shared;
	loop.tick = loop_now_us() / SLOT_US;
	loop.h2o = h2o_evloop_create();
	return loop.h2o;
}

void loop_done(void)
{
	h2o_evloop_destroy(loop.h2o);
	loop.h2o = NULL;
	loop.n_hooks = 0;
}
