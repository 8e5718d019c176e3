/* tree.c - the parts of a query, and what is a fit one.
 *
 * Owns: nothing; nodes live in the caller's arena. Runs in: repo, tests. Fails with: false.
 * Tests: tests/conformance/query, fuzz/query_parse. */
#include "query.h"
#include <base/utf8.h>

#define MAX_PATH 2048u
#define MAX_NAME 255u

struct query_node *query_node_new(struct arena *a, enum query_node_kind kind)
{
	struct query_node *node = arena_zalloc(a, sizeof(*node));

	node->kind = kind;
	return node;
}

void query_add(struct query_node *parent, struct query_node *kid)
{
	struct query_node **at = &parent->kid;

	while (*at != NULL)
		at = &(*at)->next;
	*at = kid;
}

struct query_node *query_and(struct arena *a, struct query_node *x, struct query_node *y)
{
	struct query_node *both;

	if (x == NULL || y == NULL)
		return x != NULL ? x : y;
	both = query_node_new(a, QUERY_AND);
	query_add(both, x);
	query_add(both, y);
	return both;
}

static bool is_text(struct bw_str s)
{
	return s.p != NULL && utf8_ok(s.p, s.n) && memchr(s.p, '\0', s.n) == NULL;
}

bool query_is_path(struct bw_str path)
{
	size_t start = 1;

	if (!is_text(path) || path.n == 0 || path.n > MAX_PATH || path.p[0] != '/')
		return false;
	for (size_t i = 1; path.n > 1 && i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		if (i == start || (i == start + 1 && path.p[start] == '.') ||
		    (i == start + 2 && path.p[start] == '.' && path.p[start + 1] == '.'))
			return false;
		start = i + 1;
	}
	return true;
}

bool query_is_name(struct bw_str name)
{
	if (!is_text(name) || name.n == 0 || name.n > MAX_NAME)
		return false;
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < 0x20 || strchr("/[]|*", name.p[i]) != NULL)
			return false;
	return true;
}

bool query_is_words(struct bw_str words)
{
	unsigned n = 0;

	if (!is_text(words) || words.n > QUERY_MAX_WORDS_OCTETS)
		return false;
	for (size_t i = 0; i < words.n; i++) {
		bool blank = strchr(" \t\r\n", words.p[i]) != NULL;

		n += !blank && (i == 0 || strchr(" \t\r\n", words.p[i - 1]) != NULL);
	}
	return n <= QUERY_MAX_WORDS;
}

/* ---- literals ---- */

static size_t digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* A decimal number of at most 64 octets whose exponent has at most 3 digits. */
static bool is_number(const char *p, bool whole)
{
	size_t n, m = 0;

	if (strlen(p) > 64)
		return false;
	p += *p == '-' || *p == '+';
	n = digits(p);
	p += n;
	if (*p == '.' && !whole) {
		m = digits(++p);
		p += m;
	}
	if (n + m == 0)
		return false;
	if ((*p == 'e' || *p == 'E') && !whole) {
		p++;
		p += *p == '-' || *p == '+';
		n = digits(p);
		if (n < 1 || n > 3)
			return false;
		p += n;
	}
	return *p == '\0';
}

/* p has the shape: 'd' stands for a digit. Returns what is behind it, NULL if it has not. */
static const char *shaped(const char *p, const char *shape)
{
	for (; *shape != '\0'; shape++, p++)
		if (*shape == 'd' ? *p < '0' || *p > '9' : *p != *shape)
			return NULL;
	return p;
}

/* 2026-11-30, or with a time, and then a zone: T16:20:05[.123](Z|+01:00). */
static bool is_date(const char *p)
{
	const char *zone;

	p = shaped(p, "dddd-dd-dd");
	if (p == NULL || *p == '\0')
		return p != NULL;
	p = shaped(p, "Tdd:dd:dd");
	if (p != NULL && *p == '.')
		p = shaped(p, ".ddd");
	if (p == NULL || strcmp(p, "Z") == 0)
		return p != NULL;
	if (*p != '+' && *p != '-')
		return false;
	zone = shaped(p + 1, "dd:dd");
	return zone != NULL && *zone == '\0';
}

bool query_is_value(enum bw_value_type type, struct bw_str text)
{
	if (!is_text(text))
		return false;
	switch (type) {
	case BW_VALUE_LONG:
		return text.n <= 20 && is_number(text.p, true);
	case BW_VALUE_DOUBLE:
	case BW_VALUE_DECIMAL:
		return is_number(text.p, false);
	case BW_VALUE_BOOLEAN:
		return strcmp(text.p, "true") == 0 || strcmp(text.p, "false") == 0;
	case BW_VALUE_DATE:
		return is_date(text.p);
	default:
		return true;
	}
}
