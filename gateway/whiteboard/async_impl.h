/* async_impl.h - what the two halves of asynchronous requests share.
 *
 *    async.c       the request's fiber: starts, waits, tells the listeners, dispatches
 *    async_word.c  everything under the lock: word from any thread, and the loop that wakes the fiber */
#pragma once
#include "async.h"

#include <http/loop.h>
#include <request.h>

/* Below RUNNING it is open. */
enum async_state { ASYNC_STARTED, ASYNC_COMPLETE, ASYNC_DISPATCH, ASYNC_RUNNING, ASYNC_OVER };

/* A function that somebody wants to be run on the fiber. */
struct post {
	struct post *next;
	void (*fn)(struct bw_req *req, void *arg);
	void *arg;
};

struct listening; /* async.c */

struct bw_async {
	struct req_wait wait; /* first: its cancel gets here */
	/* Under the lock: async_word.c alone. */
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
	struct bw_async  *next_open, **at_open;
	struct listening *listeners, **last_listener; /* in the request's arena */
	struct loop_timer timer;
	uint32_t          timeout_ms; /* 0: never */
	uint64_t          due_us;     /* 0: not set yet */
	bool              timed_out;
	unsigned          dispatches;
};

/* ---- async_word.c, for the fiber ---- */

enum async_state async_state_of(const struct bw_async *a);
/* False: it was not in from. */
bool async_move(struct bw_async *a, enum async_state from, enum async_state to);
/* Whatever it was in. What it was to be dispatched to (owned, heap) is taken out: NULL if nothing. */
char *async_set_state(struct bw_async *a, enum async_state to);
/* RUNNING to STARTED, with a reference for the one who starts. False: it was not RUNNING. */
bool async_restart(struct bw_async *a);
/* The oldest function that waits to be run; NULL: none. Owned: free. */
struct post *async_take_post(struct bw_async *a);
/* From here on word wakes the fiber. False: there is word already. */
bool async_begin_wait(struct bw_async *a);
/* It does not, any more. */
void async_end_wait(struct bw_async *a);
/* On the loop's stack: runs the fiber on, if it waits. */
void async_wake(struct bw_async *a);
