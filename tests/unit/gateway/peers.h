/* peers.h - a worker's loop and both its peers, driven by hand: time stands still until a test
 * moves it, and auth and repo answer what a test lets them. For ask_test.c, ahead_test.c and
 * resolver_test.c. */
#pragma once
#include <base/fatal.h>
#include <base/unix_socket.h>
#include <criterion/criterion.h>
#include <fiber.h>
#include <http/loop.h>
#include <poll.h>
#include <request.h>
#include <peers/resolver.h>
#include <settings.h>
#include <shared.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wire/chan.h>
#include "gateway/peers/ask_impl.h"

#pragma GCC diagnostic ignored "-Wunused-function"

/* ---- the loop of gateway/http/loop.h ---- */

struct loop_fd {
	int fd;
	void (*on_readable)(void *arg);
	void (*on_writable)(void *arg);
	void *arg;
};

static struct loop_fd    *watched[8];
static struct loop_timer *timers[8];
static uint32_t           linked_ms[64]; /* every delay asked for, in order */
static unsigned           n_linked;
static uint64_t           now_us = 1000000;
static void (*turn_hook)(void *arg);

struct loop_fd *loop_fd_watch(int fd, void (*on_readable)(void *arg), void *arg)
{
	struct loop_fd *w = xcalloc(1, sizeof(*w));

	w->fd = dup(fd);
	w->on_readable = on_readable;
	w->arg = arg;
	for (int i = 0; i < 8; i++) {
		if (!watched[i]) {
			watched[i] = w;
			return w;
		}
	}
	abort();
}

void loop_fd_notify_write(struct loop_fd *w, void (*on_writable)(void *arg))
{
	w->on_writable = on_writable;
}

void loop_fd_close(struct loop_fd *w)
{
	for (int i = 0; i < 8; i++)
		if (watched[i] == w)
			watched[i] = NULL;
	close(w->fd);
	free(w);
}

void loop_timer_unlink(struct loop_timer *t)
{
	t->due_us = 0;
	for (int i = 0; i < 8; i++)
		if (timers[i] == t)
			timers[i] = NULL;
}

void loop_timer_link(struct loop_timer *t, uint32_t ms)
{
	loop_timer_unlink(t);
	t->due_us = now_us + ms * 1000u;
	linked_ms[n_linked++ % 64] = ms;
	for (int i = 0; i < 8; i++) {
		if (!timers[i]) {
			timers[i] = t;
			return;
		}
	}
	abort();
}

void loop_on_turn(void (*hook)(void *arg), void *arg)
{
	(void)arg;
	turn_hook = hook;
}

uint64_t loop_now_us(void)
{
	return now_us;
}

static void turn_fds(void)
{
	for (int i = 0; i < 8; i++) {
		struct loop_fd *w = watched[i];
		struct pollfd   p = { .fd = w ? w->fd : -1, .events = POLLIN };
		void (*on_writable)(void *arg);

		if (!w || poll(&p, 1, 0) < 0)
			continue;
		if (w->on_writable) {
			on_writable = w->on_writable;
			w->on_writable = NULL;
			on_writable(w->arg);
		} else if (p.revents) {
			w->on_readable(w->arg);
		}
	}
}

static void turn_timers(void)
{
	for (int i = 0; i < 8; i++) {
		struct loop_timer *t = timers[i];

		if (t && t->due_us <= now_us) {
			loop_timer_unlink(t);
			t->on_due(t);
		}
	}
}

/* ---- auth and repo ---- */

struct question {
	struct wire_question q;
	struct wire_message  m;
	uint8_t              bytes[16384]; /* what m points into */
};

struct fake {
	enum wire_peer    self;
	char              path[80];
	int               listener; /* -1: nobody is there */
	struct wire_chan *chan;
	unsigned          connects, hellos, closes;
	uint8_t           channel[16]; /* repo: said; auth: heard */
	struct question   last;        /* what came last */
	unsigned          n_questions, n_closes_of_handles;
	uint64_t          closed_sequence;
	bool              deaf; /* does not even read */
};

static struct fake          repo = { .self = WIRE_REPO, .listener = -1 };
static struct fake          auth = { .self = WIRE_AUTH, .listener = -1 };
static struct shared_worker shared;

static void fake_hello(struct wire_chan *ch, struct bw_str channel)
{
	struct fake *p = wire_chan_owner(ch);

	p->hellos++;
	cr_assert_eq(channel.n, p->self == WIRE_AUTH ? 16u : 0u);
	if (p->self == WIRE_AUTH)
		memcpy(p->channel, channel.p, 16);
}

static void fake_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	struct fake      *p = wire_chan_owner(ch);
	struct wire_frame copy = *f;

	memcpy(p->last.bytes, f->payload, f->length);
	copy.payload = p->last.bytes;
	p->last.q = (struct wire_question){ f->id, f->call, f->request };
	cr_assert_eq(wire_message_get(&copy, &p->last.m), BW_OK);
	if (f->id == WIRE_HANDLE_CLOSE) {
		p->n_closes_of_handles++;
		p->closed_sequence = p->last.m.u->handle_close.sequence;
	} else {
		p->n_questions++;
	}
}

static void fake_close(struct wire_chan *ch, const char *reason)
{
	struct fake *p = wire_chan_owner(ch);

	(void)reason;
	p->closes++;
	p->chan = NULL;
	wire_chan_free(ch);
}

static void fake_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	(void)ch;
	(void)flush_soon;
	(void)writable;
}

static void fake_want_read(struct wire_chan *ch, bool read)
{
	(void)ch;
	(void)read;
}

static const struct wire_chan_ops fake_ops = {
	.on_hello = fake_hello,
	.on_frame = fake_frame,
	.on_close = fake_close,
	.want = fake_want,
	.want_read = fake_want_read,
};

static void fake_start(struct fake *p)
{
	p->listener = unix_listen(p->path, 0600, 16);
	cr_assert(p->listener >= 0, "%s", p->path);
}

/* As a process that has ended: nobody listens, the connection is closed. */
static void fake_stop(struct fake *p)
{
	if (p->listener >= 0)
		close(p->listener);
	p->listener = -1;
	unlink(p->path);
	wire_chan_free(p->chan);
	p->chan = NULL;
}

static void fake_turn(struct fake *p)
{
	int fd = p->listener >= 0 && !p->chan && !p->deaf ? unix_accept(p->listener, NULL) : -1;

	if (fd >= 0) {
		p->connects++;
		p->chan = wire_chan_new(fd, p->self, WIRE_GATEWAY, &fake_ops, p);
		if (p->self == WIRE_REPO)
			snprintf((char *)p->channel, 16, "channel%08u", p->connects);
		wire_hello(p->chan, p->self == WIRE_REPO ? (struct bw_str){ (char *)p->channel, 16 }
		                                         : BW_STR(""));
	}
	if (p->chan && !p->deaf)
		wire_chan_readable(p->chan);
	if (p->chan && !p->deaf)
		wire_chan_flush(p->chan);
}

/* Turns of the worker's loop and of both peers until all that can happen has happened. */
static void turn(void)
{
	for (int i = 0; i < 20; i++) {
		turn_timers();
		turn_fds();
		turn_hook(NULL);
		fake_turn(&repo);
		fake_turn(&auth);
	}
}

static void pass_ms(uint32_t ms)
{
	now_us += ms * 1000u;
	turn();
}

/* ---- requests ---- */

static void on_stop(struct bw_req *req)
{
	if (req->state == REQ_RESPONDING) {
		resolvers_close(req);
		request_release(req);
	}
}

static void world_new(void)
{
	static struct gateway_settings settings;

	snprintf(repo.path, sizeof(repo.path), "/tmp/ask-test.%d.repo", (int)getpid());
	snprintf(auth.path, sizeof(auth.path), "/tmp/ask-test.%d.auth", (int)getpid());
	settings.repo_socket = repo.path;
	settings.auth_socket = auth.path;
	fiber_pool_init(64);
	request_on_stop(on_stop);
	ask_init(&settings, &shared);
}

/* With both peers there and greeted. */
static void world_ready(void)
{
	snprintf(repo.path, sizeof(repo.path), "/tmp/ask-test.%d.repo", (int)getpid());
	snprintf(auth.path, sizeof(auth.path), "/tmp/ask-test.%d.auth", (int)getpid());
	fake_start(&repo);
	fake_start(&auth);
	world_new();
	turn();
	cr_assert(ask_is_ready());
}

static void world_done(void)
{
	ask_done();
	fake_stop(&repo);
	fake_stop(&auth);
	request_pool_done();
	fiber_pool_done();
	cr_assert_eq(shared.handles_open, 0);
}

/* A request that runs serve until it parks; the test holds the transport's share. */
static struct bw_req *start(void (*serve)(struct bw_req *req))
{
	struct bw_req *req = request_new();

	req->id = 0x1234;
	cr_assert(request_start(req, serve));
	turn();
	return req;
}

/* ---- answers ---- */

/* Some handles with these sequence numbers; the gateway cannot check them. */
static void answer_handles(const struct wire_question *q, const char *user, uint64_t sequence,
                           unsigned count, unsigned n_more)
{
	static const uint64_t          principals[64];
	static const struct handle_key key = { .id = 1 };
	static uint8_t                 bytes[16384];
	Bw__Wire__ResolverHandle       m = BW__WIRE__RESOLVER_HANDLE__INIT;
	struct handle h = { .kind = HANDLE_USER, .sequence = sequence, .n_principals = n_more };
	size_t        at = 0;

	m.user = (ProtobufCBinaryData){ strlen(user), (uint8_t *)user };
	for (m.count = 0; m.count < count; m.count++, h.sequence++)
		at += handle_put(&h, principals, &key, bytes + at);
	m.handles = (ProtobufCBinaryData){ at, bytes };
	wire_answer(auth.chan, q, 0, 0, &m.base);
	turn();
}

static void answer_handle(const char *user, uint64_t sequence)
{
	answer_handles(&auth.last.q, user, sequence, 1, 0);
}

/* A record of that path with the property text = value, if that is not NULL. */
static void put_record(struct buf *out, const char *path, const char *value)
{
	size_t at = record_begin(out, 1, 1, bw_str(path), BW_STR("nt:unstructured"), BW_STR(""),
	                         BW_STR(""));

	if (value)
		record_put_value(out,
		                 record_put_prop(out, at, BW_STR("text"), BW_VALUE_STRING, false),
		                 bw_str(value));
	record_end(out, at);
}

static void answer_found(const char *path, const char *value, uint32_t resolved)
{
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;
	struct buf              out;

	buf_init(&out);
	put_record(&out, path, value);
	m.resolved = resolved;
	m.record = (ProtobufCBinaryData){ buf_size(&out), buf_data(&out) };
	wire_answer(repo.chan, &repo.last.q, 77, 88, &m.base);
	buf_done(&out);
	turn();
}

static void answer_failed(struct fake *p, int err)
{
	wire_fail(p->chan, &p->last.q, err, 0, "no");
	turn();
}

static bool asked_path(const char *path)
{
	const ProtobufCBinaryData *b =
		repo.last.q.id == WIRE_RESOURCE_GET       ? &repo.last.m.any.resource_get.path
		: repo.last.q.id == WIRE_RESOURCE_RESOLVE ? &repo.last.m.any.resource_resolve.path
							  : &repo.last.m.any.resource_children.path;

	return b->len == strlen(path) && memcmp(b->data, path, b->len) == 0;
}
