/* throttle.h - how often somebody may be wrong before nothing of theirs is tested for a while. */
#pragma once
#include "place.h"

struct throttle;

struct throttle_limits {
	unsigned failures;             /* so many are free; 0: nothing is throttled */
	unsigned address_failures;     /* the same for one address */
	unsigned window_s;             /* without another failure, and they are forgotten */
	unsigned delay_s, max_delay_s; /* after the last free one; doubled by each further one */
};

/* Who wants a password to be tested. */
struct throttle_who {
	struct bw_str user; /* as credential_name makes it, whether it exists or not */
	struct place  place;
	bool          is_known; /* that user has logged in from that place before */
};

enum throttle_outcome {
	THROTTLE_WRONG,
	THROTTLE_RIGHT,
	THROTTLE_UNDECIDED, /* nothing was tested after all */
};

/* An account's delay began, so that it can be kept beyond the end of this process; failures 0: it is
 * over, by a right password. */
typedef void (*throttle_lock_cb)(void *arg, struct bw_str user, unsigned failures, unsigned wait_s);

/* on_lock may be NULL. Never NULL. */
struct throttle *throttle_new(const struct throttle_limits *limits, throttle_lock_cb on_lock,
                              void *arg);
void             throttle_free(struct throttle *t); /* NULL is fine */

/* All times are CLOCK_BOOTTIME, so that a machine that sleeps does not stretch them. */

/* 0: test it now, and tell throttle_end, exactly once, how it ended; until then it counts as a failure of
 * the account. Else the seconds to wait. */
unsigned throttle_begin(struct throttle *t, const struct throttle_who *who, uint64_t now_us);
/* Returns the seconds that a delay of the account takes which begins now; 0: none. */
unsigned throttle_end(struct throttle *t, const struct throttle_who *who,
                      enum throttle_outcome outcome, uint64_t now_us);

/* For what needs no password and names nobody who could be believed: bad tokens. Seconds to wait: 0, or
 * what a bad one is to be answered. A good one passes in any case, as testing it costs little. */
unsigned throttle_place_wait(struct throttle *t, const struct place *place, uint64_t now_us);
void     throttle_place_failed(struct throttle *t, const struct place *place, uint64_t now_us);

/* A delay of an earlier process that has wait_s to go (may be over: then the next failure doubles it). */
void throttle_restore(struct throttle *t, struct bw_str user, unsigned failures, int64_t wait_s,
                      uint64_t now_us);
