/* search_impl.h - one search, for the files search*.c.
 *
 *    WAITING -> BEGIN -> SURROUNDINGS -> [HELD] -> [EXCEPTIONS] -> ROWS -> ITEMS -> [HIGHLIGHTS] -> END
 *
 * All statements of a search are one read-only transaction and see one snapshot. At most one of them is
 * under way; its callback is the only one who goes on, so a job that has been answered already (too
 * late, the asker is gone) is freed there. */
#pragma once
#include "search.h"
#include <pg/pg.h>
#include <query/compile.h>
#include <wire/search.h>

#define SEARCH_MAX_ITEMS 256u
#define SEARCH_COUNT_MAX 1000u

/* What is asked for. Strings live in the job's arena. */
struct search_plan {
	struct query  q;
	bool          is_statement;
	unsigned      limit; /* items of the page */
	bool          clamped, items, highlight, suggest;
	uint64_t      offset;
	struct bw_str cursor;
	uint32_t      count_max; /* 0: not counted */
	unsigned      n_facets, facet_limit;
	struct bw_str facets[SEARCH_MAX_FACETS];
	unsigned      n_fields;
	struct bw_str fields[QUERY_MAX_COLUMNS];
	struct bw_str question; /* the terms that a cursor belongs to */
};

/* Travels in the cursor. Forward it has the place where a page ended; backward it has none, and so many
 * items are counted off from the beginning. */
struct search_state {
	struct query_place   place;  /* n 0: the beginning */
	uint64_t             before; /* items on the pages before this one */
	uint32_t             total;
	enum search_relation relation;
};

/* id: of the item; found: of the resource that fits, the item's own or one below its jcr:content. */
struct search_hit {
	int64_t            id, found, modified_ms;
	float              score;
	struct query_place place;
	struct buf         record, content; /* content: empty if there is none */
};

struct search_facet_value {
	struct bw_str value;
	uint32_t      count, seen; /* seen: number of the node that was counted last */
};

struct search_facet_table {
	struct search_facet_value *slots; /* heap */
	unsigned                   cap, n;
	bool                       full;
};

/* Hashes under a secret key: nobody can make a path that stands for another. */
struct search_set {
	uint64_t *slots; /* heap; 0: empty */
	size_t    cap, n;
};

/* What a row counts as: itself, or the resource whose jcr:content it belongs to. */
struct search_unit {
	int64_t       id;
	struct bw_str path; /* borrowed from the row */
	uint64_t      hash; /* 0: rows are not brought together */
};

struct job {
	struct searches     *s;
	struct search_asker *asker; /* NULL: gone */
	LIST_ENTRY(job) with_asker;
	TAILQ_ENTRY(job) queued; /* waiting for a connection, or held for entries */
	LIST_ENTRY(job) with_all;
	bool                 is_queued, is_held, is_answered, is_under_way;
	struct wire_question wire;
	struct principals   *who;
	struct lane         *lane;
	ev_timer             deadline;
	struct arena         arena;
	struct search_plan   plan;
	struct search_state  state;

	/* Of the snapshot. */
	int64_t            generation; /* of the entries */
	const char        *key;        /* of cursors */
	const char        *node_types;
	struct type_graph *types; /* NULL: no type is asked about */
	bool               cycle_told;

	/* What may not be read, of which node: as the texts of arrays, without their ends. */
	struct buf ids, names;
	unsigned   n_exceptions;

	void (*on_row)(struct job *job, const struct pg_rows *rows, unsigned row);
	bool (*is_enough)(const struct job *job);
	void (*after_rows)(struct job *job);
	unsigned           n_keys;
	const char        *declare;
	const char *const *params;
	unsigned           n_params;
	bool               has_cursor;

	struct search_hit        *hits;
	unsigned                  n_hits, n_items; /* n_items: of them in the page */
	bool                      more, tells_after;
	uint64_t                  skip;
	uint64_t                  left;   /* of the statement's LIMIT; UINT64_MAX: no limit */
	uint32_t                  n_seen; /* units that may be read */
	struct search_set         units, counted; /* counted: values of facets, with their units */
	struct search_facet_table tables[SEARCH_MAX_FACETS];
	struct buf                items;
	struct buf                facets;
};

#define SEARCH_MAX_LANES         16u
#define SEARCH_N_HIDING          64u
#define SEARCH_MAX_HIDING_PLACES 16u

struct lane {
	struct searches *s;
	struct pg       *pg;
	struct job      *job;       /* NULL: free */
	bool             is_ending; /* the end of the last transaction is under way */
};

/* Where something may be hidden from a set: that takes a look at all lists of entries, and is
 * remembered. */
struct search_hiding {
	uint64_t      who, loads;
	unsigned      n; /* beyond SEARCH_MAX_HIDING_PLACES: anywhere */
	struct bw_str places[SEARCH_MAX_HIDING_PLACES];
};

struct searches {
	struct ev_loop          *loop;
	struct searches_settings settings;
	struct resources        *resources;
	struct loaded_watch      watch;
	const char              *search_path; /* array */
	struct lane              lanes[SEARCH_MAX_LANES];
	TAILQ_HEAD(, job) waiting, held;
	LIST_HEAD(, job) all;
	struct search_hiding hiding[SEARCH_N_HIDING]; /* direct-mapped */
	uint8_t              hash_key[16];
	unsigned             n_waiting, n_jobs;
	bool                 is_stopping;
};

/* ---- search.c ---- */

/* The next statement of this job. Not for the caller: whether it could be sent. */
void search_query(struct job *job, const char *sql, unsigned n_params, const char *const *params,
                  pg_rows_cb cb);
/* Rows of a cursor, one after the other to on_row, until is_enough; then after_rows. */
void search_rows(struct job *job, struct query_sql *sql);
/* The callback's first line: false, the job is over or this has ended it. */
bool              search_goes_on(struct job *job, int err);
void              search_fail(struct job *job, int err);
void              search_refuse(struct job *job, const char *text, size_t position);
void              search_answer(struct job *job, struct buf *page);
struct resources *search_resources(const struct job *job);
void              search_unqueue(struct job *job); /* it waits, or is held, no longer */

/* ---- search_begin.c ---- */

/* It has its connection. */
void search_begin(struct job *job);
void search_entries_loaded(struct searches *s); /* for those that are held */
void search_surroundings(struct job *job, struct query_surroundings *ret);
/* Exceptions complete: their texts, NULL if there are none. In the arena. */
const char *search_exception_ids(struct job *job);
const char *search_exception_names(struct job *job);

/* ---- search_terms.c. BW_ESYNTAX with *error, BW_EPROTO: malformed ---- */

int search_read_terms(struct bw_str terms, struct arena *a, struct search_plan *ret,
                      struct query_error *error);

/* ---- search_cursor.c ---- */

/* Absent: it would be too long. */
struct bw_str search_cursor_put(struct job *job, const struct search_state *state);
int           search_cursor_get(struct job *job, struct search_state *ret);

/* ---- search_scan.c ---- */

bool search_may_see(struct job *job, struct bw_str path, struct bw_str primary_type);
bool search_may_read(struct job *job, struct acl_item *item);
/* Then search_scan. At and below these places; n 0: anywhere. */
void search_find_exceptions(struct job *job, const struct bw_str *places, unsigned n);
void search_scan(struct job *job);

/* ---- search_unit.c ---- */

struct search_unit search_unit_of(struct job *job, const struct pg_rows *rows, unsigned row);
/* False: it was in it, or the set is full, which search_is_overfull tells. */
bool search_set_add(struct search_set *set, uint64_t hash);
bool search_is_overfull(const struct job *job);
/* Of the octets, under the process's key; never 0. */
uint64_t search_hash(const struct job *job, const void *p, size_t n);

/* ---- search_facet.c ---- */

void search_count_facets(struct job *job, const struct pg_rows *rows, unsigned row,
                         const struct search_unit *unit);
void search_put_facets(struct job *job);  /* into job->facets */
void search_facets_done(struct job *job); /* frees */

/* ---- search_page.c ---- */

void search_load_items(struct job *job);
