/* encode.c - rows of PostgreSQL become records, once, at a cache miss.
 *
 * Properties come as JSON, {"title": {"s": "Dam"}, "size": {"l": [1, 2]}}: one member per value,
 * its name the type's tag. They are written sorted by name, values as text.
 * Owns: nothing. Runs in: repo's loop. Fails with: BW_EIO. Tests: tests/unit/repo/encode_test.c. */
#include "encode.h"
#include <base/fatal.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/record.h>

static const struct {
	const char        *tag;
	enum bw_value_type type;
	json_type          kind; /* JSON_TRUE: either boolean */
} tags[] = {
	{ "s", BW_VALUE_STRING, JSON_STRING },      { "l", BW_VALUE_LONG, JSON_INTEGER },
	{ "b", BW_VALUE_BOOLEAN, JSON_TRUE },       { "d", BW_VALUE_DOUBLE, JSON_STRING },
	{ "dec", BW_VALUE_DECIMAL, JSON_STRING },   { "date", BW_VALUE_DATE, JSON_STRING },
	{ "name", BW_VALUE_NAME, JSON_STRING },     { "path", BW_VALUE_PATH, JSON_STRING },
	{ "ref", BW_VALUE_REFERENCE, JSON_STRING }, { "weak", BW_VALUE_WEAKREFERENCE, JSON_STRING },
	{ "uri", BW_VALUE_URI, JSON_STRING },       { "bin", BW_VALUE_BINARY, JSON_STRING },
};
#define N_TAGS (sizeof(tags) / sizeof(tags[0]))

const char *encode_tag(enum bw_value_type type)
{
	for (size_t i = 0; i < N_TAGS; i++)
		if (tags[i].type == type)
			return tags[i].tag;
	fatalx("a value of type %d", (int)type);
}

static int put_value(struct buf *out, size_t prop, const json_t *value, json_type kind)
{
	char text[24];

	if (kind == JSON_TRUE && json_is_boolean(value)) {
		record_put_value(out, prop, json_is_true(value) ? BW_STR("true") : BW_STR("false"));
	} else if (json_typeof(value) != kind) {
		return BW_EIO;
	} else if (kind == JSON_INTEGER) {
		snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
		record_put_value(out, prop, bw_str(text));
	} else {
		record_put_value(
			out, prop,
			(struct bw_str){ json_string_value(value), json_string_length(value) });
	}
	return BW_OK;
}

static int put_property(struct buf *out, size_t at, struct bw_str name, const json_t *typed)
{
	void   *member = json_object_iter((json_t *)typed);
	json_t *value = member != NULL ? json_object_iter_value(member) : NULL;
	size_t  i = 0, prop;

	if (member == NULL || json_object_size(typed) != 1)
		return BW_EIO;
	while (i < N_TAGS && strcmp(tags[i].tag, json_object_iter_key(member)) != 0)
		i++;
	if (i == N_TAGS)
		return BW_EIO;
	prop = record_put_prop(out, at, name, tags[i].type, json_is_array(value));
	if (!json_is_array(value))
		return put_value(out, prop, value, tags[i].kind);
	for (size_t k = 0; k < json_array_size(value); k++) {
		int err = put_value(out, prop, json_array_get(value, k), tags[i].kind);

		if (err != BW_OK)
			return err;
	}
	return BW_OK;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a,
	              *(const char *const *)b); /* no NUL inside: jansson */
}

static int put_properties(struct buf *out, size_t at, const json_t *properties)
{
	size_t       n = json_object_size(properties), i = 0;
	const char **names = xmalloc((n + 1) * sizeof(*names)), *name;
	json_t      *value;
	int          err = BW_OK;

	json_object_foreach ((json_t *)properties, name, value)
		names[i++] = name;
	qsort(names, n, sizeof(*names), compare);
	for (i = 0; i < n && err == BW_OK; i++)
		err = put_property(out, at, bw_str(names[i]),
		                   json_object_get(properties, names[i]));
	free(names);
	return err;
}

static void put_chain(struct buf *out, size_t at, const struct encode_row *row,
                      const struct type_graph *types, bool *ret_cycle)
{
	struct bw_str chain[TYPE_MAX_CHAIN];
	struct bw_str type = row->resource_type.n > 0 ? row->resource_type : row->primary_type;
	unsigned      n = type_chain(types, type, row->super_type, chain, ret_cycle);

	for (unsigned i = 0; i < n; i++)
		record_put_chain(out, at, chain[i]);
}

int encode_record(struct buf *out, const struct encode_row *row, const struct type_graph *types,
                  uint32_t *ret_props_at, bool *ret_cycle)
{
	size_t  at = record_begin(out, row->id, row->version, row->path, row->primary_type,
	                          row->resource_type, row->super_type);
	json_t *properties;
	int     err = BW_OK;

	put_chain(out, at, row, types, ret_cycle);
	*ret_props_at = (uint32_t)(buf_size(out) - at);
	if (row->properties.p != NULL) {
		properties = json_loadb(row->properties.p, row->properties.n, 0, NULL);
		err = json_is_object(properties) ? put_properties(out, at, properties) : BW_EIO;
		json_decref(properties);
	}
	record_end(out, at);
	return err;
}

void encode_stripped(struct buf *out, const uint8_t *record, uint32_t props_at)
{
	uint8_t *p = buf_reserve(out, props_at);

	memcpy(p, record, props_at);
	p[6] = p[7] = 0; /* number of properties */
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(props_at >> 8 * i);
	buf_commit(out, props_at);
}

static uint32_t u32_at(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

void encode_filtered(struct buf *out, const uint8_t *record, uint32_t n, uint32_t props_at,
                     bool (*keep)(void *arg, struct bw_str name), void *arg)
{
	size_t   start = buf_size(out), size;
	unsigned kept = 0;
	uint8_t *p;

	encode_stripped(out, record, props_at);
	for (uint32_t at = props_at, next; at < n; at = next) {
		struct bw_str name = { (const char *)record + at + 8, u32_at(record + at + 4) };

		next = at + 4 + u32_at(record + at);
		if (!keep(arg, name))
			continue;
		buf_append(out, record + at, next - at);
		kept++;
	}
	p = buf_data(out) + start;
	size = buf_size(out) - start;
	p[6] = (uint8_t)kept;
	p[7] = (uint8_t)(kept >> 8);
	for (unsigned i = 0; i < 4; i++)
		p[i] = (uint8_t)(size >> 8 * i);
}
