/* chan.c - a connection: its life, its HELLO, frames in and out.
 *
 *   NEW --HELLO came--> OPEN --error, end of file, wire_chan_close--> CLOSED --wire_chan_free-->
 *    |                                                                  ^
 *    +------------------------------------------------------------------+
 *
 * The callbacks may do anything, also close and free the channel they are called for. So whoever
 * looks at it again after a callback counts itself in busy, looks at closed, and the last one out
 * frees what was to be freed meanwhile.
 *
 * Owns: the descriptor, the buffers, the slots of pending calls.
 * Runs in: gateway, auth, repo, on the loop; never blocks, never reads the clock.
 * Fails with: a close and its reason. From above, nonsense is fatal.
 * Tests: tests/unit/wire/chan_test.c. */
#include "chan_impl.h"
#include <base/fatal.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define READ_CHUNK 65536u
#define READ_BOUND 262144u  /* per call, so that one peer cannot starve the others */
#define KEEP       1048576u /* of an empty buffer; a larger one has had its frame */

/* ---- life ---- */

struct wire_chan *wire_chan_new(int fd, enum wire_peer self, enum wire_peer other,
                                const struct wire_chan_ops *ops, void *owner)
{
	struct wire_chan *ch = xcalloc(1, sizeof(*ch));

	ch->fd = fd;
	ch->self = self;
	ch->other = other;
	ch->ops = ops;
	ch->owner = owner;
	buf_init(&ch->in);
	buf_init(&ch->out);
	return ch;
}

void *wire_chan_owner(const struct wire_chan *ch)
{
	return ch->owner;
}

int wire_chan_fd(const struct wire_chan *ch)
{
	return ch->fd;
}

bool wire_chan_is_open(const struct wire_chan *ch)
{
	return ch->greeted && !ch->closed;
}

unsigned wire_chan_in_flight(const struct wire_chan *ch)
{
	return ch->in_flight;
}

static void destroy(struct wire_chan *ch)
{
	if (ch->out_secret)
		sodium_memzero(buf_data(&ch->out), buf_size(&ch->out));
	buf_done(&ch->in);
	buf_done(&ch->out);
	free(ch->slots);
	free(ch);
}

static void leave(struct wire_chan *ch)
{
	if (--ch->busy == 0 && ch->free_later)
		destroy(ch);
}

static void shut(struct wire_chan *ch, const char *reason, bool tell)
{
	if (ch->closed)
		return;
	ch->closed = true;
	ch->busy++;
	chan_end_calls(ch);
	if (tell)
		ch->ops->on_close(ch, reason);
	close(ch->fd);
	ch->fd = -1;
	leave(ch);
}

void wire_chan_close(struct wire_chan *ch, const char *reason)
{
	shut(ch, reason, true);
}

void wire_chan_free(struct wire_chan *ch)
{
	if (!ch)
		return;
	ch->busy++;
	shut(ch, "freed", false);
	ch->free_later = true;
	leave(ch);
}

void chan_refuse(struct wire_chan *ch, const char *format, ...)
{
	char    reason[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(reason, sizeof(reason), format, ap);
	va_end(ap);
	if (chan_asks(ch))
		fatalx("%s is wrong: %s", ch->other == WIRE_AUTH ? "auth" : "repo", reason);
	wire_chan_close(ch, reason);
}

/* ---- HELLO ---- */

void wire_hello(struct wire_chan *ch, struct bw_str channel)
{
	Bw__Wire__Hello   m = BW__WIRE__HELLO__INIT;
	struct wire_frame f = { .id = WIRE_HELLO, .flags = WIRE_END };

	if (ch->closed)
		return;
	m.wire_version = WIRE_VERSION;
	m.build = (ProtobufCBinaryData){ sizeof(BOARDWALK_VERSION) - 1,
		                         (uint8_t *)BOARDWALK_VERSION };
	m.channel = (ProtobufCBinaryData){ channel.n, (uint8_t *)channel.p };
	f.length = (uint32_t)protobuf_c_message_get_packed_size(&m.base);
	protobuf_c_message_pack(&m.base, chan_begin_frame(ch, &f));
	chan_end_frame(ch, &f);
}

/* The version is the first field in every version, so it can be told even where the rest of HELLO
 * has changed. 0: not even that. */
static uint32_t peek_version(const struct wire_frame *f)
{
	uint32_t version = 0;

	if (f->length == 0 || f->payload[0] != (1 << 3 | 0))
		return 0;
	for (unsigned i = 1; i < f->length && i <= 4; i++) {
		version |= (uint32_t)(f->payload[i] & 0x7f) << (7 * (i - 1));
		if (!(f->payload[i] & 0x80))
			return version;
	}
	return 0;
}

static void take_hello(struct wire_chan *ch, const struct wire_frame *f)
{
	struct wire_message    m;
	uint32_t               version = peek_version(f);
	const Bw__Wire__Hello *hello;
	char                   reason[96];

	if (version != 0 && version != WIRE_VERSION) {
		/* From above as well: an upgrade in the middle is not a wrong program. */
		snprintf(reason, sizeof(reason), "wire version %u of the peer, %u here",
		         (unsigned)version, WIRE_VERSION);
		wire_chan_close(ch, reason);
		return;
	}
	if (wire_message_get(f, &m) != BW_OK) {
		chan_refuse(ch, "malformed HELLO");
		return;
	}
	hello = &m.u->hello;
	if (hello->channel.len != 0 && hello->channel.len != 16) {
		chan_refuse(ch, "HELLO with a channel of %zu octets", hello->channel.len);
	} else {
		ch->greeted = true;
		ch->ops->on_hello(ch, (struct bw_str){ (const char *)hello->channel.data,
		                                       hello->channel.len });
	}
}

/* ---- reading ---- */

static bool is_again(struct wire_chan *ch, const struct wire_frame *f)
{
	uint64_t *word = &ch->seen_once[f->id / 64], bit = 1ull << (f->id % 64);
	bool      again;

	if (!wire_row(f->id)->once)
		return false;
	again = *word & bit;
	*word |= bit;
	return again;
}

static void take_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	if (!ch->greeted && f->id != WIRE_HELLO)
		chan_refuse(ch, "%s before HELLO", wire_row(f->id)->name);
	else if (is_again(ch, f))
		chan_refuse(ch, "a second %s", wire_row(f->id)->name);
	else if (f->id == WIRE_HELLO)
		take_hello(ch, f);
	else if (chan_asks(ch))
		chan_take_answer(ch, f);
	else
		chan_take_question(ch, f);
}

/* The first frame of the input if it is there whole; *ret_need: octets it still lacks, else. */
static bool next_frame(struct wire_chan *ch, struct wire_frame *ret, size_t *ret_need)
{
	size_t         have = buf_size(&ch->in), whole = WIRE_HEADER;
	const uint8_t *p = buf_data(&ch->in);

	if (have >= WIRE_HEADER) {
		if (wire_header_get(p, ch->other, ch->self, ret) != BW_OK) {
			chan_refuse(ch, "malformed frame: length %u, id %u, flags %u",
			            p[0] | p[1] << 8 | p[2] << 16 | (unsigned)p[3] << 24,
			            p[32] | (unsigned)p[33] << 8, p[34] | (unsigned)p[35] << 8);
			return false;
		}
		whole += ret->length;
	}
	*ret_need = have < whole ? whole - have : 0;
	return have >= whole;
}

/* Hands over all whole frames of the input; returns how much more the next one needs. A handler that
 * flushes may come here again: then the outer loop goes on with what is left. */
static size_t deliver(struct wire_chan *ch)
{
	struct wire_frame f;
	size_t            need = 0;
	bool              any = false;

	if (ch->delivering)
		return 0;
	ch->delivering = true;
	while (!ch->closed && !ch->paused && next_frame(ch, &f, &need)) {
		any = true;
		take_frame(ch, &f);
		if (wire_is_secret(f.id))
			sodium_memzero(buf_data(&ch->in) + WIRE_HEADER, f.length);
		buf_consume(&ch->in, WIRE_HEADER + f.length);
	}
	if (any && !ch->closed && ch->ops->on_batch)
		ch->ops->on_batch(ch);
	ch->delivering = false;
	return need;
}

/* One read. False: nothing came, or the channel is closed now. */
static bool fill(struct wire_chan *ch, size_t room, size_t *ret_n)
{
	uint8_t *p = buf_reserve(&ch->in, room);
	ssize_t  n;

	do
		n = read(ch->fd, p, room);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		buf_commit(&ch->in, (size_t)n);
		*ret_n = (size_t)n;
		return true;
	}
	if (n == 0)
		wire_chan_close(ch, "the peer has closed the connection");
	else if (errno != EAGAIN)
		wire_chan_close(ch, strerror(errno));
	return false;
}

static void shrink(struct buf *b)
{
	if (buf_size(b) == 0 && b->cap > KEEP)
		buf_done(b);
}

void wire_chan_readable(struct wire_chan *ch)
{
	size_t total = 0, need = 0, room, n;

	if (ch->delivering) /* the frame in hand must stay where it is */
		return;
	ch->busy++;
	while (!ch->closed && !ch->paused && total < READ_BOUND) {
		room = need > READ_CHUNK ? need : READ_CHUNK;
		if (!fill(ch, room, &n))
			break;
		need = deliver(ch);
		total += n;
		if (n < room) /* a short read has emptied the socket */
			break;
	}
	shrink(&ch->in);
	leave(ch);
}

/* ---- writing ---- */

uint8_t *chan_begin_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	uint8_t *p = buf_reserve(&ch->out, WIRE_HEADER + f->length);

	wire_header_put(p, f);
	return p + WIRE_HEADER;
}

void chan_end_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	bool first = buf_size(&ch->out) == 0;

	buf_commit(&ch->out, WIRE_HEADER + f->length);
	ch->busy++;
	if (first && !ch->blocked)
		ch->ops->want(ch, true, false);
	if (!chan_asks(ch) && !ch->closed && !ch->paused && buf_size(&ch->out) > WIRE_OUTPUT_MARK) {
		ch->paused = true;
		ch->ops->want_read(ch, false);
	}
	leave(ch);
}

static void set_blocked(struct wire_chan *ch, bool blocked)
{
	if (ch->blocked == blocked)
		return;
	ch->blocked = blocked;
	ch->ops->want(ch, false, blocked);
}

/* What the pause has left in the input is handed over here: no event will come for it. */
static void resume(struct wire_chan *ch)
{
	ch->paused = false;
	ch->ops->want_read(ch, true);
	deliver(ch);
}

static void send_out(struct wire_chan *ch)
{
	ssize_t n;

	do
		n = write(ch->fd, buf_data(&ch->out), buf_size(&ch->out));
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN) {
		wire_chan_close(ch, strerror(errno));
		return;
	}
	if (n > 0) {
		if (ch->out_secret)
			sodium_memzero(buf_data(&ch->out), (size_t)n);
		buf_consume(&ch->out, (size_t)n);
	}
	if (buf_size(&ch->out) == 0) {
		ch->out_secret = false;
		shrink(&ch->out);
	}
	set_blocked(ch, buf_size(&ch->out) > 0);
	if (!ch->closed && ch->paused && buf_size(&ch->out) < WIRE_OUTPUT_MARK / 2)
		resume(ch);
}

void wire_chan_flush(struct wire_chan *ch)
{
	if (ch->closed || ch->blocked || buf_size(&ch->out) == 0)
		return;
	ch->busy++;
	send_out(ch);
	leave(ch);
}

void wire_chan_writable(struct wire_chan *ch)
{
	if (ch->closed || !ch->blocked)
		return;
	ch->busy++;
	send_out(ch);
	leave(ch);
}
