/* fake_loop.c - see fake_loop.h. Time is the real clock.
 *
 * Owns: the watched descriptors and the list of timers (process lifetime). Runs in: tests, one thread.
 * Fails with: fatal. Tests: none. */
#include "fake_loop.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <gateway/http/loop.h>
#include <poll.h>
#include <stdlib.h>

#define MAX_FDS 16

struct loop_fd {
	int fd;
	void (*on_readable)(void *arg);
	void *arg;
};

static struct loop_fd     fds[MAX_FDS]; /* on_readable NULL: free */
static struct loop_timer *timers;       /* by next; not in order */

struct loop_fd *loop_fd_watch(int fd, void (*on_readable)(void *arg), void *arg)
{
	for (int i = 0; i < MAX_FDS; i++)
		if (!fds[i].on_readable) {
			fds[i] = (struct loop_fd){ fd, on_readable, arg };
			return &fds[i];
		}
	fatalx("fake loop: too many descriptors");
}

void loop_fd_close(struct loop_fd *w)
{
	w->on_readable = NULL;
}

uint64_t loop_now_us(void)
{
	return clock_mono_us();
}

void loop_timer_unlink(struct loop_timer *t)
{
	struct loop_timer **at = &timers;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
	t->due_us = 0;
}

void loop_timer_link(struct loop_timer *t, uint32_t ms)
{
	loop_timer_unlink(t);
	t->due_us = loop_now_us() + UINT64_C(1000) * ms;
	t->next = timers;
	timers = t;
}

static struct loop_timer *next_timer(void)
{
	struct loop_timer *first = timers;

	for (struct loop_timer *t = timers; t; t = t->next)
		if (t->due_us < first->due_us)
			first = t;
	return first;
}

static int time_to_wait(int max_ms)
{
	const struct loop_timer *t = next_timer();
	uint64_t                 now_us = loop_now_us(), ms;

	if (!t)
		return max_ms;
	ms = t->due_us > now_us ? (t->due_us - now_us + 999) / 1000 : 0;
	return ms < (uint64_t)max_ms ? (int)ms : max_ms;
}

void fake_loop_turn(int max_ms)
{
	struct pollfd      polled[MAX_FDS];
	struct loop_timer *t;

	for (int i = 0; i < MAX_FDS; i++)
		polled[i] = (struct pollfd){ .fd = fds[i].on_readable ? fds[i].fd : -1,
			                     .events = POLLIN };
	if (poll(polled, MAX_FDS, time_to_wait(max_ms)) < 0)
		fatal("fake loop: poll");
	for (int i = 0; i < MAX_FDS; i++)
		if (polled[i].revents && fds[i].on_readable)
			fds[i].on_readable(fds[i].arg);
	t = next_timer();
	if (t && t->due_us <= loop_now_us()) {
		loop_timer_unlink(t);
		t->on_due(t);
	}
}
