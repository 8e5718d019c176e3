/* transport.c - the way back: what a fiber left in its response goes out through libh2o, and what
 * becomes of the client while a fiber is parked is found out here.
 *
 * struct http_req lies in libh2o's pool and dies with libh2o's request, whatever ends that; its
 * dispose function is the only teardown. struct bw_req outlives it if its fiber still has to unwind.
 *
 *   libh2o's request  <---  struct http_req  <--->  struct bw_req  --->  its fiber
 *   (freed by libh2o)       (freed with it)         (two owners)
 *
 * libh2o is called on the loop's stack only: a fiber sets what it wants and stops, and stopped()
 * does it. After the last h2o_send the struct http_req may be gone already.
 *
 * A parked request keeps its socket in the poll set (taking it out and in again costs two system
 * calls), but nothing is read, since libh2o's request points into the input buffer, which reading may
 * move. A reset ends the request; an end of input may be half a close, so the request gets one more
 * second to answer; data is the next request, which waits.
 *
 * Owns: nothing of its own. Runs in: the loop's stack. Fails with: nothing; a client that cannot be
 * answered is dropped. Tests: tests/unit/gateway/http_test.c, http_clients_test.c. */
#include "http/internal.h"

#include <assert.h>
#include <base/clock.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define TICK_MS       100
#define HALF_CLOSE_US 1000000u
#define MANAGEMENT_US 2000000u /* who asks how we are wants to know soon */

struct http_req {
	h2o_generator_t  generator;
	h2o_req_t       *h2o;
	struct bw_req   *req;
	struct conn     *conn;
	struct bw_req   *substitute;  /* the 504 sent in place of req's own response */
	struct queue    *queue;       /* in which it waits; NULL: in none */
	struct http_req *next, *prev; /* of the queue */
	uint64_t         due_us;
	bool             started;  /* head handed to libh2o */
	bool             sending;  /* h2o_send not taken by the kernel yet */
	bool             ended;    /* the last h2o_send was made */
	bool             watching; /* we hear what the client does while parked */
	bool             counted;  /* in the log and in the counters */
	bool             deaf;     /* the next request has arrived: nothing more is to be heard */
};

/* Requests in the order of their deadlines: each queue has one duration, so new ones go last. */
struct queue {
	struct http_req *first, *last;
};

static struct queue      parked, parked_management, half_closed;
static struct loop_timer tick;

static void queue_add(struct queue *q, struct http_req *h, uint64_t duration_us)
{
	if (tick.due_us == 0)
		loop_timer_link(&tick, TICK_MS);
	h->due_us = loop_now_us() + duration_us;
	h->queue = q;
	h->next = NULL;
	h->prev = q->last;
	if (q->last != NULL)
		q->last->next = h;
	else
		q->first = h;
	q->last = h;
}

static void queue_remove(struct http_req *h)
{
	struct queue *q = h->queue;

	if (q == NULL)
		return;
	if (h->prev != NULL)
		h->prev->next = h->next;
	else
		q->first = h->next;
	if (h->next != NULL)
		h->next->prev = h->prev;
	else
		q->last = h->prev;
	h->queue = NULL;
}

static void set_deadline(struct http_req *h)
{
	queue_remove(h);
	if (h->req->management)
		queue_add(&parked_management, h, MANAGEMENT_US);
	else
		queue_add(&parked, h, http_server.settings->request_timeout_ms * 1000);
	h->req->deadline_us = h->due_us;
}

/* Half a close keeps its own: that client has little time to be answered in. */
static void forget_deadline(struct http_req *h)
{
	if (h->queue != &half_closed)
		queue_remove(h);
}

/* ---- hearing a parked request's client ------------------------------------------------------- */

static void drop(struct http_req *h);

static h2o_socket_t *socket_of(struct http_req *h)
{
	return h->conn->sock;
}

static void unwatch(struct http_req *h)
{
	if (!h->watching)
		return;
	h->watching = false;
	h2o_socket_read_stop(socket_of(h));
	h2o_socket_dont_read(socket_of(h), 0);
}

static void on_watched(h2o_socket_t *sock, const char *err)
{
	struct conn     *conn = sock->on_close.data;
	struct http_req *h = conn->serving;
	char             octet;
	ssize_t          n = recv(h2o_socket_get_fd(sock), &octet, 1, MSG_PEEK | MSG_DONTWAIT);

	(void)err; /* nothing is read, so libh2o finds none */
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	unwatch(h);
	h->deaf = true;
	if (n < 0) {
		drop(h);
	} else if (n == 0) {
		queue_remove(h);
		queue_add(&half_closed, h, HALF_CLOSE_US);
	}
}

static void watch(struct http_req *h)
{
	if (h->watching || h->deaf)
		return;
	h->watching = true;
	h2o_socket_dont_read(socket_of(h), 1);
	h2o_socket_read_start(socket_of(h), on_watched);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void proceed(h2o_generator_t *generator, h2o_req_t *h2o);

static const struct bw_str server_name = { "Server", 6 }, server_value = { "Boardwalk", 9 },
			   id_name = { "x-request-id", 12 };

/* A name as libh2o wants it, without a copy: the two structs are the same. Server is ours to send, as
 * libh2o prints its own with sprintf. */
static_assert(sizeof(struct bw_str) == sizeof(h2o_iovec_t) &&
                      offsetof(struct bw_str, n) == offsetof(h2o_iovec_t, len),
              "struct bw_str and h2o_iovec_t");

static void put_header(h2o_headers_t *headers, const struct bw_str *name, struct bw_str value)
{
	headers->entries[headers->size++] = (h2o_header_t){
		.name = (h2o_iovec_t *)(uintptr_t)name,
		.value = { .base = (char *)(uintptr_t)value.p, .len = value.n },
	};
}

/* The head of from's response (req itself, or what stands in for it). length: SIZE_MAX if unknown. */
static void start(struct http_req *h, const struct bw_req *from, size_t length)
{
	h2o_req_t     *h2o = h->h2o;
	h2o_headers_t *headers = &h2o->res.headers;

	unwatch(h);
	if (http_server.stopping || (length == SIZE_MAX && from->http10 && response_has_body(from)))
		h2o->http1_is_persistent = 0;
	h2o->res.status = from->status;
	h2o->res.reason = response_reason(from->status);
	h2o->res.content_length = from->status == 204 || from->status == 304 ? SIZE_MAX : length;
	h2o_vector_reserve(&h2o->pool, headers, from->n_res_headers + 2);
	put_header(headers, &server_name, server_value);
	for (size_t i = 0; i < from->n_res_headers; i++)
		put_header(headers, &from->res_headers[i].name, from->res_headers[i].value);
	put_header(headers, &id_name, (struct bw_str){ from->id_text, 16 });
	h->generator.proceed = proceed;
	h->started = true;
	h2o_start_response(h2o, &h->generator);
}

/* One line and one count per request, however many ends it meets. */
static void count_end(struct http_req *h, int status, uint64_t sent)
{
	if (h->counted)
		return;
	h->counted = true;
	HTTP_COUNT(responses[status / 100], 1);
	accesslog_write(h->req, status, sent);
}

/* The whole response, or the last part of a streamed one. */
static void finish(struct http_req *h, const struct bw_req *from)
{
	h2o_iovec_t part = { .base = (char *)buf_data(&from->body), .len = buf_size(&from->body) };
	uint64_t    sent = from->body_sent + part.len;
	bool        has_body = response_has_body(from);

	if (!h->started)
		start(h, from, sent);
	unwatch(h);
	h->ended = true;
	count_end(h, from->status, has_body ? sent : 0);
	h2o_send(h->h2o, &part, has_body && part.len > 0 ? 1 : 0, H2O_SEND_STATE_FINAL);
}

/* Ends the connection so that the client cannot take what it got for the whole. */
static void cut(struct http_req *h)
{
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	int           fd = h2o_socket_get_fd(socket_of(h));

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	unwatch(h);
	if (h->sending) {
		shutdown(fd, SHUT_RDWR); /* the write in flight fails, and libh2o closes */
		return;
	}
	h->ended = true;
	h2o_send(h->h2o, NULL, 0, H2O_SEND_STATE_ERROR);
}

/* The client is gone. libh2o closes when a last response, which nobody reads, has failed or is out;
 * the request is aborted by its dispose function. */
static void drop(struct http_req *h)
{
	count_end(h, 499, h->req->body_sent);
	if (h->started) {
		cut(h);
		return;
	}
	h->h2o->http1_is_persistent = 0;
	h->h2o->res.status = 503;
	h->h2o->res.content_length = 0;
	h->started = h->ended = true;
	h2o_start_response(h->h2o, &h->generator);
	h2o_send(h->h2o, NULL, 0, H2O_SEND_STATE_FINAL);
}

static void send_part(struct http_req *h)
{
	h2o_iovec_t part = { .base = (char *)buf_data(&h->req->body),
		             .len = buf_size(&h->req->body) };

	if (!h->started)
		start(h, h->req, h->req->has_length ? h->req->length : SIZE_MAX);
	unwatch(h);
	h->sending = true;
	set_deadline(h);
	h2o_send(h->h2o, &part, part.len > 0 ? 1 : 0, H2O_SEND_STATE_IN_PROGRESS);
}

/* The kernel has taken what was sent. Called by libh2o from the loop. */
static void proceed(h2o_generator_t *generator, h2o_req_t *h2o)
{
	struct http_req *h = H2O_STRUCT_FROM_MEMBER(struct http_req, generator, generator);

	(void)h2o;
	h->sending = false;
	loop_active();
	if (h->req->state == REQ_PARKED && h->req->flush)
		request_wake(h->req);
	else
		cut(h); /* the fiber had been told that time is up and has ended meanwhile */
}

/* ---- from the fiber -------------------------------------------------------------------------- */

static void serve_ended(struct bw_req *req)
{
	struct http_req *h = req->http;

	http_server.in_requests--;
	HTTP_COUNT(in_requests, -1);
	if (h != NULL && !h->ended) {
		queue_remove(h);
		if (h->started && (req->truncated || req->late))
			cut(h);
		else
			finish(h, req);
	}
	request_release(req);
}

static void stopped(struct bw_req *req)
{
	struct http_req *h = req->http;

	loop_poke();
	if (req->state == REQ_RESPONDING) {
		serve_ended(req);
		return;
	}
	if (h == NULL || h->ended)
		return; /* waits for something that cannot be forgotten; nobody is there to be answered */
	if (req->flush) {
		send_part(h);
		return;
	}
	if (req->unhurried)
		forget_deadline(h);
	else if (h->queue == NULL)
		set_deadline(h);
	watch(h);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* The deadline has passed: 504 now, from a response of our own, since the fiber may still be at work
 * on its own. */
static void answer_late(struct http_req *h)
{
	struct bw_req *req = h->req, *s;

	HTTP_COUNT(aborted, 1);
	if (h->started) {
		bool stays = req->wait->cancel == NULL;

		count_end(h, 504, req->body_sent);
		request_abort(req, true); /* if the fiber ends, serve_ended cuts */
		if (stays)
			cut(h);
		return;
	}
	s = h->substitute = request_new();
	memcpy(s->id_text, req->id_text, sizeof(s->id_text));
	s->headers = req->headers;
	s->n_headers = req->n_headers;
	s->head_only = req->head_only;
	s->http10 = req->http10;
	response_builtin_page(s, 504);
	request_set_state(s, REQ_RESPONDING);
	request_release(s);
	finish(h, s);
	request_abort(req, true);
}

static void run_due(struct queue *q, uint64_t now_us, void (*end)(struct http_req *h))
{
	while (q->first != NULL && q->first->due_us <= now_us) {
		struct http_req *h = q->first;

		queue_remove(h);
		end(h);
	}
}

static void on_tick(struct loop_timer *t)
{
	uint64_t now_us = loop_now_us();

	run_due(&parked, now_us, answer_late);
	run_due(&parked_management, now_us, answer_late);
	run_due(&half_closed, now_us, drop);
	loop_poke();
	if (parked.first != NULL || parked_management.first != NULL || half_closed.first != NULL)
		loop_timer_link(t, TICK_MS);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* libh2o's request is freed: answered, or its connection is gone. */
static void on_dispose(void *p)
{
	struct http_req *h = p;
	struct bw_req   *req = h->req;

	queue_remove(h);
	conn_request_ended(h->conn);
	req->http = NULL;
	req->body_in = NULL;
	count_end(h, 499, req->body_sent);
	if (req->state == REQ_PARKED && !req->late) {
		HTTP_COUNT(aborted, 1);
		request_abort(req, false);
	}
	if (h->substitute != NULL)
		request_release(h->substitute);
	request_release(req);
}

void transport_attach(struct bw_req *req, h2o_req_t *h2o)
{
	struct http_req *h = h2o_mem_alloc_shared(&h2o->pool, sizeof(*h), on_dispose);

	memset(h, 0, sizeof(*h));
	h->h2o = h2o;
	h->req = req;
	h->conn = conn_of(h2o);
	conn_request_began(h->conn, h);
	req->http = h;
}

void transport_answer(struct bw_req *req, bool close)
{
	struct http_req *h = req->http;

	request_set_state(req, REQ_RESPONDING);
	if (close) {
		h->h2o->http1_is_persistent = 0;
		conn_linger(h->conn);
	}
	finish(h, req);
	request_release(req);
}

void transport_init(void)
{
	request_on_stop(stopped);
	tick.on_due = on_tick;
}

void transport_done(void)
{
	loop_timer_unlink(&tick);
}
