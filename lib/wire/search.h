/* search.h - a question about many resources as a list of terms, and a page of its answer, both read
 * in place.
 *
 * Little endian, no alignment, str = u32 size, octets, one NUL that the size does not count. A term:
 *
 *    0  u8  kind, u8 a, u8 b, u8 0
 *    4  u32 number
 *    8  str name, str value
 *
 * A page:
 *
 *    0  u32 items, u32 total, u8 relation (enum search_relation), u8 flags (1 clamped, 2 whole), u16 facets
 *   12  u32 position of an error in the statement
 *   16  str next (cursor; empty: the last page), str previous (cursor; empty: the first page),
 *       str error (empty: none; else there is nothing else)
 *    .  items: u32 score (IEEE 754 single), u16 highlights, u8 1 if a second record follows,
 *              u64 modified (milliseconds since 1970, two's complement), record (wire/record.h),
 *              record of its jcr:content, per highlight: str property, str text
 *    .  facets: str name, u16 values, u8 more, per value: u32 count, str value
 */
#pragma once
#include <base/arena.h>
#include <wire/record.h>

#define SEARCH_MAX_TERMS        512u
#define SEARCH_MAX_PAGE         256u
#define SEARCH_MAX_FACETS       8u
#define SEARCH_MAX_FACET_VALUES 100u

enum search_kind {
	SEARCH_SQL2 =
		1, /* value: the statement; of the others only LIMIT and CURSOR may stand beside */
	SEARCH_WORDS,       /* value: full text */
	SEARCH_PATH,        /* value; a: enum search_depth. Several: any of them */
	SEARCH_TYPE,        /* value: resource type. Several: any of them */
	SEARCH_FILTER,      /* name op value; a: enum search_op, b: enum bw_value_type or 0 */
	SEARCH_SORT,        /* a: enum search_sort, b: 1 downward; name: of the property */
	SEARCH_LANGUAGE,    /* value */
	SEARCH_LIMIT,       /* number: items of the page */
	SEARCH_OFFSET,      /* number: items to leave out before the first page */
	SEARCH_CURSOR,      /* value: where to go on */
	SEARCH_TOTAL,       /* number: count up to this many */
	SEARCH_FACET,       /* name: of the property; empty: the resource type */
	SEARCH_FACET_LIMIT, /* number: values of each facet */
	SEARCH_FIELD,       /* name: of a property to return; none: all */
	SEARCH_HIGHLIGHT,
	SEARCH_NO_ITEMS, /* total and facets alone */
	SEARCH_AS_PAGES, /* what is found below a jcr:content is reported as the resource that holds it */
	SEARCH_SUGGEST, /* value: the beginning of words; answered with a facet of titles alone */
};
#define SEARCH_LAST_KIND SEARCH_SUGGEST
/* The name of the facet of titles: no property has it. */
#define SEARCH_FACET_TITLE "/title"
enum search_depth { SEARCH_DESCENDANTS, SEARCH_CHILDREN, SEARCH_SELF };
enum search_op {
	SEARCH_EQ,
	SEARCH_NE,
	SEARCH_LT,
	SEARCH_LE,
	SEARCH_GT,
	SEARCH_GE,
	SEARCH_LIKE,
	SEARCH_EXISTS,
	SEARCH_MISSING,
	SEARCH_NONE_IS, /* no value equals it, or there is none */
};
enum search_sort {
	SEARCH_BY_RELEVANCE,
	SEARCH_BY_PATH,
	SEARCH_BY_TITLE,
	SEARCH_BY_MODIFIED,
	SEARCH_BY_PROPERTY,
};
enum search_relation { SEARCH_NOT_COUNTED, SEARCH_EXACTLY, SEARCH_AT_LEAST };

struct search_term {
	enum search_kind kind;
	uint8_t          a, b;
	uint32_t         number;
	struct bw_str    name, value;
};

struct search_reader {
	const uint8_t *p;
	size_t         at, end;
};

void search_put(struct buf *out, const struct search_term *t);
/* 1: a term; 0: the end; BW_EPROTO. Strings borrow the octets. */
int search_next(struct search_reader *in, struct search_term *ret);

/* ---- pages ---- */

struct search_highlight {
	struct bw_str property, text;
};

struct search_item {
	float                    score;
	int64_t                  modified_ms;
	struct record            record;
	bool                     has_content;
	struct record            content;
	unsigned                 n_highlights;
	struct search_highlight *highlights;
};

struct search_count {
	struct bw_str value;
	uint32_t      count;
};

struct search_facet {
	struct bw_str        name;
	bool                 more;
	unsigned             n;
	struct search_count *values;
};

struct search_page {
	unsigned             n_items, n_facets;
	uint32_t             total;
	enum search_relation relation;
	bool                 clamped, whole; /* whole: items have all of their properties */
	uint32_t             error_position;
	struct bw_str        next, previous, error; /* absent if empty */
	struct search_item  *items;
	struct search_facet *facets;
};

/* The head first, then items, then facets: as many as the head says. */
void search_put_head(struct buf *out, const struct search_page *head);
/* Of the item its numbers and highlights; the records are given encoded. content: absent if none. */
void search_put_item(struct buf *out, const struct search_item *item, struct bw_str record,
                     struct bw_str content);
void search_put_facet(struct buf *out, const struct search_facet *facet);
/* BW_EPROTO. Arrays live in the arena, strings and records borrow p. */
int search_page_get(const uint8_t *p, size_t n, struct arena *a, struct search_page *ret);
