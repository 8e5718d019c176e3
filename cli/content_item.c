/* content_item.c - nodes, properties and binary values as they come, becoming items.
 *
 * A node is handed on when its first child begins, since the child needs it, or at its end; properties
 * that come behind a child follow as an item of their own.
 *
 * Owns: nothing; the levels are the reader's. Runs in: the command. Fails with: content_fail.
 * Tests: tests/system/port_test.c, tests/fuzz/content_read.c. */
#include "content_impl.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
static bool hand_on(struct content_reader *r, struct content_level *l)
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

/* A child's name behind the path of its parent; the outermost node has its path already. */
static bool extend_path(struct content_reader *r)
{
	size_t at, n = strlen(r->key);

	if (r->n_levels == 0)
		return true;
	at = content_top(r)->path_n;
	if (n == 0 || strchr(r->key, '/') != NULL)
		return content_fail(r, "\"%s\" is no name", r->key);
	if (at + 1 + n > CONTENT_PATH_MAX)
		return content_fail(r, "a path of more than %u octets", CONTENT_PATH_MAX);
	if (at > 1)
		r->path[at++] = '/';
	memcpy(r->path + at, r->key, n + 1);
	return true;
}

int content_begin_node(struct content_reader *r)
{
	struct content_level *l;

	if (r->tag != NULL)
		return content_fail(r, "\"%s\": a node has no type in front of its name", r->key);
	if (r->n_levels == CONTENT_LEVELS)
		return content_fail(r, "more than %u levels", CONTENT_LEVELS);
	if (!extend_path(r) ||
	    (r->n_levels > 0 && !content_top(r)->handed && !hand_on(r, content_top(r))))
		return 0;
	l = &r->levels[r->n_levels++];
	l->path_n = strlen(r->path);
	l->handed = l->typed = false;
	r->place = IN_NODE;
	return 1;
}

int content_end_node(struct content_reader *r)
{
	if (!hand_on(r, content_top(r)))
		return 0;
	r->n_levels--;
	if (r->n_levels > 0)
		r->path[content_top(r)->path_n] = '\0';
	r->place = r->n_levels > 0 ? IN_NODE : AT_END;
	return 1;
}

/* ---- properties ---- */

static int is_room(struct content_reader *r)
{
	return buf_size(&r->value) <= CONTENT_ITEM_MAX
	               ? 1
	               : content_fail(r, "\"%s\" is too large", r->key);
}

/* jcr:primaryType and jcr:mixinTypes are no properties here. */
static int put_type(struct content_reader *r)
{
	struct content_level *l = content_top(r);
	bool                  is_type = strcmp(r->key, "jcr:primaryType") == 0;
	size_t                n = buf_size(&r->value);

	if (l->handed)
		return content_fail(r, "\"%s\" comes behind a child; it belongs before them",
		                    r->key);
	if (strcmp(r->in_list != NULL ? r->in_list : "s", "s") != 0 || is_type == r->is_list)
		return content_fail(r, "\"%s\" is %s", r->key,
		                    is_type ? "a text" : "a list of texts");
	if (!is_type) {
		buf_append(&l->mixins, buf_data(&r->value), n);
		return 1;
	}
	if (n < 3 || n - 2 >= sizeof(l->type) || memchr(buf_data(&r->value), '\\', n) != NULL)
		return content_fail(r, "\"%s\" is no name of a type", r->key);
	memcpy(l->type, buf_data(&r->value) + 1, n - 2);
	l->type[n - 2] = '\0';
	l->typed = true;
	return 1;
}

int content_end_property(struct content_reader *r)
{
	struct content_level *l = content_top(r);
	const char           *tag = r->in_list != NULL ? r->in_list : r->tag != NULL ? r->tag : "s";

	r->place = IN_NODE;
	if (strcmp(r->key, "jcr:primaryType") == 0 || strcmp(r->key, "jcr:mixinTypes") == 0)
		return put_type(r);
	if (buf_size(&l->properties) + buf_size(&r->value) > CONTENT_ITEM_MAX)
		return content_fail(r, "the properties of \"%s\" are too large", r->path);
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
	if (r->n_values == CONTENT_VALUES_MAX)
		return content_fail(r, "\"%s\": more than %u values", r->key, CONTENT_VALUES_MAX);
	if (r->in_list != NULL && strcmp(r->in_list, tag) != 0)
		return content_fail(r, "\"%s\": values of several types", r->key);
	r->in_list = tag;
	if (r->n_values++ > 0)
		buf_printf(&r->value, ",");
	return is_room(r);
}

static int end_value(struct content_reader *r)
{
	return r->is_list ? is_room(r) : content_end_property(r);
}

int content_put_text(struct content_reader *r, const char *tag, const char *p, size_t n)
{
	bool whole = strcmp(tag, "l") == 0;

	if (whole && !content_is_number(p, n, true))
		return content_fail(r, "\"%s\": not a Long", r->key);
	if (strcmp(tag, "b") == 0 && !(n == 4 && memcmp(p, "true", 4) == 0) &&
	    !(n == 5 && memcmp(p, "false", 5) == 0))
		return content_fail(r, "\"%s\": not a Boolean", r->key);
	if (!begin_value(r, tag))
		return 0;
	if (whole || strcmp(tag, "b") == 0)
		buf_append(&r->value, p, n);
	else
		put_text(&r->value, p, n);
	return end_value(r);
}

/* ---- binary values ---- */

int content_begin_binary(struct content_reader *r)
{
	r->place = IN_BINARY;
	r->field[0] = r->hash[0] = '\0';
	r->has_length = false;
	r->got = 0;
	return begin_value(r, "bin");
}

int content_end_binary(struct content_reader *r)
{
	char expected[96] = "", value[96];

	if (r->has_length && r->got != r->length && r->got != 0)
		return content_fail(r, "\"%s\": %llu octets, not %llu", r->key,
		                    (unsigned long long)r->got, (unsigned long long)r->length);
	if (r->has_length && r->hash[0] != '\0')
		snprintf(expected, sizeof(expected), "%s %llu", r->hash,
		         (unsigned long long)r->length);
	if (!r->ops->binary(r->arg, expected, value))
		return 0;
	put_text(&r->value, value, strlen(value));
	r->place = r->is_list ? IN_LIST : IN_NODE;
	return end_value(r);
}

int content_binary_text(struct content_reader *r, const char *p, size_t n)
{
	uint8_t octets[CONTENT_OCTETS_MAX];
	size_t  got;

	if (r->place == IN_BINARY) {
		if (strcmp(r->field, "hash") != 0 || n != sizeof(r->hash) - 1)
			return content_fail(r, "\"%s\": \"%s\" is not known here", r->key,
			                    r->field);
		memcpy(r->hash, p, n);
		r->hash[n] = '\0';
		return 1;
	}
	if (sodium_base642bin(octets, sizeof(octets), p, n, NULL, &got, NULL,
	                      sodium_base64_VARIANT_ORIGINAL) != 0)
		return content_fail(r, "\"%s\": not base64 of at most %u octets", r->key,
		                    CONTENT_OCTETS_MAX);
	r->got += got;
	return r->ops->octets(r->arg, octets, got);
}
