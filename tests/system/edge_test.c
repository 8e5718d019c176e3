/* The strict edge of the whole product: the rows of tests/conformance/edge.rows against a gateway as it
 * is shipped, the management paths that are none on the public listener, and the access log that
 * knows of every refusal. */
#include "conformance/edge.h"
#include "support/http.h"
#include "support/instance.h"

#include <criterion/criterion.h>

static struct test_instance instance;

static void start(void)
{
	test_instance_start(&instance, NULL);
}

static void stop(void)
{
	test_instance_stop(&instance);
}

TestSuite(edge, .init = start, .fini = stop);

Test(edge, rows)
{
	struct edge_result r =
		edge_run("127.0.0.1", (uint16_t)instance.port, ROWS "/edge.rows", "/test/hello");

	cr_assert(r.rows >= 260, "only %u runs", r.rows);
	cr_expect(r.failed == 0, "%u of %u failed", r.failed, r.rows);
	cr_expect(test_instance_logged(&instance, "refused: Content-Length and Transfer-Encoding"));
	cr_expect(!test_instance_logged(&instance, "ended by signal"));
}

Test(edge, management_is_elsewhere)
{
	static const struct {
		const char *path;
		int         management, public;
	} rows[] = {
		{ "/health/live", 200, 401 },
		{ "/health/ready", 200, 401 },
		{ "/metrics", 200, 401 },
		{ "/test/hello", 404, 200 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_response r;

		http_ask_once(instance.port + 1, "GET", rows[i].path, NULL, &r);
		cr_expect(r.status == rows[i].management, "%s: %d", rows[i].path, r.status);
		http_response_done(&r);
		http_ask_once(instance.port, "GET", rows[i].path, NULL, &r);
		cr_expect(r.status == rows[i].public, "%s in public: %d", rows[i].path, r.status);
		http_response_done(&r);
	}
}
