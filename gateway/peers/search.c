/* search.c - questions about many resources, as terms (wire/search.h), and their answers.
 *
 * Nothing is judged here that repo judges: what is wrong with a question comes back with the page.
 * Owns: nothing beyond the request's arena. Runs in: the gateway, on a request's fiber.
 * Fails with: BW_EINVAL for what no servlet should ask, BW_ESYNTAX, and what repo says.
 * Tests: tests/system/query_test.c. */
#include "search.h"
#include "ask.h"
#include "request.h"
#include "resolver.h"
#include <wire/search.h>

#define MAX_LIST 256u

/* The constants of query.h are those of the wire. */
_Static_assert((int)BW_SEARCH_SELF == (int)SEARCH_SELF, "depths");
_Static_assert((int)BW_SEARCH_NONE_IS == (int)SEARCH_NONE_IS, "comparisons");
_Static_assert((int)BW_SEARCH_BY_PROPERTY == (int)SEARCH_BY_PROPERTY, "what is sorted by");
_Static_assert((int)BW_SEARCH_AT_LEAST == (int)SEARCH_AT_LEAST, "relations");

/* ---- answers ---- */

/* With some properties alone it is not what its path has: it stays out of the table. */
static struct bw_resource *resource_of(struct bw_resolver *r, const struct record *record,
                                       bool whole)
{
	struct bw_resource *res;

	if (whole)
		return resolver_add(r, record, false);
	res = arena_zalloc(&r->req->arena, sizeof(*res));
	res->resolver = r;
	res->record = *record;
	res->made = true;
	return res;
}

static void take_hit(struct bw_resolver *r, const struct search_item *item, bool whole,
                     struct bw_hit *ret)
{
	struct bw_pair *pairs = arena_alloc(&r->req->arena, item->n_highlights * sizeof(*pairs));

	for (unsigned i = 0; i < item->n_highlights; i++)
		pairs[i] =
			(struct bw_pair){ item->highlights[i].property, item->highlights[i].text };
	*ret = (struct bw_hit){
		.resource = resource_of(r, &item->record, whole),
		.score = item->score,
		.highlights = pairs,
		.n_highlights = item->n_highlights,
	};
}

static void take_facet(struct bw_resolver *r, const struct search_facet *facet,
                       struct bw_facet *ret)
{
	struct bw_facet_value *values = arena_alloc(&r->req->arena, facet->n * sizeof(*values));

	for (unsigned i = 0; i < facet->n; i++)
		values[i] =
			(struct bw_facet_value){ facet->values[i].value, facet->values[i].count };
	*ret = (struct bw_facet){ facet->name, values, facet->n, facet->more };
	if (bw_str_eq(facet->name, BW_STR(SEARCH_FACET_TITLE)))
		ret->name = BW_STR("title");
}

static const struct bw_hits *hits_of(struct bw_resolver *r, const struct search_page *page)
{
	struct arena        *a = &r->req->arena;
	struct bw_hits      *hits = arena_zalloc(a, sizeof(*hits));
	struct bw_hit       *items = arena_alloc(a, page->n_items * sizeof(*items));
	struct bw_resource **contents = arena_zalloc(a, page->n_items * sizeof(*contents));
	int64_t             *modified = arena_alloc(a, page->n_items * sizeof(*modified));
	struct bw_facet     *facets = arena_alloc(a, page->n_facets * sizeof(*facets));

	for (unsigned i = 0; i < page->n_items; i++) {
		const struct search_item *item = &page->items[i];

		take_hit(r, item, page->whole, &items[i]);
		modified[i] = item->modified_ms;
		if (item->has_content)
			contents[i] = resource_of(r, &item->content, page->whole);
	}
	for (unsigned i = 0; i < page->n_facets; i++)
		take_facet(r, &page->facets[i], &facets[i]);
	*hits = (struct bw_hits){
		.items = items,
		.n = page->n_items,
		.next = page->next,
		.total = page->total,
		.relation = (enum bw_search_relation)page->relation,
		.clamped = page->clamped,
		.facets = facets,
		.n_facets = page->n_facets,
		.error = page->error,
		.error_position = page->error_position,
		.previous = page->previous,
		.contents = contents,
		.modified_ms = modified,
	};
	return hits;
}

/* Ends with the terms. */
static int ask(struct bw_resolver *r, struct buf *terms, const struct bw_hits **ret)
{
	struct bw_str      octets = { (char *)buf_data(terms), buf_size(terms) };
	struct search_page page;
	int                err = ask_search(r, octets, &page);

	buf_done(terms);
	/* A question that no message can carry is too long to be one. */
	if (err == BW_ETOOBIG) {
		page = (struct search_page){ .error = BW_STR("too long") };
		err = BW_OK;
	}
	if (err != BW_OK)
		return err;
	*ret = hits_of(r, &page);
	return page.error.p != NULL ? BW_ESYNTAX : BW_OK;
}

/* ---- questions ---- */

static void put_value(struct buf *terms, enum search_kind kind, struct bw_str value)
{
	if (value.p != NULL)
		search_put(terms, &(struct search_term){ .kind = kind, .value = value });
}

static void put_number(struct buf *terms, enum search_kind kind, uint32_t number)
{
	if (number > 0)
		search_put(terms, &(struct search_term){ .kind = kind, .number = number });
}

static void put_names(struct buf *terms, enum search_kind kind, const struct bw_str *names,
                      size_t n)
{
	for (size_t i = 0; i < n; i++)
		search_put(terms, &(struct search_term){ .kind = kind, .name = names[i] });
}

static void put_what(struct buf *terms, const struct bw_search *s, enum search_kind words)
{
	put_value(terms, words, s->words);
	for (size_t i = 0; i < s->n_paths; i++)
		search_put(terms, &(struct search_term){ .kind = SEARCH_PATH,
		                                         .a = (uint8_t)s->depth,
		                                         .value = s->paths[i] });
	for (size_t i = 0; i < s->n_types; i++)
		search_put(terms,
		           &(struct search_term){ .kind = SEARCH_TYPE, .value = s->types[i] });
	for (size_t i = 0; i < s->n_filters; i++)
		search_put(terms, &(struct search_term){ .kind = SEARCH_FILTER,
		                                         .a = (uint8_t)s->filters[i].op,
		                                         .b = (uint8_t)s->filters[i].type,
		                                         .name = s->filters[i].name,
		                                         .value = s->filters[i].value });
	put_value(terms, SEARCH_LANGUAGE, s->language);
	for (size_t i = 0; i < s->n_sorts; i++)
		search_put(terms, &(struct search_term){ .kind = SEARCH_SORT,
		                                         .a = (uint8_t)s->sorts[i].by,
		                                         .b = s->sorts[i].descending,
		                                         .name = s->sorts[i].name });
}

static void put_page(struct buf *terms, const struct bw_search *s)
{
	put_number(terms, SEARCH_LIMIT, s->limit);
	put_number(terms, SEARCH_OFFSET, s->offset);
	put_value(terms, SEARCH_CURSOR, s->cursor);
	put_number(terms, SEARCH_TOTAL, s->total);
	put_names(terms, SEARCH_FACET, s->facets, s->n_facets);
	put_number(terms, SEARCH_FACET_LIMIT, s->facet_limit);
	put_names(terms, SEARCH_FIELD, s->fields, s->n_fields);
	if (s->highlight)
		search_put(terms, &(struct search_term){ .kind = SEARCH_HIGHLIGHT });
	if (s->no_items)
		search_put(terms, &(struct search_term){ .kind = SEARCH_NO_ITEMS });
	if (s->as_pages)
		search_put(terms, &(struct search_term){ .kind = SEARCH_AS_PAGES });
}

/* What repo would take for an attack is a servlet's mistake. */
static bool is_well_formed(const struct bw_search *s)
{
	if (s->size != sizeof(*s) || (unsigned)s->depth > BW_SEARCH_SELF)
		return false;
	if (s->n_paths + s->n_types + s->n_filters + s->n_sorts + s->n_facets + s->n_fields >
	    MAX_LIST)
		return false;
	for (size_t i = 0; i < s->n_filters; i++)
		if ((unsigned)s->filters[i].op > BW_SEARCH_NONE_IS ||
		    (unsigned)s->filters[i].type > BW_VALUE_URI)
			return false;
	for (size_t i = 0; i < s->n_sorts; i++)
		if ((unsigned)s->sorts[i].by > BW_SEARCH_BY_PROPERTY)
			return false;
	return true;
}

static int search(struct bw_resolver *r, const struct bw_search *s, const struct bw_hits **ret)
{
	struct buf terms;

	if (!is_well_formed(s))
		return BW_EINVAL;
	buf_init(&terms);
	put_what(&terms, s, SEARCH_WORDS);
	put_page(&terms, s);
	return ask(r, &terms, ret);
}

static int query(struct bw_resolver *r, struct bw_str statement, struct bw_str cursor,
                 uint32_t limit, const struct bw_hits **ret)
{
	struct buf terms;

	if (statement.p == NULL)
		return BW_EINVAL;
	buf_init(&terms);
	put_value(&terms, SEARCH_SQL2, statement);
	put_number(&terms, SEARCH_LIMIT, limit);
	put_value(&terms, SEARCH_CURSOR, cursor);
	return ask(r, &terms, ret);
}

static int suggest(struct bw_resolver *r, const struct bw_search *s, const struct bw_hits **ret)
{
	struct bw_search asked = *s;
	struct buf       terms;

	asked.n_sorts = 0;
	if (!is_well_formed(s) || s->words.p == NULL)
		return BW_EINVAL;
	buf_init(&terms);
	put_what(&terms, &asked, SEARCH_SUGGEST);
	put_number(&terms, SEARCH_FACET_LIMIT, s->limit);
	return ask(r, &terms, ret);
}

const struct bw_searching resolver_searching = {
	.size = sizeof(resolver_searching),
	.search = search,
	.query = query,
	.suggest = suggest,
};
