/* Rows of resolvers against the gateway's editing code and a fake repo, in one process and at once.
 *
 * Usage: conformance_resolver FILE... ; resolver/edit.rows explains the lines. Rows whose id ends with a
 * star need a real instance (system/resolver) and are left out. Fails if a row fails, if a line is not
 * understood, or if there was none. */
#include "resolver/rowfile.h"
#include "resolver/stage.h"
#include "support/fake_repo.h"
#include <gateway/request.h>
#include <stdio.h>

static void begin(void)
{
	stage_begin(ROWS_ROOT);
}

static const struct row_runner runner = { .begin = begin, .end = fake_repo_end, .ask = stage_ask };

int main(int argc, char **argv)
{
	struct row_result total = { 0, 0 };

	for (int i = 1; i < argc; i++)
		rowfile_run(argv[i], &runner, false, &total);
	request_pool_done();
	printf("%u passed, %u failed\n", total.passed, total.failed);
	return total.failed > 0 || total.passed == 0;
}
