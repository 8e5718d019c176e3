/* cache.c - the tree of cached resources.
 *
 *    /  ---- content ---- dam ---- a.png      each entry also stands in a bucket, by its path,
 *                |          `----- b.png      and those with data in the order of age:
 *                `------- test                oldest <-> ... <-> newest
 *
 * The hand takes the oldest: if it was used since the last time it becomes the newest, else it goes
 * (CLOCK). So what a scan brings in once goes before what is in use.
 * Owns: entries, records, pages; fills are their owner's. Runs in: repo's loop; walks iteratively,
 * since depth comes from outside. Fails with: nothing. Tests: tests/unit/repo/cache_test.c. */
#include "cache.h"
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>

#define OCTETS_PER_BUCKET 512u /* about one entry */
#define PREFETCH_OCTETS   512u /* of a record; what follows is fetched in sequence by itself */

struct cache {
	struct cache_entry **buckets;
	size_t               n_buckets;
	size_t               max_bytes, bytes, n_dated;
	uint64_t             evictions;
	struct cache_entry  *oldest, *newest;
	uint8_t              hash_key[crypto_shorthash_KEYBYTES];
};

struct cache *cache_new(size_t max_bytes)
{
	struct cache *c = xcalloc(1, sizeof(*c));

	c->max_bytes = max_bytes;
	c->n_buckets = 1024;
	while (c->n_buckets < max_bytes / OCTETS_PER_BUCKET)
		c->n_buckets *= 2;
	c->buckets = xcalloc(c->n_buckets, sizeof(struct cache_entry *));
	crypto_shorthash_keygen(c->hash_key);
	return c;
}

size_t cache_bytes(const struct cache *c)
{
	return c->bytes;
}

size_t cache_entries(const struct cache *c)
{
	return c->n_dated;
}

uint64_t cache_evictions(const struct cache *c)
{
	return c->evictions;
}

static size_t size_of(const struct cache_entry *e)
{
	return sizeof(*e) + e->path_n + 1;
}

/* ---- finding and making ---- */

struct cache_entry *cache_find_hashed(struct cache *c, struct bw_str path, uint64_t hash)
{
	struct cache_entry *e = c->buckets[hash & (c->n_buckets - 1)];

	while (e != NULL &&
	       (e->hash != hash || e->path_n != path.n || memcmp(e->path, path.p, path.n) != 0))
		e = e->next;
	return e;
}

uint64_t cache_hash(const struct cache *c, struct bw_str path)
{
	uint64_t hash;

	crypto_shorthash((uint8_t *)&hash, (const uint8_t *)path.p, path.n, c->hash_key);
	return hash;
}

struct cache_entry *cache_find(struct cache *c, struct bw_str path)
{
	return cache_find_hashed(c, path, cache_hash(c, path));
}

void cache_prefetch(const struct cache *c, uint64_t hash, unsigned pass)
{
	struct cache_entry *const *bucket = &c->buckets[hash & (c->n_buckets - 1)];
	const struct cache_entry  *e;

	if (pass == 1) {
		__builtin_prefetch(bucket);
		return;
	}
	e = *bucket;
	if (pass == 2 && e != NULL) {
		__builtin_prefetch(&e->next);
		__builtin_prefetch(e->path);
	} else if (pass == 3 && e != NULL && e->hash == hash && e->record != NULL) {
		for (uint32_t at = 0; at < PREFETCH_OCTETS && at < e->n_record; at += 64)
			__builtin_prefetch(e->record + at);
	}
}

static void hang(struct cache_entry *e, struct cache_entry *parent)
{
	e->parent = parent;
	e->sibling = parent->child;
	e->sibling_at = &parent->child;
	if (e->sibling != NULL)
		e->sibling->sibling_at = &e->sibling;
	parent->child = e;
}

static struct cache_entry *add(struct cache *c, struct bw_str path, uint64_t hash)
{
	struct cache_entry **bucket = &c->buckets[hash & (c->n_buckets - 1)];
	struct cache_entry  *e = xcalloc(1, sizeof(*e) + path.n + 1);

	e->hash = hash;
	e->path_n = (uint32_t)path.n;
	memcpy(e->path, path.p, path.n);
	e->next = *bucket;
	*bucket = e;
	c->bytes += size_of(e);
	return e;
}

struct cache_entry *cache_make(struct cache *c, struct bw_str path)
{
	uint64_t            hash = cache_hash(c, path);
	struct cache_entry *e = cache_find_hashed(c, path, hash), *below, *first;
	const char         *slash;

	if (e != NULL)
		return e;
	first = below = add(c, path, hash);
	while (path.n > 1) {
		slash = memrchr(path.p, '/', path.n);
		path.n = slash == path.p ? 1 : (size_t)(slash - path.p);
		hash = cache_hash(c, path);
		e = cache_find_hashed(c, path, hash);
		hang(below, e != NULL ? e : add(c, path, hash));
		if (e != NULL)
			break;
		below = below->parent;
	}
	return first;
}

/* ---- age ---- */

static void date(struct cache *c, struct cache_entry *e)
{
	e->older = c->newest;
	e->newer = NULL;
	if (c->newest != NULL)
		c->newest->newer = e;
	else
		c->oldest = e;
	c->newest = e;
	e->is_dated = true;
	c->n_dated++;
}

static void undate(struct cache *c, struct cache_entry *e)
{
	if (e->newer != NULL)
		e->newer->older = e->older;
	else
		c->newest = e->older;
	if (e->older != NULL)
		e->older->newer = e->newer;
	else
		c->oldest = e->newer;
	e->is_dated = false;
	c->n_dated--;
}

/* ---- letting go ---- */

static void unlink_entry(struct cache *c, struct cache_entry *e)
{
	struct cache_entry **at = &c->buckets[e->hash & (c->n_buckets - 1)];

	while (*at != e)
		at = &(*at)->next;
	*at = e->next;
	if (e->parent != NULL) {
		*e->sibling_at = e->sibling;
		if (e->sibling != NULL)
			e->sibling->sibling_at = e->sibling_at;
	}
	c->bytes -= size_of(e);
	free(e);
}

/* Frees the entry, and then its ancestors, as long as nothing is in them and nothing below. */
static void free_empty(struct cache *c, struct cache_entry *e)
{
	while (e != NULL && e->state == CACHE_EMPTY && e->pages == NULL && e->fills == NULL &&
	       e->child == NULL) {
		struct cache_entry *parent = e->parent;

		unlink_entry(c, e);
		e = parent;
	}
}

static void drop_record(struct cache *c, struct cache_entry *e)
{
	if (e->state == CACHE_RESOURCE) {
		c->bytes -= e->n_record;
		free(e->record);
		e->record = NULL;
		e->n_record = 0;
	}
	e->state = CACHE_EMPTY;
	e->acl = 0;
	if (e->is_dated && e->pages == NULL)
		undate(c, e);
}

static void drop_pages(struct cache *c, struct cache_entry *e)
{
	struct cache_page *page;

	while ((page = e->pages) != NULL) {
		e->pages = page->next;
		c->bytes -= page->size;
		free(page);
	}
	if (e->is_dated && e->state == CACHE_EMPTY)
		undate(c, e);
}

void cache_drop(struct cache *c, struct cache_entry *e, bool pages)
{
	drop_record(c, e);
	if (pages)
		drop_pages(c, e);
	free_empty(c, e);
}

/* ---- fills ---- */

void cache_fill_begin(struct cache_entry *e, struct cache_fill *f)
{
	f->entry = e;
	f->stale = false;
	f->next = e->fills;
	e->fills = f;
}

void cache_fill_end(struct cache *c, struct cache_fill *f)
{
	struct cache_fill **at = &f->entry->fills;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	free_empty(c, f->entry);
	f->entry = NULL;
}

static void make_stale(struct cache_entry *e, bool pages)
{
	for (struct cache_fill *f = e->fills; f != NULL; f = f->next)
		if (f->page == pages)
			f->stale = true;
}

void cache_put_resource(struct cache *c, struct cache_entry *e, uint8_t *record, uint32_t n,
                        uint32_t props_at)
{
	drop_record(c, e);
	e->state = CACHE_RESOURCE;
	e->record = record;
	e->n_record = n;
	e->props_at = props_at;
	c->bytes += n;
	if (!e->is_dated)
		date(c, e);
}

void cache_put_missing(struct cache *c, struct cache_entry *e)
{
	drop_record(c, e);
	e->state = CACHE_MISSING;
	if (!e->is_dated)
		date(c, e);
}

struct cache_page *cache_page_new(unsigned n, bool more, uint32_t n_records)
{
	unsigned total = n + more;
	size_t   scopes = total * sizeof(struct acl_scope *), at = (total + 1) * sizeof(uint32_t);
	size_t   size = sizeof(struct cache_page) + scopes + at + n_records;
	struct cache_page *page = xcalloc(1, size);

	page->n = n;
	page->more = more;
	page->size = (uint32_t)size;
	page->scopes = (const struct acl_scope **)(page + 1);
	page->at = (uint32_t *)((uint8_t *)page->scopes + scopes);
	page->records = (uint8_t *)page->at + at;
	return page;
}

void cache_put_page(struct cache *c, struct cache_entry *parent, struct cache_page *page)
{
	for (struct cache_page **at = &parent->pages; *at != NULL; at = &(*at)->next) {
		struct cache_page *old = *at;

		if (old->position == page->position && old->id == page->id) {
			*at = old->next;
			c->bytes -= old->size;
			free(old);
			break;
		}
	}
	page->next = parent->pages;
	parent->pages = page;
	c->bytes += page->size;
	if (!parent->is_dated)
		date(c, parent);
}

struct cache_page *cache_find_page(const struct cache_entry *parent, int64_t position, int64_t id)
{
	struct cache_page *page = parent->pages;

	while (page != NULL && (page->position != position || page->id != id))
		page = page->next;
	return page;
}

/* ---- news ---- */

static void forget(struct cache *c, struct cache_entry *e)
{
	make_stale(e, false);
	make_stale(e, true);
	drop_record(c, e);
	drop_pages(c, e);
}

/* All below top, each before its parent, so that a parent is empty when its turn comes. */
static void forget_below(struct cache *c, struct cache_entry *top)
{
	struct cache_entry *e = top, *up;

	for (;;) {
		while (e->child != NULL)
			e = e->child;
		/* The leftmost leaf: it goes, or stays for its fills and hands on to the next. */
		for (;;) {
			struct cache_entry *sibling = e->sibling;

			up = e->parent;
			forget(c, e);
			if (e == top)
				return;
			if (e->fills == NULL && e->child == NULL)
				unlink_entry(c, e);
			e = sibling != NULL ? sibling : up;
			if (sibling != NULL)
				break;
		}
	}
}

void cache_invalidate(struct cache *c, struct bw_str path, bool subtree)
{
	struct cache_entry *e = cache_find(c, path), *parent;
	const char         *slash = memrchr(path.p, '/', path.n);
	struct bw_str       above = { path.p, slash == path.p ? 1 : (size_t)(slash - path.p) };

	parent = path.n > 1 ? cache_find(c, above) : NULL;
	if (parent != NULL) {
		make_stale(parent, true);
		drop_pages(c, parent);
	}
	if (e != NULL && subtree) {
		forget_below(c, e);
		free_empty(c, e);
	} else if (e != NULL) {
		make_stale(e, false);
		cache_drop(c, e, false);
	} else if (parent != NULL) {
		free_empty(c, parent);
	}
}

void cache_invalidate_all(struct cache *c)
{
	struct cache_entry *root = cache_find(c, BW_STR("/"));

	if (root == NULL)
		return;
	forget_below(c, root);
	free_empty(c, root);
}

void cache_trim(struct cache *c)
{
	for (size_t looked = 2 * c->n_dated; looked > 0 && c->oldest != NULL; looked--) {
		struct cache_entry *e = c->oldest;

		if (c->bytes <= c->max_bytes)
			return;

		if (e->used || e->fills != NULL) {
			e->used = false;
			undate(c, e);
			date(c, e);
		} else {
			cache_drop(c, e, true);
			c->evictions++;
		}
	}
}

void cache_free(struct cache *c)
{
	if (c == NULL)
		return;
	cache_invalidate_all(c);
	if (c->bytes != 0)
		fatalx("the cache is freed during a fill, or counts wrong");
	free(c->buckets);
	free(c);
}
