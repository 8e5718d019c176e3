/* alone_test.c - a gateway without auth, repo and database. Proves: what bundles register answers all the
 * same; content is 503 for as long as nobody can read it, and 404 where no engine serves any; what another
 * site has a browser send is refused on both listeners. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <string.h>
#include <support/gateway.h>
#include <support/http.h>

static struct test_gateway gateway;

static void start(const char *settings)
{
	static const char *const bundles[] = { "test", NULL };

	test_gateway_start(&gateway, &(struct test_gateway_options){
					     .workers = 1,
					     .bundles = bundles,
					     .settings = settings,
				     });
}

static void expect(unsigned port, const char *path, int status, const char *in_body)
{
	struct http_response r;

	http_ask_once(port, "GET", path, NULL, &r);
	cr_expect(eq(int, r.status, status), "%s", path);
	cr_expect(strstr(r.body, in_body) != NULL, "%s: %s", path, r.body);
	http_response_done(&r);
}

Test(alone, bundles_answer_while_auth_and_repo_are_away)
{
	start("  anonymous: true\n");
	expect(gateway.port, "/t/slow?ms=1", 200, "slept 1 ms");
	expect(gateway.port, "/t/none", 503, "503");
	expect(gateway.port, "/content/x", 503, "503");
	expect(gateway.port + 1, "/health/live", 200, "live");
	expect(gateway.port + 1, "/health/ready", 503, "is away");
	cr_expect(test_gateway_stop(&gateway), "it ends well");
}

Test(alone, a_gateway_without_an_engine_has_no_content)
{
	start("  engine: false\n");
	expect(gateway.port, "/t/slow?ms=1", 200, "slept 1 ms");
	expect(gateway.port, "/content/x", 404, "404");
	cr_expect(test_gateway_stop(&gateway), "it ends well");
}

static void expect_post(unsigned port, const char *path, const char *origin, int status)
{
	struct http          http;
	struct http_response r;
	char                 text[512];
	const char          *code;

	snprintf(text, sizeof(text),
	         "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nOrigin: %s\r\n"
	         "Content-Length: 0\r\n\r\n",
	         path, port, origin);
	http_open(&http, port);
	cr_assert(http_send(&http, text, strlen(text)));
	http_read(&http, false, &r);
	code = http_field(&r, "x-reason-code");
	cr_expect(eq(int, r.status, status), "%s from %s", path, origin);
	cr_expect(eq(int, code != NULL && strcmp(code, "csrf") == 0, status == 403));
	http_response_done(&r);
	http_close(&http);
}

Test(alone, other_sites_change_nothing)
{
	char own[64], console[64];

	start("  engine: false\n");
	snprintf(own, sizeof(own), "http://127.0.0.1:%u", gateway.port);
	snprintf(console, sizeof(console), "http://127.0.0.1:%u", gateway.port + 1);
	expect_post(gateway.port, "/t/slow?ms=1", own, 405); /* it knows GET alone */
	expect_post(gateway.port, "/t/slow?ms=1", "http://evil.example", 403);
	expect_post(gateway.port, "/t/slow?ms=1", console, 403);
	expect_post(gateway.port, "/t/slow?ms=1", "null", 403);
	expect_post(gateway.port + 1, "/health/live", console, 405);
	expect_post(gateway.port + 1, "/health/live", "http://evil.example", 403);
	cr_expect(test_gateway_stop(&gateway), "it ends well");
}
