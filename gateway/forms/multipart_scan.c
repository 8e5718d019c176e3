/* The scanner (RFC 2046 5.1.1, RFC 7578):
 *
 *    preamble CRLF --boundary CRLF head CRLF CRLF content CRLF --boundary CRLF head ...
 *    ...  content CRLF --boundary-- epilogue          preamble and epilogue are dropped
 *
 * Everything between two parts begins with the same octets, CRLF "--" boundary, called the
 * delimiter here; a CRLF of our own before the body makes the first one look like the others. The
 * window slides: what it holds is handed on but for its last octets, which may be the beginning of
 * a delimiter.
 *
 * Strict where two readers could differ: lines end with CRLF, a line that begins with a delimiter
 * is one, and has nothing but blanks behind it, header lines are not folded, each part has exactly
 * one name, the closing delimiter is there. There is no good C library for it; the grammar is
 * small.
 *
 * Owns: nothing; the window is in the arena. Runs in: the request's fiber. Fails with:
 * BW_EPARTSYNTAX.
 * Tests: tests/unit/gateway/multipart_scan_test.c, tests/fuzz/multipart_scan.c. */
#include "multipart_scan.h"

#include "mediatype.h"
#include "percent.h"
#include "token.h"

#include <base/utf8.h>
#include <boardwalk/err.h>
#include <strings.h>

#define MAX_PADDING  128         /* blanks behind a boundary */
#define MAX_PREAMBLE (64 * 1024) /* octets before the first one */

struct scan {
	struct arena              *arena;
	const struct multipart_io *io;
	char                       delimiter[4 + MULTIPART_MAX_BOUNDARY];
	size_t                     n_delimiter;
	char                      *mem; /* the window */
	size_t                     start, end, cap;
	uint64_t                   offset; /* in the body, of what comes into the window next */
	bool                       at_end; /* of the body */
	size_t                     n_preamble;
};

/* ---- the window ---- */

static size_t held(const struct scan *s)
{
	return s->end - s->start;
}

/* Moves what is held to the front and reads behind it. */
static int fill(struct scan *s)
{
	size_t n;
	int    err;

	memmove(s->mem, s->mem + s->start, held(s));
	s->end -= s->start;
	s->start = 0;
	err = s->io->read(s->io->arg, s->offset, s->mem + s->end, s->cap - s->end, &n);
	if (err != BW_OK)
		return err;
	s->offset += n;
	s->end += n;
	s->at_end = n == 0;
	return BW_OK;
}

/* At least n octets, or all there are. n is far below the window's size. */
static int need(struct scan *s, size_t n)
{
	int err = BW_OK;

	while (err == BW_OK && held(s) < n && !s->at_end)
		err = fill(s);
	return err;
}

/* ---- between two parts ---- */

/* Nobody sends more than a line or two, and what is dropped costs time all the same. */
static int drop(struct scan *s, size_t n)
{
	s->n_preamble += n;
	return s->n_preamble > MAX_PREAMBLE ? BW_EPARTSYNTAX : BW_OK;
}

/* Hands on everything before the next delimiter and stops behind it. content NULL: drops it. */
static int pass(struct scan *s, int (*content)(void *arg, const void *p, size_t n))
{
	for (;;) {
		char  *at = s->mem + s->start;
		char  *found = memmem(at, held(s), s->delimiter, s->n_delimiter);
		size_t n = found ? (size_t)(found - at) : held(s);
		int    err = BW_OK;

		if (!found) /* its last octets may be the beginning of one */
			n -= n < s->n_delimiter - 1 ? n : s->n_delimiter - 1;
		if (n > 0)
			err = content ? content(s->io->arg, at, n) : drop(s, n);
		s->start += n;
		if (err != BW_OK)
			return err;
		if (found) {
			s->start += s->n_delimiter;
			return BW_OK;
		}
		if (s->at_end)
			return BW_EPARTSYNTAX; /* it ends without the closing one */
		if ((err = fill(s)) != BW_OK)
			return err;
	}
}

/* The rest of a delimiter's line. */
static int finish_delimiter(struct scan *s, bool *ret_last)
{
	size_t padding = 0;
	int    err = need(s, MAX_PADDING + 4);
	char  *p = s->mem + s->start;

	if (err != BW_OK)
		return err;
	*ret_last = held(s) >= 2 && p[0] == '-' && p[1] == '-';
	if (*ret_last)
		s->start += 2;
	for (p = s->mem + s->start; padding < held(s) && (*p == ' ' || *p == '\t'); p++)
		if (++padding > MAX_PADDING)
			return BW_EPARTSYNTAX;
	s->start += padding;
	if (held(s) >= 2 && p[0] == '\r' && p[1] == '\n') {
		s->start += 2;
		return BW_OK;
	}
	return *ret_last && held(s) == 0 ? BW_OK : BW_EPARTSYNTAX;
}

/* ---- the head of a part ---- */

/* Browsers send a quote, CR and LF in names as these; nothing else is encoded (HTML, "Multipart
 * form data"). In place. */
static void decode_name(struct bw_str *name)
{
	char *to = (char *)(uintptr_t)name->p; /* our own copy */
	char *from = to, *end = to + name->n;

	while (from < end) {
		int c = percent_octet(from, (size_t)(end - from));

		if (c == '"' || c == '\r' || c == '\n') {
			*to++ = (char)c;
			from += 3;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	name->n = (size_t)(to - name->p);
}

/* Takes one of the two names; each may be there once. */
static bool take_name(struct bw_str value, struct bw_str *to)
{
	if (to->p || !utf8_ok(value.p, value.n))
		return false;
	*to = value;
	decode_name(to);
	return true;
}

static bool is(struct bw_str s, const char *text)
{
	return s.n == strlen(text) && strncasecmp(s.p, text, s.n) == 0;
}

static bool read_disposition(struct scan *s, struct bw_str field, struct multipart_head *head)
{
	struct mediatype_params in = mediatype_params(field);
	struct bw_str           name, value;
	int                     more;

	if (head->name.p || !mediatype_is(field, "form-data"))
		return false;
	while ((more = mediatype_next(&in, s->arena, &name, &value)) > 0) {
		/* filename* is not for forms: RFC 7578 4.2. */
		if (is(name, "name") && !take_name(value, &head->name))
			return false;
		if (is(name, "filename") && !take_name(value, &head->file_name))
			return false;
	}
	return more == 0 && head->name.p && head->name.n <= MULTIPART_MAX_NAME;
}

static bool is_identity(struct bw_str coding)
{
	return mediatype_is(coding, "binary") || mediatype_is(coding, "8bit") ||
	       mediatype_is(coding, "7bit") || mediatype_is(coding, "identity");
}

/* What the scanner itself must know of a line. */
static bool note_line(struct scan *s, struct bw_str name, struct bw_str value,
                      struct multipart_head *head)
{
	if (is(name, "content-disposition"))
		return read_disposition(s, value, head);
	if (is(name, "content-transfer-encoding"))
		return is_identity(value);
	if (is(name, "content-type")) {
		if (head->content_type.p)
			return false;
		head->content_type = value;
	}
	return true;
}

static bool is_field_value(struct bw_str v)
{
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		if ((c < ' ' && c != '\t') || c == 127)
			return false;
	}
	return true;
}

/* A line without its CRLF. */
static bool add_line(struct scan *s, const char *p, size_t n, struct multipart_head *head)
{
	char         *lower = arena_dup(s->arena, p, n);
	size_t        at = 0;
	struct bw_str name, value;

	if (head->lines.n == MULTIPART_MAX_LINES)
		return false;
	for (; at < n && token_lower[(unsigned char)p[at]]; at++)
		lower[at] = (char)token_lower[(unsigned char)p[at]];
	if (at == 0 || at == n || p[at] != ':')
		return false; /* no name, or it is folded */
	lower[at] = '\0';
	name = (struct bw_str){ lower, at };
	for (at++; at < n && (p[at] == ' ' || p[at] == '\t'); at++)
		;
	for (; n > at && (p[n - 1] == ' ' || p[n - 1] == '\t'); n--)
		;
	lower[n] = '\0';
	value = (struct bw_str){ lower + at, n - at };
	if (!is_field_value(value))
		return false;
	pairs_add(s->arena, &head->lines, name, value);
	return note_line(s, name, value, head);
}

/* All lines of a head, up to the empty one; stops before its CRLF, which may be a delimiter's. */
static int read_head(struct scan *s, struct multipart_head *head)
{
	int    err = need(s, MULTIPART_MAX_HEAD);
	size_t left = held(s) < MULTIPART_MAX_HEAD ? held(s) : MULTIPART_MAX_HEAD;

	if (err != BW_OK)
		return err;
	for (;;) {
		char  *line = s->mem + s->start;
		char  *eol = left > 0 ? memchr(line, '\n', left) : NULL;
		size_t n = eol ? (size_t)(eol - line) : 0;

		if (n == 0 || line[n - 1] != '\r')
			return BW_EPARTSYNTAX;
		if (n == 1)
			return head->name.p ? BW_OK : BW_EPARTSYNTAX;
		if (!add_line(s, line, n - 1, head))
			return BW_EPARTSYNTAX;
		s->start += n + 1;
		left -= n + 1;
	}
}

/* ---- the whole ---- */

static int read_part(struct scan *s)
{
	struct multipart_head head = { .name = BW_ABSENT };
	int                   err = read_head(s, &head);

	if (err != BW_OK || (err = s->io->begin(s->io->arg, &head)) != BW_OK ||
	    (err = need(s, s->n_delimiter)) != BW_OK)
		return err;
	/* The empty line's CRLF belongs to the head, or, if there is no content at all, to the
	 * delimiter. */
	if (held(s) < s->n_delimiter ||
	    memcmp(s->mem + s->start, s->delimiter, s->n_delimiter) != 0)
		s->start += 2;
	err = pass(s, s->io->content);
	return err != BW_OK ? err : s->io->end(s->io->arg);
}

int multipart_scan(struct arena *a, struct bw_str boundary, size_t window,
                   const struct multipart_io *io)
{
	struct scan s = { .arena = a, .io = io, .cap = window, .n_delimiter = 4 + boundary.n };
	bool        last = false;
	int         err;

	memcpy(s.delimiter, "\r\n--", 4);
	memcpy(s.delimiter + 4, boundary.p, boundary.n);
	s.mem = arena_alloc(a, window);
	memcpy(s.mem, "\r\n", 2);
	s.end = 2;
	err = pass(&s, NULL);
	while (err == BW_OK && (err = finish_delimiter(&s, &last)) == BW_OK && !last)
		err = read_part(&s);
	return err;
}

bool multipart_boundary(struct arena *a, struct bw_str content_type, struct bw_str *ret)
{
	static const char       allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					    "0123456789'()+_,-./:=? ";
	struct mediatype_params in = mediatype_params(content_type);
	struct bw_str           name, value;
	int                     more;

	*ret = BW_ABSENT;
	while ((more = mediatype_next(&in, a, &name, &value)) > 0) {
		if (!is(name, "boundary"))
			continue;
		if (ret->p)
			return false;
		*ret = value;
	}
	return more == 0 && ret->n > 0 && ret->n <= MULTIPART_MAX_BOUNDARY &&
	       strspn(ret->p, allowed) == ret->n && ret->p[ret->n - 1] != ' ';
}
