/* fetch.c - cache misses: one statement for all that miss the same thing, and what its rows become.
 *
 * Rows that saw a later state of the access control entries than the one in memory are held until
 * the entries have been loaded: a node may be younger than the entry that hides it. What an
 * invalidation has met on the way is shown to those who asked before it, and not kept; those who
 * asked after it get a statement sent after it.
 * Owns: fetches. Runs in: repo's loop. Fails with: pg.h's errors, given to all who wait. Logs rows
 * that cannot be encoded and cycles of types. Tests: tests/unit/repo/resource_test.c. */
#include "fetch.h"
#include "encode.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>

enum query {
#define Q_READ(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
	N_QUERIES,
	BEFORE_FOLLOW = N_QUERIES - 1,
#define Q_FOLLOW(name, n_params, n_columns, writes, sql) FOLLOW_##name,
#include "queries.def"
	N_BEFORE_VERSIONS,
};

const struct pg_statement fetch_statements[] = {
#define Q_READ(name, n_params, n_columns, writes, sql) { #name, sql, n_params, n_columns, writes },
#include "queries.def"
#define Q_FOLLOW(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
#define Q_VERSION(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};
const size_t fetch_n_statements = sizeof(fetch_statements) / sizeof(fetch_statements[0]);

int resources_follow(struct resources *r, unsigned statement, const struct pg_param *params,
                     pg_rows_cb cb, void *arg)
{
	return pg_query(r->reads, N_QUERIES + statement, params, cb, arg);
}

int resources_ask_versions(struct resources *r, unsigned statement, const struct pg_param *params,
                           pg_rows_cb cb, void *arg)
{
	return pg_query(r->reads, N_BEFORE_VERSIONS + statement, params, cb, arg);
}

enum column {
	PATH,
	ID,
	VERSION,
	POSITION,
	PRIMARY_TYPE,
	RESOURCE_TYPE,
	SUPER_TYPE,
	PROPERTIES,
	GENERATION
};

struct fetch *fetch_of(const struct cache_entry *e, bool page, int64_t position, int64_t id)
{
	const struct cache_fill *f = e->fills;

	while (f != NULL &&
	       (f->page != page || (page && (f->position != position || f->id != id)) || f->stale))
		f = f->next;
	if (f != NULL)
		return f->owner;
	/* One that is stale will do for the next, who is let in late. */
	for (f = e->fills; f != NULL; f = f->next)
		if (f->page == page && (!page || (f->position == position && f->id == id)))
			return f->owner;
	return NULL;
}

static bool is_stale(const struct fetch *f)
{
	for (unsigned i = 0; i < f->n; i++)
		if (f->items[i].fill.stale)
			return true;
	return false;
}

void fetch_join(struct fetch *f, struct ask *ask)
{
	if (is_stale(f))
		TAILQ_INSERT_TAIL(&f->late, ask, with_fetch);
	else
		TAILQ_INSERT_TAIL(&f->asks, ask, with_fetch);
}

/* ---- the end of a fetch ---- */

static void ask_all(struct resources *r, struct asks *list, int err)
{
	struct asks now = TAILQ_HEAD_INITIALIZER(now);
	struct ask *ask;

	TAILQ_CONCAT(&now, list, with_fetch);
	while ((ask = TAILQ_FIRST(&now)) != NULL) {
		TAILQ_REMOVE(&now, ask, with_fetch);
		ask_again(r, ask, err);
	}
}

static void put_all(struct fetch *f)
{
	struct cache *c = f->r->cache;

	if (f->is_page) {
		f->page->types = f->types;
		cache_put_page(c, f->items[0].fill.entry, f->page);
		f->page = NULL;
		return;
	}
	for (unsigned i = 0; i < f->n; i++) {
		struct fetched     *item = &f->items[i];
		struct cache_entry *e = item->fill.entry;

		if (item->record == NULL) {
			cache_put_missing(c, e);
			continue;
		}
		cache_put_resource(c, e, item->record, item->n_record, item->props_at);
		item->record = NULL;
		e->position = item->position;
		e->id = item->id;
		e->types = f->types;
	}
}

/* The only place where a fetch ends. The fills go first: whoever still lacks something then starts
 * a fetch of his own. Entries with data stay, for nothing is trimmed before the end. */
static void finish(struct fetch *f, int err)
{
	struct resources   *r = f->r;
	bool                stale = is_stale(f);
	struct cache_entry *entries[FETCH_MAX_PATHS];

	r->stale += stale;
	if (err == BW_OK)
		put_all(f);
	for (unsigned i = 0; i < f->n; i++) {
		entries[i] = f->items[i].fill.entry;
		cache_fill_end(r->cache, &f->items[i].fill);
		free(f->items[i].record);
	}
	free(f->page);
	ask_all(r, &f->asks, err);
	for (unsigned i = 0; err == BW_OK && stale && i < f->n; i++)
		cache_drop(r->cache, entries[i], f->is_page);
	ask_all(r, &f->late, err);
	free(f);
	cache_trim(r->cache);
}

void fetch_release_held(struct resources *r, int err)
{
	struct fetches held = TAILQ_HEAD_INITIALIZER(held);
	struct fetch  *f;

	TAILQ_CONCAT(&held, &r->held, with_held);
	while ((f = TAILQ_FIRST(&held)) != NULL) {
		TAILQ_REMOVE(&held, f, with_held);
		if (err == BW_OK && f->generation > acl_generation(r->acl))
			TAILQ_INSERT_TAIL(&r->held, f, with_held);
		else
			finish(f, err);
	}
	if (!TAILQ_EMPTY(&r->held))
		r->settings.want_entries(r->settings.arg);
}

static void finish_or_hold(struct fetch *f, int err)
{
	struct resources *r = f->r;

	if (err != BW_OK || f->generation <= acl_generation(r->acl)) {
		finish(f, err);
		return;
	}
	TAILQ_INSERT_TAIL(&r->held, f, with_held);
	r->settings.want_entries(r->settings.arg);
}

/* ---- rows ---- */

static int encode(struct fetch *f, const struct pg_rows *rows, unsigned row, struct buf *out,
                  uint32_t *ret_props_at)
{
	struct encode_row e = {
		.id = (uint64_t)pg_int(rows, row, ID),
		.version = (uint64_t)pg_int(rows, row, VERSION),
		.path = pg_text(rows, row, PATH),
		.primary_type = pg_text(rows, row, PRIMARY_TYPE),
		.resource_type = pg_text(rows, row, RESOURCE_TYPE),
		.super_type = pg_text(rows, row, SUPER_TYPE),
		.properties = pg_text(rows, row, PROPERTIES),
	};
	bool cycle;
	int  err = encode_record(out, &e, f->r->types, ret_props_at, &cycle);

	if (err != BW_OK)
		log_error(0, "%s: stored properties have a wrong form", e.path.p);
	else if (cycle)
		log_warning(0, "%s: the super types of its type form a cycle", e.path.p);
	f->generation = pg_int(rows, row, GENERATION);
	return err;
}

static struct fetched *item_of(struct fetch *f, struct bw_str path)
{
	for (unsigned i = 0; i < f->n; i++) {
		const struct cache_entry *e = f->items[i].fill.entry;

		if (e->path_n == path.n && memcmp(e->path, path.p, path.n) == 0)
			return &f->items[i];
	}
	return NULL;
}

static void on_resources(void *arg, int err, const struct pg_rows *rows)
{
	struct fetch *f = arg;

	f->types = type_loads(f->r->types);
	for (unsigned i = 0; err == BW_OK && i < pg_rows_count(rows); i++) {
		struct fetched *item = item_of(f, pg_text(rows, i, PATH));
		struct buf      out;

		if (item == NULL || item->record != NULL)
			continue;
		buf_init(&out);
		err = encode(f, rows, i, &out, &item->props_at);
		item->n_record = (uint32_t)buf_size(&out);
		item->record = xmalloc(item->n_record);
		memcpy(item->record, buf_data(&out), item->n_record);
		item->position = pg_int(rows, i, POSITION);
		item->id = pg_int(rows, i, ID);
		buf_done(&out);
	}
	finish_or_hold(f, err);
}

/* Rows to records, one behind the other; offsets into at. */
static int encode_page(struct fetch *f, const struct pg_rows *rows, unsigned n, struct buf *out,
                       uint32_t *at)
{
	uint32_t props_at;
	int      err = BW_OK;

	for (unsigned i = 0; err == BW_OK && i < n; i++) {
		at[i] = (uint32_t)buf_size(out);
		err = encode(f, rows, i, out, &props_at);
	}
	at[n] = (uint32_t)buf_size(out);
	return err;
}

static void on_page(void *arg, int err, const struct pg_rows *rows)
{
	struct fetch *f = arg;
	unsigned      total = err == BW_OK ? pg_rows_count(rows) : 0;
	unsigned      n = total < PAGE_CHILDREN ? total : PAGE_CHILDREN;
	uint32_t      at[PAGE_CHILDREN + 2];
	struct buf    out;

	buf_init(&out);
	f->types = type_loads(f->r->types);
	if (err == BW_OK)
		err = encode_page(f, rows, total, &out, at);
	if (err == BW_OK) {
		f->page = cache_page_new(n, total > n, at[total]);
		memcpy(f->page->at, at, (total + 1) * sizeof(at[0]));
		if (total > 0)
			memcpy(f->page->records, buf_data(&out), at[total]);
		f->page->position = f->items[0].fill.position;
		f->page->id = f->items[0].fill.id;
		f->page->last_position = n > 0 ? pg_int(rows, n - 1, POSITION) : f->page->position;
		f->page->last_id = n > 0 ? pg_int(rows, n - 1, ID) : f->page->id;
	}
	buf_done(&out);
	finish_or_hold(f, err);
}

/* ---- sending ---- */

static struct fetch *new_fetch(struct resources *r, unsigned n, bool is_page)
{
	struct fetch *f = xcalloc(1, sizeof(*f) + n * sizeof(f->items[0]));

	f->r = r;
	f->n = n;
	f->is_page = is_page;
	TAILQ_INIT(&f->asks);
	TAILQ_INIT(&f->late);
	return f;
}

static void give_up(struct fetch *f)
{
	for (unsigned i = 0; i < f->n; i++)
		cache_fill_end(f->r->cache, &f->items[i].fill);
	free(f);
}

int fetch_resources(struct resources *r, const struct bw_str *paths, unsigned n, struct fetch **ret)
{
	struct fetch *f = new_fetch(r, n, false);
	char         *array = pg_array(paths, n);
	int           err;

	for (unsigned i = 0; i < n; i++) {
		f->items[i].fill.owner = f;
		cache_fill_begin(cache_make(r->cache, paths[i]), &f->items[i].fill);
	}
	err = pg_query(r->reads, QUERY_RESOURCES, (struct pg_param[]){ { array } }, on_resources,
	               f);
	free(array);
	if (err != BW_OK)
		give_up(f);
	else
		*ret = f;
	return err;
}

int fetch_page(struct resources *r, struct cache_entry *parent, int64_t position, int64_t id,
               struct fetch **ret)
{
	struct fetch *f = new_fetch(r, 1, true);
	char          text[3][24];
	int           err;

	f->items[0].fill =
		(struct cache_fill){ .owner = f, .page = true, .position = position, .id = id };
	cache_fill_begin(parent, &f->items[0].fill);
	snprintf(text[0], sizeof(text[0]), "%lld", (long long)parent->id);
	snprintf(text[1], sizeof(text[1]), "%lld", (long long)position);
	snprintf(text[2], sizeof(text[2]), "%lld", (long long)id);
	err = pg_query(r->reads, QUERY_CHILDREN,
	               (struct pg_param[]){ { text[0] }, { text[1] }, { text[2] } }, on_page, f);
	if (err != BW_OK)
		give_up(f);
	else
		*ret = f;
	return err;
}
