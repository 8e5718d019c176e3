/* world.h - auth's parts on a private PostgreSQL, and a gateway that asks them, all on one loop: for
 * the tests that want the whole process without the process. Include once. */
#include <auth/answer.h>
#include <auth/journal.h>
#include <auth/schema.h>
#include <base/clock.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/postgres.h>
#include <unistd.h>
#include <wire/chan.h>

#define OPS 1
#define MEM 8192

static const struct handle_key key = { 3, { 42 } };

struct world {
	struct test_postgres *db;
	struct ev_loop       *loop;
	char                  dir[32], path[64];
	int                   listener;
	struct accounts      *accounts;
	struct journal       *journal;
	struct password_pool *pool;
	struct remember      *remember;
	struct logins        *logins;
	struct mapping       *mapping;
	struct answers       *answers;
};
static struct world w;

/* ---- auth ---- */

static const char *const mappings[] = { "demo=svc", "demo:off=svc-off", "demo:user=reader",
	                                "demo:none=nobody", "other:only=svc" };

static void world_init(unsigned threads, unsigned queue, uint64_t ops, uint64_t mem)
{
	const char      *conninfo;
	char             err[128];
	struct conf_list list = { (char **)mappings, sizeof(mappings) / sizeof(mappings[0]) };

	cr_assert_geq(sodium_init(), 0);
	signal(SIGPIPE, SIG_IGN);
	log_init("test", LOG_LEVEL_ERROR);
	w.db = test_postgres_new();
	w.loop = ev_loop_new(EVFLAG_AUTO);
	strcpy(w.dir, "/tmp/auth-test.XXXXXX");
	cr_assert_not_null(mkdtemp(w.dir));
	snprintf(w.path, sizeof(w.path), "%s/auth.sock", w.dir);
	w.listener = unix_listen(w.path, 0600, 16);
	cr_assert_geq(w.listener, 0);
	conninfo = test_postgres_conninfo(w.db, "boardwalk_auth");
	w.accounts = accounts_new(w.loop, conninfo);
	w.journal = journal_new(w.loop, conninfo, w.accounts);
	w.pool = password_pool_new(w.loop, threads, queue, ops, mem);
	w.remember = remember_new(300);
	w.logins = logins_new(w.accounts, w.remember, w.pool);
	w.mapping = mapping_new(&list, err, sizeof(err));
	w.answers = answers_new(w.loop, w.listener, (uid_t)-1,
	                        &(struct answer_parts){ w.accounts, w.logins, w.remember, w.mapping, &key });
}

static void world_done(void)
{
	answers_free(w.answers);
	journal_free(w.journal);
	password_pool_free(w.pool);
	accounts_free(w.accounts);
	logins_free(w.logins);
	remember_free(w.remember);
	mapping_free(w.mapping);
	close(w.listener);
	unlink(w.path);
	rmdir(w.dir);
	ev_loop_destroy(w.loop);
	test_postgres_free(w.db);
}

static void make_verifier(const char *password, uint64_t ops, char *verifier)
{
	cr_assert_eq(crypto_pwhash_str(verifier, password, strlen(password), ops, MEM), 0);
}

static void set_password(const char *user, const char *password)
{
	char verifier[crypto_pwhash_STRBYTES];

	make_verifier(password, OPS, verifier);
	test_postgres_sql(w.db, "SELECT auth.password_set('%s', '%s')", user, verifier);
}

/* ---- the gateway ---- */

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
	ev_io_stop(w.loop, &g->io);
	ev_prepare_stop(w.loop, &g->prepare);
	g->closed = true;
}

static void on_gateway_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	(void)ch, (void)flush_soon;
	cr_assert_not(writable, "the tests send little at a time");
}

static const struct wire_chan_ops gateway_ops = {
	.on_hello = on_gateway_hello, .on_close = on_gateway_close, .want = on_gateway_want,
};

static void gateway_init(struct gateway *g, const char *channel)
{
	int fd = unix_connect(w.path);

	cr_assert_geq(fd, 0);
	memset(g, 0, sizeof(*g));
	g->chan = wire_chan_new(fd, WIRE_GATEWAY, WIRE_AUTH, &gateway_ops, g);
	ev_io_init(&g->io, on_gateway_io, fd, EV_READ);
	ev_prepare_init(&g->prepare, on_gateway_prepare);
	g->io.data = g->prepare.data = g;
	ev_io_start(w.loop, &g->io);
	ev_prepare_start(w.loop, &g->prepare);
	wire_hello(g->chan, bw_str(channel));
	while (!g->open && !g->closed)
		ev_run(w.loop, EVRUN_ONCE);
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
	char             user[256];
	uint8_t          bytes[HANDLE_MAX];
	struct handle    handle; /* checked */
};

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
		memcpy(q->bytes, a->handle.data, a->handle.len);
		cr_assert_eq(handle_get(q->bytes, a->handle.len, &key, 1, &q->handle), BW_OK);
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

static void send_basic(struct gateway *g, struct question *q, const char *user, const char *password)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = bytes_of(bw_str(user));
	m.password = bytes_of(bw_str(password));
	send_question(g, q, WIRE_AUTHENTICATE_BASIC, &m.base);
}

static void wait_end(struct question *q)
{
	while (q->ended == 0)
		ev_run(w.loop, EVRUN_ONCE);
	cr_assert_eq(q->ended, 1);
}

static int basic(struct gateway *g, struct question *q, const char *user, const char *password)
{
	send_basic(g, q, user, password);
	wait_end(q);
	return q->err;
}

static int anonymous(struct gateway *g, struct question *q)
{
	Bw__Wire__AuthenticateAnonymous m = BW__WIRE__AUTHENTICATE_ANONYMOUS__INIT;

	m.guest = true;
	send_question(g, q, WIRE_AUTHENTICATE_ANONYMOUS, &m.base);
	wait_end(q);
	return q->err;
}

static int service(struct gateway *g, struct question *q, const char *bundle, const char *subservice)
{
	Bw__Wire__AuthenticateService m = BW__WIRE__AUTHENTICATE_SERVICE__INIT;

	m.bundle = bytes_of(bw_str(bundle));
	m.has_subservice = subservice != NULL;
	m.subservice = bytes_of(bw_str(subservice));
	m.service = true;
	send_question(g, q, WIRE_AUTHENTICATE_SERVICE, &m.base);
	wait_end(q);
	return q->err;
}

/* Until the journal vouches for what is in memory; then logins need no database. */
static void wait_until_followed(void)
{
	const struct account *a = NULL;

	while (a == NULL) {
		struct question q;
		struct gateway  g;

		gateway_init(&g, "fedcba9876543210");
		service(&g, &q, "demo", NULL);
		a = accounts_find(w.accounts, BW_STR("svc"), clock_boot_us());
		gateway_done(&g);
	}
}
