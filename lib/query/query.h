/* query.h - a query as a tree: what the text of a JCR-SQL2 statement and a structured search both
 * become, and what compile.h makes SQL of.
 *
 * The language is a subset of JCR 2.0 section 6.7 (JCR-SQL2): one selector, no joins. Everything here
 * lives in the caller's arena; nothing borrows the text. */
#pragma once
#include <base/arena.h>
#include <boardwalk/types.h>
#include <boardwalk/value.h>

#define QUERY_MAX_TEXT         65536u
#define QUERY_MAX_DEPTH        64u   /* of parentheses, NOT and functions */
#define QUERY_MAX_NODES        512u  /* conditions */
#define QUERY_MAX_VALUES       1024u /* literals in all */
#define QUERY_MAX_ORDERS       8u
#define QUERY_MAX_COLUMNS      64u
#define QUERY_MAX_WORDS        32u /* of a full-text expression */
#define QUERY_MAX_WORDS_OCTETS 1024u

enum query_op {
	QUERY_EQ,
	QUERY_NE,
	QUERY_LT,
	QUERY_LE,
	QUERY_GT,
	QUERY_GE,
	QUERY_LIKE,
};
#define QUERY_N_OPS 7

/* What is compared, or sorted by. */
enum query_operand_kind {
	QUERY_PROPERTY, /* name; jcr:primaryType and jcr:path too */
	QUERY_NAME,     /* of the node */
	QUERY_SCORE,    /* sort only: how well the full text fits */
	QUERY_MODIFIED, /* sort and structured filters: when the node was last written */
	QUERY_TITLE,    /* sort only: jcr:title, else title */
};
enum query_case { QUERY_AS_IS, QUERY_LOWER, QUERY_UPPER };

struct query_operand {
	enum query_operand_kind kind;
	enum query_case         letters;
	struct bw_str           name; /* PROPERTY */
};

enum query_node_kind {
	QUERY_AND, /* of kids */
	QUERY_OR,
	QUERY_NOT,        /* of the one kid */
	QUERY_COMPARE,    /* operand op any of values */
	QUERY_EXISTS,     /* operand, a PROPERTY */
	QUERY_CONTAINS,   /* words; name: of the property, absent: all of them */
	QUERY_DESCENDANT, /* path */
	QUERY_CHILD,
	QUERY_SAME,
	QUERY_WITHIN,   /* path itself or below */
	QUERY_IS_TYPE,  /* resource type `name` or one below it */
	QUERY_LANGUAGE, /* name: of the node's text */
	QUERY_PREFIX,   /* text: its words begin words of the node's title; never under NOT */
};

struct query_node {
	enum query_node_kind kind;
	struct query_node   *kid, *next; /* next: the sibling of a kid */
	enum query_op        op;
	struct query_operand operand;
	struct bw_str       *values;
	unsigned             n_values;
	struct bw_str        name; /* absent, or see above */
	struct bw_str        text; /* words, path */
};

struct query_order {
	struct query_operand operand;
	bool                 descending;
};

struct query {
	struct bw_str      node_type; /* absent: any */
	struct bw_str      selector;
	struct bw_str      columns[QUERY_MAX_COLUMNS]; /* none: all */
	unsigned           n_columns;
	struct query_node *where; /* NULL: all */
	struct query_order orders[QUERY_MAX_ORDERS];
	unsigned           n_orders;
	bool               has_limit;
	uint64_t           limit, offset;
	struct bw_str      language; /* of full-text expressions; absent: the default */
	/* SAME and CHILD mean a resource together with its jcr:content and all below that. */
	bool as_pages;
};

struct query_error {
	size_t position; /* octets of the text before the place, */
	char   text[160];
};

/* Reads a statement. BW_OK, or BW_ESYNTAX with *error. */
int query_parse(struct bw_str text, struct arena *a, struct query *ret, struct query_error *error);

/* ---- tree.c: for those who build one themselves ---- */

/* kid is added behind those it has. */
struct query_node *query_node_new(struct arena *a, enum query_node_kind kind);
void               query_add(struct query_node *parent, struct query_node *kid);
/* Both hold. Either may be NULL. */
struct query_node *query_and(struct arena *a, struct query_node *x, struct query_node *y);
/* An absolute path without empty or dot segments and without a slash at its end; UTF-8, no NUL. */
bool query_is_path(struct bw_str path);
/* A name as repo.name_check lets in, roughly: 1 to 255 octets of UTF-8 without a slash or control. */
bool query_is_name(struct bw_str name);
/* Full-text words: UTF-8 without NUL, not above the limits. */
bool query_is_words(struct bw_str words);
/* What a literal of that type may look like (0: any text that is UTF-8 without NUL). */
bool query_is_value(enum bw_value_type type, struct bw_str text);
