/* ask.c - the worker's two peers: connecting, greeting, losing and finding them again, and the one
 * way to ask them something.
 *
 *   repo   AWAY --connect--> GREETING --its HELLO: channel--> OPEN --gone--> AWAY, closes auth
 *   auth   AWAY ------------- only while repo is OPEN -------> OPEN --gone--> AWAY
 *
 * A handle is good for one connection to repo. Auth learns from our HELLO which one that is, so it
 * is greeted after repo and again for each new connection to repo.
 *
 * Owns: both channels, their watchers and timers; one of each per worker.
 * Runs in: the gateway's loop; ask_peer on a request's fiber.
 * Fails with: BW_EGONE while a peer is away. Logs each peer found and lost, not each attempt.
 * Tests: tests/unit/gateway/ask_test.c, tests/system. */
#include "ahead.h"
#include "ask_impl.h"
#include "http/loop.h"
#include "request.h"
#include "settings.h"
#include "shared.h"
#include <base/fatal.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <errno.h>
#include <signal.h>

#define RETRY_FIRST_MS 10u
#define RETRY_LAST_MS  1000u
#define ABSENT_LAST_MS 100u /* trying a local socket that nobody listens on costs next to nothing */
#define STEADY_US      1000000u /* who stays that long starts anew with the first delay */

struct peer {
	struct loop_timer retry; /* first: on_retry gets its address */
	enum wire_peer    id;
	const char       *name, *path;
	struct wire_chan *chan; /* NULL: AWAY */
	struct loop_fd   *watch;
	bool              greeted; /* OPEN */
	bool              blocked; /* waiting for room */
	bool              told;    /* that it cannot be reached has been logged */
	uint32_t          retry_ms;
	uint64_t          greeted_us;
};

static struct {
	struct peer           repo, auth;
	struct shared_worker *shared;
	uint8_t               channel[16]; /* repo's, of this connection */
	uint32_t              connection;
	void (*on_news)(void);
} ask;

static void peer_connect(struct peer *p);

bool ask_is_ready(void)
{
	return ask.repo.greeted && ask.auth.greeted;
}

bool ask_is_away(void)
{
	return ask.repo.told || ask.auth.told;
}

void ask_on_news(void (*fn)(void))
{
	ask.on_news = fn;
}

static void tell_news(void)
{
	if (ask.on_news)
		ask.on_news();
}

uint32_t ask_connection(void)
{
	return ask.connection;
}

void ask_count_handles(int by)
{
	_Atomic uint64_t *open = &ask.shared->handles_open; /* written by this worker alone */
	uint64_t          n = atomic_load_explicit(open, memory_order_relaxed);

	atomic_store_explicit(open, n + (uint64_t)(int64_t)by, memory_order_relaxed);
}

void ask_count_left(void)
{
	atomic_fetch_add_explicit(&ask.shared->resolvers_left, 1, memory_order_relaxed);
}

static void set_greeted(struct peer *p, bool greeted)
{
	p->greeted = greeted;
	atomic_store_explicit(&ask.shared->ready, ask_is_ready(), memory_order_relaxed);
}

/* ---- a peer's descriptor ---- */

static void on_readable(void *arg)
{
	struct peer *p = arg;

	wire_chan_readable(p->chan);
}

static void on_writable(void *arg)
{
	struct peer *p = arg;

	if (p->chan)
		wire_chan_writable(p->chan);
	if (p->chan && p->blocked)
		loop_fd_notify_write(p->watch, on_writable);
}

static void on_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	struct peer *p = wire_chan_owner(ch);
	bool         was = p->blocked;

	if (flush_soon) /* on_turn does that in any case */
		return;
	p->blocked = writable;
	if (writable && !was)
		loop_fd_notify_write(p->watch, on_writable);
}

static void on_turn(void *arg)
{
	(void)arg;
	if (ask.repo.chan)
		wire_chan_flush(ask.repo.chan);
	if (ask.auth.chan)
		wire_chan_flush(ask.auth.chan);
}

/* ---- losing and finding ---- */

static void on_retry(struct loop_timer *t)
{
	peer_connect((struct peer *)t);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void retry_later(struct peer *p, uint32_t last_ms)
{
	p->retry_ms = least(p->retry_ms, last_ms);
	loop_timer_link(&p->retry, p->retry_ms);
	p->retry_ms = least(p->retry_ms * 2, last_ms);
}

static void tell_away(struct peer *p, const char *reason)
{
	if (p->greeted)
		log_warning(0, "%s is gone: %s", p->name, reason);
	else if (!p->told)
		log_warning(0, "%s cannot be reached: %s", p->name, reason);
	p->told = true;
	tell_news();
}

/* The descriptor, its watcher and the channel go; pending calls have ended or end here. */
static void drop(struct peer *p)
{
	struct wire_chan *chan = p->chan;

	loop_timer_unlink(&p->retry);
	if (!chan)
		return;
	loop_fd_close(p->watch);
	p->watch = NULL;
	p->chan = NULL;
	p->blocked = false;
	set_greeted(p, false);
	wire_chan_free(chan);
	ahead_drop();
}

static void on_close(struct wire_chan *ch, const char *reason)
{
	struct peer *p = wire_chan_owner(ch);

	tell_away(p, reason);
	if (p->greeted && loop_now_us() - p->greeted_us > STEADY_US)
		p->retry_ms = RETRY_FIRST_MS;
	drop(p);
	if (p == &ask.repo) {
		/* Auth mints for a connection that is no more: it is greeted anew after repo. */
		drop(&ask.auth);
		retry_later(p, RETRY_LAST_MS);
	} else if (ask.repo.greeted) {
		retry_later(p, RETRY_LAST_MS);
	}
}

static void on_hello(struct wire_chan *ch, struct bw_str channel)
{
	struct peer *p = wire_chan_owner(ch);

	if (channel.n != (p == &ask.repo ? sizeof(ask.channel) : 0))
		fatalx("%s is wrong: HELLO with a channel of %zu octets", p->name, channel.n);
	p->greeted_us = loop_now_us();
	p->told = false;
	if (p == &ask.repo) {
		memcpy(ask.channel, channel.p, sizeof(ask.channel));
		ask.connection++;
	}
	set_greeted(p, true);
	log_info(0, "connected to %s", p->name);
	if (p == &ask.repo)
		peer_connect(&ask.auth);
	tell_news();
}

static const struct wire_chan_ops chan_ops = {
	.on_hello = on_hello,
	.on_close = on_close,
	.want = on_want,
};

static void peer_connect(struct peer *p)
{
	int fd = unix_connect(p->path);

	if (fd < 0) {
		tell_away(p, strerror(errno));
		retry_later(p, ABSENT_LAST_MS);
		return;
	}
	p->chan = wire_chan_new(fd, WIRE_GATEWAY, p->id, &chan_ops, p);
	p->watch = loop_fd_watch(fd, on_readable, p);
	wire_hello(p->chan, p == &ask.auth
	                            ? (struct bw_str){ (char *)ask.channel, sizeof(ask.channel) }
	                            : BW_STR(""));
	wire_chan_flush(p->chan); /* no event may come before the peer has this */
}

static void peer_init(struct peer *p, enum wire_peer id, const char *name, const char *path)
{
	*p = (struct peer){
		.retry.on_due = on_retry,
		.id = id,
		.name = name,
		.path = path,
		.retry_ms = RETRY_FIRST_MS,
	};
}

void ask_init(const struct gateway_settings *settings, struct shared_worker *shared)
{
	signal(SIGPIPE, SIG_IGN);
	ask.shared = shared;
	peer_init(&ask.repo, WIRE_REPO, "repo", settings->repo_socket);
	peer_init(&ask.auth, WIRE_AUTH, "auth", settings->auth_socket);
	loop_on_turn(on_turn, NULL);
	peer_connect(&ask.repo);
}

void ask_done(void)
{
	drop(&ask.auth);
	drop(&ask.repo);
	ahead_done();
}

/* ---- asking ---- */

struct asking {
	struct wire_call call; /* first, and wait behind it: both are found from their address */
	struct req_wait  wait;
	struct bw_req   *req;
	ask_take_cb      take;
	ask_refused_cb   refused; /* may be NULL */
	void            *arg;
	int              err;
};

static void on_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct asking *a = (struct asking *)call;

	a->err = err == BW_OK ? a->take(a->arg, f) : err;
	if (err != BW_OK && f && a->refused)
		a->refused(a->arg, f);
	request_wake(a->req);
}

static void on_cancel(struct req_wait *w)
{
	struct asking *a = (struct asking *)((char *)w - offsetof(struct asking, wait));

	wire_cancel(&a->call);
}

static struct wire_chan *chan_of(enum wire_peer peer)
{
	return peer == WIRE_REPO ? ask.repo.chan : ask.auth.chan;
}

int ask_peer_told(enum wire_peer peer, struct bw_req *req, enum wire_id id,
                  const ProtobufCMessage *m, ask_take_cb take, ask_refused_cb refused, void *arg,
                  bool *ret_sent)
{
	struct wire_chan *chan = chan_of(peer);
	struct asking     a = {
		    .call.on_end = on_end,
		    .wait.cancel = on_cancel,
		    .req = req,
		    .take = take,
		    .refused = refused,
		    .arg = arg,
	};
	int err = request_check(req);

	if (err != BW_OK)
		return err;
	if (!chan)
		return BW_EGONE;
	err = wire_call(chan, &a.call, id, req->id, m);
	if (err != BW_OK)
		return err;
	if (ret_sent)
		*ret_sent = true;
	err = request_park(req, &a.wait);
	return err == BW_OK ? a.err : err;
}

int ask_peer(enum wire_peer peer, struct bw_req *req, enum wire_id id, const ProtobufCMessage *m,
             ask_take_cb take, void *arg, bool *ret_sent)
{
	return ask_peer_told(peer, req, id, m, take, NULL, arg, ret_sent);
}

int ask_call(enum wire_peer peer, struct wire_call *call, enum wire_id id, uint64_t request,
             const ProtobufCMessage *m)
{
	struct wire_chan *chan = chan_of(peer);

	return chan ? wire_call(chan, call, id, request, m) : BW_EGONE;
}

int ask_tell(enum wire_peer peer, struct bw_req *req, enum wire_id id, const ProtobufCMessage *m)
{
	struct wire_chan *chan = chan_of(peer);

	return chan ? wire_send(chan, id, req->id, m) : BW_EGONE;
}

int ask_send(enum wire_peer peer, enum wire_id id, const ProtobufCMessage *m)
{
	struct wire_chan *chan = chan_of(peer);

	return chan ? wire_send(chan, id, 0, m) : BW_EGONE;
}

void ask_parse(const struct wire_frame *f, struct wire_message *ret)
{
	if (wire_message_get(f, ret) != BW_OK)
		fatalx("malformed %s", wire_row(f->id)->name);
}
