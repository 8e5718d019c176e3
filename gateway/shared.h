/* shared.h - the mapping that the parent makes before it forks its workers: one heartbeat and one
 * set of counters per worker. Each field has one writer (its worker), so plain relaxed atomics do. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

struct shared_worker {
	_Alignas(128) _Atomic uint64_t turn_us;  /* monotonic time of the last turn of the loop */
	_Atomic uint32_t in_requests;            /* requests being served */
	_Atomic uint32_t ready;                  /* auth and repo have greeted */
	_Atomic uint32_t started;                /* it got as far as serving, once */
	_Atomic uint64_t requests, responses[6]; /* by class: [2] = 2xx ... */
	_Atomic uint64_t connections, connections_open;
	_Atomic uint64_t aborted;      /* client gone or late */
	_Atomic uint64_t refused;      /* by the strict guard */
	_Atomic uint64_t handles_open; /* resolver handles not closed yet: 0 when idle */
};

struct shared {
	uint32_t             n_workers;
	_Atomic uint64_t     restarts;
	struct shared_worker worker[];
};

struct shared *shared_map(uint32_t n_workers); /* fatal on failure */
