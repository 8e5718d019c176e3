/* content_spelling.c - how values are written in a content file: which texts show their type, and the
 * names of the types that the others say.
 *
 * Owns, fails with: nothing. Runs in: the commands import and export.
 * Tests: tests/system/port_test.c. */
#include "content_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *prefix, *tag;
} types[] = {
	{ "string", "s" },    { "long", "l" },        { "double", "d" },
	{ "decimal", "dec" }, { "date", "date" },     { "boolean", "b" },
	{ "name", "name" },   { "path", "path" },     { "uri", "uri" },
	{ "binary", "bin" },  { "reference", "ref" }, { "weakreference", "weak" },
};
#define N_TYPES (sizeof(types) / sizeof(*types))

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

const char *content_tag(const char *name, size_t n, size_t *ret_n)
{
	for (size_t i = 0; i < N_TYPES; i++) {
		size_t k = strlen(types[i].prefix);

		if (n > k + 5 && memcmp(name, "jcr:", 4) == 0 &&
		    memcmp(name + 4, types[i].prefix, k) == 0 && name[4 + k] == ':') {
			*ret_n = k + 5;
			return types[i].tag;
		}
	}
	*ret_n = 0;
	return NULL;
}
