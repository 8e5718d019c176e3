/* channel.h - orders and answers between the gateway's parent and one of its workers, over a pair of
 * sockets that is made before the fork.
 *
 *    length u32 | call u32 | status u32 | length octets of text        (of the host's byte order)
 *
 * An order's text is a list of words, each with its NUL; status is 0. An answer carries the order's
 * call number, and says CHANNEL_OK with what was asked for, or CHANNEL_FAILED with a reason. Nobody
 * blocks: what cannot be written waits in a buffer. What a worker says without being asked is a list of
 * words under the call number CHANNEL_NEWS. */
#pragma once
#include <base/buf.h>
#include <stdbool.h>
#include <stdint.h>

#define CHANNEL_MAX (16u << 20) /* octets of a text: a picture of ten thousand servlets */

#define CHANNEL_NEWS 0u

enum channel_status { CHANNEL_OK, CHANNEL_FAILED };

struct channel {
	int        fd; /* -1: closed */
	struct buf in, out;
	size_t     taken; /* octets of `in` that the last frame still lies in */
};

struct channel_frame {
	uint32_t    call;
	uint32_t    status;
	const char *text; /* borrowed until the next call; no NUL behind it */
	size_t      n;
};

/* Takes the descriptor, which is non-blocking. */
void channel_open(struct channel *c, int fd);
void channel_close(struct channel *c); /* may be called twice */
/* Reads what has come. False: the other end is gone, or did not keep to the frames. */
bool channel_read(struct channel *c);
/* The next frame that is whole. */
bool channel_next(struct channel *c, struct channel_frame *ret);
void channel_put(struct channel *c, uint32_t call, uint32_t status, const void *text, size_t n);
/* Writes what can be written. False: the other end is gone. */
bool channel_flush(struct channel *c);

static inline bool channel_wants_write(const struct channel *c)
{
	return buf_size(&c->out) > 0;
}
