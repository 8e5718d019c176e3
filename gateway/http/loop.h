/* loop.h - the worker's event loop without any libh2o type: descriptors, timers, the end of a turn.
 * Implemented over h2o_evloop in gateway/http; used by the peers, offloading and bundles. All
 * callbacks run on the loop's own stack. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct loop_fd;

/* Watches a dup of fd, level-triggered; on_readable(arg) while there is something to read. The
 * caller keeps and closes fd itself, after loop_fd_close. */
struct loop_fd *loop_fd_watch(int fd, void (*on_readable)(void *arg), void *arg);
/* on_writable(arg) runs once. */
void loop_fd_notify_write(struct loop_fd *w, void (*on_writable)(void *arg));
void loop_fd_pause_read(struct loop_fd *w, bool pause);
void loop_fd_close(struct loop_fd *w);

/* One-shot timer, resolution 10 ms. The entry is the caller's; link again after it has fired. */
struct loop_timer {
	struct loop_timer *next, *prev; /* private */
	uint64_t           due_us;      /* private; 0: not linked */
	void (*on_due)(struct loop_timer *t);
};
void loop_timer_link(struct loop_timer *t, uint32_t ms);
void loop_timer_unlink(struct loop_timer *t); /* nothing if not linked */

/* hook(arg) runs after each turn of the loop that had events: the place to flush. */
void loop_on_turn(void (*hook)(void *arg), void *arg);
/* Microseconds of the monotonic clock, read once per turn. */
uint64_t loop_now_us(void);
