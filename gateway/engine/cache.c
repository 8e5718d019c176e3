/* cache.c - 512 remembered selections in 256 sets of two.
 *
 * An entry rests on two counters, not on anybody telling it to go: the mount generation of this worker
 * and repo's counter of type changes, which comes with the very answer that the request was resolved
 * by. If either differs, the entry is as good as absent; so a servlet that was unmounted meanwhile is
 * never reached through here, whichever happened first.
 *
 * Sling's cache keeps what came first and then takes nothing more. There anybody can fill it with
 * selectors that mean nothing; here such a request costs at most one entry, and the next request for
 * what it pushed out brings that back. That there is no servlet is remembered too: a path that is not
 * there should cost no more than one that is.
 *
 * Owns: copies of the keys. Runs in: the worker's thread; never waits. Fails with: nothing.
 * Tests: tests/unit/engine/cache_test.c. */
#include <base/fatal.h>
#include <stdlib.h>
#include "engine/cache.h"
#include "engine/hash.h"
#include "engine/location.h"
#include "engine/mount.h"
#include "engine/select.h"

#define SETS    256u
#define WAYS    2u
#define KEY_MAX 1024u

struct entry {
	struct cache_key key; /* parts lie in bytes */
	uint64_t         types, generation;
	struct mount_servlet
		*servlet; /* NULL: free. Not held: generation says whether it is there */
	char    *bytes;   /* heap */
};

static struct entry entries[SETS][WAYS];

void cache_key_make(const struct select_query *q, const char *base_type, struct cache_key *ret)
{
	const struct record *r = q->record;
	uint64_t             hash = 0;

	ret->part[0] = q->method;
	ret->part[1] = q->selectors;
	ret->part[2] = q->extension;
	ret->part[3] = location_type(r);
	ret->part[4] = r->super_type;
	ret->part[5] = bw_str(base_type);
	ret->part[6] = BW_ABSENT;
	if (r->n_chain > 0) /* the whole chain as it lies in the record */
		ret->part[6] = (struct bw_str){ (const char *)r->p + r->chain_at,
			                        r->props_at - r->chain_at };
	for (size_t i = 0; i < CACHE_PARTS; i++)
		hash = hash_str(hash, ret->part[i]);
	ret->hash = hash;
}

/* An absent part and an empty one mean the same here. */
static bool key_eq(const struct cache_key *a, const struct cache_key *b)
{
	if (a->hash != b->hash)
		return false;
	for (size_t i = 0; i < CACHE_PARTS; i++)
		if (a->part[i].n != b->part[i].n ||
		    (a->part[i].n > 0 && memcmp(a->part[i].p, b->part[i].p, a->part[i].n) != 0))
			return false;
	return true;
}

bool cache_get(const struct cache_key *key, uint64_t types, struct mount_servlet **ret_servlet)
{
	struct entry *set = entries[key->hash % SETS];

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].bytes == NULL || set[i].generation != mount_generation() ||
		    set[i].types != types || !key_eq(&set[i].key, key))
			continue;
		*ret_servlet = set[i].servlet;
		return true;
	}
	return false;
}

static size_t key_size(const struct cache_key *key)
{
	size_t n = 0;

	for (size_t i = 0; i < CACHE_PARTS; i++)
		n += key->part[i].n;
	return n;
}

static void entry_fill(struct entry *e, const struct cache_key *key)
{
	char *at = xmalloc(key_size(key) + 1);

	e->bytes = at;
	e->key = *key;
	for (size_t i = 0; i < CACHE_PARTS; i++) {
		if (key->part[i].n > 0)
			memcpy(at, key->part[i].p, key->part[i].n);
		e->key.part[i].p = at;
		at += key->part[i].n;
	}
}

void cache_put(const struct cache_key *key, uint64_t types, uint64_t generation,
               struct mount_servlet *m)
{
	struct entry *set = entries[key->hash % SETS], *e = &set[0];

	if (key_size(key) > KEY_MAX)
		return;
	/* The older of the two goes, unless the newer is this very key with old counters. */
	if (e->bytes == NULL || !key_eq(&e->key, key)) {
		free(set[1].bytes);
		set[1] = set[0];
	} else {
		free(e->bytes);
	}
	entry_fill(e, key);
	e->types = types;
	e->generation = generation;
	e->servlet = m;
}

void cache_done(void)
{
	for (size_t i = 0; i < SETS; i++)
		for (size_t k = 0; k < WAYS; k++)
			free(entries[i][k].bytes);
	memset(entries, 0, sizeof(entries));
}
