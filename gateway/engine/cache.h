/* cache.h - the selection cache: which servlet was chosen, or that there is none, for a method (or an
 * error's name), selectors, an extension and a type with its super types. The path is no part of the
 * key. */
#pragma once
#include <boardwalk/types.h>

struct mount_servlet;
struct select_query;

#define CACHE_PARTS 7

struct cache_key {
	uint64_t      hash;
	struct bw_str part[CACHE_PARTS];
};

/* Borrows all it is made of. base_type: of location.h. */
void cache_key_make(const struct select_query *q, const char *base_type, struct cache_key *ret);
/* False: not known, or no longer true. *ret_servlet is NULL if there is none. Allocates nothing. */
bool cache_get(const struct cache_key *key, uint64_t types, struct mount_servlet **ret_servlet);
/* generation: mount_generation() before the selection began. Keys over 1 KiB are not kept. */
void cache_put(const struct cache_key *key, uint64_t types, uint64_t generation,
               struct mount_servlet *m);
void cache_done(void);
