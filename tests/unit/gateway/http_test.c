/* gateway/http against real sockets: what a servlet gets to see and what a client gets back. */
#include "behave.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

Test(http, a_servlet_sees_the_request)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, behave);
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

/* The client, scheme and host of a trusted proxy's request are those that it names; what else it may
 * forward is dropped as from anybody. */
Test(http, a_trusted_proxy_is_believed)
{
	static const struct {
		const char *head, *sees;
	} rows[] = {
		{ "", "host=here\nremote=127.0.0.1\nscheme=http\n" },
		{ "X-Forwarded-For: 192.0.2.7\r\n", "host=here\nremote=192.0.2.7\nscheme=http\n" },
		{ "X-Forwarded-For: 203.0.113.9, 192.0.2.7 , 127.0.0.9\r\n", "remote=192.0.2.7\n" },
		{ "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-For: 127.0.0.9\r\n",
		  "remote=192.0.2.7\n" },
		{ "X-Forwarded-For: 192.0.2.7, nonsense\r\n", "remote=127.0.0.1\n" },
		{ "X-Forwarded-For: 2001:db8::7\r\n", "remote=2001:db8::7\n" },
		{ "X-Forwarded-Proto: https\r\nX-Forwarded-Host: www.example:8443\r\n",
		  "host=www.example:8443\nremote=127.0.0.1\nscheme=https\n" },
		{ "X-Forwarded-Proto: gopher\r\nX-Forwarded-Host: a/b\r\n",
		  "host=here\nremote=127.0.0.1\nscheme=http\n" },
		{ "Forwarded: for=192.0.2.7\r\nX-Real-IP: 192.0.2.7\r\n", "remote=127.0.0.1\n" },
	};
	static char            *networks[] = { "127.0.0.0/8" };
	struct gateway_settings s = test_server_settings();
	struct test_server      t;
	struct http             h;
	struct http_response    r;
	char                    text[512];

	s.trusted_proxies = (struct conf_list){ networks, 1 };
	t = test_server_start(&s, behave);
	http_open(&h, t.port);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), "GET /facts HTTP/1.1\r\nHost: here\r\n%s\r\n",
		         rows[i].head);
		say(&h, text);
		http_read(&h, false, &r);
		cr_expect(strstr(r.body, rows[i].sees) != NULL, "row %zu: %s", i, r.body);
		cr_expect(strstr(r.body, "orwarded") == NULL, "row %zu: %s", i, r.body);
		http_response_done(&r);
	}
	http_close(&h);
	cr_expect(test_server_stop(&t, 5000) == 0);
}

Test(http, responses_without_a_body_keep_the_connection_in_step)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, behave);
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
	struct test_server      t = test_server_start(&s, behave);
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

Test(http, a_large_answer_whose_length_is_told_goes_out_with_it)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, behave);
	struct http             h;
	struct http_response    r;

	http_open(&h, t.port);
	for (int version = 0; version <= 1; version++) {
		char request[80];

		snprintf(request, sizeof(request),
		         "GET /length HTTP/1.%d\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
		         version);
		say(&h, request);
		http_read(&h, false, &r);
		cr_assert(r.status == 200 && r.size == BIG, "1.%d: %zu octets", version, r.size);
		cr_expect_str_eq(http_field(&r, "Content-Length"), "20000000");
		cr_expect(http_field(&r, "Transfer-Encoding") == NULL);
		cr_expect_str_eq(http_field(&r, "Connection"), "keep-alive");
		http_response_done(&r);
		expect_hello(&h, "after it");
	}
	http_close(&h);
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
	t = test_server_start(&s, behave);
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
	struct test_server      t = test_server_start(&s, behave);
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
	t = test_server_start(&s, behave);
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
