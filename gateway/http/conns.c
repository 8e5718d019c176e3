/* conns.c - the worker's connections: accepted up to a cap, swept once a second.
 *
 * libh2o has one timer for idle, head and body together, which progress does not refresh, so it is
 * set to an hour and the sweep decides by what it sees in the input buffer:
 *
 *    IDLE --first octet--> HEAD --blank line--> BODY --complete--> SERVING --answered--> IDLE
 *
 * A connection is ended by shutdown(2): libh2o then closes it in its own way and calls on_close.
 *
 * Owns: struct conn, from accept to close; the lingering descriptors. Runs in: the loop's stack.
 * Fails with: nothing; a connection that cannot be had is not accepted.
 * Tests: tests/unit/gateway/http_clients_test.c. */
#include "http/internal.h"

#include "proxies.h"

#include <arpa/inet.h>
#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SWEEP_MS        1000
#define BODY_RATE       8192 /* octets per second */
#define ACCEPT_FEW      64u
#define ACCEPT_MAX      64u
#define USER_TIMEOUT_MS 30000
#define LINGER_MS       2000
#define LINGER_MAX      256

struct listener {
	struct listener *next;
	h2o_socket_t    *sock; /* over a dup */
	int              fd;   /* by which it is known; the caller's */
	bool             management;
};

/* A connection whose response is out and whose client may not have noticed. */
struct lingering {
	struct lingering *next, *prev;
	struct loop_timer timer;
	struct loop_fd   *watch;
	int               fd;
};

static struct {
	struct conn       all; /* head of the ring */
	size_t            n;
	struct listener  *listeners;
	bool              accepting;
	struct loop_timer sweep;
	struct lingering *lingering;
	size_t            n_lingering;
} conns;

/* ---- lingering close ------------------------------------------------------------------------- */

static void linger_end(struct lingering *l)
{
	loop_timer_unlink(&l->timer);
	loop_fd_close(l->watch);
	close(l->fd);
	if (l->prev != NULL)
		l->prev->next = l->next;
	else
		conns.lingering = l->next;
	if (l->next != NULL)
		l->next->prev = l->prev;
	conns.n_lingering--;
	free(l);
}

static void on_linger_due(struct loop_timer *t)
{
	linger_end(H2O_STRUCT_FROM_MEMBER(struct lingering, timer, t));
}

static void on_linger_readable(void *arg)
{
	struct lingering *l = arg;
	char              sink[16384];
	ssize_t           n = recv(l->fd, sink, sizeof(sink), MSG_DONTWAIT);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		linger_end(l);
}

static void linger_start(int fd)
{
	struct lingering *l;

	if (conns.n_lingering == LINGER_MAX) {
		close(fd);
		return;
	}
	shutdown(fd, SHUT_WR);
	l = xcalloc(1, sizeof(*l));
	l->fd = fd;
	l->watch = loop_fd_watch(fd, on_linger_readable, l);
	l->timer.on_due = on_linger_due;
	loop_timer_link(&l->timer, LINGER_MS);
	l->next = conns.lingering;
	if (l->next != NULL)
		l->next->prev = l;
	conns.lingering = l;
	conns.n_lingering++;
}

void conn_linger(struct conn *c)
{
	if (c->linger_fd < 0)
		c->linger_fd = fcntl(h2o_socket_get_fd(c->sock), F_DUPFD_CLOEXEC, 0);
}

/* ---- accepting ------------------------------------------------------------------------------- */

static void update_accepting(void);

static void on_close(void *data)
{
	struct conn *c = data;

	c->prev->next = c->next;
	c->next->prev = c->prev;
	conns.n--;
	HTTP_COUNT(connections_open, -1);
	if (c->linger_fd >= 0)
		linger_start(c->linger_fd);
	free(c);
	update_accepting();
}

static void set_remote(struct conn *c, const struct sockaddr_storage *from)
{
	if (from->ss_family == AF_INET)
		inet_ntop(AF_INET, &((const struct sockaddr_in *)from)->sin_addr, c->remote,
		          sizeof(c->remote));
	else if (from->ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr, c->remote,
		          sizeof(c->remote));
	else
		strcpy(c->remote, "unix");
	c->n_remote = strlen(c->remote);
}

/* False: nobody is waiting, or he cannot be had. */
static bool accept_one(h2o_socket_t *sock)
{
	struct listener        *l = sock->data;
	struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
	socklen_t               len = sizeof(from);
	struct conn            *c;
	int                     fd;

	fd = accept4(h2o_socket_get_fd(sock), (struct sockaddr *)&from, &len,
	             SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE) {
			/* The listener stays readable: without a pause the loop would spin. The
			 * sweep or the next close tries again. */
			log_error(0, "accept: out of descriptors with %zu connections", conns.n);
			conns_stop_accepting();
			conns.accepting = true;
		}
		return false;
	}
	c = xcalloc(1, sizeof(*c));
	c->management = l->management;
	c->linger_fd = -1;
	c->since_us = loop_now_us();
	set_remote(c, &from);
	c->is_proxy = proxies_trust(http_server.proxies, (struct bw_str){ c->remote, c->n_remote });
	c->next = &conns.all;
	c->prev = conns.all.prev;
	c->prev->next = conns.all.prev = c;
	conns.n++;
	HTTP_COUNT(connections, 1);
	HTTP_COUNT(connections_open, 1);
	c->sock = h2o_evloop_socket_create(http_server.context.loop, fd,
	                                   H2O_SOCKET_FLAG_IS_ACCEPTED_CONNECTION);
	c->sock->on_close.cb = on_close;
	c->sock->on_close.data = c;
	h2o_accept(&http_server.accept, c->sock);
	update_accepting();
	return true;
}

/* A turn of the loop serves every connection that has asked. With thousands of them it is long, and one
 * newcomer a turn would wait for ever; with few, looking whether there is a second one is a call too many. */
static void on_accept(h2o_socket_t *sock, const char *err)
{
	unsigned n = conns.n < ACCEPT_FEW ? 1 : ACCEPT_MAX;

	(void)err;
	loop_active();
	while (n-- > 0 && accept_one(sock) && h2o_socket_is_reading(sock))
		;
}

static void listeners_read(bool yes)
{
	for (struct listener *l = conns.listeners; l != NULL; l = l->next) {
		h2o_socket_t *s = l->sock;

		if (yes && !h2o_socket_is_reading(s))
			h2o_socket_read_start(s, on_accept);
		else if (!yes && h2o_socket_is_reading(s))
			h2o_socket_read_stop(s);
	}
}

static void update_accepting(void)
{
	if (conns.accepting)
		listeners_read(conns.n < http_server.settings->max_connections);
}

void conns_stop_accepting(void)
{
	conns.accepting = false;
	listeners_read(false);
}

void conns_listen(int fd, bool management)
{
	struct listener *l;
	int              on = 1, timeout = USER_TIMEOUT_MS;

	if (http_server.stopping)
		return;
	l = xcalloc(1, sizeof(*l));

	/* Accepted sockets inherit these. TCP_USER_TIMEOUT: a client that stops reading would
	 * otherwise hold its response for ever. A unix socket knows neither. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
	l->fd = fd;
	l->management = management;
	l->sock = h2o_evloop_socket_create(http_server.context.loop, fcntl(fd, F_DUPFD_CLOEXEC, 0),
	                                   H2O_SOCKET_FLAG_DONT_READ);
	l->sock->data = l;
	l->next = conns.listeners;
	conns.listeners = l;
	conns.accepting = true;
	update_accepting();
}

static void listener_close(struct listener **at)
{
	struct listener *l = *at;

	*at = l->next;
	h2o_socket_close(l->sock);
	free(l);
}

void conns_unlisten(int fd)
{
	for (struct listener **at = &conns.listeners; *at != NULL; at = &(*at)->next)
		if ((*at)->fd == fd) {
			listener_close(at);
			return;
		}
}

/* ---- the sweep ------------------------------------------------------------------------------- */

static void set_phase(struct conn *c, enum conn_phase phase)
{
	c->phase = phase;
	c->since_us = loop_now_us();
}

void conn_request_began(struct conn *c, struct http_req *h)
{
	c->serving = h;
	set_phase(c, CONN_SERVING);
}

void conn_request_ended(struct conn *c)
{
	c->serving = NULL;
	set_phase(c, CONN_IDLE);
}

/* Brings the phase up to date with the input buffer. */
static void look(struct conn *c)
{
	const h2o_buffer_t *in = c->sock->input;

	if (c->phase == CONN_IDLE && in->size > 0)
		set_phase(c, CONN_HEAD);
	if (c->phase == CONN_HEAD) {
		size_t head = http_server.settings->max_head;

		if (memmem(in->bytes, in->size < head ? in->size : head, "\r\n\r\n", 4) != NULL) {
			set_phase(c, CONN_BODY);
			c->body_seen = in->size;
		}
	}
}

static bool is_overdue(const struct conn *c)
{
	const struct gateway_settings *s = http_server.settings;
	uint64_t                       age_us = loop_now_us() - c->since_us;

	switch (c->phase) {
	case CONN_IDLE:
		return age_us > s->idle_timeout_ms * 1000;
	case CONN_HEAD:
		return age_us > s->head_timeout_ms * 1000;
	case CONN_BODY:
		if (age_us <= s->head_timeout_ms * 1000)
			return false;
		return c->sock->input->size - c->body_seen <
		       (age_us - s->head_timeout_ms * 1000) / 1000000 * BODY_RATE;
	case CONN_SERVING:
		return false; /* the request's own deadline */
	}
	return false;
}

static void end(struct conn *c)
{
	shutdown(h2o_socket_get_fd(c->sock), SHUT_RDWR);
}

static void on_sweep(struct loop_timer *t)
{
	for (struct conn *c = conns.all.next; c != &conns.all; c = c->next) {
		look(c);
		if (is_overdue(c))
			end(c);
	}
	update_accepting();
	loop_timer_link(t, SWEEP_MS);
}

void conns_close_idle(uint64_t idle_us)
{
	for (struct conn *c = conns.all.next; c != &conns.all; c = c->next) {
		look(c);
		if (c->phase == CONN_IDLE && loop_now_us() - c->since_us >= idle_us)
			end(c);
	}
}

void conns_close(void)
{
	for (struct conn *c = conns.all.next; c != &conns.all; c = c->next)
		end(c);
}

size_t conns_open(void)
{
	return conns.n;
}

void conns_init(void)
{
	memset(&conns, 0, sizeof(conns));
	conns.all.next = conns.all.prev = &conns.all;
	conns.sweep.on_due = on_sweep;
	loop_timer_link(&conns.sweep, SWEEP_MS);
}

void conns_done(void)
{
	while (conns.listeners != NULL)
		listener_close(&conns.listeners);
	while (conns.lingering != NULL)
		linger_end(conns.lingering);
	loop_timer_unlink(&conns.sweep);
}
