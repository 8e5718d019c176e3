/* crew.h - the workers as the parent speaks with them: a channel each, and rounds of asking.
 *
 * A round is one order to some workers; each of them answers, fails, ends, or is silent for too long,
 * and every one of these counts as its answer. */
#pragma once
#include "control/channel.h"

#include <sys/types.h>

struct crew;
struct round;

struct crew_answer {
	uint32_t worker;
	bool     ok;
	bool     silent; /* no answer in time */
	const char *
		text; /* what was asked for, or the reason; borrowed for the call; no NUL behind it */
	size_t n;
};

struct round { /* in the memory of whoever asks, until on_end or crew_forget */
	/* set before */
	void (*on_answer)(struct round *r, const struct crew_answer *answer);
	void (*on_end)(struct round *r); /* everybody has answered; may begin the next round */

	/* private */
	struct round *next;
	uint32_t      call;
	uint32_t      open; /* who has not answered */
	uint64_t      due_us;
};

struct crew *crew_new(uint32_t n_workers);
/* Also in a worker after its fork: all of the parent's ends are closed. Rounds are their askers'. */
void     crew_free(struct crew *c);
uint32_t crew_size(const struct crew *c);

/* Before a worker's fork: makes its channel. Returns the worker's end, for it to keep and for the
 * parent to close after the fork; fatal on failure. */
int  crew_open(struct crew *c, uint32_t worker);
void crew_started(struct crew *c, uint32_t worker, pid_t pid);
/* It is gone: "has ended by signal SEGV" is its answer to whatever it was asked. how NULL: it was asked
 * to go, and its successor will know; that is no failure. */
void crew_ended(struct crew *c, uint32_t worker, const char *how);
/* 0: it does not run. */
pid_t crew_pid(const struct crew *c, uint32_t worker);

/* What workers say without being asked: words, each with its NUL, borrowed for the call. The last one said
 * is heard of before the worker's end. */
typedef void (*crew_news_cb)(void *arg, uint32_t worker, const char *words, size_t n);
void crew_on_news(struct crew *c, crew_news_cb fn, void *arg);

/* Begins a round that is over when everybody asked has answered, after limit_ms at the latest. */
void crew_begin(struct crew *c, struct round *r, uint32_t limit_ms);
/* Asks one worker that runs. words: each with its NUL. */
void crew_ask(struct crew *c, struct round *r, uint32_t worker, const struct buf *words);
/* Asks all that run. */
void crew_ask_all(struct crew *c, struct round *r, const struct buf *words);
/* All have been asked. on_end follows, at once if nobody was. */
void crew_asked(struct crew *c, struct round *r);
/* Nobody is interested in that round any more; neither callback runs. */
void crew_forget(struct crew *c, struct round *r);

/* For poll(2). */
int  crew_fd(const struct crew *c, uint32_t worker, short *ret_events); /* -1: none */
void crew_turn(struct crew *c, uint32_t worker, short events);
/* Ends what is overdue; microseconds until the next could be, at most limit_us. */
uint64_t crew_tend(struct crew *c, uint64_t now_us, uint64_t limit_us);
