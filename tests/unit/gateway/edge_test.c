/* gateway/http as a whole: every row of tests/conformance/edge.rows, at once and drop by drop. */
#include "conformance/edge.h"
#include "server.h"

#include <criterion/criterion.h>
#include <support/rows.h>

static void serve(struct bw_req *req)
{
	response_write(req, "ok\n", 3);
}

Test(edge, rows)
{
	struct gateway_settings s = test_server_settings();
	struct test_server      t = test_server_start(&s, serve);
	struct edge_result r = edge_run("127.0.0.1", t.port, rows_file(ROWS "/edge.rows"), "/");

	cr_assert(r.rows >= rows_least(260), "only %u runs", r.rows);
	cr_expect(r.failed == 0, "%u of %u failed", r.failed, r.rows);
	cr_expect(test_server_stop(&t, 5000) == 0);
}
