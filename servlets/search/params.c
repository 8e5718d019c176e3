/* params.c - reads the parameters of a search: q, path, depth, type, p.NAME and its .min, .max, .exists,
 * .not, .like, .type, modified.min and .max, lang, tag, sort, limit, cursor, offset, total, facet, facet.limit,
 * highlight, fields, hits. Anything else is a mistake: a filter that is not understood must not widen
 * the answer.
 *
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: BW_DECLINED and why.
 * Tests: tests/conformance/search, fuzz/search_params. */
#include "params.h"
#include <stdio.h>
#include <stdlib.h>

#define OFFSET_MAX    1000u
#define DEFAULT_LIMIT 10u

struct reading {
	struct bw_req         *req;
	struct params         *p;
	const struct settings *settings;
	const char            *why;
};

static bool is(struct bw_str s, const char *text)
{
	return bw_str_eq(s, bw_str(text));
}

static bool fail(struct reading *r, const char *what, struct bw_str name)
{
	char  *text = bw_req_alloc(r->req, 160);
	size_t n = name.n < 100 ? name.n : 100;

	while (n > 0 && n < name.n && (name.p[n] & 0xc0) == 0x80)
		n--; /* whole characters */
	snprintf(text, 160, "%s: %.*s", what, (int)n, name.p);
	r->why = text;
	return false;
}

static bool add(struct reading *r, const struct bw_pair *pair, struct bw_str *list, size_t *n,
                size_t max)
{
	if (*n == max)
		return fail(r, "too many", pair->name);
	list[(*n)++] = pair->value;
	return true;
}

static bool number(struct reading *r, const struct bw_pair *pair, uint32_t min, uint32_t max,
                   uint32_t *ret)
{
	unsigned long long value;

	if (pair->value.n == 0 || pair->value.n > 9 ||
	    strspn(pair->value.p, "0123456789") != pair->value.n)
		return fail(r, "not a whole number", pair->name);
	value = strtoull(pair->value.p, NULL, 10);
	if (value < min || value > max)
		return fail(r, "out of range", pair->name);
	*ret = (uint32_t)value;
	return true;
}

/* ---- filters ---- */

static bool add_filter(struct reading *r, struct bw_str name, enum bw_search_op op,
                       enum bw_value_type type, struct bw_str value)
{
	struct bw_search *s = &r->p->search;

	if (s->n_filters == PARAMS_MAX)
		return fail(r, "too many filters", name.p != NULL ? name : BW_STR("modified"));
	r->p->filters[s->n_filters++] = (struct bw_search_filter){ name, op, type, value };
	return true;
}

/* The value of "p.NAME.type", a type's name in any letters. */
static bool type_of(struct reading *r, struct bw_str name, enum bw_value_type *ret)
{
	static const char *const names[] = { "",        "string", "long",   "double",
		                             "decimal", "date",   "boolean" };

	*ret = 0;
	for (size_t i = 0; i < r->settings->n; i++) {
		const struct bw_pair *pair = &r->settings->pairs[i];

		if (pair->name.n != name.n + 7 || memcmp(pair->name.p + 2, name.p, name.n) != 0 ||
		    strcmp(pair->name.p + 2 + name.n, ".type") != 0)
			continue;
		for (int k = 1; k <= BW_VALUE_BOOLEAN && *ret == 0; k++)
			if (strcasecmp(pair->value.p, names[k]) == 0)
				*ret = (enum bw_value_type)k;
		if (*ret == 0)
			return fail(r, "not a type", pair->name);
	}
	return true;
}

static bool exists(struct reading *r, struct bw_str name, const struct bw_pair *pair)
{
	if (!is(pair->value, "true") && !is(pair->value, "false"))
		return fail(r, "true or false", pair->name);
	return add_filter(r, name, is(pair->value, "true") ? BW_SEARCH_EXISTS : BW_SEARCH_MISSING,
	                  0, BW_ABSENT);
}

/* Whether a filter stands beside "p.NAME.type": a type of nothing is a mistake. */
static bool is_of_filter(struct reading *r, const struct bw_pair *type)
{
	size_t n = type->name.n - 5;

	for (size_t i = 0; i < r->settings->n; i++) {
		const struct bw_pair *pair = &r->settings->pairs[i];

		if (pair != type && pair->name.n >= n &&
		    memcmp(pair->name.p, type->name.p, n) == 0 &&
		    (pair->name.n == n ||
		     (pair->name.p[n] == '.' && !bw_str_eq(pair->name, type->name))))
			return true;
	}
	return fail(r, "a type without a filter", type->name);
}

/* p.NAME, p.NAME.min and so on. A property whose own name ends so is asked for with another suffix
 * behind it: p.a.min.min. */
static bool property(struct reading *r, const struct bw_pair *pair)
{
	static const struct {
		const char       *suffix;
		enum bw_search_op op;
	} suffixes[] = {
		{ ".min", BW_SEARCH_GE },        { ".max", BW_SEARCH_LE },
		{ ".not", BW_SEARCH_NONE_IS },   { ".like", BW_SEARCH_LIKE },
		{ ".exists", BW_SEARCH_EXISTS },
	};
	struct bw_str      name = { pair->name.p + 2, pair->name.n - 2 };
	enum bw_search_op  op = BW_SEARCH_EQ;
	enum bw_value_type type;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t n = strlen(suffixes[i].suffix);

		if (op == BW_SEARCH_EQ && name.n > n &&
		    memcmp(name.p + name.n - n, suffixes[i].suffix, n) == 0) {
			name.n -= n;
			op = suffixes[i].op;
		}
	}
	if (name.n > 5 && memcmp(name.p + name.n - 5, ".type", 5) == 0)
		return is_of_filter(r, pair); /* read with the filter that it is of */
	if (op == BW_SEARCH_EXISTS)
		return exists(r, name, pair);
	return type_of(r, name, &type) && add_filter(r, name, op, type, pair->value);
}

static bool sort(struct reading *r, const struct bw_pair *pair)
{
	static const char *const names[] = { "relevance", "path", "title", "modified" };
	struct bw_search_sort   *by = &r->p->sorts[0];
	struct bw_str            name = pair->value;

	*by = (struct bw_search_sort){ .by = BW_SEARCH_BY_PROPERTY };
	if (name.n > 0 && name.p[0] == '-') {
		by->descending = true;
		name = (struct bw_str){ name.p + 1, name.n - 1 };
	}
	for (int i = 0; i < 4; i++)
		if (is(name, names[i]))
			by->by = (enum bw_search_by)i;
	if (by->by == BW_SEARCH_BY_RELEVANCE)
		by->descending = true; /* the best first, whichever way it is written */
	if (by->by == BW_SEARCH_BY_PROPERTY) {
		if (name.n < 3 || memcmp(name.p, "p.", 2) != 0)
			return fail(r, "nothing to sort by", pair->value);
		by->name = (struct bw_str){ name.p + 2, name.n - 2 };
	}
	r->p->search.n_sorts = 1;
	return true;
}

/* ---- single ones ---- */

static bool depth(struct reading *r, const struct bw_pair *pair)
{
	static const char *const names[] = { "descendants", "children", "self" };

	for (int i = 0; i < 3; i++) {
		if (is(pair->value, names[i])) {
			r->p->search.depth = (enum bw_search_depth)i;
			return true;
		}
	}
	return fail(r, "self, children or descendants", pair->name);
}

static bool total(struct reading *r, const struct bw_pair *pair)
{
	uint32_t *ret = &r->p->search.total, max = r->settings->max_total;

	*ret = is(pair->value, "none") ? 0 : max;
	if (is(pair->value, "none") || is(pair->value, "exact"))
		return true;
	if (!number(r, pair, 1, 999999999, ret))
		return false;
	*ret = *ret < max ? *ret : max;
	return true;
}

static bool limit(struct reading *r, const struct bw_pair *pair)
{
	struct bw_search *s = &r->p->search;

	if (!number(r, pair, 1, 999999999, &s->limit))
		return false;
	r->p->clamped = s->limit > r->settings->max_limit;
	s->limit = r->p->clamped ? r->settings->max_limit : s->limit;
	return true;
}

static bool facet(struct reading *r, const struct bw_pair *pair)
{
	struct bw_pair named = *pair;

	if (is(pair->value, "type"))
		named.value = BW_STR("");
	return add(r, &named, r->p->facets, &r->p->search.n_facets, 8);
}

/* fields=a,b; fields=* is all. */
static bool fields(struct reading *r, const struct bw_pair *pair)
{
	struct bw_str left = pair->value;

	r->p->all_fields |= is(pair->value, "*");
	while (left.n > 0 && !is(pair->value, "*")) {
		const char    *comma = memchr(left.p, ',', left.n);
		size_t         n = comma != NULL ? (size_t)(comma - left.p) : left.n;
		struct bw_pair one = { pair->name, { left.p, n } };

		if (!add(r, &one, r->p->fields, &r->p->n_fields, PARAMS_MAX))
			return false;
		left = (struct bw_str){ left.p + n + (comma != NULL),
			                left.n - n - (comma != NULL) };
	}
	return true;
}

static bool flag(struct reading *r, const struct bw_pair *pair, bool *ret)
{
	*ret = is(pair->value, "true");
	return *ret || is(pair->value, "false") || fail(r, "true or false", pair->name);
}

static bool one(struct reading *r, const struct bw_pair *pair)
{
	struct bw_search *s = &r->p->search;
	struct bw_str     name = pair->name;

	if (is(name, "q")) {
		s->words = pair->value.n > 0 ? pair->value : BW_ABSENT;
		return true;
	}
	if (is(name, "path"))
		return add(r, pair, r->p->paths, &s->n_paths, PARAMS_MAX);
	if (is(name, "type"))
		return add(r, pair, r->p->types, &s->n_types, PARAMS_MAX);
	if (is(name, "depth"))
		return depth(r, pair);
	if (is(name, "lang")) {
		s->language = pair->value;
		return true;
	}
	if (is(name, "cursor")) {
		s->cursor = pair->value;
		return true;
	}
	if (is(name, "tag"))
		return add_filter(r, BW_STR("tags"), BW_SEARCH_EQ, 0, pair->value);
	if (is(name, "modified.min") || is(name, "modified.max"))
		return add_filter(r, BW_ABSENT, name.p[10] == 'i' ? BW_SEARCH_GE : BW_SEARCH_LE,
		                  BW_VALUE_DATE, pair->value);
	if (is(name, "sort"))
		return sort(r, pair);
	if (is(name, "limit"))
		return limit(r, pair);
	if (is(name, "offset"))
		return number(r, pair, 0, OFFSET_MAX, &s->offset);
	if (is(name, "total"))
		return total(r, pair);
	if (is(name, "facet"))
		return facet(r, pair);
	if (is(name, "facet.limit"))
		return number(r, pair, 1, 100, &s->facet_limit);
	if (is(name, "highlight"))
		return flag(r, pair, &s->highlight);
	if (is(name, "fields"))
		return fields(r, pair);
	if (is(name, "hits")) {
		s->no_items = is(pair->value, "none");
		return s->no_items || fail(r, "none, or nothing at all", name);
	}
	if (name.n > 2 && memcmp(name.p, "p.", 2) == 0)
		return property(r, pair);
	return fail(r, "unknown parameter", name);
}

/* What every item tells has to come along. */
static void finish_fields(struct params *p)
{
	static const struct bw_str always[] = { BW_STR("jcr:title"), BW_STR("title") };

	if (p->n_fields == 0 || p->all_fields)
		return;
	memcpy(p->fields + p->n_fields, always, sizeof(always));
	p->search.n_fields = p->n_fields + 2;
}

/* Within the places that the search is limited to: those are the paths if there are no others. */
static bool finish_paths(struct reading *r)
{
	const struct settings *s = r->settings;
	struct bw_search      *search = &r->p->search;

	for (size_t i = 0; i < search->n_paths; i++)
		if (!settings_has_within(s, r->p->paths[i]))
			return fail(r, "nothing is searched there", r->p->paths[i]);
	for (size_t i = 0; search->n_paths == i && i < s->within.n && i < PARAMS_MAX; i++)
		r->p->paths[search->n_paths++] = s->within.items[i];
	if (s->listing && !params_ask(r->p))
		r->p->paths[search->n_paths++] = BW_STR("/");
	return true;
}

bool params_ask(const struct params *p)
{
	const struct bw_search *s = &p->search;

	return s->words.p != NULL || s->language.p != NULL ||
	       s->n_paths + s->n_types + s->n_filters > 0;
}

/* Of a suggestion words, places, types and filters count. */
static bool may_be_asked(struct reading *r, struct bw_str name, bool suggest)
{
	static const char *const others[] = { "cursor", "offset",      "total",
		                              "facet",  "facet.limit", "sort",
		                              "fields", "highlight",   "hits" };

	for (size_t i = 0; suggest && i < sizeof(others) / sizeof(others[0]); i++)
		if (is(name, others[i]))
			return fail(r, "unknown parameter", name);
	return settings_has_parameter(r->settings, name) || fail(r, "unknown parameter", name);
}

int params_read(struct bw_req *req, const struct settings *settings, bool suggest,
                struct params *ret, const char **ret_why)
{
	struct reading    r = { .req = req, .p = ret, .settings = settings };
	struct bw_search *s = &ret->search;
	bool              good = true;

	*ret = (struct params){ .search = { .size = sizeof(*s), .as_pages = true } };
	s->total = settings->max_total;
	s->limit = settings->max_limit < DEFAULT_LIMIT ? settings->max_limit : DEFAULT_LIMIT;
	s->paths = ret->paths;
	s->types = ret->types;
	s->filters = ret->filters;
	s->sorts = ret->sorts;
	s->facets = ret->facets;
	s->fields = ret->fields;
	for (size_t i = 0; good && i < settings->n; i++) {
		if (i < settings->n_asked)
			good = may_be_asked(&r, settings->pairs[i].name, suggest);
		good = good && one(&r, &settings->pairs[i]);
	}
	if (!good || !finish_paths(&r)) {
		*ret_why = r.why;
		return BW_DECLINED;
	}
	finish_fields(ret);
	return BW_OK;
}
