/* cache.h - the selection cache: which servlet was chosen for a method, selectors, an extension and a
 * type with its super types. The path is no part of the key. */
#pragma once
#include <boardwalk/types.h>

struct mount_servlet;
struct select_query;

#define CACHE_PARTS 6

struct cache_key {
	uint64_t      hash;
	struct bw_str part[CACHE_PARTS];
};

void cache_key_make(const struct select_query *q, struct cache_key *ret);
/* NULL: not known, or no longer true. Allocates nothing. */
struct mount_servlet *cache_get(const struct cache_key *key, uint64_t types);
/* generation: mount_generation() before the selection began. Keys over 1 KiB are not kept. */
void cache_put(const struct cache_key *key, uint64_t types, uint64_t generation,
               struct mount_servlet *m);
void cache_done(void);
