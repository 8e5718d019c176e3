/* content_json.c - initial content from JSON, piece by piece: no more of the file is in memory than one
 * node's properties.
 *
 * libyajl tells of keys and values as they come. A node is handed on when its first child begins, since
 * the child needs it, or at its end; properties that come behind a child follow as an item of their own.
 *
 * Owns: the levels and the item being made. Runs in: the command. Fails with: line, column and reason.
 * Tests: tests/system/port_test.c, tests/fuzz/content_read.c. */
#include "content_json.h"

#include <base/fatal.h>
#include <base/json.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#define PATH_MAX_OCTETS 2048u
#define VALUES_MAX      65535u
#define ITEM_MAX        (1u << 20) /* octets of one node's properties, as JSON */
#define OCTETS_MAX      65536u     /* of one text of "octets" */

static const struct {
	const char *prefix, *tag;
} types[] = {
	{ "string", "s" },    { "long", "l" },        { "double", "d" },
	{ "decimal", "dec" }, { "date", "date" },     { "boolean", "b" },
	{ "name", "name" },   { "path", "path" },     { "uri", "uri" },
	{ "binary", "bin" },  { "reference", "ref" }, { "weakreference", "weak" },
};
#define N_TYPES (sizeof(types) / sizeof(*types))

/* Where the reader is. */
enum place {
	IN_NODE,   /* in an object that is a node: keys */
	IN_LIST,   /* in the list of a property */
	IN_BINARY, /* in the object of a binary value */
	IN_OCTETS, /* in its list of texts */
	IN_ACL,    /* in security:acl, some levels of it */
	AT_START,
	AT_END
};

struct level {
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
	enum place                place;
	struct level              levels[CONTENT_LEVELS];
	unsigned                  n_levels;
	char                      path[PATH_MAX_OCTETS + 1];
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

/* ---- values ---- */

const char *content_prefix(const char *tag)
{
	for (size_t i = 0; i < N_TYPES; i++)
		if (strcmp(types[i].tag, tag) == 0)
			return types[i].prefix;
	return NULL;
}

/* d stands for a digit; a text as long as the pattern without its zone. */
static bool matches(const char *text, size_t n, const char *pattern)
{
	size_t i = 0;

	for (; pattern[i] != '\0'; i++)
		if (i >= n ||
		    (pattern[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != pattern[i]))
			return false;
	return i == n;
}

bool content_is_date(const char *text, size_t n)
{
	static const char start[] = "dddd-dd-ddTdd:dd:dd.ddd";
	size_t            k = sizeof(start) - 1;

	return n > k && matches(text, k, start) &&
	       ((n == k + 1 && text[k] == 'Z') || matches(text + k, n - k, "+dd:dd") ||
	        matches(text + k, n - k, "-dd:dd"));
}

static bool fits_long(const char *digits, size_t n)
{
	char text[24];

	if (n >= sizeof(text))
		return false;
	memcpy(text, digits, n);
	text[n] = '\0';
	errno = 0;
	(void)strtoll(text, NULL, 10);
	return errno == 0;
}

bool content_is_number(const char *text, size_t n, bool whole)
{
	size_t i = n > 0 && text[0] == '-', digits = i;

	while (i < n && text[i] >= '0' && text[i] <= '9')
		i++;
	/* JSON: no zero in front of another digit. */
	if (i == digits || (text[digits] == '0' && i > digits + 1))
		return false;
	if (whole)
		return i == n && fits_long(text, n);
	if (i == n)
		return false;
	if (text[i] == '.') {
		digits = ++i;
		while (i < n && text[i] >= '0' && text[i] <= '9')
			i++;
		if (i == digits)
			return false;
	}
	if (i < n && (text[i] == 'e' || text[i] == 'E')) {
		i++;
		if (i < n && (text[i] == '+' || text[i] == '-'))
			i++;
		digits = i;
		while (i < n && text[i] >= '0' && text[i] <= '9')
			i++;
		if (i == digits)
			return false;
	}
	return i == n;
}

/* ---- errors ---- */

__attribute__((format(printf, 2, 3))) static int fail(struct content_reader *r, const char *format,
                                                      ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
	return 0;
}

/* ---- items ---- */

static void put_text(struct buf *out, const char *p, size_t n)
{
	struct json_out j;

	json_out_init(&j, out);
	json_out_string(&j, p, n);
}

static void put_list(struct buf *out, const char *key, const struct buf *items,
                     const char *brackets)
{
	buf_printf(out, ",\"%s\":%c", key, brackets[0]);
	if (buf_size(items) > 0)
		buf_append(out, buf_data(items), buf_size(items));
	buf_printf(out, "%c", brackets[1]);
}

/* What is known of the node so far. */
static bool hand_on(struct content_reader *r, struct level *l)
{
	bool whole = !l->handed;

	if (l->handed && buf_size(&l->properties) == 0)
		return true;
	buf_clear(&r->item);
	buf_printf(&r->item, "{\"path\":");
	put_text(&r->item, r->path, l->path_n);
	buf_printf(&r->item, ",\"whole\":%s,\"type\":", whole ? "true" : "false");
	if (whole && l->typed)
		put_text(&r->item, l->type, strlen(l->type));
	else
		buf_printf(&r->item, "null");
	put_list(&r->item, "mixins", &l->mixins, "[]");
	put_list(&r->item, "properties", &l->properties, "{}");
	buf_printf(&r->item, ",\"acl\":");
	if (buf_size(&l->acl) > 0)
		buf_append(&r->item, buf_data(&l->acl), buf_size(&l->acl));
	else
		buf_printf(&r->item, "[]");
	buf_printf(&r->item, "}");
	l->handed = true;
	buf_clear(&l->mixins);
	buf_clear(&l->properties);
	buf_clear(&l->acl);
	return r->ops->item(r->arg, (const char *)buf_data(&r->item), buf_size(&r->item));
}

/* ---- nodes ---- */

static struct level *top(struct content_reader *r)
{
	return &r->levels[r->n_levels - 1];
}

/* A child's name behind the path of its parent; the outermost node has its path already. */
static bool extend_path(struct content_reader *r)
{
	size_t at, n = strlen(r->key);

	if (r->n_levels == 0)
		return true;
	at = top(r)->path_n;
	if (n == 0 || strchr(r->key, '/') != NULL)
		return fail(r, "\"%s\" is no name", r->key);
	if (at + 1 + n > PATH_MAX_OCTETS)
		return fail(r, "a path of more than %u octets", PATH_MAX_OCTETS);
	if (at > 1)
		r->path[at++] = '/';
	memcpy(r->path + at, r->key, n + 1);
	return true;
}

static int begin_node(struct content_reader *r)
{
	struct level *l;

	if (r->tag != NULL)
		return fail(r, "\"%s\": a node has no type in front of its name", r->key);
	if (r->n_levels == CONTENT_LEVELS)
		return fail(r, "more than %u levels", CONTENT_LEVELS);
	if (!extend_path(r) || (r->n_levels > 0 && !top(r)->handed && !hand_on(r, top(r))))
		return 0;
	l = &r->levels[r->n_levels++];
	l->path_n = strlen(r->path);
	l->handed = l->typed = false;
	r->place = IN_NODE;
	return 1;
}

static int end_node(struct content_reader *r)
{
	if (!hand_on(r, top(r)))
		return 0;
	r->n_levels--;
	if (r->n_levels > 0)
		r->path[top(r)->path_n] = '\0';
	r->place = r->n_levels > 0 ? IN_NODE : AT_END;
	return 1;
}

/* ---- properties ---- */

static int is_room(struct content_reader *r)
{
	return buf_size(&r->value) <= ITEM_MAX ? 1 : fail(r, "\"%s\" is too large", r->key);
}

/* jcr:primaryType and jcr:mixinTypes are no properties here. */
static int put_type(struct content_reader *r)
{
	struct level *l = top(r);
	bool          is_type = strcmp(r->key, "jcr:primaryType") == 0;
	size_t        n = buf_size(&r->value);

	if (l->handed)
		return fail(r, "\"%s\" comes behind a child; it belongs before them", r->key);
	if (strcmp(r->in_list != NULL ? r->in_list : "s", "s") != 0 || is_type == r->is_list)
		return fail(r, "\"%s\" is %s", r->key, is_type ? "a text" : "a list of texts");
	if (!is_type) {
		buf_append(&l->mixins, buf_data(&r->value), n);
		return 1;
	}
	if (n < 3 || n - 2 >= sizeof(l->type) || memchr(buf_data(&r->value), '\\', n) != NULL)
		return fail(r, "\"%s\" is no name of a type", r->key);
	memcpy(l->type, buf_data(&r->value) + 1, n - 2);
	l->type[n - 2] = '\0';
	l->typed = true;
	return 1;
}

static int end_property(struct content_reader *r)
{
	struct level *l = top(r);
	const char   *tag = r->in_list != NULL ? r->in_list : r->tag != NULL ? r->tag : "s";

	r->place = IN_NODE;
	if (strcmp(r->key, "jcr:primaryType") == 0 || strcmp(r->key, "jcr:mixinTypes") == 0)
		return put_type(r);
	if (buf_size(&l->properties) + buf_size(&r->value) > ITEM_MAX)
		return fail(r, "the properties of \"%s\" are too large", r->path);
	if (buf_size(&l->properties) > 0)
		buf_printf(&l->properties, ",");
	put_text(&l->properties, r->key, strlen(r->key));
	buf_printf(&l->properties, ":{\"%s\":%s", tag, r->is_list ? "[" : "");
	buf_append(&l->properties, buf_data(&r->value), buf_size(&r->value));
	buf_printf(&l->properties, "%s}", r->is_list ? "]" : "");
	return 1;
}

/* One value more, as JSON in r->value behind a comma. */
static int begin_value(struct content_reader *r, const char *tag)
{
	if (r->n_values == VALUES_MAX)
		return fail(r, "\"%s\": more than %u values", r->key, VALUES_MAX);
	if (r->in_list != NULL && strcmp(r->in_list, tag) != 0)
		return fail(r, "\"%s\": values of several types", r->key);
	r->in_list = tag;
	if (r->n_values++ > 0)
		buf_printf(&r->value, ",");
	return is_room(r);
}

static int end_value(struct content_reader *r)
{
	return r->is_list ? is_room(r) : end_property(r);
}

static int put_typed_text(struct content_reader *r, const char *tag, const char *p, size_t n)
{
	bool whole = strcmp(tag, "l") == 0;

	if (whole && !content_is_number(p, n, true))
		return fail(r, "\"%s\": not a Long", r->key);
	if (strcmp(tag, "b") == 0 && !(n == 4 && memcmp(p, "true", 4) == 0) &&
	    !(n == 5 && memcmp(p, "false", 5) == 0))
		return fail(r, "\"%s\": not a Boolean", r->key);
	if (!begin_value(r, tag))
		return 0;
	if (whole || strcmp(tag, "b") == 0)
		buf_append(&r->value, p, n);
	else
		put_text(&r->value, p, n);
	return end_value(r);
}

/* ---- binary values ---- */

static int begin_binary(struct content_reader *r)
{
	r->place = IN_BINARY;
	r->field[0] = r->hash[0] = '\0';
	r->has_length = false;
	r->got = 0;
	return begin_value(r, "bin");
}

static int end_binary(struct content_reader *r)
{
	char expected[96] = "", value[96];

	if (r->has_length && r->got != r->length && r->got != 0)
		return fail(r, "\"%s\": %llu octets, not %llu", r->key, (unsigned long long)r->got,
		            (unsigned long long)r->length);
	if (r->has_length && r->hash[0] != '\0')
		snprintf(expected, sizeof(expected), "%s %llu", r->hash,
		         (unsigned long long)r->length);
	if (!r->ops->binary(r->arg, expected, value))
		return 0;
	put_text(&r->value, value, strlen(value));
	r->place = r->is_list ? IN_LIST : IN_NODE;
	return end_value(r);
}

static int binary_text(struct content_reader *r, const char *p, size_t n)
{
	uint8_t octets[OCTETS_MAX];
	size_t  got;

	if (r->place == IN_BINARY) {
		if (strcmp(r->field, "hash") != 0 || n != sizeof(r->hash) - 1)
			return fail(r, "\"%s\": \"%s\" is not known here", r->key, r->field);
		memcpy(r->hash, p, n);
		r->hash[n] = '\0';
		return 1;
	}
	if (sodium_base642bin(octets, sizeof(octets), p, n, NULL, &got, NULL,
	                      sodium_base64_VARIANT_ORIGINAL) != 0)
		return fail(r, "\"%s\": not base64 of at most %u octets", r->key, OCTETS_MAX);
	r->got += got;
	return r->ops->octets(r->arg, octets, got);
}

/* ---- what libyajl tells ---- */

static int on_string(void *arg, const unsigned char *bytes, size_t n)
{
	struct content_reader *r = arg;
	const char            *p = (const char *)bytes;

	switch (r->place) {
	case IN_ACL:
		json_out_string(&r->acl_out, p, n);
		return 1;
	case IN_BINARY:
	case IN_OCTETS:
		return binary_text(r, p, n);
	case IN_NODE:
	case IN_LIST:
		if (memchr(p, '\0', n) != NULL)
			return fail(r, "\"%s\": a text with a NUL", r->key);
		return put_typed_text(r,
		                      r->tag != NULL          ? r->tag
		                      : content_is_date(p, n) ? "date"
		                                              : "s",
		                      p, n);
	default:
		return fail(r, "a file begins with an object");
	}
}

static int on_number(void *arg, const char *p, size_t n)
{
	struct content_reader *r = arg;
	const char            *tag;

	if (r->place == IN_BINARY && strcmp(r->field, "length") == 0 && n < 19) {
		r->length = strtoull(p, NULL, 10);
		r->has_length = true;
		return 1;
	}
	if ((r->place != IN_NODE && r->place != IN_LIST) || r->tag != NULL)
		return fail(r, "\"%s\": a number where there is none", r->key);
	tag = memchr(p, '.', n) != NULL || memchr(p, 'e', n) != NULL || memchr(p, 'E', n) != NULL
	              ? "d"
	              : "l";
	return put_typed_text(r, tag, p, n);
}

static int on_boolean(void *arg, int value)
{
	struct content_reader *r = arg;

	if ((r->place != IN_NODE && r->place != IN_LIST) || r->tag != NULL)
		return fail(r, "\"%s\": true or false where it is none", r->key);
	return put_typed_text(r, "b", value ? "true" : "false", value ? 4 : 5);
}

static int on_null(void *arg)
{
	struct content_reader *r = arg;

	return fail(r, "\"%s\": null is no value", r->key);
}

static int acl_begin(struct content_reader *r, bool object)
{
	if (++r->acl_depth > 4)
		return fail(r, "security:acl: too many levels");
	if (object)
		json_out_object(&r->acl_out);
	else
		json_out_array(&r->acl_out);
	return 1;
}

static int acl_end(struct content_reader *r, bool object)
{
	if (object)
		json_out_object_end(&r->acl_out);
	else
		json_out_array_end(&r->acl_out);
	if (--r->acl_depth > 0)
		return 1;
	if (buf_size(&r->acl) > ITEM_MAX)
		return fail(r, "security:acl is too large");
	buf_clear(&top(r)->acl);
	buf_append(&top(r)->acl, buf_data(&r->acl), buf_size(&r->acl));
	r->place = IN_NODE;
	return 1;
}

static int on_start_map(void *arg)
{
	struct content_reader *r = arg;
	bool                   binary = r->tag != NULL && strcmp(r->tag, "bin") == 0;

	switch (r->place) {
	case IN_ACL:
		return acl_begin(r, true);
	case IN_LIST:
		return binary ? begin_binary(r) : fail(r, "\"%s\": a list of objects", r->key);
	case IN_NODE:
		return binary ? begin_binary(r) : begin_node(r);
	case AT_START:
		return begin_node(r);
	default:
		return fail(r, "an object where there is none");
	}
}

static int on_end_map(void *arg)
{
	struct content_reader *r = arg;

	if (r->place == IN_ACL)
		return acl_end(r, true);
	return r->place == IN_BINARY ? end_binary(r) : end_node(r);
}

static int on_start_array(void *arg)
{
	struct content_reader *r = arg;

	if (r->place == IN_ACL)
		return acl_begin(r, false);
	if (r->place == IN_BINARY && strcmp(r->field, "octets") == 0) {
		r->place = IN_OCTETS;
		return 1;
	}
	if (r->place == IN_NODE && strcmp(r->key, "security:acl") == 0) {
		if (top(r)->handed)
			return fail(r, "security:acl comes behind a child; it belongs before them");
		r->place = IN_ACL;
		r->acl_depth = 0;
		buf_clear(&r->acl);
		json_out_init(&r->acl_out, &r->acl);
		return acl_begin(r, false);
	}
	if (r->place != IN_NODE)
		return fail(r, "\"%s\": a list where there is none", r->key);
	r->place = IN_LIST;
	r->is_list = true;
	return 1;
}

static int on_end_array(void *arg)
{
	struct content_reader *r = arg;

	if (r->place == IN_ACL)
		return acl_end(r, false);
	if (r->place == IN_OCTETS) {
		r->place = IN_BINARY;
		return 1;
	}
	return end_property(r);
}

/* A name without the type that stands in front of it. */
static int split_key(struct content_reader *r, const char *p, size_t n)
{
	r->tag = NULL;
	for (size_t i = 0; i < N_TYPES; i++) {
		size_t k = strlen(types[i].prefix);

		if (n > k + 5 && memcmp(p, "jcr:", 4) == 0 &&
		    memcmp(p + 4, types[i].prefix, k) == 0 && p[4 + k] == ':') {
			r->tag = types[i].tag;
			p += k + 5;
			n -= k + 5;
			break;
		}
	}
	if (n == 0 || n >= sizeof(r->key) || memchr(p, '\0', n) != NULL)
		return fail(r, "a name of no or of more than 255 octets, or with a NUL in it");
	memcpy(r->key, p, n);
	r->key[n] = '\0';
	if (strcmp(r->key, "security:principals") == 0)
		return fail(r, "security:principals: accounts are made by `boardwalk user`");
	r->is_list = false;
	r->in_list = NULL;
	r->n_values = 0;
	buf_clear(&r->value);
	return 1;
}

static int on_key(void *arg, const unsigned char *p, size_t n)
{
	struct content_reader *r = arg;

	if (r->place == IN_NODE)
		return split_key(r, (const char *)p, n);
	if (r->place == IN_BINARY) {
		if (n >= sizeof(r->field))
			return fail(r, "\"%s\": an unknown name in a binary value", r->key);
		memcpy(r->field, p, n);
		r->field[n] = '\0';
		return 1;
	}
	if (memchr(p, '\0', n) != NULL || n > 255)
		return fail(r, "security:acl: a name of more than 255 octets");
	memcpy(r->key, p, n);
	r->key[n] = '\0';
	json_out_key(&r->acl_out, r->key);
	return 1;
}

/* ---- the file ---- */

struct content_reader *content_reader_new(const char *path, const struct content_ops *ops,
                                          void *arg)
{
	static const yajl_callbacks callbacks = {
		.yajl_null = on_null,
		.yajl_boolean = on_boolean,
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_start_map = on_start_map,
		.yajl_map_key = on_key,
		.yajl_end_map = on_end_map,
		.yajl_start_array = on_start_array,
		.yajl_end_array = on_end_array,
	};
	struct content_reader *r = xcalloc(1, sizeof(*r));

	r->ops = ops;
	r->arg = arg;
	r->place = AT_START;
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->yajl = yajl_alloc(&callbacks, NULL, r);
	if (r->yajl == NULL)
		fatalx("out of memory");
	yajl_config(r->yajl, yajl_allow_comments, 1);
	return r;
}

void content_reader_free(struct content_reader *r)
{
	if (r == NULL)
		return;
	yajl_free(r->yajl);
	for (unsigned i = 0; i < CONTENT_LEVELS; i++) {
		buf_done(&r->levels[i].mixins);
		buf_done(&r->levels[i].properties);
		buf_done(&r->levels[i].acl);
	}
	buf_done(&r->value);
	buf_done(&r->acl);
	buf_done(&r->item);
	free(r);
}

/* The place in front of a reason. used: octets of this piece that yajl has taken. */
static void add_place(struct content_reader *r, const char *p, size_t used)
{
	char     reason[sizeof(r->error)];
	uint64_t line = r->lines + 1, start = r->line_start;

	for (size_t i = 0; i < used; i++)
		if (p[i] == '\n') {
			line++;
			start = r->offset + i + 1;
		}
	snprintf(reason, sizeof(reason), "%s", r->error);
	snprintf(r->error, sizeof(r->error), "%llu:%llu: %.400s", (unsigned long long)line,
	         (unsigned long long)(r->offset + used - start + 1), reason);
}

static void note_syntax(struct content_reader *r, const char *p, size_t n)
{
	unsigned char *text = yajl_get_error(r->yajl, 0, (const unsigned char *)p, n);

	snprintf(r->error, sizeof(r->error), "%.*s", (int)strcspn((char *)text, "\n"),
	         (char *)text);
	yajl_free_error(r->yajl, text);
}

bool content_read(struct content_reader *r, const void *p, size_t n)
{
	yajl_status status = n > 0 ? yajl_parse(r->yajl, p, n) : yajl_complete_parse(r->yajl);

	if (status == yajl_status_ok && n == 0 && r->place != AT_END)
		return fail(r, "the file ends too early");
	if (status == yajl_status_ok) {
		for (size_t i = 0; i < n; i++)
			if (((const char *)p)[i] == '\n') {
				r->lines++;
				r->line_start = r->offset + i + 1;
			}
		r->offset += n;
		return true;
	}
	if (status == yajl_status_error)
		note_syntax(r, p, n);
	if (r->error[0] != '\0')
		add_place(r, p, n > 0 ? yajl_get_bytes_consumed(r->yajl) : 0);
	return false;
}

const char *content_error(const struct content_reader *r)
{
	return r->error[0] != '\0' ? r->error : NULL;
}
