/* behave.c - what the servers of http_test.c and http_clients_test.c serve, and their clients' words.
 *
 * Owns: nothing. Runs in: tests; behave in the server's process. Fails with: abort, or a failed test.
 * Tests: none. */
#include "behave.h"

#include "offload.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/* ---- the server's side ------------------------------------------------------------------------ */

/* Everything that came in, as lines. */
static void serve_facts(struct bw_req *req)
{
	char   text[4096], body[64];
	size_t n;
	int    len;

	len = snprintf(
		text, sizeof(text),
		"method=%s\nuri=%s\nquery=%s\npath=%s\nparams=%s\nhost=%s\nremote=%s\nscheme=%s\n"
		"length=%llu\n",
		req->method.p, req->uri.p, req->query.p ? req->query.p : "-", req->path.p,
		req->params.p ? req->params.p : "-", req->host.p ? req->host.p : "-",
		req->remote_addr.p, req->scheme.p, (unsigned long long)req->body_length);
	response_write(req, text, (size_t)len);
	for (size_t i = 0; i < req->n_headers; i++) {
		len = snprintf(text, sizeof(text), "%s: %s\n", req->headers[i].name.p,
		               req->headers[i].value.p);
		response_write(req, text, (size_t)len);
	}
	if (request_body_read(req, 0, body, sizeof(body), &n) == BW_OK && n > 0)
		response_write(req, body, n);
}

/* The sum of the body's octets, read in odd pieces. */
static void serve_sum(struct bw_req *req)
{
	unsigned char piece[777];
	uint64_t      sum = 0, at = 0;
	size_t        n;
	char          text[64];

	while (request_body_read(req, at, piece, sizeof(piece), &n) == BW_OK && n > 0) {
		for (size_t i = 0; i < n; i++)
			sum += piece[i];
		at += n;
	}
	n = (size_t)snprintf(text, sizeof(text), "%llu %llu\n", (unsigned long long)at,
	                     (unsigned long long)sum);
	response_write(req, text, n);
}

static void serve_big(struct bw_req *req)
{
	char piece[1000];

	for (unsigned i = 0; i < BIG / sizeof(piece); i++) {
		memset(piece, 'a' + (int)(i % 26), sizeof(piece));
		if (response_write(req, piece, sizeof(piece)) != BW_OK)
			return;
	}
}

static void serve_length(struct bw_req *req)
{
	response_length(req, BIG);
	serve_big(req);
}

static void block(void *arg)
{
	const struct timespec t = { .tv_nsec = 700000000 };

	(void)arg;
	nanosleep(&t, NULL);
}

static void serve_status(struct bw_req *req)
{
	response_status(req, atoi(req->path.p + 1));
	response_write(req, "body\n", 5);
}

static void serve_cut(struct bw_req *req)
{
	response_write(req, "first\n", 6);
	response_flush(req);
	req->truncated = true;
}

static void serve_stream_late(struct bw_req *req)
{
	response_write(req, "first\n", 6);
	response_flush(req);
	offload_sleep_ms(req, 20000);
	response_write(req, "never\n", 6);
}

static void serve_sleep(struct bw_req *req)
{
	int r = offload_sleep_ms(req, (unsigned)atoi(req->query.p));

	if (r == BW_OK)
		response_write(req, "slept\n", 6);
	else if (response_write(req, "no", 2) != r || response_status(req, 200) != r)
		abort(); /* every call after the end says the same */
}

static void serve_offload(struct bw_req *req)
{
	if (offload_run(req, block, NULL) == BW_OK)
		response_write(req, "done\n", 5);
}

static void serve_hello(struct bw_req *req)
{
	response_header(req, "Content-Type", BW_STR("text/plain"), true);
	response_write(req, "hello\n", 6);
}

void behave(struct bw_req *req)
{
	static const struct {
		const char *path;
		void (*serve)(struct bw_req *req);
	} table[] = {
		{ "/facts", serve_facts },      { "/sum", serve_sum },
		{ "/big", serve_big },          { "/cut", serve_cut },
		{ "/late", serve_stream_late }, { "/sleep", serve_sleep },
		{ "/block", serve_offload },    { "/204", serve_status },
		{ "/304", serve_status },       { "/404", serve_status },
		{ "/length", serve_length },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(req->path.p, table[i].path, strlen(table[i].path)) == 0) {
			table[i].serve(req);
			return;
		}
	serve_hello(req);
}

/* ---- the client's side ------------------------------------------------------------------------ */

void say(struct http *h, const char *text)
{
	cr_assert(http_send(h, text, strlen(text)));
}

void expect_hello(struct http *h, const char *when)
{
	struct http_response r;

	http_ask(h, "GET", "/", NULL, &r);
	cr_assert(r.status == 200 && strcmp(r.body, "hello\n") == 0, "%s: %d", when, r.status);
	http_response_done(&r);
}

/* True if the server closes within ms, whatever it says before. */
bool closes(struct http *h, int ms)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	char          sink[65536];

	while (poll(&p, 1, ms) == 1)
		if (recv(h->fd, sink, sizeof(sink), 0) <= 0)
			return true;
	return false;
}

uint64_t wait_for(const _Atomic uint64_t *counter, uint64_t value, int ms)
{
	const struct timespec t = { .tv_nsec = 1000000 };

	while (ms-- > 0 && atomic_load(counter) < value)
		nanosleep(&t, NULL);
	return atomic_load(counter);
}

void reset(struct http *h)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(h->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	http_close(h);
}
