/* search_facet.c - the values of properties, with the number of resources that have them, over all that a
 * search finds.
 *
 * Owns: a job's tables. Runs in: repo's loop. Fails with: nothing; of more values than 10,000 the others
 * are not counted, and the answer says that there are more.
 * Tests: tests/conformance/query. */
#include "search_impl.h"
#include <base/fatal.h>
#include <jansson.h>
#include <stdlib.h>

#define MAX_FACET_VALUES 10000u /* different ones, of which the most frequent are told */
#define MAX_FACET_TEXT   128u
#define MAX_FACETS       65536u /* octets of all facets in an answer */

/* ---- counting ---- */

static size_t slot_of(const struct search_facet_table *t, struct bw_str value)
{
	uint64_t h = 0xcbf29ce484222325u;
	size_t   at;

	for (size_t i = 0; i < value.n; i++)
		h = (h ^ (unsigned char)value.p[i]) * 0x100000001b3u;
	for (at = h & (t->cap - 1); t->slots[at].value.p != NULL; at = (at + 1) & (t->cap - 1))
		if (bw_str_eq(t->slots[at].value, value))
			break;
	return at;
}

static void grow(struct search_facet_table *t)
{
	struct search_facet_table old = *t;

	t->cap = old.cap > 0 ? 2 * old.cap : 64;
	t->slots = xcalloc(t->cap, sizeof(*t->slots));
	for (unsigned i = 0; i < old.cap; i++)
		if (old.slots[i].value.p != NULL)
			t->slots[slot_of(t, old.slots[i].value)] = old.slots[i];
	free(old.slots);
}

/* A unit counts once for each of its values. Rows that are units of their own are told by their number;
 * others may come back at any time. */
static bool is_counted(struct job *job, const struct search_facet_table *t,
                       struct search_facet_value *v, const struct search_unit *unit)
{
	uint64_t which[3] = { unit->hash, (uint64_t)(t - job->tables) };
	bool     counted = v->seen == job->n_seen + 1;

	v->seen = job->n_seen + 1;
	if (unit->hash == 0)
		return counted;
	which[2] = search_hash(job, v->value.p, v->value.n);
	return !search_set_add(&job->counted, search_hash(job, which, sizeof(which)));
}

static void count(struct job *job, struct search_facet_table *t, struct bw_str value,
                  const struct search_unit *unit)
{
	struct search_facet_value *v;

	if (value.n == 0 || value.n > MAX_FACET_TEXT)
		return;
	if (2 * t->n >= t->cap)
		grow(t);
	v = &t->slots[slot_of(t, value)];
	if (v->value.p == NULL) {
		t->full |= t->n == MAX_FACET_VALUES;
		if (t->full)
			return;
		*v = (struct search_facet_value){
			.value = { arena_dup(&job->arena, value.p, value.n), value.n }
		};
		t->n++;
	}
	if (!is_counted(job, t, v, unit))
		v->count++;
}

static void count_scalar(struct job *job, struct search_facet_table *t, const json_t *v,
                         const struct search_unit *unit)
{
	char text[24];

	if (json_is_string(v)) {
		count(job, t, (struct bw_str){ json_string_value(v), json_string_length(v) }, unit);
	} else if (json_is_integer(v)) {
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(v));
		count(job, t, bw_str(text), unit);
	} else if (json_is_boolean(v)) {
		count(job, t, json_is_true(v) ? BW_STR("true") : BW_STR("false"), unit);
	}
}

/* A stored value: {"s": "x"} or {"s": ["x", "y"]}. */
static void count_value(struct job *job, struct search_facet_table *t, struct bw_str stored,
                        const struct search_unit *unit)
{
	json_t *typed = json_loadb(stored.p, stored.n, 0, NULL), *held;
	void   *member = json_object_iter(typed);
	size_t  i;
	json_t *one;

	held = member != NULL ? json_object_iter_value(member) : NULL;
	if (json_is_array(held)) {
		json_array_foreach (held, i, one)
			count_scalar(job, t, one, unit);
	} else {
		count_scalar(job, t, held, unit);
	}
	json_decref(typed);
}

void search_count_facets(struct job *job, const struct pg_rows *rows, unsigned row,
                         const struct search_unit *unit)
{
	for (unsigned i = 0; i < job->plan.n_facets; i++) {
		struct bw_str stored = pg_text(rows, row, QUERY_COLUMN_KEYS + job->n_keys + i);

		if (stored.p == NULL)
			continue;
		if (job->plan.facets[i].n == 0)
			count(job, &job->tables[i], stored, unit);
		else
			count_value(job, &job->tables[i], stored, unit);
	}
}

/* ---- telling ---- */

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

void search_put_facets(struct job *job)
{
	for (unsigned i = 0; i < job->plan.n_facets; i++)
		put_facet(job, i);
}

void search_facets_done(struct job *job)
{
	for (unsigned i = 0; i < SEARCH_MAX_FACETS; i++)
		free(job->tables[i].slots);
	free(job->units.slots);
	free(job->counted.slots);
}
