/* pathinfo.c - the path info of Sling's URL decomposition.
 *
 *    /shop/hat . print.a4 . html /red/xl
 *    resource    selectors  ext.  suffix
 *
 * Owns: nothing. Runs in: a request's fiber; never waits. Fails with: nothing.
 * Tests: tests/unit/engine/pathinfo_test.c, tests/conformance/engine/dec.rows. */
#include "engine/pathinfo.h"

struct bw_str pathinfo_first(struct bw_str path)
{
	while (path.n > 1 && path.p[path.n - 1] == '/')
		path.n--;
	return path.n > 0 ? path : BW_STR("/");
}

bool pathinfo_cut(struct bw_str *path)
{
	const char *dot = memrchr(path->p, '.', path->n);

	if (dot == NULL || dot == path->p)
		return false;
	path->n = (size_t)(dot - path->p);
	return true;
}

/* Is nothing but dots between from and to? Then the list of selectors comes out empty. */
static bool is_only_dots(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != '.')
			return false;
	return true;
}

void pathinfo_split(struct bw_str left_over, struct pathinfo *ret)
{
	const char *slash = left_over.n > 0 ? memchr(left_over.p, '/', left_over.n) : NULL;
	const char *dot;
	size_t      n = left_over.n, at;

	ret->selectors = ret->extension = ret->suffix = BW_ABSENT;
	if (slash != NULL) {
		n = (size_t)(slash - left_over.p);
		ret->suffix = (struct bw_str){ slash, left_over.n - n };
	}
	dot = n > 0 ? memrchr(left_over.p, '.', n) : NULL;
	if (dot == NULL)
		return;
	at = (size_t)(dot - left_over.p);
	if (at + 1 < n)
		ret->extension = (struct bw_str){ dot + 1, n - at - 1 };
	if (at > 1 && !is_only_dots(left_over.p + 1, at - 1))
		ret->selectors = (struct bw_str){ left_over.p + 1, at - 1 };
}

bool pathinfo_selector(struct bw_str *rest, struct bw_str *ret)
{
	const char *dot;

	if (rest->n == 0 || is_only_dots(rest->p, rest->n))
		return false;
	dot = memchr(rest->p, '.', rest->n);
	if (dot == NULL) {
		*ret = *rest;
		*rest = (struct bw_str){ rest->p + rest->n, 0 };
	} else {
		*ret = (struct bw_str){ rest->p, (size_t)(dot - rest->p) };
		*rest = (struct bw_str){ dot + 1, rest->n - ret->n - 1 };
	}
	return true;
}

static bool is_blank(struct bw_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t')
			return false;
	return true;
}

/* Two or more dots and nothing else, once every '[' and '}' is dropped: no name for a segment, and
 * a favourite of those who probe for ways out of a folder. */
static bool is_dots_segment(const char *p, size_t n)
{
	size_t dots = 0;

	for (size_t i = 0; i < n; i++) {
		if (p[i] == '.')
			dots++;
		else if (p[i] != '[' && p[i] != '}')
			return false;
	}
	return dots >= 2;
}

static bool has_dots_segment(struct bw_str path)
{
	size_t start = 0;

	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && path.p[i] != '/')
			continue;
		if (is_dots_segment(path.p + start, i - start))
			return true;
		start = i + 1;
	}
	return false;
}

bool pathinfo_is_valid(const struct pathinfo *p)
{
	struct bw_str rest = p->selectors, selector;

	while (pathinfo_selector(&rest, &selector))
		if (is_blank(selector))
			return false;
	/* Most paths have no dot left, and memchr is quicker than the walk. */
	return p->resource_path.n == 0 ||
	       memchr(p->resource_path.p, '.', p->resource_path.n) == NULL ||
	       !has_dots_segment(p->resource_path);
}
