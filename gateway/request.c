/* request.c - the life of struct bw_req: who holds it, who waits for what, how it ends.
 *
 *     loop (http, peers, timers)                fiber (servlet)
 *       request_start  ----------------------->   serve(req) ...
 *       on_stop(req)   <-----------------------   request_park: state PARKED
 *       request_wake   ----------------------->     ... returns BW_OK
 *       request_abort  ----------------------->     ... returns BW_EGONE / BW_ETIME, from now on always
 *       on_stop(req)   <-----------------------   serve has returned: state RESPONDING
 *
 * Every resumption comes through request_wake or request_abort, so that the transport hears of every
 * stop of a fiber on the loop's own stack, the only place where libh2o may be called.
 *
 * Owns: requests, and a stock of a few dozen that keep their memory for the next ones.
 * Runs in: the worker's thread. Fails with: BW_EGONE, BW_ETIME; fatalx on an impossible move.
 * Tests: tests/unit/gateway/request_test.c. */
#include "request.h"

#include "fiber.h"

#include <arpa/inet.h>
#include <base/fatal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STOCK_MAX 64

static struct {
	struct bw_req *items[STOCK_MAX];
	size_t         n;
} stock;
static void (*on_stop)(struct bw_req *req);

struct bw_req *request_new(void)
{
	struct bw_req *req;
	struct buf     body = { .mem = NULL };

	if (stock.n > 0) {
		req = stock.items[--stock.n];
		body = req->body;
	} else {
		req = xmalloc(sizeof(*req));
	}
	memset(req, 0, sizeof(*req));
	req->body = body;
	req->owners = 2;
	req->status = 200;
	arena_init(&req->arena);
	return req;
}

static void request_free(struct bw_req *req)
{
	arena_done(&req->arena);
	/* A buffer that grew for one large answer is not kept for all the small ones. */
	if (req->body.cap > RESPONSE_BUFFER)
		buf_done(&req->body);
	else
		buf_clear(&req->body);
	if (stock.n < STOCK_MAX) {
		stock.items[stock.n++] = req;
		return;
	}
	buf_done(&req->body);
	free(req);
}

void request_release(struct bw_req *req)
{
	if (req->owners == 0)
		fatalx("request %s: released by nobody", req->id_text);
	if (--req->owners > 0)
		return;
	request_set_state(req, REQ_ENDED);
	request_free(req);
}

void request_pool_done(void)
{
	while (stock.n > 0) {
		struct bw_req *req = stock.items[--stock.n];

		buf_done(&req->body);
		free(req);
	}
}

static const char *strstate(enum req_state s)
{
	static const char *const names[] = { "new", "serving", "parked", "responding", "ended" };

	return names[s];
}

void request_set_state(struct bw_req *req, enum req_state to)
{
	static const unsigned allowed[] = {
		/* from -> set of to */
		[REQ_NEW] = 1u << REQ_SERVING | 1u << REQ_RESPONDING,
		[REQ_SERVING] = 1u << REQ_PARKED | 1u << REQ_RESPONDING,
		[REQ_PARKED] = 1u << REQ_SERVING,
		[REQ_RESPONDING] = 1u << REQ_ENDED,
		[REQ_ENDED] = 0,
	};

	if (!(allowed[req->state] & 1u << to))
		fatalx("request %s: from %s to %s", req->id_text, strstate(req->state),
		       strstate(to));
	req->state = to;
}

void request_on_stop(void (*cb)(struct bw_req *req))
{
	on_stop = cb;
}

struct start {
	struct bw_req *req;
	void (*serve)(struct bw_req *req);
};

static void fiber_main(void *arg)
{
	struct start s = *(struct start *)arg; /* the caller's frame goes when we park */

	request_set_state(s.req, REQ_SERVING);
	s.serve(s.req);
	request_set_state(s.req, REQ_RESPONDING);
}

static void tell_stop(struct bw_req *req)
{
	if (req->on_stop != NULL)
		req->on_stop(req);
	else
		on_stop(req);
}

bool request_start(struct bw_req *req, void (*serve)(struct bw_req *req))
{
	struct start s = { req, serve };

	if (!fiber_start(fiber_main, &s, "request", &req->fiber))
		return false;
	tell_stop(req);
	return true;
}

int request_check(const struct bw_req *req)
{
	return req->late ? BW_ETIME : req->gone ? BW_EGONE : BW_OK;
}

int request_park(struct bw_req *req, struct req_wait *w)
{
	int r = request_check(req);

	/* What cannot be forgotten is waited for even now: it may write to the fiber's stack. */
	if (r != BW_OK && w->cancel != NULL) {
		w->cancel(w);
		return r;
	}
	req->wait = w;
	request_set_state(req, REQ_PARKED);
	fiber_suspend();
	req->wait = NULL;
	return request_check(req);
}

static void run_on(struct bw_req *req)
{
	request_set_state(req, REQ_SERVING);
	fiber_resume(req->fiber);
	tell_stop(req);
}

void request_wake(struct bw_req *req)
{
	if (req->state != REQ_PARKED)
		fatalx("request %s: woken while %s", req->id_text, strstate(req->state));
	run_on(req);
}

void request_abort(struct bw_req *req, bool late)
{
	struct req_wait *w = req->wait;

	if (late)
		req->late = true;
	else
		req->gone = true;
	if (req->state != REQ_PARKED || w->cancel == NULL)
		return;
	w->cancel(w);
	run_on(req);
}

struct bw_str request_header(const struct bw_req *req, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < req->n_headers; i++) {
		const struct bw_res_header *h = &req->headers[i];

		if (h->name.n == n && ((h->name.p[0] ^ name[0]) & 0x5f) == 0 &&
		    strncasecmp(h->name.p, name, n) == 0)
			return h->value;
	}
	return BW_ABSENT;
}

struct bw_str request_address(const struct bw_req *req, uint8_t octets[16])
{
	char text[INET6_ADDRSTRLEN];

	if (req->remote_addr.n == 0 || req->remote_addr.n >= sizeof(text))
		return BW_ABSENT;
	memcpy(text, req->remote_addr.p, req->remote_addr.n);
	text[req->remote_addr.n] = '\0';
	if (inet_pton(AF_INET, text, octets) == 1)
		return (struct bw_str){ (char *)octets, 4 };
	if (inet_pton(AF_INET6, text, octets) == 1)
		return (struct bw_str){ (char *)octets, 16 };
	return BW_ABSENT;
}

struct bw_str request_dup(struct bw_req *req, struct bw_str s)
{
	if (s.p == NULL)
		return s;
	return (struct bw_str){ arena_dup(&req->arena, s.p, s.n), s.n };
}

int request_body_read(const struct bw_req *req, uint64_t offset, void *buf, size_t n, size_t *ret_n)
{
	int r = request_check(req);

	if (r != BW_OK)
		return r;
	if (offset >= req->body_length) {
		*ret_n = 0;
		return BW_OK;
	}
	if (req->body_in == NULL)
		return BW_EGONE;
	if (n > req->body_length - offset)
		n = req->body_length - offset;
	memcpy(buf, req->body_in + offset, n);
	*ret_n = n;
	return BW_OK;
}

void request_body_wipe(struct bw_req *req)
{
	/* The buffer that libh2o has read it into, which is what it parses from, and no constant. */
	if (req->body_in != NULL)
		explicit_bzero((void *)(uintptr_t)req->body_in, req->body_length);
}
