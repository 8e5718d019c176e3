/* search_page.c - a page of a search: whole resources for its hits, marked words, facets.
 *
 * A page ends early where a frame would be full; its cursor says where.
 * Owns: nothing beyond the job. Runs in: repo's loop. Fails with: BW_EIO for rows that cannot be encoded.
 * Logs cycles of types. Tests: tests/conformance/query. */
#include "search_impl.h"
#include "encode.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdlib.h>

#define MAX_PAGE       (WIRE_FRAME_MAX - 64u)
#define HEAD_ROOM      (66000u + 64u) /* before the items: two cursors are most of it */
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

/* Of an item without its highlights. */
static size_t size_of(const struct search_hit *hit)
{
	return buf_size(&hit->record) + buf_size(&hit->content) + 32;
}

/* ---- the end ---- */

static struct bw_str octets_of(const struct buf *b)
{
	return buf_size(b) > 0 ? (struct bw_str){ (const char *)buf_data(b), buf_size(b) }
	                       : BW_ABSENT;
}

static void put_item(struct job *job, unsigned i, struct search_highlight *marks, unsigned n)
{
	const struct search_hit *hit = &job->hits[i];
	struct search_item       item = { .score = hit->score,
		                          .modified_ms = hit->modified_ms,
		                          .n_highlights = n,
		                          .highlights = marks };

	search_put_item(&job->items, &item, octets_of(&hit->record), octets_of(&hit->content));
}

static struct bw_str next_cursor(struct job *job)
{
	struct search_state state = job->state;

	if (job->n_items == 0 || (!job->more && job->n_items == job->n_hits))
		return BW_ABSENT;
	state.place = job->hits[job->n_items - 1].place;
	state.before += job->n_items;
	return search_cursor_put(job, &state);
}

static struct bw_str previous_cursor(struct job *job)
{
	struct search_state state = job->state;

	if (!job->plan.items || state.before == 0)
		return BW_ABSENT;
	state.place.n = 0;
	state.before -= state.before < job->plan.limit ? state.before : job->plan.limit;
	return search_cursor_put(job, &state);
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
		.next = next_cursor(job),
		.previous = previous_cursor(job),
	};
	struct buf page;

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
		size_t size = size_of(&job->hits[done]);

		n = 0;
		for (unsigned i = 0; i < n_rows && n < MAX_HIGHLIGHTS; i++) {
			if (pg_int(rows, i, 0) != job->hits[done].found)
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
		" websearch_to_tsquery(repo.search_config($4), $5)"
		" || websearch_to_tsquery(repo.search_config($4), repo.search_plain($5)),"
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
		buf_printf(&ids, "%s%lld", i > 0 ? "," : "{", (long long)job->hits[i].found);
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
	MODIFIED,
	PARENT, /* NULL for the items themselves */
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

static bool find_row(const struct pg_rows *rows, enum column column, int64_t id, unsigned *ret)
{
	for (unsigned i = 0; i < pg_rows_count(rows); i++) {
		bool is_item = pg_text(rows, i, PARENT).p == NULL;

		if (is_item == (column == ID) && pg_int(rows, i, column) == id) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* The item, and its jcr:content if there is one that may be seen. */
static int load(struct job *job, struct search_hit *hit, const struct pg_rows *rows)
{
	unsigned row;
	int      err;

	if (!find_row(rows, ID, hit->id, &row))
		return BW_EIO;
	err = encode(job, rows, row, &hit->record);
	hit->modified_ms = pg_int(rows, row, MODIFIED);
	if (err != BW_OK || !find_row(rows, PARENT, hit->id, &row) ||
	    !search_may_see(job, pg_text(rows, row, PATH), pg_text(rows, row, PRIMARY_TYPE)))
		return err;
	if (pg_int(rows, row, MODIFIED) > hit->modified_ms)
		hit->modified_ms = pg_int(rows, row, MODIFIED);
	return encode(job, rows, row, &hit->content);
}

static void on_items(void *arg, int err, const struct pg_rows *rows)
{
	struct job *job = arg;
	size_t      size = HEAD_ROOM + buf_size(&job->facets);

	if (!search_goes_on(job, err))
		return;
	for (; job->n_items < job->n_hits; job->n_items++) {
		struct search_hit *hit = &job->hits[job->n_items];

		if (load(job, hit, rows) != BW_OK) {
			search_fail(job, BW_EIO);
			return;
		}
		size += size_of(hit);
		if (size > MAX_PAGE && job->n_items > 0)
			break;
	}
	/* A page and its content are each as large as a resource may be: together they may be too much. */
	if (size > MAX_PAGE && job->n_items == 0 && job->n_hits > 0) {
		buf_clear(&job->hits[0].content);
		job->n_items = 1;
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
#define COLUMNS \
	"SELECT t.path, t.id, c.version, t.primary_type, t.resource_type, t.super_type, " \
	"c.properties, (extract(epoch FROM c.modified) * 1000)::bigint, "
	static const char sql[] = COLUMNS
		"NULL::bigint FROM repo.tree t JOIN repo.content c ON c.id = t.id "
		"WHERE t.id = ANY ($1::bigint[]) UNION ALL " COLUMNS
		"k.id FROM repo.tree k JOIN repo.tree t ON t.path = k.path || '/jcr:content' "
		"JOIN repo.content c ON c.id = t.id WHERE k.id = ANY ($2::bigint[])";
#undef COLUMNS
	const char *params[2];
	struct buf  ids;

	search_put_facets(job);
	if (job->n_hits == 0) {
		answer(job);
		return;
	}
	buf_init(&ids);
	for (unsigned i = 0; i < job->n_hits; i++)
		buf_printf(&ids, "%s%lld", i > 0 ? "," : "{", (long long)job->hits[i].id);
	buf_append(&ids, "}", 2);
	params[0] = (char *)buf_data(&ids);
	params[1] = job->plan.q.as_pages ? params[0] : "{}";
	search_query(job, sql, 2, params, on_items);
	buf_done(&ids);
}
