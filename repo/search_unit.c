/* search_unit.c - what a row of a search counts as.
 *
 * A page keeps its text below its jcr:content: /a/jcr:content/par/text. Whoever searches means the page. A row is
 * then counted, and reported, as the resource that holds the first jcr:content of its path, once for all
 * of them, if the asker may read that one; else as itself.
 * Owns: the sets of a job. Runs in: repo's loop. Fails with: nothing; a set that is full says so.
 * Tests: tests/conformance/query. */
#include "search_impl.h"
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>

#define MAX_SET (1u << 20) /* 16 MiB of a set */
#define CONTENT "/jcr:content"

uint64_t search_hash(const struct job *job, const void *p, size_t n)
{
	uint64_t hash;

	crypto_shorthash((uint8_t *)&hash, p, n, job->s->hash_key);
	return hash != 0 ? hash : 1;
}

/* ---- sets ---- */

static size_t slot_of(const struct search_set *set, uint64_t hash)
{
	size_t at = hash & (set->cap - 1);

	while (set->slots[at] != 0 && set->slots[at] != hash)
		at = (at + 1) & (set->cap - 1);
	return at;
}

static void grow(struct search_set *set)
{
	struct search_set old = *set;

	set->cap = old.cap > 0 ? 2 * old.cap : 256;
	set->slots = xcalloc(set->cap, sizeof(*set->slots));
	for (size_t i = 0; i < old.cap; i++)
		if (old.slots[i] != 0)
			set->slots[slot_of(set, old.slots[i])] = old.slots[i];
	free(old.slots);
}

bool search_set_add(struct search_set *set, uint64_t hash)
{
	size_t at;

	if (set->n > MAX_SET)
		return false;
	if (2 * set->n >= set->cap)
		grow(set);
	at = slot_of(set, hash);
	if (set->slots[at] == hash)
		return false;
	set->slots[at] = hash;
	set->n++;
	return true;
}

bool search_is_overfull(const struct job *job)
{
	return job->units.n > MAX_SET || job->counted.n > MAX_SET;
}

/* ---- holders ---- */

/* The octets before the first segment that is jcr:content; 0: there is none, or nothing before it. */
static size_t holder_length(struct bw_str path)
{
	const size_t n = sizeof(CONTENT) - 1;

	for (size_t i = 1; i + n <= path.n; i++)
		if (memcmp(path.p + i, CONTENT, n) == 0 &&
		    (i + n == path.n || path.p[i + n] == '/'))
			return i;
	return 0;
}

struct search_unit search_unit_of(struct job *job, const struct pg_rows *rows, unsigned row)
{
	struct search_unit unit = { .id = pg_int(rows, row, QUERY_COLUMN_ID),
		                    .path = pg_text(rows, row, QUERY_COLUMN_PATH) };
	struct bw_str      holder, path;
	char              *type;
	int64_t            id;

	if (!job->plan.q.as_pages)
		return unit;
	holder = pg_text(rows, row, QUERY_COLUMN_KEYS + job->n_keys + job->plan.n_facets);
	path = (struct bw_str){ unit.path.p, holder_length(unit.path) };
	if (holder.p != NULL && path.n > 0) {
		id = strtoll(holder.p, &type, 10);
		if (search_may_see(job, path, bw_str(type + 1))) {
			unit.id = id;
			unit.path = path;
		}
	}
	unit.hash = search_hash(job, unit.path.p, unit.path.n);
	return unit;
}
