/* fetch.h - questions, and the statements under way that they wait for. For the four files that
 * know struct resources: resource.c, children.c (questions), ask.c (what they share), fetch.c.
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
	struct ask_question question; /* on the heap: its strings are in text[] */
	struct asker       *asker;    /* NULL: gone; only on the heap */
	bool                on_heap;
	unsigned            rounds;
	TAILQ_ENTRY(ask) with_fetch;
	LIST_ENTRY(ask) with_asker;
	/* CHILDREN: how far it has come. */
	bool       begun, more;
	int64_t    position, id; /* the child before the next page to look at */
	unsigned   count;
	struct buf records;
	char       text[];
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
	struct cache             *cache;
	struct acl               *acl;
	struct type_graph        *types;
	struct pg                *reads;
	struct resources_settings settings; /* strings borrowed */
	struct fetches            held;
	bool                      current;
	bool     owes_current; /* on_current is due when the connection for reads is up */
	uint64_t vouched_until_us;
	uint64_t types_counter, acl_counter; /* sent with each answer */
	LIST_HEAD(, loaded_watch) watches;
	unsigned   n_waiting;
	uint64_t   asked, missed, stale; /* resources_figures */
	struct buf scratch;
};

extern const struct pg_statement fetch_statements[];
extern const size_t              fetch_n_statements;

/* The fetch that will fill the entry's record, or its page; NULL: none is under way. */
struct fetch *fetch_of(const struct cache_entry *e, bool page, int64_t position, int64_t id);
/* Starts one. paths: valid, at most FETCH_MAX_PATHS, not being fetched. BW_E* as pg_query. */
int fetch_resources(struct resources *r, const struct bw_str *paths, unsigned n,
                    struct fetch **ret);
int fetch_page(struct resources *r, struct cache_entry *parent, int64_t position, int64_t id,
               struct fetch **ret);
/* The ask (on the heap) is looked at again when the rows are there. */
void fetch_join(struct fetch *f, struct ask *ask);
/* Entries have been loaded: those held for them go on. err: they end with it instead. */
void fetch_release_held(struct resources *r, int err);

/* resource.c: from the start; may join another fetch. Ends with err instead, unless that is
 * BW_OK. */
void ask_again(struct resources *r, struct ask *ask, int err);

/* ---- questions ---- */

#define ASK_MAX_NAME 255u

/* OVER: the question waits or has ended; whoever is told so returns at once and does not touch the
 * ask any more. */
enum ask_step { ASK_GO_ON, ASK_OVER };

/* Each of these ends the question, once, and says OVER. */
enum ask_step ask_fail(struct resources *r, struct ask *ask, int err);
enum ask_step ask_answer_found(struct resources *r, struct ask *ask, const struct cache_entry *e,
                               size_t resolved, uint64_t allowed);
enum ask_step ask_answer_page(struct resources *r, struct ask *ask, unsigned count, bool more,
                              const uint8_t *records, size_t n_records);
/* The asker has gone, or it has been answered. */
void ask_end(struct resources *r, struct ask *ask);

enum ask_step ask_wait(struct resources *r, struct ask *ask, struct fetch *f);
bool          ask_is_known(const struct resources *r, const struct cache_entry *e);
/* Whether a resource could have this path. Others are not looked for: they do not exist, PostgreSQL
 * would refuse their octets, and the cache hangs its entries by their segments. */
bool ask_is_path(struct bw_str path);
/* GO_ON: *ret is known, an entry, or NULL for what cannot exist. */
enum ask_step ask_need(struct resources *r, struct ask *ask, struct bw_str path,
                       struct cache_entry **ret);
/* The bits on an entry that is known, 0 if it is not there or may not be read. */
uint64_t ask_look(struct resources *r, struct ask *ask, struct cache_entry *e);
/* Of a resource whose node may be read. */
bool ask_may_read_property(struct resources *r, const struct ask *ask, struct cache_entry *e,
                           struct bw_str name);
const struct acl_scope *ask_scope_of(struct resources *r, struct cache_entry *e);
/* The bits of who asks on the node of a cached record, whose scope that is. */
uint64_t ask_allowed(struct resources *r, const struct ask *ask, const struct acl_scope *scope,
                     const uint8_t *bytes, size_t n);

/* children.c */
enum ask_step ask_children(struct resources *r, struct ask *ask);
/* access.c */
enum ask_step ask_list(struct resources *r, struct ask *ask);
enum ask_step ask_granted(struct resources *r, struct ask *ask);
