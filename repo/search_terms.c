/* search_terms.c - what a search asks for: its terms become a query.
 *
 * Owns: nothing; the plan lives in the job's arena. Runs in: repo's loop. Fails with: BW_EPROTO for
 * what no gateway sends, BW_ESYNTAX with a reason for what a client may have written.
 * Tests: tests/conformance/query, fuzz/search_terms. */
#include "search_impl.h"
#include <base/utf8.h>
#include <stdio.h>

#define DEFAULT_LIMIT       10u
#define DEFAULT_FACET_LIMIT 10u
#define MAX_SUGGEST         128u /* octets */

struct reading {
	struct arena        *a;
	struct search_plan  *plan;
	struct query_error  *error;
	struct query_node   *paths, *types, *all;
	enum query_node_kind depth;
	bool                 has_terms; /* beside those a statement may have */
	bool                 has_query; /* something to search for */
	bool                 is_inside; /* of a page: a path says so */
	struct bw_str        statement;
};

static int refuse(struct reading *r, const char *why, struct bw_str what)
{
	size_t n = what.n < 60 ? what.n : 60;

	while (n > 0 && n < what.n && (what.p[n] & 0xc0) == 0x80)
		n--; /* whole characters */
	snprintf(r->error->text, sizeof(r->error->text), "%s%s%.*s", why, n > 0 ? ": " : "", (int)n,
	         n > 0 ? what.p : "");
	return BW_ESYNTAX;
}

static struct bw_str copy(struct reading *r, struct bw_str s)
{
	return (struct bw_str){ arena_dup(r->a, s.p, s.n), s.n };
}

/* Adds to a group of which one has to hold. */
static void add_to(struct reading *r, struct query_node **group, struct query_node *node)
{
	if (*group == NULL)
		*group = query_node_new(r->a, QUERY_OR);
	query_add(*group, node);
}

static int on_words(struct reading *r, const struct search_term *t)
{
	struct query_node *node = query_node_new(r->a, QUERY_CONTAINS);

	if (!query_is_words(t->value))
		return refuse(r, "more than 32 words or 1024 octets, or no text", BW_ABSENT);
	node->text = copy(r, t->value);
	r->all = query_and(r->a, r->all, node);
	return BW_OK;
}

/* What somebody has typed so far. */
static int on_suggest(struct reading *r, const struct search_term *t)
{
	struct query_node *node = query_node_new(r->a, QUERY_PREFIX);

	if (r->plan->suggest)
		return BW_EPROTO;
	if (t->value.n == 0 || t->value.n > MAX_SUGGEST || !query_is_words(t->value))
		return refuse(r, "1 to 128 octets, or no text", BW_ABSENT);
	r->plan->suggest = true;
	node->text = copy(r, t->value);
	r->all = query_and(r->a, r->all, node);
	return BW_OK;
}

/* Whether a segment of the path is jcr:content. */
static bool is_in_content(struct bw_str path)
{
	const char *at = memmem(path.p, path.n, "/jcr:content", 12);

	while (at != NULL && at + 12 < path.p + path.n && at[12] != '/')
		at = memmem(at + 1, (size_t)(path.p + path.n - at - 1), "/jcr:content", 12);
	return at != NULL;
}

static int on_path(struct reading *r, const struct search_term *t)
{
	static const enum query_node_kind kinds[] = { QUERY_WITHIN, QUERY_CHILD, QUERY_SAME };
	struct query_node                *node;

	if (t->a >= sizeof(kinds) / sizeof(kinds[0]))
		return BW_EPROTO;
	if (!query_is_path(t->value))
		return refuse(r, "not an absolute path", t->value);
	r->is_inside |= is_in_content(t->value);
	node = query_node_new(r->a, kinds[t->a]);
	node->text = copy(r, t->value);
	add_to(r, &r->paths, node);
	return BW_OK;
}

static int on_type(struct reading *r, const struct search_term *t)
{
	struct query_node *node = query_node_new(r->a, QUERY_IS_TYPE);

	if (!utf8_ok(t->value.p, t->value.n) || t->value.n == 0 || t->value.n > 2048 ||
	    memchr(t->value.p, '\0', t->value.n) != NULL)
		return refuse(r, "not a resource type", BW_ABSENT);
	node->name = copy(r, t->value);
	add_to(r, &r->types, node);
	return BW_OK;
}

static bool value_fits(const struct search_term *t)
{
	if (t->a == SEARCH_EXISTS || t->a == SEARCH_MISSING)
		return t->value.n == 0;
	return query_is_value(t->b, t->value);
}

/* Without a name: when the node was last written. */
static int on_filter(struct reading *r, const struct search_term *t)
{
	struct query_node *node, *not ;
	bool               modified = t->name.n == 0;

	if (t->a > SEARCH_NONE_IS || t->b > BW_VALUE_URI)
		return BW_EPROTO;
	if (modified ? t->a > SEARCH_GE || !query_is_value(BW_VALUE_DATE, t->value)
	             : !query_is_name(t->name))
		return refuse(r, modified ? "not a date" : "not the name of a property", t->name);
	if (!value_fits(t))
		return refuse(r, "a value that is not of its type", t->name);
	node = query_node_new(r->a, t->a == SEARCH_EXISTS || t->a == SEARCH_MISSING
	                                    ? QUERY_EXISTS
	                                    : QUERY_COMPARE);
	node->operand.kind = modified ? QUERY_MODIFIED : QUERY_PROPERTY;
	node->operand.name = copy(r, t->name);
	node->op = t->a <= SEARCH_LIKE ? (enum query_op)t->a : QUERY_EQ;
	node->n_values = 1;
	node->values = arena_alloc(r->a, sizeof(*node->values));
	node->values[0] = copy(r, t->value);
	if (t->a == SEARCH_MISSING || t->a == SEARCH_NONE_IS) {
		not = query_node_new(r->a, QUERY_NOT);
		query_add(not, node);
		node = not ;
	}
	r->all = query_and(r->a, r->all, node);
	return BW_OK;
}

static int on_sort(struct reading *r, const struct search_term *t)
{
	static const enum query_operand_kind kinds[] = {
		[SEARCH_BY_RELEVANCE] = QUERY_SCORE,   [SEARCH_BY_PATH] = QUERY_PROPERTY,
		[SEARCH_BY_TITLE] = QUERY_TITLE,       [SEARCH_BY_MODIFIED] = QUERY_MODIFIED,
		[SEARCH_BY_PROPERTY] = QUERY_PROPERTY,
	};
	struct query       *q = &r->plan->q;
	struct query_order *order = &q->orders[q->n_orders];

	if (t->a > SEARCH_BY_PROPERTY || t->b > 1)
		return BW_EPROTO;
	if (q->n_orders == QUERY_MAX_ORDERS)
		return refuse(r, "too many to sort by", BW_ABSENT);
	if (t->a == SEARCH_BY_PROPERTY && !query_is_name(t->name))
		return refuse(r, "not the name of a property", t->name);
	order->operand = (struct query_operand){ .kind = kinds[t->a] };
	order->operand.name = t->a == SEARCH_BY_PATH ? BW_STR("jcr:path") : copy(r, t->name);
	order->descending = t->b;
	q->n_orders++;
	return BW_OK;
}

static int on_language(struct reading *r, const struct search_term *t)
{
	struct query_node *node = query_node_new(r->a, QUERY_LANGUAGE);

	if (t->value.n < 2 || t->value.n > 8)
		return refuse(r, "not a language", t->value);
	for (size_t i = 0; i < t->value.n; i++)
		if (t->value.p[i] < 'a' || t->value.p[i] > 'z')
			return refuse(r, "not a language", t->value);
	node->name = r->plan->q.language = copy(r, t->value);
	r->all = query_and(r->a, r->all, node);
	return BW_OK;
}

static int on_name(struct reading *r, const struct search_term *t, struct bw_str *names,
                   unsigned *n, unsigned max)
{
	if (*n == max)
		return refuse(r, "too many facets or fields", BW_ABSENT);
	if (!query_is_name(t->name) && (t->kind != SEARCH_FACET || t->name.n > 0))
		return refuse(r, "not the name of a property", BW_ABSENT);
	names[(*n)++] = copy(r, t->name);
	return BW_OK;
}

/* Of the page, not of what is searched for. */
static int on_page_term(struct reading *r, const struct search_term *t)
{
	struct search_plan *plan = r->plan;

	switch (t->kind) {
	case SEARCH_LIMIT:
		if (t->number == 0)
			return refuse(r, "a page of no items", BW_ABSENT);
		plan->clamped = t->number > SEARCH_MAX_ITEMS;
		plan->limit = plan->clamped ? SEARCH_MAX_ITEMS : t->number;
		return BW_OK;
	case SEARCH_OFFSET:
		plan->offset = t->number;
		return BW_OK;
	case SEARCH_CURSOR:
		plan->cursor = copy(r, t->value);
		return BW_OK;
	case SEARCH_TOTAL:
		plan->count_max = t->number < SEARCH_COUNT_MAX ? t->number : SEARCH_COUNT_MAX;
		return BW_OK;
	case SEARCH_FACET:
		return on_name(r, t, plan->facets, &plan->n_facets, SEARCH_MAX_FACETS);
	case SEARCH_FACET_LIMIT:
		if (t->number < 1 || t->number > SEARCH_MAX_FACET_VALUES)
			return refuse(r, "a facet has 1 to 100 values", BW_ABSENT);
		plan->facet_limit = t->number;
		return BW_OK;
	case SEARCH_FIELD:
		return on_name(r, t, plan->fields, &plan->n_fields, QUERY_MAX_COLUMNS);
	case SEARCH_HIGHLIGHT:
		plan->highlight = true;
		return BW_OK;
	case SEARCH_AS_PAGES:
		plan->q.as_pages = true;
		return BW_OK;
	default: /* NO_ITEMS */
		plan->items = false;
		return BW_OK;
	}
}

static int on_term(struct reading *r, const struct search_term *t)
{
	if (t->kind == SEARCH_SQL2) {
		if (r->statement.p != NULL)
			return BW_EPROTO;
		r->statement = t->value;
		return BW_OK;
	}
	if (t->kind != SEARCH_LIMIT && t->kind != SEARCH_CURSOR)
		r->has_terms = true;
	switch (t->kind) {
	case SEARCH_WORDS:
		r->has_query = true;
		return on_words(r, t);
	case SEARCH_PATH:
		r->has_query = true;
		return on_path(r, t);
	case SEARCH_TYPE:
		r->has_query = true;
		return on_type(r, t);
	case SEARCH_FILTER:
		r->has_query = true;
		return on_filter(r, t);
	case SEARCH_SORT:
		return on_sort(r, t);
	case SEARCH_SUGGEST:
		r->has_query = true;
		return on_suggest(r, t);
	case SEARCH_LANGUAGE:
		r->has_query = true;
		return on_language(r, t);
	default:
		return on_page_term(r, t);
	}
}

/* A statement: its text decides all but the size of the page. */
static int read_statement(struct reading *r)
{
	struct search_plan *plan = r->plan;
	int                 err = query_parse(r->statement, r->a, &plan->q, r->error);

	if (err != BW_OK)
		return err;
	if (r->has_terms)
		return BW_EPROTO;
	plan->is_statement = true;
	plan->offset = plan->q.offset;
	plan->n_fields = plan->q.n_columns;
	memcpy(plan->fields, plan->q.columns, sizeof(plan->fields));
	return BW_OK;
}

/* Suggestions are the titles of what is found, and nothing else. */
static int finish_suggest(struct reading *r)
{
	struct search_plan *plan = r->plan;

	if (plan->n_facets > 0 || plan->cursor.p != NULL || plan->q.n_orders > 0 || plan->highlight)
		return BW_EPROTO;
	plan->items = false;
	plan->count_max = 0;
	plan->n_facets = 1;
	plan->facets[0] = BW_STR(QUERY_FACET_TITLE);
	return BW_OK;
}

/* Best first where something can fit better or worse; by path else. Who names a place inside of a page
 * wants to know what is there. */
static void finish(struct reading *r)
{
	struct query *q = &r->plan->q;

	q->as_pages &= !r->is_inside;
	q->where = query_and(r->a, query_and(r->a, r->paths, r->types), r->all);
	if (q->n_orders == 0 && query_words(q) != NULL) {
		q->orders[0].operand.kind = QUERY_SCORE;
		q->orders[0].descending = true;
		q->n_orders = 1;
	}
}

int search_read_terms(struct bw_str terms, struct arena *a, struct search_plan *ret,
                      struct query_error *error)
{
	struct search_reader in = { (const uint8_t *)terms.p, 0, terms.n };
	struct reading       r = { .a = a, .plan = ret, .error = error };
	struct search_term   t;
	struct buf           question;
	unsigned             n = 0;
	int                  step, err = BW_OK, bad;

	*ret = (struct search_plan){ .limit = DEFAULT_LIMIT,
		                     .facet_limit = DEFAULT_FACET_LIMIT,
		                     .items = true };
	*error = (struct query_error){ 0 };
	buf_init(&question);
	while ((step = search_next(&in, &t)) == 1) {
		if (++n > SEARCH_MAX_TERMS)
			step = BW_EPROTO;
		if (step != 1)
			break;
		bad = on_term(&r, &t);
		if (err == BW_OK)
			err = bad; /* the first reason counts; malformed is what is malformed anywhere */
		if (bad == BW_EPROTO)
			step = bad;
		if (step != 1)
			break;
		if (t.kind != SEARCH_CURSOR && t.kind != SEARCH_LIMIT)
			search_put(&question, &t);
	}
	ret->question = (struct bw_str){ arena_dup(a, buf_data(&question), buf_size(&question)),
		                         buf_size(&question) };
	buf_done(&question);
	if (step < 0)
		return step;
	if (err != BW_OK)
		return err;
	if (r.statement.p != NULL)
		return read_statement(&r);
	if (!r.has_query)
		return refuse(&r, "nothing to search for", BW_ABSENT);
	finish(&r);
	return ret->suggest ? finish_suggest(&r) : BW_OK;
}
