/* pair.h - two channels over one socket pair, a gateway's and an answering one, driven by hand: no
 * loop, so that a test decides what happens in which order. For the tests of this folder. */
#pragma once
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "../../../lib/wire/chan_impl.h"

#define CHANNEL ((struct bw_str){ "0123456789abcdef", 16 })

/* One end and all that its channel has told it. */
struct side {
	struct wire_chan    *ch; /* NULL once freed */
	int                  fd; /* raw side: no channel */
	unsigned             hellos, closes, batches, frames, flushes_wanted;
	bool                 writable, reading;
	size_t               n_channel;
	char                 reason[200];
	struct wire_question q[WIRE_MAX_CALLS + 1]; /* questions not answered yet, in order */
	unsigned             n_q;
	/* What the test wants to happen inside the callbacks. */
	void (*on_frame)(struct side *s, const struct wire_frame *f);
	bool free_on_close;
};

/* A call and its end. */
struct caller {
	struct wire_call  call;
	unsigned          ends;
	int               err;
	struct wire_frame frame;
	void (*then)(struct caller *c);
	void *arg;
};

/* Not every test needs every helper. */
#pragma GCC diagnostic ignored "-Wunused-function"

static struct side gateway, repo;

static void side_hello(struct wire_chan *ch, struct bw_str channel)
{
	struct side *s = wire_chan_owner(ch);

	s->hellos++;
	s->n_channel = channel.n;
	cr_assert(channel.n == 0 || memcmp(channel.p, CHANNEL.p, 16) == 0);
}

static void side_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	struct side *s = wire_chan_owner(ch);

	s->frames++;
	if (wire_row(f->id)->answer != WIRE_NONE)
		s->q[s->n_q++] = (struct wire_question){ f->id, f->call, f->request };
	if (s->on_frame)
		s->on_frame(s, f);
}

static void side_batch(struct wire_chan *ch)
{
	((struct side *)wire_chan_owner(ch))->batches++;
}

static void side_close(struct wire_chan *ch, const char *reason)
{
	struct side *s = wire_chan_owner(ch);

	s->closes++;
	cr_assert(wire_chan_fd(ch) >= 0, "on_close comes before the descriptor is closed");
	cr_assert_not(wire_chan_is_open(ch));
	snprintf(s->reason, sizeof(s->reason), "%s", reason);
	if (s->free_on_close) {
		wire_chan_free(ch);
		s->ch = NULL;
	}
}

static void side_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	struct side *s = wire_chan_owner(ch);

	if (flush_soon)
		s->flushes_wanted++;
	else
		s->writable = writable;
}

static void side_want_read(struct wire_chan *ch, bool read)
{
	((struct side *)wire_chan_owner(ch))->reading = read;
}

static const struct wire_chan_ops side_ops = {
	.on_hello = side_hello,
	.on_frame = side_frame,
	.on_batch = side_batch,
	.on_close = side_close,
	.want = side_want,
	.want_read = side_want_read,
};

static void pair_new(int type)
{
	int fd[2];

	cr_assert(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) == 0);
	gateway = (struct side){ .fd = fd[0], .reading = true };
	repo = (struct side){ .fd = fd[1], .reading = true };
}

static void side_open(struct side *s, enum wire_peer self, enum wire_peer other)
{
	s->ch = wire_chan_new(s->fd, self, other, &side_ops, s);
}

/* Both greeted: repo has drawn CHANNEL. type: SOCK_STREAM, or SOCK_SEQPACKET to see each write. */
static void pair_greet(int type)
{
	pair_new(type);
	side_open(&gateway, WIRE_GATEWAY, WIRE_REPO);
	side_open(&repo, WIRE_REPO, WIRE_GATEWAY);
	wire_hello(gateway.ch, BW_STR(""));
	wire_hello(repo.ch, CHANNEL);
	wire_chan_flush(gateway.ch);
	wire_chan_flush(repo.ch);
	wire_chan_readable(gateway.ch);
	wire_chan_readable(repo.ch);
	cr_assert(gateway.hellos == 1 && gateway.n_channel == 16);
	cr_assert(repo.hellos == 1 && repo.n_channel == 0);
	cr_assert(wire_chan_is_open(gateway.ch) && wire_chan_is_open(repo.ch));
	gateway.batches = repo.batches = 0;
}

/* Moves what there is to move in both directions, once or until nothing changes. */
static void pump(void)
{
	for (int i = 0; i < 1000; i++) {
		wire_chan_flush(gateway.ch);
		wire_chan_writable(gateway.ch);
		wire_chan_readable(repo.ch);
		wire_chan_flush(repo.ch);
		wire_chan_writable(repo.ch);
		wire_chan_readable(gateway.ch);
	}
}

static void pair_done(void)
{
	wire_chan_free(gateway.ch);
	wire_chan_free(repo.ch);
	gateway.ch = repo.ch = NULL;
}

static void caller_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct caller *c = (struct caller *)call;

	c->ends++;
	c->err = err;
	cr_assert_null(call->chan);
	if (f)
		c->frame = *f;
	if (c->then)
		c->then(c);
}

static int ask_path(struct caller *c, struct bw_str path, uint64_t request)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	m.sequence = 1;
	m.path = (ProtobufCBinaryData){ path.n, (uint8_t *)path.p };
	c->call.on_end = caller_end;
	return wire_call(gateway.ch, &c->call, WIRE_RESOURCE_GET, request, &m.base);
}

static int ask(struct caller *c)
{
	return ask_path(c, BW_STR("/content"), 99);
}

/* Answers question number i with n octets of record. */
static void answer_n(struct side *s, unsigned i, size_t n)
{
	static uint8_t          record[300000];
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;

	m.record = (ProtobufCBinaryData){ n, record };
	wire_answer(s->ch, &s->q[i], 5, 6, &m.base);
}

/* Writes one frame to a raw side, with whatever header. */
static void raw_frame(int fd, struct wire_frame f, const void *payload)
{
	uint8_t p[WIRE_HEADER + 1000];

	if (f.flags == 0)
		f.flags = WIRE_END;
	wire_header_put(p, &f);
	if (f.length > 0 && payload)
		memcpy(p + WIRE_HEADER, payload, f.length);
	f.length = payload ? f.length : 0;
	cr_assert(write(fd, p, WIRE_HEADER + f.length) == (ssize_t)(WIRE_HEADER + f.length));
}

static void raw_message(int fd, enum wire_id id, uint32_t call, const ProtobufCMessage *m)
{
	uint8_t p[1000];
	size_t  n = protobuf_c_message_get_packed_size(m);

	cr_assert(n <= sizeof(p));
	protobuf_c_message_pack(m, p);
	raw_frame(fd, (struct wire_frame){ .id = id, .call = call, .length = (uint32_t)n }, p);
}

static void raw_hello(int fd, uint32_t version, struct bw_str channel)
{
	Bw__Wire__Hello m = BW__WIRE__HELLO__INIT;

	m.wire_version = version;
	m.build = (ProtobufCBinaryData){ 1, (uint8_t *)"x" };
	m.channel = (ProtobufCBinaryData){ channel.n, (uint8_t *)channel.p };
	raw_message(fd, WIRE_HELLO, 0, &m.base);
}

/* An answering channel with a raw gateway before it, greeted. */
static void raw_below(void)
{
	pair_new(SOCK_STREAM);
	side_open(&repo, WIRE_REPO, WIRE_GATEWAY);
	raw_hello(gateway.fd, WIRE_VERSION, BW_STR(""));
	wire_chan_readable(repo.ch);
	cr_assert(wire_chan_is_open(repo.ch));
}

/* A gateway's channel with a raw repo behind it, greeted. */
static void raw_above(void)
{
	pair_new(SOCK_STREAM);
	side_open(&gateway, WIRE_GATEWAY, WIRE_REPO);
	raw_hello(repo.fd, WIRE_VERSION, CHANNEL);
	wire_chan_readable(gateway.ch);
	cr_assert(wire_chan_is_open(gateway.ch));
}
