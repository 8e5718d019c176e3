/* conf_value.c - a setting's text becomes its typed value.
 *
 * Owns: nothing; strings and lists pass into the settings. Runs in: every process, at start.
 * Fails with: false; conf_describe says what was expected. Tests: tests/unit/base/conf_test.c. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "conf_impl.h"
#include "fatal.h"

void conf_list_add(struct conf_list *list, const char *text, size_t n)
{
	list->items = xrealloc(list->items, (list->n + 1) * sizeof(*list->items));
	list->items[list->n++] = xstrndup(text, n);
}

void conf_list_done(struct conf_list *list)
{
	size_t i;

	for (i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct conf_list){ 0 };
}

void conf_text_done(struct conf_text *t)
{
	free(t->text);
	conf_list_done(&t->list);
	*t = (struct conf_text){ 0 };
}

static void *field(const struct conf_key *key, void *settings)
{
	return (char *)settings + key->offset;
}

/* Digits only: no sign, no blanks, no other base. *end: behind the digits. */
static bool read_digits(const char *text, uint64_t *ret, const char **end)
{
	uint64_t value = 0;

	for (*end = text; **end >= '0' && **end <= '9'; (*end)++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(**end - '0'), &value))
			return false;
	}
	*ret = value;
	return *end > text;
}

static bool read_uint(const char *text, uint64_t *ret)
{
	const char *end;

	return read_digits(text, ret, &end) && *end == '\0';
}

/* 64, 64K, 64M, 64G: powers of 1024. */
static bool read_size(const char *text, uint64_t *ret)
{
	const char *end;
	uint64_t    value, unit = 1;

	if (!read_digits(text, &value, &end))
		return false;
	switch (*end) {
	case 'K':
		unit = 1u << 10;
		break;
	case 'M':
		unit = 1u << 20;
		break;
	case 'G':
		unit = 1u << 30;
		break;
	}
	if (unit > 1)
		end++;
	return *end == '\0' && !__builtin_mul_overflow(value, unit, ret);
}

static bool read_bool(const char *text, bool *ret)
{
	if (strcasecmp(text, "true") != 0 && strcasecmp(text, "false") != 0)
		return false;
	*ret = strcasecmp(text, "true") == 0;
	return true;
}

/* 8192 is 8K: the form it is likely written in. */
static void describe_size(char *out, size_t size, uint64_t octets)
{
	static const char units[] = "GMK";
	unsigned          shift = 30, i;

	for (i = 0; i < 3; i++, shift -= 10) {
		if (octets > 0 && octets % (1ull << shift) == 0) {
			snprintf(out, size, "%llu%c", (unsigned long long)octets >> shift,
			         units[i]);
			return;
		}
	}
	snprintf(out, size, "%llu", (unsigned long long)octets);
}

static void describe_range(const struct conf_key *key, const char *what, char *out, size_t size)
{
	char from[32], to[32];

	if (key->type == CONF_SIZE) {
		describe_size(from, sizeof(from), key->min);
		describe_size(to, sizeof(to), key->max);
	} else {
		snprintf(from, sizeof(from), "%llu", (unsigned long long)key->min);
		snprintf(to, sizeof(to), "%llu", (unsigned long long)key->max);
	}
	if (key->max > 0)
		snprintf(out, size, "%s from %s to %s", what, from, to);
	else if (key->min > 0)
		snprintf(out, size, "%s from %s", what, from);
	else
		snprintf(out, size, "%s", what);
}

void conf_describe(const struct conf_key *key, char *out, size_t size)
{
	switch (key->type) {
	case CONF_STRING:
		snprintf(out, size, "a text");
		break;
	case CONF_UINT:
		describe_range(key, "a number", out, size);
		break;
	case CONF_SIZE:
		describe_range(key, "a number of octets, or of K, M, G,", out, size);
		break;
	case CONF_BOOL:
		snprintf(out, size, "true or false");
		break;
	case CONF_STRINGS:
		snprintf(out, size, "a list of texts");
		break;
	}
}

bool conf_set_value(const struct conf_key *key, void *settings, struct conf_text *t)
{
	uint64_t max = key->max > 0 ? key->max : UINT64_MAX, number = 0;
	bool     fits = false, yes = false;

	if (t->is_list != (key->type == CONF_STRINGS))
		return false;
	switch (key->type) {
	case CONF_STRING:
		conf_clear_value(key, settings);
		*(char **)field(key, settings) = t->text;
		t->text = NULL;
		return true;
	case CONF_STRINGS:
		conf_clear_value(key, settings);
		*(struct conf_list *)field(key, settings) = t->list;
		t->list = (struct conf_list){ 0 };
		return true;
	case CONF_BOOL:
		fits = read_bool(t->text, &yes);
		if (fits)
			*(bool *)field(key, settings) = yes;
		break;
	case CONF_UINT:
	case CONF_SIZE:
		fits = (key->type == CONF_UINT ? read_uint : read_size)(t->text, &number) &&
		       number >= key->min && number <= max;
		if (fits)
			*(uint64_t *)field(key, settings) = number;
		break;
	}
	return fits;
}

void conf_init_value(const struct conf_key *key, void *settings)
{
	switch (key->type) {
	case CONF_STRING:
		*(char **)field(key, settings) = NULL;
		break;
	case CONF_STRINGS:
		*(struct conf_list *)field(key, settings) = (struct conf_list){ 0 };
		break;
	case CONF_UINT:
	case CONF_SIZE:
		*(uint64_t *)field(key, settings) = 0;
		break;
	case CONF_BOOL:
		*(bool *)field(key, settings) = false;
		break;
	}
}

void conf_clear_value(const struct conf_key *key, void *settings)
{
	if (key->type == CONF_STRING)
		free(*(char **)field(key, settings));
	if (key->type == CONF_STRINGS)
		conf_list_done(field(key, settings));
	conf_init_value(key, settings);
}
