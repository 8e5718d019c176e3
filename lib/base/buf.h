/* buf.h - a growable run of bytes, filled at the end and consumed at the start.
 *
 *    mem              mem + start        mem + end          mem + cap
 *     |   consumed      |     data         |    free           |
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *mem; /* heap, NULL while empty and unused */
	size_t   start, end, cap;
};

static inline size_t buf_size(const struct buf *b)
{
	return b->end - b->start;
}

static inline uint8_t *buf_data(const struct buf *b)
{
	return b->mem + b->start;
}

void buf_init(struct buf *b);
void buf_done(struct buf *b); /* frees; the buffer may be used again */
/* Room for n more octets at the end (data may move); returns where they go. */
uint8_t *buf_reserve(struct buf *b, size_t n);
void     buf_commit(struct buf *b, size_t n); /* n octets were written there */
void     buf_append(struct buf *b, const void *p, size_t n);
__attribute__((format(printf, 2, 3))) void buf_printf(struct buf *b, const char *format, ...);
void buf_consume(struct buf *b, size_t n); /* takes n octets from the start */
void buf_clear(struct buf *b);             /* keeps the memory */
