/* query.h - finding resources: by type, by a statement in a subset of JCR-SQL2, by a search.
 *
 *    resolver.findResources(sql2, Query.JCR_SQL2)      bw_resolver_query(r, statement, cursor, limit, &hits)
 *    resolver.findResources("//element(*)[...type]")   bw_resolver_find_by_type(r, type, path, cursor, limit, &hits)
 *    a query builder's predicates                      bw_resolver_search(r, &search, &hits)
 *
 * An answer is a page. Its next, given as the cursor of the same question, brings the page behind it; the
 * last page has none. A page may have fewer items than asked for and still have a next one.
 *
 *    struct bw_str cursor = BW_ABSENT;
 *    const struct bw_hits *hits;
 *
 *    do {
 *            err = bw_resolver_query(r, statement, cursor, 100, &hits);
 *            for (size_t i = 0; err == BW_OK && i < hits->n; i++)
 *                    use(hits->items[i].resource);
 *            cursor = err == BW_OK ? hits->next : BW_ABSENT;
 *    } while (cursor.p != NULL);
 *
 * What is found, counted, marked and sorted by is what the resolver's identity may read: nodes, and of each
 * the properties. A hidden property is a missing one. What was committed before the question is found;
 * what is pending in the resolver is not looked for, though the resources that come show it.
 *
 * Errors of all three: BW_ESYNTAX (400): the question is none, and *ret is set all the same: error says
 * why, in words for whoever wrote it, and error_position where in the statement. BW_EBUSY (503): too many
 * searches, or this one took too long. Else as bw_resolver_get. All of an answer lives as long as the
 * request. */
#pragma once
#include <boardwalk/bundle.h>

enum bw_search_depth { BW_SEARCH_DESCENDANTS, BW_SEARCH_CHILDREN, BW_SEARCH_SELF };

/* Comparisons with any value of a property: true if one of them satisfies it, false if there is none. */
enum bw_search_op {
	BW_SEARCH_EQ,
	BW_SEARCH_NE,
	BW_SEARCH_LT,
	BW_SEARCH_LE,
	BW_SEARCH_GT,
	BW_SEARCH_GE,
	BW_SEARCH_LIKE,    /* % any text, _ one character, after \ themselves */
	BW_SEARCH_EXISTS,  /* the property is there; no value */
	BW_SEARCH_MISSING, /* it is not; no value */
	BW_SEARCH_NONE_IS, /* no value equals it, or there is none */
};

struct bw_search_filter {
	struct bw_str      name; /* absent: when the resource was last written; LT to GE, a date */
	enum bw_search_op  op;
	enum bw_value_type type;  /* what value must look like; 0: anything */
	struct bw_str      value; /* as text */
};

enum bw_search_by {
	BW_SEARCH_BY_RELEVANCE, /* of words */
	BW_SEARCH_BY_PATH,
	BW_SEARCH_BY_TITLE,    /* jcr:title, else title */
	BW_SEARCH_BY_MODIFIED, /* when the resource was last written */
	BW_SEARCH_BY_PROPERTY,
};

struct bw_search_sort {
	enum bw_search_by by;
	bool              descending; /* what is missing comes last in either case */
	struct bw_str     name;       /* BY_PROPERTY */
};

/* Zero what is not wanted. At least one of words, paths, types, filters, language. */
struct bw_search {
	size_t size; /* = sizeof(struct bw_search) */
	struct bw_str
		words; /* all of them, or "a phrase", -without; never a syntax error; 1,024 octets */
	const struct bw_str *paths; /* any of these */
	size_t               n_paths;
	enum bw_search_depth depth;
	const struct bw_str *types; /* resource types, with those that inherit: any of these */
	size_t               n_types;
	const struct bw_search_filter *filters; /* all of them */
	size_t                         n_filters;
	struct bw_str
		language; /* "de": only text in it, and words are cut down by its rules; absent: English */
	const struct bw_search_sort
		     *sorts; /* ends with the path; none: relevance if there are words */
	size_t        n_sorts;
	uint32_t      limit;  /* items of a page, 1 to 256; 0: 10; more: 256, and hits->clamped */
	uint32_t      offset; /* items left out before the first page */
	struct bw_str cursor;
	uint32_t      total;         /* count up to so many, at most 1,000; 0: do not count */
	const struct bw_str *facets; /* properties, "" for the resource type: at most 8 */
	size_t               n_facets;
	uint32_t             facet_limit; /* values of each, 1 to 100; 0: 10 */
	const struct bw_str *fields;      /* the items have these properties alone; none: all */
	size_t               n_fields;
	bool                 highlight, no_items;
	/* What is found at or below a jcr:content is the resource that holds it, once, where that one may be
	 * read; BW_SEARCH_SELF and _CHILDREN take its content in. Not if a path leads into a jcr:content.
	 * Later pages look at what earlier ones had. (Since minor version 3.) */
	bool as_pages;
};

struct bw_hit {
	struct bw_resource *resource;
	double              score; /* 0 to 1, how well words fit; compares within one answer only */
	/* Property and text, the fitting words between U+0002 and U+0003, which stand nowhere else in it:
	 * escape it first, then make tags of them. */
	const struct bw_pair *highlights;
	size_t                n_highlights;
};

struct bw_facet_value {
	struct bw_str value;
	uint32_t      count; /* of resources */
};

struct bw_facet {
	struct bw_str                name;
	const struct bw_facet_value *values; /* most frequent first */
	size_t                       n;
	bool more; /* there are others; those longer than 128 octets never come */
};

enum bw_search_relation { BW_SEARCH_NOT_COUNTED, BW_SEARCH_EXACTLY, BW_SEARCH_AT_LEAST };

struct bw_hits {
	const struct bw_hit    *items;
	size_t                  n;
	struct bw_str           next; /* absent: the last page */
	uint32_t                total;
	enum bw_search_relation relation;
	bool                    clamped; /* limit was too large */
	const struct bw_facet  *facets;
	size_t                  n_facets;
	struct bw_str           error; /* BW_ESYNTAX; else absent */
	size_t                  error_position;
	/* Since minor version 3. previous: cursor of the page before this one, which is counted off from the
	 * beginning; absent: the first page. */
	struct bw_str previous;
	struct bw_resource *const
		      *contents;    /* of items[i], as_pages: its jcr:content; NULL: none */
	const int64_t *modified_ms; /* of items[i] or its content: last written, since 1970 */
};

/* The functions below, as a table of its own. */
struct bw_searching {
	size_t size;
	int (*search)(struct bw_resolver *r, const struct bw_search *search,
	              const struct bw_hits **ret);
	int (*query)(struct bw_resolver *r, struct bw_str statement, struct bw_str cursor,
	             uint32_t limit, const struct bw_hits **ret);
	int (*suggest)(struct bw_resolver *r, const struct bw_search *search,
	               const struct bw_hits **ret);
};

/* search: borrowed. (waits) */
static inline int bw_resolver_search(struct bw_resolver *r, const struct bw_search *search,
                                     const struct bw_hits **ret)
{
	return bw_host->searching->search(r, search, ret);
}

/* SELECT .. FROM [type] AS s WHERE .. ORDER BY .. LIMIT .. OFFSET: docs/query.md has the language. limit:
 * items of a page, as in struct bw_search; LIMIT and OFFSET are of all pages together. (waits) */
static inline int bw_resolver_query(struct bw_resolver *r, struct bw_str statement,
                                    struct bw_str cursor, uint32_t limit,
                                    const struct bw_hits **ret)
{
	return bw_host->searching->query(r, statement, cursor, limit, ret);
}

/* All resources of a resource type or one that inherits from it, at or below path (absent: anywhere), by
 * path. A resource's own super type goes before that of its type. (waits) */
static inline int bw_resolver_find_by_type(struct bw_resolver *r, struct bw_str type,
                                           struct bw_str path, struct bw_str cursor, uint32_t limit,
                                           const struct bw_hits **ret)
{
	struct bw_search search = {
		.size = sizeof(search),
		.types = &type,
		.n_types = 1,
		.paths = &path,
		.n_paths = path.p != NULL,
		.cursor = cursor,
		.limit = limit,
	};

	return bw_host->searching->search(r, &search, ret);
}

/* Titles in which each of search->words begins a word: (*ret)->facets[0], most frequent first, out of the
 * first 1,000 resources that have one. Of search its words (1 to 128 octets), paths, depth, types, filters
 * and language count, and limit, 1 to 100 titles. (waits; since minor version 3) */
static inline int bw_resolver_suggest(struct bw_resolver *r, const struct bw_search *search,
                                      const struct bw_hits **ret)
{
	return bw_host->searching->suggest(r, search, ret);
}
