/* gateway/http against clients that leave, wait, hurry or dawdle, against too many of them, and at its end. */
#include "behave.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

/* While a handler is parked its connection is polled but not read. */
Test(http_clients, next_requests_wait_while_one_is_parked)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, behave);
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

Test(http_clients, a_client_that_leaves_ends_its_request)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, behave);
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

Test(http_clients, late_requests_get_504_and_the_connection_lives)
{
	struct gateway_settings  s = test_server_settings();
	struct test_server       t;
	struct http              h;
	struct http_response     r;
	static const char *const paths[] = { "/sleep?20000", "/block" };

	s.request_timeout_ms = 300;
	t = test_server_start(&s, behave);
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

Test(http_clients, too_many_requests_get_503)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t;
	struct http             busy[2], h;
	struct http_response    r;
	const struct timespec   pause = { .tv_nsec = 50000000 };

	s.max_requests = 2;
	t = test_server_start(&s, behave);
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

Test(http_clients, connections_over_the_cap_wait)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t;
	struct http             held[3], h;
	struct http_response    r;

	s.max_connections = 3;
	t = test_server_start(&s, behave);
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
Test(http_clients, slow_clients_are_cut)
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
	t = test_server_start(&s, behave);
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

Test(http_clients, stopping_lets_requests_end)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, behave);
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

Test(http_clients, stopping_twice_is_at_once)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, behave);
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
