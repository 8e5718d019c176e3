/* shared.h - the mapping that the parent makes before it forks its workers: one heartbeat and one
 * set of counters per worker. Each field has one writer (its worker), so plain relaxed atomics
 * do. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

/* Which bundle's code runs outside of a request (mark.c): written before the call, so that who
 * finds the worker dead knows whom to blame. */
struct shared_mark {
	_Atomic uint32_t phase; /* enum mark_phase */
	uint64_t         generation;
	char             bundle[128]; /* symbolic name, or the file while that is not known */
};

/* What crashed this worker's predecessors (crash_limits.c, crashes.c). Written by the
 * parent while there is no worker, read by the next one. */
#define SHARED_SUBJECT_MAX 256u
#define SHARED_LIMITS      16u
struct shared_limit {
	char     subject[SHARED_SUBJECT_MAX]; /* "" : free */
	uint32_t crashes;                     /* in a row */
	uint64_t crashed_us, until_us;        /* monotonic */
};

/* On pages of its own: shared_leave. */
struct shared_worker {
	_Alignas(4096) _Atomic uint64_t turn_us; /* monotonic time of the last turn of the loop */
	_Atomic uint32_t   in_requests;          /* requests being served */
	_Atomic uint32_t   ready;                /* auth and repo have greeted */
	_Atomic uint32_t   started;              /* it got as far as serving, once */
	_Atomic uint32_t   accepting;            /* from its public socket; cleared by the parent */
	_Atomic uint64_t   requests, responses[6]; /* by class: [2] = 2xx ... */
	_Atomic uint64_t   connections, connections_open;
	_Atomic uint64_t   aborted;        /* client gone or late */
	_Atomic uint64_t   refused;        /* by the strict guard */
	_Atomic uint64_t   handles_open;   /* resolver handles not closed yet: 0 when idle */
	_Atomic uint64_t   resolvers_left; /* clones that their requests did not close */
	_Atomic uint32_t   bundles_kept;   /* old generations that could not be unmapped */
	_Atomic uint32_t   wants_successor;
	_Atomic uint32_t   left; /* shared_leave */
	struct shared_mark mark;
	char               crash_subject[SHARED_SUBJECT_MAX]; /* by the signal handler; "" : none */
	_Atomic uint64_t crashes; /* of those with a subject; by the parent, between two workers */
	struct shared_limit limits[SHARED_LIMITS];
};

struct shared {
	uint32_t             n_workers;
	_Atomic uint64_t     restarts;
	struct shared_worker worker[];
};

struct shared *shared_map(uint32_t n_workers); /* fatal on failure */
/* In a worker whose place a successor takes while it still ends its requests: what it writes here
 * from now on is seen by itself alone, and the last that the others see is left = 1. */
void shared_leave(struct shared_worker *me);
