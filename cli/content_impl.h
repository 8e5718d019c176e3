/* content_impl.h - struct content_reader, for the files that know it: content_json.c (the file and what
 * libyajl tells of it), content_item.c (nodes, properties and binary values becoming items). */
#pragma once
#include "content_json.h"

#include <base/json.h>
#include <yajl/yajl_parse.h>

#define CONTENT_PATH_MAX   2048u
#define CONTENT_VALUES_MAX 65535u
#define CONTENT_ITEM_MAX   (1u << 20) /* octets of one node's properties, as JSON */
#define CONTENT_OCTETS_MAX 65536u     /* of one text of "octets" */

/* Where the reader is. */
enum content_place {
	IN_NODE,   /* in an object that is a node: keys */
	IN_LIST,   /* in the list of a property */
	IN_BINARY, /* in the object of a binary value */
	IN_OCTETS, /* in its list of texts */
	IN_ACL,    /* in security:acl, some levels of it */
	AT_START,
	AT_END
};

struct content_level {
	size_t     path_n; /* of the node's path in reader.path */
	bool       handed; /* the node's item has been handed on */
	bool       typed;
	char       type[256];
	struct buf mixins, properties,
		acl; /* JSON without the outer brackets; acl: the whole list */
};

struct content_reader {
	yajl_handle               yajl;
	const struct content_ops *ops;
	void                     *arg;
	enum content_place        place;
	struct content_level      levels[CONTENT_LEVELS];
	unsigned                  n_levels;
	char                      path[CONTENT_PATH_MAX + 1];
	/* The value being read. */
	char        key[256];
	const char *tag;     /* said by the prefix; NULL: by the value */
	const char *in_list; /* of the first value of the list */
	unsigned    n_values;
	bool        is_list;
	struct buf  value; /* JSON of its values, separated */
	/* Of a binary value. */
	char     field[16], hash[65];
	uint64_t length, got;
	bool     has_length;
	/* security:acl as it comes. */
	struct buf      acl;
	struct json_out acl_out;
	unsigned        acl_depth;
	struct buf      item;
	uint64_t        lines, line_start, offset; /* before the piece that yajl has now */
	char            error[512];
};

/* Notes why; 0, which ends libyajl's parsing. */
int content_fail(struct content_reader *r, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- content_item.c: 1, or 0 after a failure ---- */

static inline struct content_level *content_top(struct content_reader *r)
{
	return &r->levels[r->n_levels - 1];
}

int content_begin_node(struct content_reader *r);
int content_end_node(struct content_reader *r);
/* A value of the property being read, as text, with the tag of its type. */
int content_put_text(struct content_reader *r, const char *tag, const char *p, size_t n);
int content_end_property(struct content_reader *r);
int content_begin_binary(struct content_reader *r);
/* Of the member "hash", or some of the octets. */
int content_binary_text(struct content_reader *r, const char *p, size_t n);
int content_end_binary(struct content_reader *r);
/* The type that a prefix of a name says, whose length goes to *ret_n; NULL, 0: none does. */
const char *content_tag(const char *name, size_t n, size_t *ret_n);
