/* chunked.c - the chunked coding of RFC 9112 7.1, read strictly and in place: libh2o's decoder takes
 * "0x5" for a zero, lines ended by LF alone, and trailers without end.
 *
 *   size in hex [; extension] CRLF  data CRLF  ...  0 [; extension] CRLF  trailers  CRLF
 *
 * libh2o calls it with each piece of the body and keeps 16 octets of state for us. Trailers are
 * checked for form and dropped; extensions and trailers may come to 16 KiB. On an error the body is
 * reported complete where it stands, and the request, which reaches the gateway within the same call, is
 * refused there.
 *
 * Owns: nothing. Runs in: the loop's stack, called by libh2o. Fails with: a refusal (400, 413).
 * Tests: tests/unit/gateway/chunked_test.c, tests/conformance/edge.rows. */
#include "http/guard.h"

#include <assert.h>
#include <string.h>

#define MAX_OVERHEAD 16384

enum state {
	SIZE,      /* hexadecimal digits */
	EXTENSION, /* up to the CR */
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER,      /* at the start of a line */
	TRAILER_LINE, /* in a line, up to the CR */
	TRAILER_LF,
	END_LF,
};

/* Lies over struct phr_chunked_decoder of libh2o's parser, which libh2o clears and of which it sets
 * consume_trailer: size_t; char consume_trailer, _hex_count, _state; padding. */
struct chunked {
	uint32_t left;            /* of this chunk; the settings keep max_body below 4 GiB */
	uint32_t total;           /* data so far, this chunk's included */
	uint8_t  consume_trailer; /* libh2o's; always set */
	uint8_t  state;
	uint8_t  digits;
	uint8_t  reserved;
	uint32_t overhead; /* octets of extensions and trailers */
};
static_assert(sizeof(struct chunked) == 16, "as large as libh2o's decoder");

GUARD_EXPORT ssize_t phr_decode_chunked(struct chunked *d, char *buf, size_t *size);

static struct guard_answer        bad_framing = { "/", 400, "chunked framing" };
static struct guard_answer        too_large = { "/", 413, "body too large" };
static const struct guard_answer *refused;

const struct guard_answer *guard_take_body_refusal(void)
{
	const struct guard_answer *r = refused;

	refused = NULL;
	return r;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool is_text(char c)
{
	return ((unsigned char)c >= ' ' && (unsigned char)c != 127) || c == '\t';
}

/* One octet of a chunk's size line. */
static const struct guard_answer *on_size(struct chunked *d, char c)
{
	int      v = hex_digit(c);
	uint64_t size;

	if (v < 0) {
		if (d->digits == 0 || (c != '\r' && c != ';'))
			return &bad_framing;
		d->state = c == ';' ? EXTENSION : SIZE_LF;
		return NULL;
	}
	size = (uint64_t)d->left << 4 | (unsigned)v;
	if (++d->digits > 16)
		return &bad_framing;
	if (size > guard.max_body - d->total)
		return &too_large;
	d->left = (uint32_t)size;
	return NULL;
}

/* One octet that is not data. */
static const struct guard_answer *on_octet(struct chunked *d, char c)
{
	if ((d->state == EXTENSION || d->state == TRAILER || d->state == TRAILER_LINE) &&
	    ++d->overhead > MAX_OVERHEAD)
		return &bad_framing;
	switch ((enum state)d->state) {
	case SIZE:
		return on_size(d, c);
	case EXTENSION:
		if (c == '\r')
			d->state = SIZE_LF;
		else if (!is_text(c))
			return &bad_framing;
		return NULL;
	case SIZE_LF:
		d->digits = 0;
		d->total += d->left;
		d->state = d->left > 0 ? DATA : TRAILER;
		return c == '\n' ? NULL : &bad_framing;
	case DATA_CR:
		d->state = DATA_LF;
		return c == '\r' ? NULL : &bad_framing;
	case DATA_LF:
		d->state = SIZE;
		return c == '\n' ? NULL : &bad_framing;
	case TRAILER:
		d->state = c == '\r' ? END_LF : TRAILER_LINE;
		return c == '\r' || (is_text(c) && c != ' ' && c != '\t') ? NULL : &bad_framing;
	case TRAILER_LINE:
		if (c == '\r')
			d->state = TRAILER_LF;
		else if (!is_text(c))
			return &bad_framing;
		return NULL;
	case TRAILER_LF:
		d->state = TRAILER;
		return c == '\n' ? NULL : &bad_framing;
	default: /* END_LF; DATA is not read by octets */
		return c == '\n' ? NULL : &bad_framing;
	}
}

/* Moves what belongs to the body to the front of buf and sets *size to its length. Returns the number
 * of octets behind the body's end, which follow it in buf; -2: more is to come. */
ssize_t phr_decode_chunked(struct chunked *d, char *buf, size_t *size)
{
	size_t from = 0, to = 0, n = *size;

	while (from < n) {
		const struct guard_answer *error;
		bool                       at_end = d->state == END_LF;

		if (d->state == DATA) {
			size_t part = n - from < d->left ? n - from : d->left;

			memmove(buf + to, buf + from, part);
			from += part;
			to += part;
			d->left -= (uint32_t)part;
			if (d->left == 0)
				d->state = DATA_CR;
			continue;
		}
		error = on_octet(d, buf[from++]);
		if (error != NULL) {
			refused = error;
			*size = to;
			return 0;
		}
		if (at_end) {
			memmove(buf + to, buf + from, n - from);
			*size = to;
			return (ssize_t)(n - from);
		}
	}
	*size = to;
	return -2;
}
