/* internal.h - what the files of gateway/http share. The only header that shows libh2o.
 *
 *    server.c     configuration, listeners, from libh2o's request to ours, start and stop
 *    transport.c  the answer: one request's way back through libh2o, suspended handlers
 *    conns.c      connections: the list, the sweep, the cap, lingering close
 *    guard.c      the parser's symbols made strict: heads;  chunked.c: bodies;  probe.c: is it so?
 *    loop.c       loop.h;  accesslog.c: one line per request */
#pragma once
#ifndef H2O_USE_LIBUV
#error "compile with H2O_USE_LIBUV=0"
#endif
#include <h2o.h>

#include "http/guard.h"
#include "http/http.h"
#include "http/loop.h"
#include "request.h"
#include "settings.h"
#include "shared.h"

/* ---- server.c ---- */
struct http_server {
	struct http_config             config;
	const struct gateway_settings *settings;
	h2o_globalconf_t               global;
	h2o_context_t                  context;
	h2o_accept_ctx_t               accept;
	uint64_t                       next_id;
	bool                           stopping, at_once;
	uint64_t                       idle_us; /* stopping: how long a connection may stay idle */
	unsigned                       in_requests; /* fibers at work */
	struct proxies                *proxies;     /* NULL: there are none */
};
extern struct http_server http_server;
/* h2o_context_dispose, and what it forgets. */
void server_dispose_context(h2o_context_t *context);

/* A worker's counters have one writer: no locked instruction is needed. */
#define HTTP_COUNT(field, n) \
	atomic_store_explicit( \
		&http_server.config.shared->field, \
		atomic_load_explicit(&http_server.config.shared->field, memory_order_relaxed) + \
			(n), \
		memory_order_relaxed)

/* ---- conns.c ---- */
enum conn_phase {
	CONN_IDLE,    /* nothing of a request has come: at most idle_timeout_ms */
	CONN_HEAD,    /* a head is coming: at most head_timeout_ms */
	CONN_BODY,    /* a body is coming: at least 8 KiB/s after that time */
	CONN_SERVING, /* a request is with us */
};
struct conn {
	struct conn     *next, *prev;
	h2o_socket_t    *sock; /* libh2o's; it tells us when it closes */
	enum conn_phase  phase;
	uint64_t         since_us;  /* of the phase */
	size_t           body_seen; /* octets in the buffer when the body began */
	struct http_req *serving;   /* NULL: none */
	bool             management;
	bool             is_proxy; /* what it says about the client is believed */
	int    linger_fd; /* -1; else drained for a while after libh2o has closed its own */
	size_t n_remote;
	char   remote[48]; /* address as text */
};
void conns_init(void);
void conns_done(void);
/* Accepts from it, until conns_unlisten; nothing while the worker stops. */
void conns_listen(int fd, bool management);
void conns_unlisten(int fd); /* nothing if it does not */
void conns_stop_accepting(void);
/* Ends those that have served nothing for so long; every one. */
void   conns_close_idle(uint64_t idle_us);
void   conns_close(void);
size_t conns_open(void);
void   conn_request_began(struct conn *c, struct http_req *h);
void   conn_request_ended(struct conn *c);
/* The client may still be sending when the response is out, and closing on unread octets resets the
 * connection, which can cost the client the response: read on for a while after the close. */
void conn_linger(struct conn *c);

static inline struct conn *conn_of(const h2o_req_t *h2o)
{
	return h2o->conn->callbacks->get_socket(h2o->conn)->on_close.data;
}

/* ---- transport.c ---- */
void transport_init(void);
void transport_done(void);
/* Takes one share of req (the other is the fiber's) and ties it to libh2o's request. */
void transport_attach(struct bw_req *req, h2o_req_t *h2o);
/* Sends the response as it stands in req, made on the loop without a servlet; releases the fiber's
 * share. close: the connection ends after it. */
void transport_answer(struct bw_req *req, bool close);

/* ---- guard.c, chunked.c: guard.h; probe.c ---- */
/* Runs bad framing through libh2o on its loop; fatal if it is let through. */
void guard_probe(h2o_loop_t *loop);
/* Is this request one that the guard refused? NULL: no. To be asked first of every request, once. */
static inline const struct guard_answer *guard_refusal(const h2o_req_t *h2o)
{
	const struct guard_answer *body = guard_take_body_refusal();

	return body ? body : guard_head_refusal(h2o->input.path.base);
}

/* ---- loop.c ---- */
h2o_evloop_t *loop_init(uint64_t spin_us, struct shared_worker *shared);
void          loop_done(void);
void          loop_turn(void);
/* Something happened: keeps the loop from sleeping for a while. */
void loop_active(void);
/* libh2o is being called, maybe from a timer or a hook: what it queued must not wait for an event. */
void loop_poke(void);

/* ---- accesslog.c ---- */
void accesslog_init(const char *file);
void accesslog_done(void);
/* req: as answered. body: octets sent. */
void accesslog_write(const struct bw_req *req, int status, uint64_t body);
