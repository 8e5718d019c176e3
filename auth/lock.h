/* lock.h - keeps the delays of accounts in PostgreSQL, so that a restart of auth ends none. */
#pragma once
#include "throttle.h"
#include <pg/pg.h>

/* pg and throttle are borrowed; pg NULL: nothing is kept. */
struct locks {
	struct pg       *pg;
	struct throttle *throttle;
	unsigned         window_s; /* of throttle_limits */
};

/* A throttle_lock_cb; arg: the struct locks. Does not wait: the delay holds in memory from now on. */
void locks_keep(void *arg, struct bw_str user, unsigned failures, unsigned wait_s);
/* Whenever pg is up, before anything else is asked of it: whoever is judged by what is read after that is
 * judged with the delays of before. */
void locks_load(struct locks *l);
