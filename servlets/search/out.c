/* out.c - see out.h. Text comes from the repository, where it is UTF-8.
 *
 * Owns: nothing. Runs in: the gateway, on a request's coroutine. Fails with: nothing.
 * Tests: tests/system/query_test.c. */
#include "out.h"
#include <stdarg.h>
#include <stdio.h>

void out_add(struct out *o, const char *p, size_t n)
{
	if (o->cap - o->n < n) {
		size_t cap = o->cap > 0 ? 2 * o->cap : 4096;
		char  *more;

		while (cap - o->n < n)
			cap *= 2;
		more = bw_req_alloc(o->req, cap);
		if (o->n > 0)
			memcpy(more, o->p, o->n);
		o->p = more;
		o->cap = cap;
	}
	if (n > 0)
		memcpy(o->p + o->n, p, n);
	o->n += n;
}

void out_puts(struct out *o, const char *text)
{
	out_add(o, text, strlen(text));
}

void out_printf(struct out *o, const char *format, ...)
{
	char    text[256];
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		out_add(o, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static const char *html_of(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	case 2:
		return "<mark>";
	case 3:
		return "</mark>";
	default:
		return NULL;
	}
}

void out_html(struct out *o, struct bw_str text)
{
	size_t from = 0;

	for (size_t i = 0; i < text.n; i++) {
		const char *other = html_of(text.p[i]);

		if (other == NULL)
			continue;
		out_add(o, text.p + from, i - from);
		out_puts(o, other);
		from = i + 1;
	}
	if (from < text.n)
		out_add(o, text.p + from, text.n - from);
}

void out_path(struct out *o, struct bw_str path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~!$&'()*+,=:@/";

	for (size_t i = 0; i < path.n; i++) {
		if (strchr(plain, path.p[i]) != NULL && path.p[i] != '\0')
			out_add(o, path.p + i, 1);
		else
			out_printf(o, "%%%02X", (unsigned char)path.p[i]);
	}
}
