/* bearer.c - bearer tokens (RFC 6750): read from the Authorization header, and from nowhere else.
 *
 * A token that is no good is refused with 401 wherever it was sent: who sends one wants to know.
 * Owns: nothing. Runs in: a request's fiber; never waits. Fails with: AUTH_FAILED.
 * Tests: tests/conformance/login. */
#include "request.h"
#include "security/handler.h"

#include <base/log.h>
#include <wire/messages.h>

static enum auth_verdict extract(const struct auth_handler *h, struct bw_req *req,
                                 struct auth_credentials *ret)
{
	size_t        n;
	struct bw_str token = basic_token(basic_authorization(req, &n), BW_STR("bearer"));

	(void)h;
	if (token.p == NULL)
		return AUTH_NOT_MINE;
	if (n > 1 || token.n > WIRE_TOKEN_MAX) {
		log_info(req->id, "login refused: malformed bearer token");
		return AUTH_FAILED;
	}
	ret->kind = AUTH_BEARER;
	ret->token = token;
	return AUTH_CREDENTIALS;
}

static void refuse(const struct auth_handler *h, struct bw_req *req, const struct auth_failure *why)
{
	(void)h;
	(void)why;
	response_builtin_page(req, 401);
	response_header(req, "www-authenticate", BW_STR("Bearer error=\"invalid_token\""), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
}

const struct auth_handler bearer_handler = {
	.type = "BEARER",
	.extract = extract,
	.refuse = refuse,
};
