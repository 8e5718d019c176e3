/* path.c - the canonical path. The rules are those of Jakarta Servlet 3.5.2:
 *
 *   target  ->  [scheme://authority]  path  [? query]
 *   path    ->  segments at '/'; each: parameters cut at ';', the rest percent-decoded once
 *   then empty segments go (the last one stays as a slash), "." and ".." are resolved
 *
 * What is refused is what two readers of the same bytes could understand differently: an encoded
 * slash, an encoded or parameterised dot segment, a backslash, a control character, bad UTF-8. Almost
 * every path needs none of this; one pass over a table of bytes finds out and borrows it.
 *
 * Owns: nothing. Runs in: the gateway's loop, once per request. Fails with: BW_EINVAL.
 * Tests: tests/unit/gateway/path_test.c over tests/conformance/canonical.rows. */
#include "path.h"

#include "percent.h"

#include <base/utf8.h>
#include <boardwalk/err.h>
#include <string.h>
#include <strings.h>

#define MAX_SEGMENTS 128

/* What a raw octet of a path is. */
enum octet {
	BAD = 0,
	PLAIN, /* copied as it is */
	SLASH,
	DOT,
	WORK, /* % or ; */
};

static const unsigned char
	octet_class[256] = {
		['!' ... '"'] = PLAIN, ['$'] = PLAIN, ['%'] = WORK,
		['&' ... '-'] = PLAIN, ['.'] = DOT,   ['/'] = SLASH,
		['0' ... ':'] = PLAIN, [';'] = WORK,  ['<' ... '['] = PLAIN,
		[']' ... '~'] = PLAIN,
	};

/* 1: canonical as it stands; 0: needs work; -1: never allowed. */
static int scan(struct bw_str path)
{
	const unsigned char *p = (const unsigned char *)path.p;
	unsigned             segments = 0;
	int                  plain = 1;

	for (size_t i = 0; i < path.n; i++) {
		switch (octet_class[p[i]]) {
		case PLAIN:
			break;
		case SLASH:
			segments++;
			if (i > 0 && p[i - 1] == '/')
				plain = 0;
			break;
		case DOT:
			if (p[i - 1] == '/') /* the path starts with a slash */
				plain = 0;
			break;
		case WORK:
			plain = 0;
			break;
		default:
			return -1;
		}
	}
	return segments > MAX_SEGMENTS ? 0 : plain;
}

/* Decodes raw into to (room for raw.n octets). False: not allowed in a path. */
static bool decode(struct bw_str raw, char *to, size_t *ret_n)
{
	size_t n = 0;

	for (size_t i = 0; i < raw.n; i++) {
		int c = (unsigned char)raw.p[i];

		if (c == '%') {
			c = percent_octet(raw.p + i, raw.n - i);
			if (c < ' ' || c == 127 || c == '/' || c == '\\')
				return false;
			i += 2;
		}
		to[n++] = (char)c;
	}
	*ret_n = n;
	return utf8_ok(to, n);
}

struct work {
	char  *out; /* canonical so far: "" or "/a/b" */
	size_t n;
	char  *params;
	size_t n_params;
	size_t segments;
};

static bool is_dots(const char *p, size_t n)
{
	return (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.');
}

/* One segment of the raw path; last: no slash follows it. */
static bool add_segment(struct work *w, struct bw_str raw, bool last, bool *ret_slash)
{
	const char   *semicolon = memchr(raw.p, ';', raw.n);
	struct bw_str name = { raw.p, semicolon ? (size_t)(semicolon - raw.p) : raw.n };
	char         *to = w->out + w->n + 1;
	size_t        n;

	if (semicolon) {
		struct bw_str params = { semicolon, raw.n - name.n };

		/* Checked like the rest, kept raw. The decoded text lands where the name goes next. */
		if (!decode(params, to, &n))
			return false;
		memcpy(w->params + w->n_params, params.p, params.n);
		w->n_params += params.n;
	}
	if (!decode(name, to, &n))
		return false;
	if (n == 0) {
		*ret_slash = last;
		return last || semicolon == NULL;
	}
	if (is_dots(to, n)) {
		if (semicolon != NULL || n != name.n)
			return false;
		if (n == 1)
			return true;
		if (w->n == 0)
			return false;
		while (w->out[--w->n] != '/')
			;
		w->segments--;
		return true;
	}
	w->out[w->n] = '/';
	w->n += 1 + n;
	return ++w->segments <= MAX_SEGMENTS;
}

/* A query is not decoded here; it only has to be of octets that a target may have. */
static bool is_query(struct bw_str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (octet_class[(unsigned char)s.p[i]] == BAD)
			return false;
	return true;
}

static int rebuild(struct arena *a, struct bw_str path, struct path_target *ret)
{
	struct work w = { .out = arena_alloc(a, path.n + 2), .params = arena_alloc(a, path.n + 1) };
	size_t      i = 1;
	bool        slash = false, last;

	do {
		const char *end = memchr(path.p + i, '/', path.n - i);
		size_t      n = end ? (size_t)(end - (path.p + i)) : path.n - i;

		last = end == NULL;
		if (!add_segment(&w, (struct bw_str){ path.p + i, n }, last, &slash))
			return BW_EINVAL;
		i += n + 1;
	} while (!last);
	if (slash || w.n == 0)
		w.out[w.n++] = '/';
	w.out[w.n] = 0;
	w.params[w.n_params] = 0;
	ret->path = (struct bw_str){ w.out, w.n };
	if (w.n_params > 0)
		ret->params = (struct bw_str){ w.params, w.n_params };
	return BW_OK;
}

static bool is_port(struct bw_str s)
{
	unsigned long port = 0;

	if (s.n > 5)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
		port = port * 10 + (unsigned long)(s.p[i] - '0');
	}
	return port <= 65535;
}

static const bool is_host_octet[256] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['-'] = true,
	['.'] = true,         ['_'] = true,         ['~'] = true,
};

bool path_is_authority(struct bw_str s)
{
	size_t i = 0;

	if (s.n == 0)
		return false;
	if (s.p[0] == '[') {
		size_t colons = 0;

		for (i = 1; i < s.n && (hex_digit(s.p[i]) >= 0 || s.p[i] == ':' || s.p[i] == '.');
		     i++)
			colons += s.p[i] == ':';
		if (i == s.n || s.p[i] != ']' || colons < 2)
			return false;
		i++;
	} else {
		while (i < s.n && is_host_octet[(unsigned char)s.p[i]])
			i++;
		if (i == 0)
			return false;
	}
	if (i == s.n)
		return true;
	return s.p[i] == ':' && is_port((struct bw_str){ s.p + i + 1, s.n - i - 1 });
}

/* Cuts http://authority off; what is left starts with a slash, a '?' or is empty. */
static bool cut_absolute(struct bw_str *target, struct path_target *ret)
{
	size_t scheme, n = 0;

	if (target->n >= 7 && strncasecmp(target->p, "http://", 7) == 0)
		scheme = 4;
	else if (target->n >= 8 && strncasecmp(target->p, "https://", 8) == 0)
		scheme = 5;
	else
		return false;
	ret->scheme = (struct bw_str){ target->p, scheme };
	target->p += scheme + 3;
	target->n -= scheme + 3;
	while (n < target->n && target->p[n] != '/' && target->p[n] != '?')
		n++;
	ret->authority = (struct bw_str){ target->p, n };
	target->p += n;
	target->n -= n;
	return path_is_authority(ret->authority);
}

int path_canonical(struct arena *a, struct bw_str target, struct path_target *ret)
{
	struct path_target t = { .uri = BW_ABSENT };
	const char        *mark;

	if (target.n == 0 || (target.p[0] != '/' && !cut_absolute(&target, &t)))
		return BW_EINVAL;
	t.uri = target;
	mark = memchr(target.p, '?', target.n);
	if (mark != NULL) {
		t.uri.n = (size_t)(mark - target.p);
		t.query = (struct bw_str){ mark + 1, target.n - t.uri.n - 1 };
		if (!is_query(t.query))
			return BW_EINVAL;
	}
	if (t.uri.n == 0)
		t.uri = BW_STR("/");
	switch (scan(t.uri)) {
	case 1:
		t.path = t.uri;
		break;
	case 0:
		if (rebuild(a, t.uri, &t) != BW_OK)
			return BW_EINVAL;
		break;
	default:
		return BW_EINVAL;
	}
	*ret = t;
	return BW_OK;
}
