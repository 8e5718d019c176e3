/* Patterns: syntax, and the reading of them that filters use.
 *
 * Runs in: anywhere, keeps nothing. Tests: tests/unit/whiteboard/pattern_test.c. */
#include "pattern.h"

/* A character that no canonical path matches byte for byte, or that a pattern may not hold. */
static bool is_forbidden(char c)
{
	unsigned char u = (unsigned char)c;

	return u < 0x20 || u == 0x7f || c == '*' || c == '?' || c == '#' || c == ';' || c == '\\';
}

/* "/a/b": no empty segment, no dot segment, no slash at the end. */
static bool is_path(struct bw_str s)
{
	size_t start = 1; /* of the current segment */

	if (s.n < 2 || s.p[0] != '/')
		return false;
	for (size_t i = 1; i <= s.n; i++) {
		if (i < s.n && s.p[i] != '/') {
			if (is_forbidden(s.p[i]))
				return false;
			continue;
		}
		if (i == start || (i - start == 1 && s.p[start] == '.') ||
		    (i - start == 2 && s.p[start] == '.' && s.p[start + 1] == '.'))
			return false;
		start = i + 1;
	}
	return true;
}

static bool is_extension(struct bw_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '/' || is_forbidden(s.p[i]))
			return false;
	return s.n > 0;
}

static bool finish(struct pattern *p, enum pattern_kind kind, size_t from, size_t n)
{
	p->kind = kind;
	p->key = (struct bw_str){ p->text.p + from, n };
	return true;
}

bool pattern_parse(struct bw_str text, struct pattern *ret)
{
	struct pattern p = { .text = text };
	bool           ok;

	if (text.n == 0)
		ok = finish(&p, PATTERN_ROOT, 0, 0);
	else if (text.n == 1 && text.p[0] == '/')
		ok = finish(&p, PATTERN_DEFAULT, 0, 1);
	else if (text.n > 2 && text.p[0] == '*' && text.p[1] == '.')
		ok = finish(&p, PATTERN_EXTENSION, 2, text.n - 2) && is_extension(p.key);
	else if (text.n >= 2 && text.p[text.n - 2] == '/' && text.p[text.n - 1] == '*')
		ok = finish(&p, PATTERN_PREFIX, 0, text.n - 2) && (p.key.n == 0 || is_path(p.key));
	else
		ok = finish(&p, PATTERN_EXACT, 0, text.n) && is_path(p.key);
	if (ok)
		*ret = p;
	return ok;
}

static bool begins(struct bw_str s, struct bw_str with)
{
	return s.n >= with.n && memcmp(s.p, with.p, with.n) == 0;
}

bool pattern_filters(const struct pattern *p, struct bw_str path)
{
	size_t dot;

	switch (p->kind) {
	case PATTERN_EXACT:
		return bw_str_eq(path, p->key);
	case PATTERN_ROOT:
		return path.n == 1;
	case PATTERN_PREFIX:
		return begins(path, p->key) && (path.n == p->key.n || path.p[p->key.n] == '/');
	case PATTERN_EXTENSION:
		/* The key has no slash, so what it matches lies in the last segment. */
		if (path.n < p->key.n + 2)
			return false;
		dot = path.n - p->key.n - 1;
		return path.p[dot] == '.' && memcmp(path.p + dot + 1, p->key.p, p->key.n) == 0;
	case PATTERN_DEFAULT:
		break;
	}
	return true;
}
