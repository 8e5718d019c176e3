/* fetch.h - a statement under way and the questions that wait for its rows. For resource.c and
 * fetch.c, the two files that know struct resources.
 *
 *    resource.c: question -- unknown path --> fetch_resources / fetch_page
 *                   ^                              | rows
 *                   |                              v
 *                   |                  newer than the entries? --yes--> held, until they are loaded
 *                   |                              | no
 *                   `------- ask_again <------ data into the cache
 */
#pragma once
#include "resource.h"
#include <pg/pg.h>

#define FETCH_MAX_PATHS 64u /* in one statement */
#define PAGE_CHILDREN   256u

struct ask {
	struct ask_question question; /* on the heap: path and after are in text[] */
	struct asker       *asker;    /* NULL: gone; only on the heap */
	bool                on_heap;
	unsigned            rounds;
	TAILQ_ENTRY(ask)    with_fetch;
	LIST_ENTRY(ask)     with_asker;
	/* CHILDREN: how far it has come. */
	bool                begun, more;
	int64_t             position, id; /* the child before the next page to look at */
	unsigned            count;
	struct buf          records;
	char                text[];
};
TAILQ_HEAD(asks, ask);

/* What one fill of a fetch has brought. */
struct fetched {
	struct cache_fill fill;
	uint8_t          *record; /* heap; NULL: there is no such resource */
	uint32_t          n_record, props_at;
	int64_t           position, id;
};

struct fetch {
	TAILQ_ENTRY(fetch) with_held;
	struct resources  *r;
	struct asks        asks, late; /* late: came after an invalidation, want newer rows */
	struct cache_page *page;       /* of a page fetch, once it is there */
	uint64_t           types;      /* type_loads() at encoding */
	int64_t            generation; /* of the entries, as the rows saw it; 0: no rows */
	bool               is_page;
	unsigned           n;
	struct fetched     items[];
};
TAILQ_HEAD(fetches, fetch);

struct resources {
	struct cache              *cache;
	struct acl                *acl;
	struct type_graph         *types;
	struct pg                 *reads;
	struct resources_settings  settings; /* strings borrowed */
	struct fetches             held;
	bool                       current;
	uint64_t                   types_counter, acl_counter; /* sent with each answer */
	unsigned                   n_waiting;
	struct buf                 scratch;
};

extern const struct pg_statement fetch_statements[];
extern const size_t              fetch_n_statements;

/* The fetch that will fill the entry's record, or its page; NULL: none is under way. */
struct fetch *fetch_of(const struct cache_entry *e, bool page, int64_t position, int64_t id);
/* Starts one. paths: valid, at most FETCH_MAX_PATHS, not being fetched. BW_E* as pg_query. */
int  fetch_resources(struct resources *r, const struct bw_str *paths, unsigned n, struct fetch **ret);
int  fetch_page(struct resources *r, struct cache_entry *parent, int64_t position, int64_t id,
                struct fetch **ret);
/* The ask (on the heap) is looked at again when the rows are there. */
void fetch_join(struct fetch *f, struct ask *ask);
/* Entries have been loaded: those held for them go on. err: they end with it instead. */
void fetch_release_held(struct resources *r, int err);

/* resource.c: from the start; may join another fetch. Ends with err instead, unless that is BW_OK. */
void ask_again(struct resources *r, struct ask *ask, int err);
