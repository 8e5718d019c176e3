/* search_scan.c - the rows of a search: which of them somebody may see, what of them he may not, and
 * which make the page.
 *
 * The exceptions are found first, with the relaxed statement: nodes of which he sees the node and not
 * all properties. The exact statement then takes those properties away before it looks, so its rows
 * are right, and in the right order, for him; here they are asked for the nodes alone.
 * Owns: the hits of a job. Runs in: repo's loop. Fails with: BW_ETOOBIG beyond 8 MiB of exceptions, or
 * a million pages. Tests: tests/conformance/query, tests/unit/repo/search_test.c. */
#include "search_impl.h"
#include <base/fatal.h>
#include <jansson.h>
#include <stdlib.h>

#define MAX_EXCEPTIONS (8u << 20) /* octets */
#define SUGGEST_MAX    1000u      /* titles that suggestions are taken from */

/* ---- permissions ---- */

bool search_may_see(struct job *job, struct bw_str path, struct bw_str primary_type)
{
	struct acl             *acl = resources_acl(search_resources(job));
	const struct acl_scope *scope = acl_scope_of(acl, path);
	struct acl_item         item = { .path = path, .type = primary_type };

	return (acl_is_restricted(scope, job->who) ? acl_evaluate(scope, job->who, &item)
	                                           : acl_allowed(acl, scope, job->who)) &
	       ACL_READ_NODES;
}

bool search_may_read(struct job *job, struct acl_item *item)
{
	struct acl             *acl = resources_acl(search_resources(job));
	const struct acl_scope *scope = acl_scope_of(acl, item->path);

	return (acl_is_restricted(scope, job->who) ? acl_evaluate(scope, job->who, item)
	                                           : acl_allowed(acl, scope, job->who)) &
	       ACL_READ_PROPERTIES;
}

static bool sees_row(struct job *job, const struct pg_rows *rows, unsigned row)
{
	return search_may_see(job, pg_text(rows, row, QUERY_COLUMN_PATH),
	                      pg_text(rows, row, QUERY_COLUMN_PRIMARY_TYPE));
}

/* ---- exceptions ---- */

/* A text in an array, in an array: quoted once for each. */
static void put_escaped(struct buf *out, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] == '"' || p[i] == '\\')
			buf_append(out, "\\\\\\", 3);
		buf_append(out, p + i, 1);
	}
}

static void add_exception(struct job *job, int64_t id, const struct buf *names, bool all)
{
	buf_printf(&job->ids, "%s%lld", job->n_exceptions > 0 ? "," : "", (long long)id);
	buf_append(&job->names, job->n_exceptions > 0 ? ",\"" : "\"",
	           job->n_exceptions > 0 ? 2 : 1);
	if (all) {
		buf_append(&job->names, "*", 1);
	} else {
		buf_append(&job->names, "{", 1);
		buf_append(&job->names, buf_data(names), buf_size(names));
		buf_append(&job->names, "}", 1);
	}
	buf_append(&job->names, "\"", 1);
	job->n_exceptions++;
}

static void look_at_names(struct job *job, struct acl_item *item, int64_t id, const json_t *names)
{
	struct buf    hidden;
	size_t        n_hidden = 0, i;
	const json_t *name;

	buf_init(&hidden);
	json_array_foreach ((json_t *)names, i, name) {
		item->property =
			(struct bw_str){ json_string_value(name), json_string_length(name) };
		if (search_may_read(job, item))
			continue;
		buf_append(&hidden, n_hidden > 0 ? ",\\\"" : "\\\"", n_hidden > 0 ? 3 : 2);
		n_hidden++;
		put_escaped(&hidden, item->property.p, item->property.n);
		buf_append(&hidden, "\\\"", 2);
	}
	if (n_hidden > 0)
		add_exception(job, id, &hidden, n_hidden == json_array_size(names));
	buf_done(&hidden);
}

static void on_candidate(struct job *job, const struct pg_rows *rows, unsigned row)
{
	struct bw_str   text = pg_text(rows, row, QUERY_COLUMN_NAMES);
	struct acl_item item = { .path = pg_text(rows, row, QUERY_COLUMN_PATH),
		                 .type = pg_text(rows, row, QUERY_COLUMN_PRIMARY_TYPE) };
	json_t         *names;

	if (text.p == NULL || !sees_row(job, rows, row))
		return;
	names = json_loadb(text.p, text.n, 0, NULL);
	look_at_names(job, &item, pg_int(rows, row, QUERY_COLUMN_ID), names);
	json_decref(names);
}

static bool is_too_much(const struct job *job)
{
	return buf_size(&job->ids) + buf_size(&job->names) > MAX_EXCEPTIONS;
}

static void after_candidates(struct job *job)
{
	if (is_too_much(job))
		search_fail(job, BW_ETOOBIG);
	else
		search_scan(job);
}

void search_find_exceptions(struct job *job, const struct bw_str *places, unsigned n)
{
	struct query_surroundings around;
	struct query_sql          sql;

	search_surroundings(job, &around);
	around.relaxed = true;
	around.places = places;
	around.n_places = n;
	query_compile(&job->plan.q, &around, &job->arena, &sql);
	job->on_row = on_candidate;
	job->is_enough = is_too_much;
	job->after_rows = after_candidates;
	search_rows(job, &sql);
}

/* ---- hits ---- */

static void take_hit(struct job *job, const struct search_unit *unit, const struct pg_rows *rows,
                     unsigned row)
{
	struct search_hit *hit = &job->hits[job->n_hits++];

	*hit = (struct search_hit){ .id = unit->id, .found = pg_int(rows, row, QUERY_COLUMN_ID) };
	buf_init(&hit->record);
	buf_init(&hit->content);
	hit->score = strtof(pg_text(rows, row, QUERY_COLUMN_SCORE).p, NULL);
	hit->place.n = job->n_keys;
	for (unsigned i = 0; i < job->n_keys; i++) {
		struct bw_str key = pg_text(rows, row, QUERY_COLUMN_KEYS + i);

		if (key.p != NULL)
			hit->place.keys[i] =
				(struct bw_str){ arena_dup(&job->arena, key.p, key.n), key.n };
	}
}

/* Looked at to know what was on earlier pages, or for the facets alone. */
static bool is_before_page(const struct job *job, const struct pg_rows *rows, unsigned row)
{
	unsigned column =
		QUERY_COLUMN_KEYS + job->n_keys + job->plan.n_facets + job->plan.q.as_pages;

	return job->tells_after && pg_text(rows, row, column).p[0] != 't';
}

static void on_hit(struct job *job, const struct pg_rows *rows, unsigned row)
{
	struct search_unit unit;

	if (!sees_row(job, rows, row))
		return;
	unit = search_unit_of(job, rows, row);
	search_count_facets(job, rows, row, &unit);
	/* A unit stands where the first of its rows does. */
	if (unit.hash != 0 && !search_set_add(&job->units, unit.hash))
		return;
	job->n_seen++;
	if (is_before_page(job, rows, row))
		return;
	if (job->skip > 0)
		job->skip--;
	else if (job->n_hits == job->plan.limit || job->n_hits == job->left)
		job->more = job->n_hits < job->left;
	else if (job->plan.items)
		take_hit(job, &unit, rows, row);
}

static bool has_page(const struct job *job)
{
	return !job->plan.items || job->more || (job->skip == 0 && job->n_hits == job->left);
}

/* What is counted goes on behind the page; a later page has its total from the first. */
static bool has_enough(const struct job *job)
{
	bool counted = job->plan.cursor.p != NULL || job->plan.count_max == 0 ||
	               job->n_seen > job->plan.count_max;

	if (search_is_overfull(job))
		return true;
	if (job->plan.suggest)
		return job->n_seen >= SUGGEST_MAX;
	return has_page(job) && counted && job->plan.n_facets == 0;
}

static void after_hits(struct job *job)
{
	struct search_state *state = &job->state;
	uint32_t             max = job->plan.count_max;

	if (search_is_overfull(job)) {
		search_fail(job, BW_ETOOBIG);
		return;
	}
	if (job->plan.cursor.p == NULL && max > 0) {
		state->total = job->n_seen > max ? max : job->n_seen;
		state->relation = job->n_seen > max ? SEARCH_AT_LEAST : SEARCH_EXACTLY;
	}
	search_load_items(job);
}

void search_scan(struct job *job)
{
	struct query_surroundings around;
	struct query_sql          sql;

	search_surroundings(job, &around);
	around.facets = job->plan.facets;
	around.n_facets = job->plan.n_facets;
	around.holders = job->plan.q.as_pages;
	around.unordered = !job->plan.items;
	if (job->n_exceptions > 0) {
		around.exception_ids = search_exception_ids(job);
		around.exception_names = search_exception_names(job);
	}
	/* A page that was reported before, and facets, hang on what stands before the place. */
	if (job->state.place.n > 0 && job->plan.items)
		around.after = &job->state.place;
	around.tells_after = around.after != NULL && (around.holders || around.n_facets > 0);
	job->tells_after = around.tells_after;
	query_compile(&job->plan.q, &around, &job->arena, &sql);
	job->n_keys = sql.n_keys;
	job->hits = arena_alloc(&job->arena, (size_t)job->plan.limit * sizeof(*job->hits));
	job->on_row = on_hit;
	job->is_enough = has_enough;
	job->after_rows = after_hits;
	search_rows(job, &sql);
}
