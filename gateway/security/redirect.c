/* redirect.c - targets of redirects, read, checked and written anew (Apache Sling Authentication,
 * AuthUtil.isRedirectValid, and stricter).
 *
 *   target  ->  relative: joined to the request's folder  ->  checked octet by octet, copied escaped
 *           ->  the copy is read as the server reads a request's target  ->  Location
 *
 * What another reader could take for something else is refused and not mended: a second slash, "://"
 * wherever it stands, dot segments, a backslash, what decodes to a slash, a backslash or a control
 * character, once or several times. Only the copy goes out: no octet of the client's is passed on as it came
 * unless it is a letter, a digit or one of a few signs.
 *
 * Owns: nothing. Runs in: a request's fiber; (waits) if site->exists does. Fails with: an absent target.
 * Tests: tests/conformance/redirect, tests/fuzz/redirect_check.c. */
#include "security/redirect.h"

#include <base/utf8.h>
#include <boardwalk/err.h>
#include "path.h"
#include "percent.h"

enum part { PART_PATH, PART_QUERY, PART_FRAGMENT };

/* What a raw octet may be (RFC 3986 2.2, 2.3); 0: nowhere. */
enum octet { UNRESERVED = 1, SIGN, QUOTE, MARK, BRACKET };

static const unsigned char octet_class[256] = {
	['0' ... '9'] = UNRESERVED,
	['A' ... 'Z'] = UNRESERVED,
	['a' ... 'z'] = UNRESERVED,
	['-'] = UNRESERVED,
	['.'] = UNRESERVED,
	['_'] = UNRESERVED,
	['~'] = UNRESERVED,
	['!'] = SIGN,
	['$'] = SIGN,
	['&'] = SIGN,
	['('] = SIGN,
	[')'] = SIGN,
	['*'] = SIGN,
	['+'] = SIGN,
	[','] = SIGN,
	[';'] = SIGN,
	['='] = SIGN,
	[':'] = SIGN,
	['@'] = SIGN,
	['/'] = SIGN,
	['\''] = QUOTE,
	['?'] = MARK,
	['['] = BRACKET,
	[']'] = BRACKET,
};

struct out {
	char  *p; /* three octets for each of the target's, and a NUL */
	size_t n;
	bool   has_quote; /* in the path */
	size_t path_n;    /* of the path; set at its end */
};

static void put(struct out *o, char c)
{
	o->p[o->n++] = c;
}

static void put_escaped(struct out *o, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";

	put(o, '%');
	put(o, digits[c >> 4]);
	put(o, digits[c & 15]);
}

/* ---- octets ---- */

/* What in a path may not even be written escaped. */
static bool is_evil(int c)
{
	return c < ' ' || c == 0x7f || c == '/' || c == '\\';
}

/* Is s, which follows an escaped percent sign, an escape of such an octet to whoever decodes again, however
 * often? */
static bool is_escaped_again(struct bw_str s)
{
	int c;

	while (s.n >= 2 && s.p[0] == '2' && s.p[1] == '5')
		s = (struct bw_str){ s.p + 2, s.n - 2 };
	if (s.n < 2 || hex_digit(s.p[0]) < 0 || hex_digit(s.p[1]) < 0)
		return false;
	c = hex_digit(s.p[0]) << 4 | hex_digit(s.p[1]);
	return is_evil(c);
}

/* An escape at the front of s. */
static bool take_escape(struct out *o, enum part part, struct bw_str s)
{
	int c = percent_octet(s.p, s.n);

	if (c < 0)
		return false;
	if (part == PART_PATH &&
	    (is_evil(c) || (c == '%' && is_escaped_again((struct bw_str){ s.p + 3, s.n - 3 }))))
		return false;
	if (octet_class[c] == UNRESERVED)
		put(o, (char)c);
	else
		put_escaped(o, (unsigned char)c);
	return true;
}

static bool take_raw(struct out *o, enum part part, unsigned char c)
{
	switch (octet_class[c]) {
	case UNRESERVED:
	case SIGN:
		put(o, (char)c);
		return true;
	case QUOTE:
		o->has_quote |= part == PART_PATH;
		put_escaped(o, c);
		return true;
	case MARK: /* the first one of a path has begun the query */
		put(o, (char)c);
		return true;
	case BRACKET:
		put_escaped(o, c);
		return part != PART_PATH;
	default:
		put_escaped(o, c);
		return c >= 0x80; /* a character of UTF-8 */
	}
}

/* C1 controls; the text is UTF-8. */
static bool has_c1(struct bw_str s)
{
	for (size_t i = 0; i + 1 < s.n; i++)
		if ((unsigned char)s.p[i] == 0xc2 && (unsigned char)s.p[i + 1] < 0xa0)
			return true;
	return false;
}

static bool copy(struct out *o, struct bw_str s)
{
	enum part part = PART_PATH;

	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if ((c == '?' && part == PART_PATH) || (c == '#' && part != PART_FRAGMENT)) {
			if (part == PART_PATH)
				o->path_n = o->n;
			part = c == '?' ? PART_QUERY : PART_FRAGMENT;
			put(o, (char)c);
		} else if (c != '%') {
			if (!take_raw(o, part, c))
				return false;
		} else {
			if (!take_escape(o, part, (struct bw_str){ s.p + i, s.n - i }))
				return false;
			i += 2;
		}
	}
	if (part == PART_PATH)
		o->path_n = o->n;
	o->p[o->n] = '\0';
	return true;
}

/* ---- the whole ---- */

static bool ends_in(struct bw_str s, struct bw_str end)
{
	return s.n >= end.n && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
}

/* Of the copy, query and all: readers that look for these in the whole text are met as well. */
static bool has_detour(struct bw_str s)
{
	return strstr(s.p, "//") != NULL || strstr(s.p, "/./") != NULL ||
	       strstr(s.p, "/../") != NULL || ends_in(s, BW_STR("/.")) || ends_in(s, BW_STR("/.."));
}

/* A path that a request could have, which is how this server would read it, and inside of the context. */
static bool is_ours(struct arena *a, const struct redirect_site *site, const struct out *o)
{
	struct path_target t;
	size_t             n = site->context.n;

	if (path_canonical(a, (struct bw_str){ arena_dup(a, o->p, o->path_n), o->path_n }, &t) !=
	    BW_OK)
		return false;
	/* Dots with nothing behind them: "/a/.?x" */
	if (has_detour(t.uri))
		return false;
	if (t.path.n < n || (n > 0 && memcmp(t.path.p, site->context.p, n) != 0) ||
	    (t.path.n > n && t.path.p[n] != '/'))
		return false;
	return !o->has_quote || (site->exists != NULL && site->exists(site->arg, t.path));
}

struct bw_str redirect_check(struct arena *a, const struct redirect_site *site,
                             struct bw_str target)
{
	struct out o = { .n = 0 };

	if (target.n == 0 || target.n > REDIRECT_MAX || target.p[0] != '/' ||
	    !utf8_ok(target.p, target.n) || has_c1(target))
		return BW_ABSENT;
	o.p = arena_alloc(a, 3 * target.n + 1);
	if (!copy(&o, target) || has_detour((struct bw_str){ o.p, o.n }) || !is_ours(a, site, &o))
		return BW_ABSENT;
	return (struct bw_str){ o.p, o.n };
}

/* ---- relative ones ---- */

static struct bw_str join(struct arena *a, struct bw_str head, struct bw_str tail)
{
	char *p = arena_alloc(a, head.n + tail.n + 1);

	if (head.n > 0)
		memcpy(p, head.p, head.n);
	if (tail.n > 0)
		memcpy(p + head.n, tail.p, tail.n);
	p[head.n + tail.n] = '\0';
	return (struct bw_str){ p, head.n + tail.n };
}

/* Takes "." and ".." out of the path at the front of s, which begins with a slash (RFC 3986 5.2.4), in
 * place. False: above the root. */
static bool remove_dots(struct bw_str *s)
{
	char  *p = (char *)s->p; /* of join */
	size_t end = strcspn(p, "?#"), from = 0, to = 0;

	while (from < end) {
		size_t n = 1 + strcspn(p + from + 1, "/?#");
		bool   is_last = from + n == end;

		if (n == 3 && memcmp(p + from, "/..", 3) == 0) {
			if (to == 0)
				return false;
			while (p[--to] != '/')
				;
		} else if (n != 2 || p[from + 1] != '.') {
			memmove(p + to, p + from, n);
			to += n;
			is_last = false;
		}
		if (is_last)
			p[to++] = '/';
		from += n;
	}
	memmove(p + to, p + end, s->n - end + 1);
	s->n = to + s->n - end;
	return true;
}

static bool is_inside(struct bw_str path, struct bw_str context)
{
	return path.n >= context.n &&
	       (context.n == 0 || memcmp(path.p, context.p, context.n) == 0) &&
	       (path.n == context.n || strchr("/?#", path.p[context.n]) != NULL);
}

struct bw_str redirect_resolve(struct arena *a, const struct redirect_site *site, struct bw_str uri,
                               struct bw_str target)
{
	const char *slash;

	if (target.n == 0 || target.n > REDIRECT_MAX || memchr(target.p, '\0', target.n) != NULL)
		return BW_ABSENT;
	if (target.p[0] == '/')
		return is_inside(target, site->context) ? target : join(a, site->context, target);
	slash = uri.n > 0 && uri.p[0] == '/' ? memrchr(uri.p, '/', uri.n) : NULL;
	if (slash == NULL)
		return BW_ABSENT;
	target = join(a, (struct bw_str){ uri.p, (size_t)(slash + 1 - uri.p) }, target);
	return remove_dots(&target) ? target : BW_ABSENT;
}

struct bw_str redirect_add(struct arena *a, struct bw_str target, const char *name,
                           struct bw_str value)
{
	const char *fragment = memchr(target.p, '#', target.n);
	size_t      head = fragment != NULL ? (size_t)(fragment - target.p) : target.n;
	struct out  o = { .p = arena_alloc(a, target.n + strlen(name) + 3 * value.n + 3) };

	memcpy(o.p, target.p, head);
	o.n = head;
	put(&o, memchr(target.p, '?', head) != NULL ? '&' : '?');
	for (; *name != '\0'; name++)
		put(&o, *name);
	put(&o, '=');
	for (size_t i = 0; i < value.n; i++)
		if (octet_class[(unsigned char)value.p[i]] == UNRESERVED)
			put(&o, value.p[i]);
		else
			put_escaped(&o, (unsigned char)value.p[i]);
	memcpy(o.p + o.n, target.p + head, target.n - head);
	o.n += target.n - head;
	o.p[o.n] = '\0';
	return (struct bw_str){ o.p, o.n };
}
