/* asker.h - a gateway worker for tests: connects to auth, asks, and checks what comes back as far as
 * everything from auth is to be checked. Include once; asker_loop is set by the test. */
#include <base/unix_socket.h>
#include <criterion/criterion.h>
#include <ev.h>
#include <wire/chan.h>
#include <wire/handle.h>

static struct ev_loop *asker_loop;

/* What auth signs with in the tests. */
static const struct handle_key key = { 3, { 42 } };

struct gateway {
	struct wire_chan *chan;
	ev_io             io;
	ev_prepare        prepare;
	bool              open, closed;
};

static void on_gateway_io(struct ev_loop *loop, ev_io *io, int revents)
{
	struct gateway *g = io->data;

	(void)loop, (void)revents;
	wire_chan_readable(g->chan);
}

static void on_gateway_prepare(struct ev_loop *loop, ev_prepare *p, int revents)
{
	struct gateway *g = p->data;

	(void)loop, (void)revents;
	wire_chan_flush(g->chan);
}

static void on_gateway_hello(struct wire_chan *ch, struct bw_str channel)
{
	(void)channel;
	((struct gateway *)wire_chan_owner(ch))->open = true;
}

static void on_gateway_close(struct wire_chan *ch, const char *reason)
{
	struct gateway *g = wire_chan_owner(ch);

	(void)reason;
	ev_io_stop(asker_loop, &g->io);
	ev_prepare_stop(asker_loop, &g->prepare);
	g->closed = true;
}

static void on_gateway_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	(void)ch, (void)flush_soon;
	cr_assert_not(writable, "the tests send little at a time");
}

static const struct wire_chan_ops gateway_ops = {
	.on_hello = on_gateway_hello,
	.on_close = on_gateway_close,
	.want = on_gateway_want,
};

static void gateway_connect(struct gateway *g, const char *path, const char *channel)
{
	int fd = unix_connect(path);

	cr_assert_geq(fd, 0);
	memset(g, 0, sizeof(*g));
	g->chan = wire_chan_new(fd, WIRE_GATEWAY, WIRE_AUTH, &gateway_ops, g);
	ev_io_init(&g->io, on_gateway_io, fd, EV_READ);
	ev_prepare_init(&g->prepare, on_gateway_prepare);
	g->io.data = g->prepare.data = g;
	ev_io_start(asker_loop, &g->io);
	ev_prepare_start(asker_loop, &g->prepare);
	wire_hello(g->chan, bw_str(channel));
}

static void gateway_wait(struct gateway *g)
{
	while (!g->open && !g->closed)
		ev_run(asker_loop, EVRUN_ONCE);
}

static void gateway_init(struct gateway *g, const char *path, const char *channel)
{
	gateway_connect(g, path, channel);
	gateway_wait(g);
}

static void gateway_done(struct gateway *g)
{
	if (!g->closed)
		wire_chan_close(g->chan, "end of the test");
	wire_chan_free(g->chan);
}

/* ---- one question ---- */

struct question {
	struct wire_call call;
	unsigned         ended;
	int              err;
	unsigned         retry_after;
	char             text[512]; /* of a failure */
	char             user[256], impersonator[256];
	uint8_t          bytes[WIRE_HANDLES * HANDLE_MAX];
	struct handle    handle; /* checked; the first of them */
	unsigned         count;
	uint64_t         last; /* sequence number; they go upward by one */
};

static void take_handles(struct question *q, unsigned count, size_t n)
{
	size_t        size = n / count;
	struct handle h;

	cr_assert_eq(size * count, n);
	cr_assert_eq(handle_get(q->bytes, size, &key, 1, &q->handle), BW_OK);
	for (unsigned i = 1; i < count; i++) {
		cr_assert_eq(handle_get(q->bytes + i * size, size, &key, 1, &h), BW_OK);
		cr_assert_eq(h.sequence, q->handle.sequence + i);
		cr_assert_eq(h.n_principals, q->handle.n_principals);
	}
	q->count = count;
	q->last = q->handle.sequence + count - 1;
}

static void on_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct question    *q = (struct question *)call;
	struct wire_message m;

	q->ended++;
	q->err = err;
	if (f == NULL)
		return;
	cr_assert_eq(wire_message_get(f, &m), BW_OK);
	if (err == BW_OK) {
		const Bw__Wire__ResolverHandle *a = &m.u->resolver_handle;

		memcpy(q->user, a->user.data, a->user.len);
		if (a->has_impersonator)
			memcpy(q->impersonator, a->impersonator.data, a->impersonator.len);
		memcpy(q->bytes, a->handles.data, a->handles.len);
		take_handles(q, a->count, a->handles.len);
	} else {
		q->retry_after = m.u->failed.retry_after;
		memcpy(q->text, m.u->failed.text.data, m.u->failed.text.len);
	}
}

static ProtobufCBinaryData bytes_of(struct bw_str s)
{
	return (ProtobufCBinaryData){ s.n, (uint8_t *)s.p };
}

static void send_question(struct gateway *g, struct question *q, enum wire_id id,
                          const ProtobufCMessage *m)
{
	memset(q, 0, sizeof(*q));
	q->call.on_end = on_end;
	cr_assert_eq(wire_call(g->chan, &q->call, id, 0xabc, m), BW_OK);
}

static void send_basic(struct gateway *g, struct question *q, const char *user,
                       const char *password)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = bytes_of(bw_str(user));
	m.password = bytes_of(bw_str(password));
	send_question(g, q, WIRE_AUTHENTICATE_BASIC, &m.base);
}

static void wait_end(struct question *q)
{
	while (q->ended == 0)
		ev_run(asker_loop, EVRUN_ONCE);
	cr_assert_eq(q->ended, 1);
}

static inline int basic(struct gateway *g, struct question *q, const char *user,
                        const char *password)
{
	send_basic(g, q, user, password);
	wait_end(q);
	return q->err;
}

/* address: 0, 4 or 16 octets; sudo: NULL for nobody. */
static inline int login_from(struct gateway *g, struct question *q, struct bw_str address,
                             const char *user, const char *password, const char *sudo)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = bytes_of(bw_str(user));
	m.password = bytes_of(bw_str(password));
	m.address = bytes_of(address);
	m.has_sudo = sudo != NULL;
	m.sudo = bytes_of(bw_str(sudo));
	send_question(g, q, WIRE_AUTHENTICATE_BASIC, &m.base);
	wait_end(q);
	return q->err;
}

static int anonymous_count(struct gateway *g, struct question *q, unsigned count)
{
	Bw__Wire__AuthenticateAnonymous m = BW__WIRE__AUTHENTICATE_ANONYMOUS__INIT;

	m.count = count;
	send_question(g, q, WIRE_AUTHENTICATE_ANONYMOUS, &m.base);
	wait_end(q);
	return q->err;
}

static inline int anonymous(struct gateway *g, struct question *q)
{
	return anonymous_count(g, q, 1);
}

static int service_count(struct gateway *g, struct question *q, const char *bundle,
                         const char *subservice, unsigned count)
{
	Bw__Wire__AuthenticateService m = BW__WIRE__AUTHENTICATE_SERVICE__INIT;

	m.bundle = bytes_of(bw_str(bundle));
	m.has_subservice = subservice != NULL;
	m.subservice = bytes_of(bw_str(subservice));
	m.count = count;
	send_question(g, q, WIRE_AUTHENTICATE_SERVICE, &m.base);
	wait_end(q);
	return q->err;
}

static int service(struct gateway *g, struct question *q, const char *bundle,
                   const char *subservice)
{
	return service_count(g, q, bundle, subservice, 1);
}
