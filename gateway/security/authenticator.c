/* authenticator.c - who is asking? The one place that may make a request anonymous.
 *
 *    extraction handlers -> nobody claims it   -> open path: anonymous, else the dialogue
 *                        -> credentials        -> auth verifies and mints in one call
 *                             accepted         -> the user's resolver
 *                             refused          -> 401 (403 to a validation request)
 *                             no answer        -> 503, 504, 500; never anonymous
 *
 * Refused credentials are refused on an open path as well: whoever sent them should learn that they
 * are wrong instead of getting a guest's view. Nothing is verified here.
 *
 * Owns: nothing; resolvers live in their request. Runs in: a request's fiber, waits for auth. Anonymous
 * costs no message. Fails with: BW_DECLINED, having answered.
 * Tests: tests/unit/engine/authenticator_test.c, tests/conformance/security. */
#include <base/log.h>
#include <string.h>
#include "peers/ask.h"
#include "request.h"
#include "peers/resolver.h"
#include "security/handler.h"
#include "security/security.h"
#include "security/terms.h"

/* Requests that end so are for a login handler, and never get to a servlet. */
static const struct bw_str login_suffix = BW_STR("/j_security_check");

/* In order of preference. */
static const struct auth_handler *const handlers[] = { &basic_handler };

#define REASON_NEEDED  "Authentication required"
#define REASON_REFUSED "Authentication failed"

static bool is_login(const struct bw_req *req)
{
	return req->path.n >= login_suffix.n && memcmp(req->path.p + req->path.n - login_suffix.n,
	                                               login_suffix.p, login_suffix.n) == 0;
}

/* ---- verdicts ---- */

/* The request goes on as whoever r is for. */
static int go_on(struct bw_req *req, struct bw_resolver *r)
{
	if (is_login(req)) {
		challenge_forbid(req, REASON_REFUSED, "unknown");
		return BW_DECLINED;
	}
	req->resolver = r;
	return BW_OK;
}

static int without_credentials(struct bw_req *req)
{
	if (security_is_required(req, req->path) || challenge_is_validation(req))
		return security_challenge(req, REASON_NEEDED);
	return go_on(req, resolver_new(req, RESOLVER_ANONYMOUS));
}

static int refuse(struct bw_req *req, const struct auth_handler *handler)
{
	if (challenge_is_validation(req))
		challenge_forbid(req, REASON_REFUSED, "invalid_login");
	else
		handler->refuse(req);
	return BW_DECLINED;
}

/* Auth could not say: neither yes nor no, and certainly not "as a guest". */
static int without_answer(struct bw_req *req, int rc)
{
	int status = rc == BW_EBUSY || rc == BW_EGONE ? 503 : rc == BW_ETIME ? 504 : 500;

	log_warning(req->id, "login not decided: auth answered %d", rc);
	response_builtin_page(req, status);
	return BW_DECLINED;
}

/* 200 and nothing else: the credentials are good. */
static int answer_validation(struct bw_req *req)
{
	response_header(req, "content-type", BW_STR("text/plain;charset=UTF-8"), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
	req->closed =
		true; /* complete as it stands; a status of 200 alone would look like no answer */
	return BW_DECLINED;
}

static int log_in(struct bw_req *req, const struct auth_handler *handler,
                  const struct auth_credentials *c)
{
	struct bw_resolver *r = resolver_new(req, RESOLVER_USER);
	struct login_terms  terms;
	int                 rc;

	terms_read(req, &terms);
	rc = ask_authenticate_basic(req, c->user, c->password, &terms.ask, r);
	if (rc == BW_ELOGIN) {
		terms_refused(req, &terms);
		return refuse(req, handler);
	}
	if (rc == BW_ETHROTTLED) {
		terms_throttled(req, &terms);
		return BW_DECLINED;
	}
	if (rc != BW_OK)
		return without_answer(req, rc);
	if (terms_accepted(req, &terms, r) != BW_OK)
		return without_answer(req, BW_ENOMEM);
	if (challenge_is_validation(req))
		return answer_validation(req);
	rc = go_on(req, r);
	if (rc == BW_OK) {
		req->remote_user = r->user;
		req->auth_type = bw_str(handler->type);
	}
	return rc;
}

/* ---- the entry ---- */

/* The first handler that claims the request decides; *ret_handler is who did. */
static enum auth_verdict extract(struct bw_req *req, struct auth_credentials *ret_credentials,
                                 const struct auth_handler **ret_handler)
{
	enum auth_verdict verdict = AUTH_NOT_MINE;

	for (size_t i = 0; verdict == AUTH_NOT_MINE && i < sizeof(handlers) / sizeof(handlers[0]);
	     i++) {
		verdict = handlers[i]->extract(req, ret_credentials);
		*ret_handler = handlers[i];
	}
	return verdict;
}

/* The handlers that answer a request by themselves have done so: this one has got to a servlet. */
enum auth_verdict security_extract(struct bw_req *req, struct auth_credentials *ret)
{
	const struct auth_handler *handler;

	return extract(req, ret, &handler);
}

int security_authenticate(struct bw_req *req)
{
	const struct auth_handler *handler = NULL;
	struct auth_credentials    credentials;
	int                        rc = BW_DECLINED;

	if (req->resolver != NULL)
		return BW_OK; /* an include or a forward: it is the same request */
	switch (extract(req, &credentials, &handler)) {
	case AUTH_NOT_MINE:
		return without_credentials(req);
	case AUTH_CREDENTIALS:
		rc = log_in(req, handler, &credentials);
		break;
	case AUTH_STOP:
		break;
	case AUTH_FAILED:
		rc = refuse(req, handler);
		break;
	}
	explicit_bzero(&credentials, sizeof(credentials));
	return rc;
}

void security_init(struct registry *r, const struct gateway_settings *settings)
{
	csrf_init(settings);
	basic_init(settings);
	requirements_init(r, settings);
}

void security_done(void)
{
	requirements_done();
	basic_done();
	csrf_done();
}
