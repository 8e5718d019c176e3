/* alone_test.c - a gateway without auth, repo and database. Proves: what bundles register answers all the
 * same; content is 503 for as long as nobody can read it, and 404 where no engine serves any. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
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
