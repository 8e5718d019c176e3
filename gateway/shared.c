/* shared.c - the mapping that the parent makes before it forks its workers.
 *
 * Owns: the mapping (process lifetime). Runs in: the parent, before the fork.
 * Fails with: fatal. Tests: tests/system/gateway_test.py reads the counters through /metrics. */
#include "shared.h"

#include <base/fatal.h>
#include <stddef.h>
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
