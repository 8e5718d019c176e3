/* cache.h - encoded resources by path, what is known not to exist, and pages of children; bounded
 * in octets, kept as a tree, so that what happens to a node reaches all below it.
 *
 * An entry is in one of three states. Entries without data stand for ancestors of others, or wait
 * for a fill. A fill is announced before its statement is sent; an invalidation in between makes it
 * stale: what it brings is older than the news and is not kept. */
#pragma once
#include <boardwalk/types.h>

struct acl_scope;
struct cache;
struct cache_fill;

enum cache_state {
	CACHE_EMPTY,    /* nothing is known */
	CACHE_MISSING,  /* there is no such resource */
	CACHE_RESOURCE, /* record is it */
};

/* Children number 1 to n after (position, id) in the parent's order, and perhaps one more. */
struct cache_page {
	struct cache_page *next;
	int64_t            position, id; /* the child before the page; INT64_MIN: the first page */
	int64_t            last_position, last_id; /* the page's last child */
	unsigned           n;
	bool               more;          /* another child follows: record number n is it */
	uint64_t           types;         /* type_loads() when its records were encoded */
	uint64_t           acl;           /* acl_loads() when scopes were looked up; 0: never */
	uint32_t           size;          /* of all in one block, for the account */
	const struct acl_scope **scopes;  /* per record, more included */
	uint32_t                *at;      /* offset of record i; at[n + more] is the end */
	uint8_t                 *records; /* wire/record.h, without properties */
};

/* What a hit looks at stands together, next to the path: two cache lines. */
struct cache_entry {
	struct cache_entry     *parent, *child, *sibling, **sibling_at;
	struct cache_entry     *newer, *older; /* those with data, by age */
	struct cache_fill      *fills;
	struct cache_page      *pages;
	int64_t                 position, id;
	bool                    is_dated; /* stands in the order of age */
	struct cache_entry     *next;     /* in the bucket */
	uint64_t                hash;
	uint8_t                *record; /* heap */
	uint64_t                types;  /* type_loads() when it was encoded */
	uint64_t                acl;    /* acl_loads() when scope was looked up; 0: never */
	const struct acl_scope *scope;
	uint32_t                n_record;
	uint32_t                props_at; /* offset: without properties it ends here */
	uint32_t                path_n;
	uint8_t                 state;  /* enum cache_state */
	bool                    used;   /* since the hand was here */
	char                    path[]; /* NUL behind it */
};

/* Embedded in what waits for a statement's rows. */
struct cache_fill {
	struct cache_fill  *next;
	struct cache_entry *entry;
	void               *owner;
	bool                stale;
	bool                page; /* of children after (position, id), else the record */
	int64_t             position, id;
};

struct cache *cache_new(size_t max_bytes);
void          cache_free(struct cache *c); /* no fill may be under way */
size_t        cache_bytes(const struct cache *c);
size_t        cache_entries(const struct cache *c);   /* that hold something */
uint64_t      cache_evictions(const struct cache *c); /* by cache_trim, so far */

/* The entry of a path in any state; NULL if there is none. Stays while it has data or fills and
 * nothing is trimmed. */
struct cache_entry *cache_find(struct cache *c, struct bw_str path);
/* The same in two steps. Between them, for a batch: each of the passes 1 to 3 asks for the memory
 * that the next one, and at last the finding, looks at. All paths of a batch wait for it
 * together. */
uint64_t            cache_hash(const struct cache *c, struct bw_str path);
struct cache_entry *cache_find_hashed(struct cache *c, struct bw_str path, uint64_t hash);
void                cache_prefetch(const struct cache *c, uint64_t hash, unsigned pass);
/* Finds or makes it, with its ancestors. path: absolute, no empty segment. */
struct cache_entry *cache_make(struct cache *c, struct bw_str path);

void cache_fill_begin(struct cache_entry *e, struct cache_fill *f);
/* An entry without data that nobody needs any more goes. */
void cache_fill_end(struct cache *c, struct cache_fill *f);

/* Puts data into the entry of a fill; takes record (heap). */
void cache_put_resource(struct cache *c, struct cache_entry *e, uint8_t *record, uint32_t n,
                        uint32_t props_at);
void cache_put_missing(struct cache *c, struct cache_entry *e);
/* One block: the page with room for its arrays and n_records octets. Fill it, then put it. */
struct cache_page *cache_page_new(unsigned n, bool more, uint32_t n_records);
void cache_put_page(struct cache *c, struct cache_entry *parent, struct cache_page *page);
struct cache_page *cache_find_page(const struct cache_entry *parent, int64_t position, int64_t id);
/* Forgets what the entry holds now, its pages too if pages. */
void cache_drop(struct cache *c, struct cache_entry *e, bool pages);

/* Path was added or changed: it and the pages it stands in. Subtree: all below as well. */
void cache_invalidate(struct cache *c, struct bw_str path, bool subtree);
void cache_invalidate_all(struct cache *c);
/* Drops what was not used for longest until the bound holds. */
void cache_trim(struct cache *c);
