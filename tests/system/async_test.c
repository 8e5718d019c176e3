/* Asynchronous requests in a real gateway: answers out of a bundle's own thread, time-outs of their own, and
 * clients that do not wait. tests/support/bundles/later.c is the bundle. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <support/gateway.h>
#include <support/http.h>
#include <sys/socket.h>
#include <time.h>

static struct test_gateway gateway;

static void start(void)
{
	static const char *const bundles[] = { "later", NULL };

	/* A request that waits otherwise would be answered 504 after this time. */
	test_gateway_start(&gateway,
	                   &(struct test_gateway_options){
				   .workers = 1,
				   .bundles = bundles,
				   .settings = "  engine: false\n  request_timeout_ms: 500\n",
			   });
}

static void stop(void)
{
	cr_assert(test_gateway_stop(&gateway));
}

TestSuite(async, .init = start, .fini = stop);

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void expect(struct http *http, const char *path, int status, const char *body)
{
	struct http_response r;

	http_ask(http, "GET", path, NULL, &r);
	cr_expect(r.status == status && (!body || strcmp(r.body, body) == 0), "%s: %d %s", path,
	          r.status, r.body);
	http_response_done(&r);
}

/* Sends the request, and leaves when it is being served. */
static void leave(const char *path)
{
	struct linger         reset = { .l_onoff = 1, .l_linger = 0 };
	const struct timespec pause = { .tv_nsec = 50000000 };
	char                  text[256];
	struct http           http;
	int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: h\r\n\r\n", path);

	http_open(&http, gateway.port);
	http_send(&http, text, (size_t)n);
	nanosleep(&pause, NULL);
	setsockopt(http.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	http_close(&http);
}

static void wait_for_counts(struct http *http, const char *wanted)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct http_response  r;
	bool                  seen = false;

	for (int i = 0; i < 500 && !seen; i++) {
		http_ask(http, "GET", "/later/counts", NULL, &r);
		seen = strcmp(r.body, wanted) == 0;
		if (!seen && i == 499)
			cr_expect(seen, "%s", r.body);
		http_response_done(&r);
		nanosleep(&pause, NULL);
	}
}

Test(async, is_answered_by_a_thread_and_the_connection_goes_on)
{
	struct http http;

	http_open(&http, gateway.port);
	expect(&http, "/later", 200, "at last\n");
	expect(&http, "/later/stream", 200, "part\npart\npart\npart\npart\nat last\n");
	expect(&http, "/later", 200, "at last\n");
	http_close(&http);
}

Test(async, has_a_time_out_of_its_own)
{
	struct http http;
	uint64_t    began = now_ms();

	http_open(&http, gateway.port);
	expect(&http, "/later/hold", 500, NULL);
	cr_expect(now_ms() - began >= 1400, "%llu ms", (unsigned long long)(now_ms() - began));
	expect(&http, "/later/counts", 200, "completed 1, timed out 1, gone 0\n");
	http_close(&http);
}

Test(async, client_that_leaves_ends_it)
{
	struct http http;

	http_open(&http, gateway.port);
	leave("/later/hold");
	wait_for_counts(&http, "completed 1, timed out 0, gone 1\n");
	leave("/later"); /* its thread finds nobody */
	leave("/later/stream");
	expect(&http, "/later", 200, "at last\n");
	http_close(&http);
}
