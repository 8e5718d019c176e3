/* compile.h - a query as one SQL statement with parameters.
 *
 * Not an octet of what the user wrote stands in the statement: names, values and paths are parameters.
 *
 * Whoever may not read some properties of a node is given the query over what he may read: its id and
 * those names are an exception, and the statement takes the properties away before it looks at them.
 * Which nodes these are is found with the relaxed statement: it has at least the nodes that the exact
 * one could have, whatever is hidden. */
#pragma once
#include <base/buf.h>
#include "query.h"

#define QUERY_MAX_KEYS (2 * QUERY_MAX_ORDERS + 1)

/* Where a page ended: the text of each key, absent for NULL. */
struct query_place {
	unsigned      n;
	struct bw_str keys[QUERY_MAX_KEYS];
};

struct query_surroundings {
	/* As texts of arrays, both or neither: ids, and for each the hidden names, an array's text
	 * itself or "*" for all. */
	const char *exception_ids, *exception_names;
	/* Relaxed: only what is at or below one of these; none: anywhere. */
	const struct bw_str *places;
	unsigned             n_places;
	bool                 relaxed; /* and without order, place, keys and facets */
	const char
		*node_types; /* array: q->node_type and all below it; not looked at without one */
	/* The resource types at and below one, and how else it may be written, as arrays. */
	void (*types)(void *arg, struct bw_str type, struct arena *a, const char **ret_below,
	              const char **ret_same);
	void                     *arg;
	const struct query_place *after;       /* NULL: from the first */
	bool                      tells_after; /* `after` is the last column, not a condition */
	bool                      unordered;   /* and without keys */
	bool                      holders;     /* tells the holder, see below */
	const struct bw_str      *facets;      /* names of properties; "" is the resource type, */
	unsigned                  n_facets;    /* QUERY_FACET_TITLE what a title is sorted by */
};

/* A name that no property has; lib/wire/search.h says the same. */
#define QUERY_FACET_TITLE "/title"

/* Columns of the statement: */
enum query_column {
	QUERY_COLUMN_ID,
	QUERY_COLUMN_PATH,
	QUERY_COLUMN_PRIMARY_TYPE,
	QUERY_COLUMN_NAMES, /* relaxed: JSON array of the node's properties; else NULL */
	QUERY_COLUMN_SCORE, /* real; 0 without full text */
	/* n_keys of them, then the facets: stored values, "" the type as text; then, if asked for,
	 * "id primary-type" of the resource whose jcr:content this is, or is below, else NULL; then
	 * whether it comes behind `after`. */
	QUERY_COLUMN_KEYS,
};

struct query_sql {
	struct buf    text; /* NUL behind it; free with buf_done */
	unsigned      n_params, cap_params;
	const char  **params;
	unsigned      n_keys;
	struct arena *arena;
};

void query_compile(const struct query *q, const struct query_surroundings *s, struct arena *a,
                   struct query_sql *ret);
/* Whether a condition, the order or what is selected by hangs on properties, which may be hidden. */
bool query_needs_properties(const struct query *q);
/* The full text that the score is of; NULL: there is none. */
const struct query_node *query_words(const struct query *q);
/* Hides nothing that it did not match before: neither '-' nor quotes. */
bool query_words_are_plain(struct bw_str words);

/* ---- between compile.c, condition.c and words.c ---- */

struct compiler {
	const struct query              *q;
	const struct query_surroundings *s;
	struct query_sql                *out;
	bool                             uses_text; /* joins repo.search */
};

void query_out(struct compiler *c, const char *sql);
/* A parameter of that type: $3::text. text: of the arena; NULL: SQL NULL. */
void query_param(struct compiler *c, const char *text, const char *type);
/* The properties that may be looked at. */
const char *query_properties(const struct compiler *c);
/* The stored value of a property, or what stands for one. */
void query_value(struct compiler *c, struct bw_str name);
void query_vector(struct compiler *c);
void query_contains(struct compiler *c, const struct query_node *node, bool negative);
void query_prefix(struct compiler *c, const struct query_node *node);
/* The path itself or below. */
void query_within(struct compiler *c, struct bw_str path);
void query_tsquery(struct compiler *c, struct bw_str words);
/* negative: an odd number of NOTs is above it. */
void query_condition(struct compiler *c, const struct query_node *node, bool negative);
bool query_is_own_column(struct bw_str property);
