/* search_page.c - a page of a search: whole resources for its hits, marked words, facets.
 *
 * A page ends early where a frame would be full; its cursor says where.
 * Owns: a job's records. Runs in: repo's loop. Fails with: BW_EIO for rows that cannot be encoded.
 * Logs cycles of types. Tests: tests/conformance/query. */
#include "search_impl.h"
#include "encode.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdlib.h>

#define MAX_PAGE       (WIRE_FRAME_MAX - 64u)
#define MAX_FACETS     65536u         /* octets of all facets */
#define HEAD_ROOM      (33000u + 64u) /* before the items: the cursor is most of it */
#define MAX_HIGHLIGHTS 8u             /* of one item */

struct look {
	struct job     *job;
	struct acl_item item;
};

static bool is_wanted(void *arg, struct bw_str name)
{
	struct look              *look = arg;
	const struct search_plan *plan = &look->job->plan;
	bool                      found = plan->n_fields == 0;

	for (unsigned i = 0; i < plan->n_fields && !found; i++)
		found = bw_str_eq(plan->fields[i], name);
	look->item.property = name;
	return found && search_may_read(look->job, &look->item);
}

/* ---- facets ---- */

static int by_count(const void *a, const void *b)
{
	const struct search_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->value.p, y->value.p);
}

static void put_facet(struct job *job, unsigned i)
{
	struct search_facet_table *t = &job->tables[i];
	struct search_count       *values = xcalloc(t->n + 1, sizeof(*values));
	struct search_facet        facet = { .name = job->plan.facets[i], .values = values };
	unsigned                   n = 0;
	size_t                     size = 0;

	for (unsigned k = 0; k < t->cap; k++)
		if (t->slots[k].value.p != NULL)
			values[n++] = (struct search_count){ t->slots[k].value, t->slots[k].count };
	if (n > 0)
		qsort(values, n, sizeof(*values), by_count);
	while (facet.n < n && facet.n < job->plan.facet_limit &&
	       size < MAX_FACETS / SEARCH_MAX_FACETS)
		size += values[facet.n++].value.n + 9;
	facet.more = t->full || facet.n < n;
	search_put_facet(&job->facets, &facet);
	free(values);
}

/* ---- the end ---- */

static void put_item(struct job *job, unsigned i, const struct search_highlight *marks, unsigned n)
{
	struct buf *record = &job->records[i];

	search_put_item(&job->items, job->hits[i].score, buf_data(record), buf_size(record), marks,
	                n);
}

/* Hits that are there and fit; those that are gone, which a snapshot does not have, never come. */
static void answer(struct job *job)
{
	struct search_page head = {
		.n_items = job->n_items,
		.n_facets = job->plan.n_facets,
		.total = job->state.total,
		.relation = job->state.relation,
		.clamped = job->plan.clamped,
		.whole = job->plan.n_fields == 0,
	};
	struct buf page;

	if (job->n_items > 0 && (job->more || job->n_items < job->n_hits)) {
		job->state.place = job->hits[job->n_items - 1].place;
		if (job->state.left != UINT64_MAX)
			job->state.left -= job->n_items;
		head.next = search_cursor_put(job, &job->state);
	}
	buf_init(&page);
	search_put_head(&page, &head);
	buf_append(&page, buf_data(&job->items), buf_size(&job->items));
	buf_append(&page, buf_data(&job->facets), buf_size(&job->facets));
	search_answer(job, &page);
	buf_done(&page);
}

/* ---- highlights ---- */

static void on_highlights(void *arg, int err, const struct pg_rows *rows)
{
	struct job             *job = arg;
	struct search_highlight marks[MAX_HIGHLIGHTS];
	unsigned                n_rows, n = 0, done = 0;

	if (!search_goes_on(job, err))
		return;
	n_rows = pg_rows_count(rows);
	for (; done < job->n_items; done++) {
		size_t size = buf_size(&job->records[done]) + 6;

		n = 0;
		for (unsigned i = 0; i < n_rows && n < MAX_HIGHLIGHTS; i++) {
			if (pg_int(rows, i, 0) != job->hits[done].id)
				continue;
			marks[n] = (struct search_highlight){ pg_text(rows, i, 1),
				                              pg_text(rows, i, 2) };
			size += marks[n].property.n + marks[n].text.n + 10;
			n++;
		}
		if (done > 0 &&
		    buf_size(&job->items) + buf_size(&job->facets) + HEAD_ROOM + size > MAX_PAGE)
			break;
		put_item(job, done, marks, n);
	}
	job->n_items = done;
	answer(job);
}

/* The text with its fitting words between U+0002 and U+0003, which are taken out of it before.
 * ts_headline would leave out what it takes for markup: the brackets are something else meanwhile. */
static void ask_highlights(struct job *job)
{
	static const char sql[] =
		"SELECT c.id, p.key, h FROM repo.content c"
		" LEFT JOIN unnest($2::bigint[], $3::text[]) e(id, names) ON e.id = c.id"
		" CROSS JOIN LATERAL (SELECT CASE WHEN e.id IS NULL THEN c.properties"
		" WHEN e.names = '*' THEN '{}' ELSE c.properties - e.names::text[] END) x(p)"
		" CROSS JOIN LATERAL jsonb_each(x.p) p(key, value)"
		" CROSS JOIN LATERAL (SELECT translate(ts_headline(repo.search_config($4),"
		" translate(repo.search_text(p.value), E'<>\\x02\\x03\\x04\\x05', E'\\x04\\x05'),"
		" websearch_to_tsquery(repo.search_config($4), $5),"
		" E'StartSel=\"\\x02\", StopSel=\"\\x03\", MaxWords=35, MinWords=15'), "
		"E'\\x04\\x05', '<>'))"
		" l(h)"
		" WHERE c.id = ANY ($1::bigint[]) AND p.value ? 's'"
		" AND repo.search_weight(p.key) IS NOT NULL AND position(E'\\x02' IN h) > 0"
		" ORDER BY c.id, repo.search_weight(p.key), p.key COLLATE \"C\"";
	const char *params[5];
	struct buf  ids;

	buf_init(&ids);
	for (unsigned i = 0; i < job->n_items; i++)
		buf_printf(&ids, "%s%lld", i > 0 ? "," : "{", (long long)job->hits[i].id);
	buf_append(&ids, "}", 2);
	params[0] = (char *)buf_data(&ids);
	params[1] = job->n_exceptions > 0 ? search_exception_ids(job) : "{}";
	params[2] = job->n_exceptions > 0 ? search_exception_names(job) : "{}";
	params[3] = job->plan.q.language.p;
	params[4] = query_words(&job->plan.q)->text.p;
	search_query(job, sql, 5, params, on_highlights);
	buf_done(&ids);
}

/* ---- items ---- */

enum column {
	PATH,
	ID,
	VERSION,
	PRIMARY_TYPE,
	RESOURCE_TYPE,
	SUPER_TYPE,
	PROPERTIES,
};

static int encode(struct job *job, const struct pg_rows *rows, unsigned row, struct buf *out)
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
	struct look look = { job, { .path = e.path, .type = e.primary_type } };
	struct buf  whole;
	uint32_t    props_at;
	bool        cycle;
	int         err;

	buf_init(&whole);
	err = encode_record(&whole, &e, resources_types(search_resources(job)), &props_at, &cycle);
	if (err != BW_OK)
		log_error(job->wire.request, "%s: stored properties have a wrong form", e.path.p);
	else if (cycle)
		log_warning(job->wire.request, "%s: the super types of its type form a cycle",
		            e.path.p);
	if (err == BW_OK)
		encode_filtered(out, buf_data(&whole), (uint32_t)buf_size(&whole), props_at,
		                is_wanted, &look);
	buf_done(&whole);
	return err;
}

static bool find_row(const struct pg_rows *rows, int64_t id, unsigned *ret)
{
	for (unsigned i = 0; i < pg_rows_count(rows); i++) {
		if (pg_int(rows, i, ID) == id) {
			*ret = i;
			return true;
		}
	}
	return false;
}

static void on_items(void *arg, int err, const struct pg_rows *rows)
{
	struct job *job = arg;
	size_t      size = HEAD_ROOM + buf_size(&job->facets);
	unsigned    row;

	if (!search_goes_on(job, err))
		return;
	job->records = xcalloc(job->n_hits, sizeof(*job->records));
	for (; job->n_items < job->n_hits; job->n_items++) {
		struct buf *record = &job->records[job->n_items];

		buf_init(record);
		if (!find_row(rows, job->hits[job->n_items].id, &row) ||
		    encode(job, rows, row, record) != BW_OK) {
			search_fail(job, BW_EIO);
			return;
		}
		size += buf_size(record) + 6;
		if (job->n_items > 0 && size > MAX_PAGE) {
			buf_done(record);
			break;
		}
	}
	if (job->plan.highlight && query_words(&job->plan.q) != NULL) {
		ask_highlights(job);
		return;
	}
	for (unsigned i = 0; i < job->n_items; i++)
		put_item(job, i, NULL, 0);
	answer(job);
}

void search_load_items(struct job *job)
{
	static const char sql[] =
		"SELECT t.path, t.id, c.version, t.primary_type, t.resource_type, t.super_type, "
		"c.properties FROM repo.tree t JOIN repo.content c ON c.id = t.id "
		"WHERE t.id = ANY ($1::bigint[])";
	const char *params[1];
	struct buf  ids;

	for (unsigned i = 0; i < job->plan.n_facets; i++)
		put_facet(job, i);
	if (job->n_hits == 0) {
		answer(job);
		return;
	}
	buf_init(&ids);
	for (unsigned i = 0; i < job->n_hits; i++)
		buf_printf(&ids, "%s%lld", i > 0 ? "," : "{", (long long)job->hits[i].id);
	buf_append(&ids, "}", 2);
	params[0] = (char *)buf_data(&ids);
	search_query(job, sql, 1, params, on_items);
	buf_done(&ids);
}
