/* gateway/http against real sockets: what a servlet gets to see, what a client gets back, and what
 * becomes of both when one of them goes away or takes too long. The server is a process of its own. */
#include "fiber.h"
#include "offload.h"
#include "server.h"
#include "support/http.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BIG 20000000u /* more than the sockets of both sides take */

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

static void serve(struct bw_req *req)
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
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (strncmp(req->path.p, table[i].path, strlen(table[i].path)) == 0) {
			table[i].serve(req);
			return;
		}
	serve_hello(req);
}

/* ---- the client's side ------------------------------------------------------------------------ */

static void say(struct http *h, const char *text)
{
	cr_assert(http_send(h, text, strlen(text)));
}

static void expect_hello(struct http *h, const char *when)
{
	struct http_response r;

	http_ask(h, "GET", "/", NULL, &r);
	cr_assert(r.status == 200 && strcmp(r.body, "hello\n") == 0, "%s: %d", when, r.status);
	http_response_done(&r);
}

/* True if the server closes within ms, whatever it says before. */
static bool closes(struct http *h, int ms)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	char          sink[65536];

	while (poll(&p, 1, ms) == 1)
		if (recv(h->fd, sink, sizeof(sink), 0) <= 0)
			return true;
	return false;
}

static uint64_t wait_for(const _Atomic uint64_t *counter, uint64_t value, int ms)
{
	const struct timespec t = { .tv_nsec = 1000000 };

	while (ms-- > 0 && atomic_load(counter) < value)
		nanosleep(&t, NULL);
	return atomic_load(counter);
}

static void reset(struct http *h)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	setsockopt(h->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	http_close(h);
}

/* ---- tests ------------------------------------------------------------------------------------ */

Test(http, a_servlet_sees_the_request)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct http             h;
	struct http_response    r;

	http_open(&h, t.port);
	say(&h,
	    "PUT http://other.example:81/facts;v=1/../facts;w?a=%zz HTTP/1.1\r\nHost: here\r\n"
	    "Accept: x\r\nX-Two:  a b \t\r\nConnection: keep-alive, X-Named\r\nX-Named: 1\r\n"
	    "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil\r\nForwarded: for=1.2.3.4\r\n"
	    "X-Real-IP: 1.2.3.4\r\nX_Forwarded_For: 1.2.3.4\r\nX-Boardwalk-User: admin\r\n"
	    "TE: trailers\r\nKeep-Alive: 5\r\nProxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\n"
	    "Content-Length: 4\r\n\r\nbody");
	http_read(&h, false, &r);
	cr_assert(r.status == 200);
	cr_expect_str_eq(r.body,
	                 "method=PUT\nuri=/facts;v=1/../facts;w\nquery=a=%zz\npath=/facts\n"
	                 "params=;v=1;w\nhost=other.example:81\nremote=127.0.0.1\nscheme=http\n"
	                 "length=4\naccept: x\nx-two: a b\nhost: other.example:81\nbody");
	http_response_done(&r);
	say(&h, "GET /facts HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	http_read(&h, false, &r);
	cr_expect(r.status == 200 && strstr(r.body, "host=-\n") != NULL, "%s", r.body);
	cr_expect(strcmp(http_field(&r, "Connection"), "keep-alive") == 0);
	http_response_done(&r);
	expect_hello(&h, "after all that");
	http_close(&h);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, responses_without_a_body_keep_the_connection_in_step)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct http             h;
	struct http_response    r;
	static const struct {
		const char *method, *path, *length;
		int         status;
	} rows[] = {
		{ "HEAD", "/", "6", 200 },    { "HEAD", "/big", "20000000", 200 },
		{ "GET", "/204", NULL, 204 }, { "HEAD", "/204", NULL, 204 },
		{ "GET", "/304", NULL, 304 }, { "HEAD", "/404", "5", 404 },
	};

	http_open(&h, t.port);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char        request[128];
		const char *length;

		snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: a\r\n\r\n",
		         rows[i].method, rows[i].path);
		say(&h, request);
		http_read(&h, true, &r);
		length = http_field(&r, "Content-Length");
		cr_expect(r.status == rows[i].status, "%s: %d", rows[i].path, r.status);
		cr_expect(rows[i].length ? length && strcmp(length, rows[i].length) == 0 : !length,
		          "%s %s: length %s", rows[i].method, rows[i].path,
		          length ? length : "absent");
		cr_expect(http_field(&r, "Transfer-Encoding") == NULL);
		http_response_done(&r);
		expect_hello(&h, rows[i].path);
	}
	http_close(&h);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, large_answers_are_streamed_with_back_pressure)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct http             h;
	struct http_response    r;

	for (int version = 0; version <= 1; version++) {
		const struct timespec pause = { .tv_nsec = 300000000 };
		char                  request[64];

		http_open(&h, t.port);
		snprintf(request, sizeof(request), "GET /big HTTP/1.%d\r\nHost: a\r\n%s\r\n",
		         version, version ? "" : "Connection: keep-alive\r\n");
		say(&h, request);
		nanosleep(&pause, NULL); /* not reading: the fiber has to wait */
		cr_expect(atomic_load(&t.shared->worker[0].in_requests) == 1, "1.%d", version);
		http_read(&h, false, &r);
		cr_assert(r.status == 200 && r.size == BIG, "1.%d: %zu octets", version, r.size);
		for (size_t i = 0; i < r.size; i++)
			cr_assert(r.body[i] == 'a' + (char)(i / 1000 % 26), "octet %zu", i);
		cr_expect((http_field(&r, "Transfer-Encoding") != NULL) == (version == 1));
		cr_expect_str_eq(http_field(&r, "Connection"), version ? "keep-alive" : "close");
		http_response_done(&r);
		if (version == 1)
			expect_hello(&h, "after chunks");
		else
			cr_expect(closes(&h, 1000));
		http_close(&h);
	}
	cr_expect(test_server_stop(&t, 5000) == 0);
}

/* What fails in the middle must not look whole: no last chunk, and no orderly end without chunks. */
Test(http, truncated_answers_do_not_end_cleanly)
{
	struct gateway_settings  s = test_server_settings();
	struct test_server       t;
	struct http              h;
	static const char *const paths[] = { "/cut", "/late" };

	s.request_timeout_ms = 300;
	t = test_server_start(&s, serve);
	for (size_t i = 0; i < 4; i++) {
		char    request[64], in[4096];
		size_t  have = 0;
		ssize_t n;

		http_open(&h, t.port);
		snprintf(request, sizeof(request), "GET %s HTTP/1.%zu\r\nHost: a\r\n\r\n",
		         paths[i / 2], i % 2);
		say(&h, request);
		while ((n = recv(h.fd, in + have, sizeof(in) - 1 - have, 0)) > 0)
			have += (size_t)n;
		in[have] = 0;
		cr_expect(strstr(in, "first\n") != NULL, "%s", request);
		cr_expect(strstr(in, "\r\n0\r\n") == NULL, "%s", request);
		cr_expect(n < 0, "%s: an orderly end", request);
		http_close(&h);
	}
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, bodies_are_read_whole_whatever_their_size)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct http             h;
	struct http_response    r;
	size_t                  sizes[] = { 1, 4096, 100000, 2u << 20, 9u << 20 };

	http_open(&h, t.port);
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t             n = sizes[i / 2];
		char               head[128], expected[64];
		unsigned char     *body = malloc(n);
		unsigned long long sum = 0;

		for (size_t j = 0; j < n; j++)
			sum += body[j] = (unsigned char)(j * 31 + j / 997);
		if (i % 2 == 0)
			snprintf(head, sizeof(head),
			         "POST /sum HTTP/1.1\r\nHost: a\r\nContent-Length: %zu\r\n\r\n", n);
		else
			snprintf(head, sizeof(head),
			         "POST /sum HTTP/1.1\r\nHost: a\r\n"
			         "Transfer-Encoding: chunked\r\n\r\n%zx\r\n",
			         n);
		say(&h, head);
		cr_assert(http_send(&h, (const char *)body, n));
		if (i % 2 == 1)
			say(&h, "\r\n0\r\n\r\n");
		http_read(&h, false, &r);
		snprintf(expected, sizeof(expected), "%zu %llu\n", n, sum);
		cr_expect(r.status == 200 && strcmp(r.body, expected) == 0, "%s: %s", expected,
		          r.body);
		http_response_done(&r);
		free(body);
	}
	http_close(&h);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, bodies_over_the_limit_are_413_and_the_client_can_read_it)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t;
	struct http             h;
	struct http_response    r;
	static char             chunk[1u << 20];

	s.max_body = 1 << 20;
	t = test_server_start(&s, serve);
	for (int chunked = 0; chunked <= 1; chunked++) {
		http_open(&h, t.port);
		say(&h,
		    chunked ? "POST /sum HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
		              "chunked\r\n\r\n80000\r\n"
		            : "POST /sum HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n");
		cr_assert(http_send(&h, chunk, 512 << 10));
		if (chunked) {
			say(&h, "\r\n80001\r\n");
		}
		http_send(&h, chunk, 512 << 10);
		http_read(&h, false, &r);
		cr_expect(r.status == 413 && strcmp(http_field(&r, "Connection"), "close") == 0,
		          "chunked %d: %d", chunked, r.status);
		http_response_done(&r);
		cr_expect(closes(&h, 3000));
		http_close(&h);
	}
	cr_expect(test_server_stop(&t, 5000) == 0);
}

/* While a handler is parked its connection is polled but not read. */
Test(http, next_requests_wait_while_one_is_parked)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct http             h;
	struct http_response    r;
	static char             body[300000];
	const struct timespec   pause = { .tv_nsec = 50000000 };

	http_open(&h, t.port);
	say(&h, "POST /sleep?200 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET / "
	        "HTTP/1.1\r\n");
	nanosleep(&pause, NULL);
	say(&h, "Host: a\r\n\r\nPOST /sum HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
	memset(body, 1, sizeof(body));
	cr_assert(http_send(&h, body, sizeof(body)));
	http_read(&h, false, &r);
	cr_expect_str_eq(r.body, "slept\n");
	http_response_done(&r);
	http_read(&h, false, &r);
	cr_expect_str_eq(r.body, "hello\n");
	http_response_done(&r);
	http_read(&h, false, &r);
	cr_expect_str_eq(r.body, "300000 300000\n");
	http_response_done(&r);
	expect_hello(&h, "at last");
	http_close(&h);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, a_client_that_leaves_ends_its_request)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct shared_worker   *w = &t.shared->worker[0];
	struct http             h, other;
	struct http_response    r;
	const struct timespec   pause = { .tv_nsec = 50000000 };

	/* Half a close: the answer still comes, if it comes soon. */
	http_open(&h, t.port);
	say(&h, "GET /sleep?300 HTTP/1.1\r\nHost: a\r\n\r\n");
	shutdown(h.fd, SHUT_WR);
	http_read(&h, false, &r);
	cr_expect_str_eq(r.body, "slept\n");
	http_response_done(&r);
	cr_expect(closes(&h, 1000));
	http_close(&h);
	cr_expect(atomic_load(&w->aborted) == 0);

	/* The same, but the answer takes long. */
	http_open(&h, t.port);
	say(&h, "GET /sleep?20000 HTTP/1.1\r\nHost: a\r\n\r\n");
	shutdown(h.fd, SHUT_WR);
	cr_expect(wait_for(&w->aborted, 1, 3000) == 1);
	http_close(&h);

	/* A reset is noticed at once, also behind a request that waits. */
	http_open(&h, t.port);
	say(&h, "GET /sleep?20000 HTTP/1.1\r\nHost: a\r\n\r\n");
	nanosleep(&pause, NULL);
	reset(&h);
	cr_expect(wait_for(&w->aborted, 2, 500) == 2);

	/* In the middle of a stream. */
	http_open(&h, t.port);
	say(&h, "GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
	nanosleep(&pause, NULL);
	reset(&h);
	cr_expect(wait_for(&w->aborted, 3, 500) == 3);

	/* Nobody else is hurt, and nothing is left behind. */
	http_open(&other, t.port);
	expect_hello(&other, "afterwards");
	http_close(&other);
	cr_expect(atomic_load(&w->in_requests) == 0);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, late_requests_get_504_and_the_connection_lives)
{
	struct gateway_settings  s = test_server_settings();
	struct test_server       t;
	struct http              h;
	struct http_response     r;
	static const char *const paths[] = { "/sleep?20000", "/block" };

	s.request_timeout_ms = 300;
	t = test_server_start(&s, serve);
	http_open(&h, t.port);
	for (size_t i = 0; i < 2; i++) {
		http_ask(&h, "GET", paths[i], NULL, &r);
		cr_expect(r.status == 504, "%s: %d", paths[i], r.status);
		cr_expect(strstr(r.body, "504") != NULL && http_field(&r, "X-Request-Id") != NULL);
		http_response_done(&r);
		expect_hello(&h, paths[i]);
	}
	cr_expect(atomic_load(&t.shared->worker[0].aborted) == 2);
	/* The job in the thread is waited for. */
	cr_expect(test_server_stop(&t, 5000) == 0);
	http_close(&h);
}

Test(http, too_many_requests_get_503)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t;
	struct http             busy[2], h;
	struct http_response    r;
	const struct timespec   pause = { .tv_nsec = 50000000 };

	s.max_requests = 2;
	t = test_server_start(&s, serve);
	for (size_t i = 0; i < 2; i++) {
		http_open(&busy[i], t.port);
		say(&busy[i], "GET /sleep?500 HTTP/1.1\r\nHost: a\r\n\r\n");
	}
	nanosleep(&pause, NULL);
	http_open(&h, t.port);
	http_ask(&h, "GET", "/", NULL, &r);
	cr_expect(r.status == 503 && strcmp(http_field(&r, "Retry-After"), "1") == 0, "%d",
	          r.status);
	http_response_done(&r);
	for (size_t i = 0; i < 2; i++) {
		http_read(&busy[i], false, &r);
		cr_expect_str_eq(r.body, "slept\n");
		http_response_done(&r);
		http_close(&busy[i]);
	}
	expect_hello(&h, "when there is room");
	http_close(&h);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, connections_over_the_cap_wait)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t;
	struct http             held[3], h;
	struct http_response    r;

	s.max_connections = 3;
	t = test_server_start(&s, serve);
	for (size_t i = 0; i < 3; i++) {
		http_open(&held[i], t.port);
		expect_hello(&held[i], "below the cap");
	}
	http_open(&h, t.port); /* the kernel takes it, the server does not */
	say(&h, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	cr_expect(!closes(&h, 200));
	cr_expect(atomic_load(&t.shared->worker[0].connections) == 3);
	http_close(&held[0]);
	http_read(&h, false, &r);
	cr_expect(r.status == 200, "%d", r.status);
	http_response_done(&r);
	http_close(&h);
	http_close(&held[1]);
	http_close(&held[2]);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

/* All at once, as each takes its time: who says nothing, who drips a head, who drips a body are cut;
 * who sends a body steadily is not. */
Test(http, slow_clients_are_cut, .timeout = 30)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t;
	struct http             idle, head, body, steady;
	struct http_response    r;
	const struct timespec   pause = { .tv_nsec = 250000000 };
	static char             piece[10000];
	bool                    head_cut = false, body_cut = false;

	s.idle_timeout_ms = 1000;
	s.head_timeout_ms = 1000;
	t = test_server_start(&s, serve);
	http_open(&idle, t.port);
	http_open(&head, t.port);
	http_open(&body, t.port);
	http_open(&steady, t.port);
	expect_hello(&idle, "before it says nothing");
	say(&head, "GET / HTTP/1.1\r\n");
	say(&body, "POST /sum HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
	say(&steady, "POST /sum HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n");
	for (int i = 0; i < 30; i++) { /* 7.5 s */
		cr_assert(http_send(&steady, piece, sizeof(piece)), "cut after %d pieces", i);
		head_cut |= !http_send(&head, "X: y\r\n", 6);
		body_cut |= !http_send(&body, piece, 10);
		nanosleep(&pause, NULL);
	}
	cr_expect(head_cut && body_cut, "head %d, body %d", head_cut, body_cut);
	cr_expect(closes(&idle, 10));
	http_read(&steady, false, &r);
	cr_expect(r.status == 200, "%d", r.status);
	http_response_done(&r);
	http_close(&idle);
	http_close(&head);
	http_close(&body);
	http_close(&steady);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, stopping_lets_requests_end)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct http             busy, idle;
	struct http_response    r;
	const struct timespec   pause = { .tv_nsec = 50000000 };

	http_open(&idle, t.port);
	expect_hello(&idle, "before");
	http_open(&busy, t.port);
	say(&busy, "GET /sleep?400 HTTP/1.1\r\nHost: a\r\n\r\n");
	nanosleep(&pause, NULL);
	cr_expect(test_server_stop(&t, 3000) == 0);
	http_read(&busy, false, &r);
	cr_expect_str_eq(r.body, "slept\n");
	cr_expect_str_eq(http_field(&r, "Connection"), "close");
	http_response_done(&r);
	cr_expect(closes(&busy, 100) && closes(&idle, 100));
	http_close(&busy);
	http_close(&idle);
}

Test(http, stopping_twice_is_at_once)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct http             busy;
	struct timespec         before, after;
	const struct timespec   pause = { .tv_nsec = 50000000 };

	http_open(&busy, t.port);
	say(&busy, "GET /sleep?20000 HTTP/1.1\r\nHost: a\r\n\r\n");
	nanosleep(&pause, NULL);
	clock_gettime(CLOCK_MONOTONIC, &before);
	cr_expect(test_server_stop(&t, 200) == -1, "it did not wait for the request");
	clock_gettime(CLOCK_MONOTONIC, &after);
	cr_expect(after.tv_sec - before.tv_sec < 3);
	cr_expect(closes(&busy, 100));
	http_close(&busy);
}
