/* content_json.c - initial content from JSON, piece by piece: no more of the file is in memory than one
 * node's properties. libyajl tells of keys and values as they come.
 *
 * Owns: the reader. Runs in: the command. Fails with: line, column and reason.
 * Tests: tests/system/port_test.c, tests/fuzz/content_read.c. */
#include "content_impl.h"

#include <base/fatal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int content_fail(struct content_reader *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->error, sizeof(r->error), format, args);
	va_end(args);
	return 0;
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
		return content_binary_text(r, p, n);
	case IN_NODE:
	case IN_LIST:
		if (memchr(p, '\0', n) != NULL)
			return content_fail(r, "\"%s\": a text with a NUL", r->key);
		return content_put_text(r,
		                        r->tag != NULL          ? r->tag
		                        : content_is_date(p, n) ? "date"
		                                                : "s",
		                        p, n);
	default:
		return content_fail(r, "a file begins with an object");
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
		return content_fail(r, "\"%s\": a number where there is none", r->key);
	tag = memchr(p, '.', n) != NULL || memchr(p, 'e', n) != NULL || memchr(p, 'E', n) != NULL
	              ? "d"
	              : "l";
	return content_put_text(r, tag, p, n);
}

static int on_boolean(void *arg, int value)
{
	struct content_reader *r = arg;

	if ((r->place != IN_NODE && r->place != IN_LIST) || r->tag != NULL)
		return content_fail(r, "\"%s\": true or false where it is none", r->key);
	return content_put_text(r, "b", value ? "true" : "false", value ? 4 : 5);
}

static int on_null(void *arg)
{
	struct content_reader *r = arg;

	return content_fail(r, "\"%s\": null is no value", r->key);
}

static int acl_begin(struct content_reader *r, bool object)
{
	if (++r->acl_depth > 4)
		return content_fail(r, "security:acl: too many levels");
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
	if (buf_size(&r->acl) > CONTENT_ITEM_MAX)
		return content_fail(r, "security:acl is too large");
	buf_clear(&content_top(r)->acl);
	buf_append(&content_top(r)->acl, buf_data(&r->acl), buf_size(&r->acl));
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
		return binary ? content_begin_binary(r)
		              : content_fail(r, "\"%s\": a list of objects", r->key);
	case IN_NODE:
		return binary ? content_begin_binary(r) : content_begin_node(r);
	case AT_START:
		return content_begin_node(r);
	default:
		return content_fail(r, "an object where there is none");
	}
}

static int on_end_map(void *arg)
{
	struct content_reader *r = arg;

	if (r->place == IN_ACL)
		return acl_end(r, true);
	return r->place == IN_BINARY ? content_end_binary(r) : content_end_node(r);
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
		if (content_top(r)->handed)
			return content_fail(
				r, "security:acl comes behind a child; it belongs before them");
		r->place = IN_ACL;
		r->acl_depth = 0;
		buf_clear(&r->acl);
		json_out_init(&r->acl_out, &r->acl);
		return acl_begin(r, false);
	}
	if (r->place != IN_NODE)
		return content_fail(r, "\"%s\": a list where there is none", r->key);
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
	return content_end_property(r);
}

/* A name without the type that stands in front of it. */
static int split_key(struct content_reader *r, const char *p, size_t n)
{
	size_t skip;

	r->tag = content_tag(p, n, &skip);
	p += skip;
	n -= skip;
	if (n == 0 || n >= sizeof(r->key) || memchr(p, '\0', n) != NULL)
		return content_fail(r,
		                    "a name of no or of more than 255 octets, or with a NUL in it");
	memcpy(r->key, p, n);
	r->key[n] = '\0';
	if (strcmp(r->key, "security:principals") == 0)
		return content_fail(r,
		                    "security:principals: accounts are made by `boardwalk user`");
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
			return content_fail(r, "\"%s\": an unknown name in a binary value", r->key);
		memcpy(r->field, p, n);
		r->field[n] = '\0';
		return 1;
	}
	if (memchr(p, '\0', n) != NULL || n > 255)
		return content_fail(r, "security:acl: a name of more than 255 octets");
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
		return content_fail(r, "the file ends too early");
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
