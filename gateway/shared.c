/* shared.c - the mapping that the parent makes before it forks its workers.
 *
 * Owns: the mapping (process lifetime). Runs in: the parent, before the fork; a worker that leaves.
 * Fails with: fatal. Tests: tests/system/gateway_test.py reads the counters through /metrics. */
#include "shared.h"

#include <base/fatal.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

struct shared *shared_map(uint32_t n_workers)
{
	size_t         size = sizeof(struct shared) + n_workers * sizeof(struct shared_worker);
	struct shared *s;

	s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s == MAP_FAILED)
		fatal("shared mapping");
	s->n_workers = n_workers;
	return s;
}

void shared_leave(struct shared_worker *me)
{
	struct shared_worker copy;

	memcpy(&copy, me, sizeof(copy));
	/* The successor may be started at this word and write here: nothing of it is touched any
	 * more. */
	atomic_store(&me->left, 1);
	if (mmap(me, sizeof(*me), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
	         -1, 0) == MAP_FAILED)
		fatal("private mapping");
	memcpy(me, &copy, sizeof(copy));
}
