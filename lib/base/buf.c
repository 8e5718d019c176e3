/* buf.c - a growable run of bytes.
 *
 * Always holds: start <= end <= cap, and mem is NULL exactly if cap is 0.
 * Owns: its memory. Runs in: any thread, one at a time per buffer.
 * Fails with: nothing; out of memory and broken use are fatal.
 * Tests: tests/unit/base/buf_test.c. */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatal.h"

enum { BUF_FIRST = 512 };

void buf_init(struct buf *b)
{
	*b = (struct buf){ 0 };
}

void buf_done(struct buf *b)
{
	free(b->mem);
	buf_init(b);
}

/* Moving the data down is chosen only if it frees half of the memory: each octet is then moved at
 * most once per octet consumed, and a buffer that is filled and emptied in turn never grows. */
static void make_room(struct buf *b, size_t n)
{
	size_t size = buf_size(b), cap = b->cap > 0 ? b->cap : BUF_FIRST;

	if (b->start >= b->cap / 2 && b->cap > 0 && n <= b->cap - size) {
		memmove(b->mem, b->mem + b->start, size);
		b->start = 0;
		b->end = size;
		return;
	}
	if (n > SIZE_MAX / 4 - b->end)
		fatalx("out of memory: a buffer of %zu octets cannot take %zu more", size, n);
	while (cap - b->end < n)
		cap *= 2;
	b->mem = xrealloc(b->mem, cap);
	b->cap = cap;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
	if (n > b->cap - b->end)
		make_room(b, n);
	return b->mem + b->end;
}

void buf_commit(struct buf *b, size_t n)
{
	if (n > b->cap - b->end)
		fatalx("buffer: %zu octets committed where %zu were free", n, b->cap - b->end);
	b->end += n;
}

void buf_append(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return;
	memcpy(buf_reserve(b, n), p, n);
	b->end += n;
}

/* The terminating NUL needs room too, but is not part of the data. */
void buf_printf(struct buf *b, const char *format, ...)
{
	size_t  room = b->cap - b->end;
	va_list ap;
	int     n;

	va_start(ap, format);
	n = vsnprintf(room > 0 ? (char *)b->mem + b->end : NULL, room, format, ap);
	va_end(ap);
	if (n < 0)
		fatal("formatting \"%s\"", format);
	if ((size_t)n >= room) {
		va_start(ap, format);
		vsnprintf((char *)buf_reserve(b, (size_t)n + 1), (size_t)n + 1, format, ap);
		va_end(ap);
	}
	b->end += (size_t)n;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n > buf_size(b))
		fatalx("buffer: %zu octets consumed where %zu were there", n, buf_size(b));
	b->start += n;
	if (b->start == b->end)
		b->start = b->end = 0;
}

void buf_clear(struct buf *b)
{
	b->start = b->end = 0;
}
