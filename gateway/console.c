/* console.c - what an administrator may look at on the management listener: the whiteboard.
 *
 *    who asks    the same authenticator as everywhere; the guest is asked for credentials
 *    who may     whoever may read CONSOLE_RESOURCE in the repository: admin, and those whom the
 *                operator gave that right with a line of repoinit
 *
 * Owns: nothing. Runs in: a request's fiber; waits for auth and repo. Fails with: 401, 403, 503,
 * 504.
 * Tests: tests/unit/engine/console_test.c, tests/system/console_test.c. */
#include "console.h"

#include "management.h"
#include "request.h"
#include "peers/resolver.h"
#include "security/security.h"
#include "whiteboard/inspect.h"

#define CONSOLE_RESOURCE "/system/console"

/* Repo or auth could not say: neither yes nor no. */
static bool refuse_undecided(struct bw_req *req, int err)
{
	response_builtin_page(req, err == BW_ETIME ? 504 : 503);
	return false;
}

/* False: answered. */
static bool admit(struct bw_req *req)
{
	struct bw_resource *res;
	int                 err;

	if (security_authenticate(req) != BW_OK)
		return false;
	if (req->resolver->kind == RESOLVER_ANONYMOUS) {
		security_challenge(req, "Authentication required");
		return false;
	}
	err = resolver_get(req->resolver, BW_STR(CONSOLE_RESOURCE), &res);
	if (err == BW_ENOTFOUND) {
		response_builtin_page(req, 403);
		return false;
	}
	return err == BW_OK || refuse_undecided(req, err);
}

static void serve_whiteboard(struct bw_req *req)
{
	struct buf json;

	if (!admit(req))
		return;
	buf_init(&json);
	inspect_whiteboard(&json);
	response_header(req, "content-type", BW_STR("application/json"), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
	response_write(req, buf_data(&json), buf_size(&json));
	buf_done(&json);
}

void console_init(void)
{
	management_add(BW_STR("/system/console/whiteboard.json"), serve_whiteboard);
}
