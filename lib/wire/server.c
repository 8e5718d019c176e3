/* server.c - the answering side's sockets on a libev loop.
 *
 * Output is collected in the channels during a turn of the loop and leaves in ev_prepare, one write
 * per connection: connections with output stand in the list `dirty`.
 *
 * Owns: its watchers, the connections with their channels.
 * Runs in: auth, repo, on the loop. Logs refused and failed connections that the owner never heard
 * of; all others are the owner's to log. Tests: tests/unit/wire/server_test.c. */
#include <wire/server.h>
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <base/unix_socket.h>
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ACCEPTS_PER_TURN 16
#define ACCEPT_RETRY_S   1.0

/* A connection as the server sees it. The owner's part is a block of its own. */
struct peer {
	struct peer      *next, **at; /* server->peers */
	struct peer      *next_dirty; /* server->dirty */
	struct wire_conn *conn;
	ev_io             io;
	bool              dirty, opened;
	bool              read, write; /* watched for */
};

struct wire_server {
	struct ev_loop               *loop;
	const struct wire_server_ops *ops;
	void                         *owner;
	enum wire_peer                self;
	uint64_t                      permit[WIRE_IDS / 64];
	bool                          draw_channel;
	uid_t                         uid;
	ev_io                         accept;
	ev_timer                      retry; /* of accept, while it is paused */
	ev_prepare                    prepare;
	struct peer                  *peers, *dirty;
	unsigned                      n_peers;
	uint64_t                      last_id;
	uint64_t                      refused_us; /* when a refusal was last logged */
};

/* ---- watching ---- */

static void watch(struct peer *p)
{
	struct wire_server *s = p->conn->server;
	int                 events = (p->read ? EV_READ : 0) | (p->write ? EV_WRITE : 0);

	ev_io_stop(s->loop, &p->io);
	if (events == 0)
		return;
	ev_io_set(&p->io, wire_chan_fd(p->conn->chan), events);
	ev_io_start(s->loop, &p->io);
}

static void on_io(struct ev_loop *loop, ev_io *w, int events)
{
	struct peer *p = w->data;

	(void)loop;
	/* One of them a turn, for either may close the connection and free p; the other event comes
	 * again. Room first, or a peer that always asks would never be answered. */
	if (events & EV_WRITE)
		wire_chan_writable(p->conn->chan);
	else if (events & EV_READ)
		wire_chan_readable(p->conn->chan);
}

static void on_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	struct peer        *p = wire_chan_owner(ch);
	struct wire_server *s = p->conn->server;

	if (flush_soon && !p->dirty) {
		p->dirty = true;
		p->next_dirty = s->dirty;
		s->dirty = p;
	}
	if (!flush_soon && p->write != writable) {
		p->write = writable;
		watch(p);
	}
}

static void on_want_read(struct wire_chan *ch, bool read)
{
	struct peer *p = wire_chan_owner(ch);

	p->read = read;
	watch(p);
}

/* A flush may close the connection, and may hand over questions whose answers make it dirty
 * again. */
static void on_prepare(struct ev_loop *loop, ev_prepare *w, int events)
{
	struct wire_server *s = w->data;
	struct peer        *p;

	(void)loop;
	(void)events;
	while ((p = s->dirty)) {
		s->dirty = p->next_dirty;
		p->dirty = false;
		wire_chan_flush(p->conn->chan);
	}
}

/* ---- what a channel tells ---- */

static void on_hello(struct wire_chan *ch, struct bw_str channel)
{
	struct peer        *p = wire_chan_owner(ch);
	struct wire_conn   *c = p->conn;
	struct wire_server *s = c->server;
	int                 err;

	if (channel.n != (s->draw_channel ? 0 : sizeof(c->channel))) {
		wire_chan_close(ch, s->draw_channel ? "HELLO names a channel"
		                                    : "HELLO names no channel");
		return;
	}
	if (!s->draw_channel)
		memcpy(c->channel, channel.p, sizeof(c->channel));
	c->greeted = true;
	err = s->ops->on_open(c, (struct bw_str){ (char *)c->channel, sizeof(c->channel) });
	if (err == BW_OK)
		p->opened = true;
	else
		wire_chan_close(ch, wire_err_text(err));
}

static void on_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	struct peer         *p = wire_chan_owner(ch);
	struct wire_server  *s = p->conn->server;
	struct wire_question q = { f->id, f->call, f->request };
	struct wire_message  m;
	char                 reason[80];

	if (!(s->permit[f->id / 64] & 1ull << (f->id % 64))) {
		snprintf(reason, sizeof(reason), "%s is not permitted here", wire_row(f->id)->name);
		wire_chan_close(ch, reason);
		return;
	}
	if (wire_message_get(f, &m) != BW_OK) {
		snprintf(reason, sizeof(reason), "malformed %s", wire_row(f->id)->name);
		wire_chan_close(ch, reason);
		return;
	}
	s->ops->on_message(p->conn, &q, &m);
}

static void on_batch(struct wire_chan *ch)
{
	struct peer *p = wire_chan_owner(ch);

	if (p->opened && p->conn->server->ops->on_batch)
		p->conn->server->ops->on_batch(p->conn);
}

static void forget_dirty(struct wire_server *s, struct peer *gone)
{
	for (struct peer **at = &s->dirty; *at; at = &(*at)->next_dirty) {
		if (*at == gone) {
			*at = gone->next_dirty;
			return;
		}
	}
}

static void accept_again(struct wire_server *s)
{
	ev_timer_stop(s->loop, &s->retry);
	ev_io_start(s->loop, &s->accept);
}

static void on_close(struct wire_chan *ch, const char *reason)
{
	struct peer        *p = wire_chan_owner(ch);
	struct wire_server *s = p->conn->server;

	ev_io_stop(s->loop, &p->io);
	if (p->dirty)
		forget_dirty(s, p);
	if (p->next)
		p->next->at = p->at;
	*p->at = p->next;
	s->n_peers--;
	if (p->opened)
		s->ops->on_close(p->conn, reason);
	else
		log_warning(0, "connection %llu refused: %s", (unsigned long long)p->conn->id,
		            reason);
	wire_chan_free(ch);
	free(p->conn);
	free(p);
	if (ev_is_active(&s->retry))
		accept_again(s);
}

static const struct wire_chan_ops chan_ops = {
	.on_hello = on_hello,
	.on_frame = on_frame,
	.on_batch = on_batch,
	.on_close = on_close,
	.want = on_want,
	.want_read = on_want_read,
};

/* ---- accepting ---- */

static void add_peer(struct wire_server *s, int fd)
{
	struct peer      *p = xcalloc(1, sizeof(*p));
	struct wire_conn *c = xcalloc(1, s->ops->conn_size ? s->ops->conn_size : sizeof(*c));

	p->conn = c;
	p->next = s->peers;
	p->at = &s->peers;
	if (p->next)
		p->next->at = &p->next;
	s->peers = p;
	s->n_peers++;
	c->server = s;
	c->id = ++s->last_id;
	c->chan = wire_chan_new(fd, s->self, WIRE_GATEWAY, &chan_ops, p);
	ev_init(&p->io, on_io);
	p->io.data = p;
	p->read = true;
	watch(p);
	if (s->draw_channel)
		randombytes_buf(c->channel, sizeof(c->channel));
	wire_hello(c->chan, s->draw_channel
	                            ? (struct bw_str){ (char *)c->channel, sizeof(c->channel) }
	                            : BW_STR(""));
}

static void log_refused(struct wire_server *s, uid_t uid)
{
	uint64_t now = clock_mono_us();

	if (s->refused_us != 0 && now - s->refused_us < 1000000)
		return;
	s->refused_us = now;
	log_warning(0, "connection of user %ld refused", (long)uid);
}

/* Without a descriptor or a place the listener stays readable: look again when a connection has
 * ended, or later, but do not spin. */
static void accept_pause(struct wire_server *s)
{
	ev_io_stop(s->loop, &s->accept);
	ev_timer_set(&s->retry, ACCEPT_RETRY_S, 0.0);
	ev_timer_start(s->loop, &s->retry);
}

static void on_accept(struct ev_loop *loop, ev_io *w, int events)
{
	struct wire_server *s = w->data;
	uid_t               uid;
	int                 fd;

	(void)loop;
	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		if (s->n_peers >= WIRE_SERVER_MAX_CONNS) {
			accept_pause(s);
			return;
		}
		fd = unix_accept(w->fd, &uid);
		if (fd < 0) {
			if (errno == EAGAIN)
				return;
			if (errno == ECONNABORTED || errno == EINTR)
				continue;
			log_warning(0, "cannot accept: %s", strerror(errno));
			accept_pause(s);
			return;
		}
		if (uid == s->uid || uid == geteuid()) {
			add_peer(s, fd);
		} else {
			log_refused(s, uid);
			close(fd);
		}
	}
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int events)
{
	(void)loop;
	(void)events;
	accept_again(w->data);
}

/* ---- life ---- */

struct wire_server *wire_server_new(struct ev_loop *loop, int listener, enum wire_peer self,
                                    const enum wire_id *permit, bool draw_channel, uid_t uid,
                                    const struct wire_server_ops *ops, void *owner)
{
	struct wire_server *s = xcalloc(1, sizeof(*s));

	signal(SIGPIPE, SIG_IGN);
	s->loop = loop;
	s->ops = ops;
	s->owner = owner;
	s->self = self;
	s->draw_channel = draw_channel;
	s->uid = uid;
	for (; *permit != WIRE_NONE; permit++)
		s->permit[*permit / 64] |= 1ull << (*permit % 64);
	ev_io_init(&s->accept, on_accept, listener, EV_READ);
	ev_init(&s->retry, on_retry);
	ev_prepare_init(&s->prepare, on_prepare);
	ev_set_priority(&s->prepare, EV_MINPRI); /* behind whoever else has something to say */
	s->accept.data = s->retry.data = s->prepare.data = s;
	ev_io_start(loop, &s->accept);
	ev_prepare_start(loop, &s->prepare);
	return s;
}

void *wire_server_owner(const struct wire_server *s)
{
	return s->owner;
}

void wire_server_free(struct wire_server *s)
{
	struct peer *p;

	if (!s)
		return;
	on_prepare(s->loop, &s->prepare, 0);
	while ((p = s->peers))
		wire_chan_close(p->conn->chan, "shutting down");
	ev_io_stop(s->loop, &s->accept);
	ev_timer_stop(s->loop, &s->retry);
	ev_prepare_stop(s->loop, &s->prepare);
	free(s);
}
