/* authenticator.c - who is asking? The one place that may make a request anonymous.
 *
 *    handlers, the first that claims it decides
 *       nobody claims it    open path: anonymous, else the dialogue
 *       STOP                it has answered
 *       credentials         post-processors, then auth verifies and mints in one call
 *          accepted         the user's resolver; after a login perhaps a redirect
 *          refused          password and bearer: 401 (403 to a validation request), on open paths too
 *                           session: it is over, and counts as none
 *          no answer        503, 504, 500; never anonymous
 *
 * Refused credentials are refused on an open path as well: whoever sent them should learn that they
 * are wrong instead of getting a guest's view. A session that is over is not sent, but left behind by the
 * client: its cookie is cleared. Nothing is verified here.
 *
 * Owns: nothing; resolvers live in their request. Runs in: a request's fiber, waits for auth and for
 * handlers of bundles. Anonymous costs no message. Fails with: BW_DECLINED, having answered.
 * Tests: tests/unit/engine/authenticator_test.c, tests/conformance/security, tests/conformance/login. */
#include <base/log.h>
#include <boardwalk/auth.h>
#include <string.h>
#include "forms/params.h"
#include "peers/ask.h"
#include "request.h"
#include "peers/resolver.h"
#include "security/handler.h"
#include "security/redirect.h"
#include "security/security.h"
#include "security/sudo.h"
#include "security/terms.h"

static const struct auth_failure needed = { "Authentication required", "unknown" };
static const struct auth_failure refused = { "Authentication failed", "invalid_login" };
static const struct auth_failure unhandled = { "Authentication failed", "unknown" };
static const struct auth_failure is_over = { "The session is over", "expired_token" };

/* One login: what it is about, on its stack. */
struct attempt {
	struct auth_handlers      *handlers; /* held */
	const struct auth_handler *handler;  /* who has claimed it; NULL: nobody */
	struct auth_credentials    credentials;
	struct login_terms         terms;
};

/* ---- answers ---- */

/* The request goes on as whoever r is for. */
static int go_on(struct bw_req *req, struct bw_resolver *r)
{
	if (form_is_login(req)) {
		challenge_forbid(req, unhandled.reason, unhandled.code);
		return BW_DECLINED;
	}
	req->resolver = r;
	return BW_OK;
}

static int dialogue(struct bw_req *req, const struct auth_failure *why)
{
	challenge_start(req, why);
	return BW_DECLINED;
}

static int as_guest(struct attempt *a, struct bw_req *req, const struct auth_failure *why)
{
	if (security_is_required(req, req->path) || challenge_is_validation(req))
		return dialogue(req, why);
	if (!handlers_process(a->handlers, req, BW_ABSENT, BW_ABSENT))
		return dialogue(req, &refused);
	return go_on(req, resolver_new(req, RESOLVER_ANONYMOUS));
}

/* The credentials are no good. */
static int refuse(struct attempt *a, struct bw_req *req)
{
	const struct auth_handler *h = a->handler;

	if (h->failed != NULL)
		h->failed(h, req);
	if (a->credentials.kind == AUTH_SESSION) {
		if (form_expired_logs_in())
			return dialogue(req, &is_over);
		return as_guest(a, req, &is_over);
	}
	if (challenge_is_validation(req))
		challenge_forbid(req, refused.reason, refused.code);
	else if (h->refuse != NULL)
		h->refuse(h, req, &refused);
	else
		challenge_start(req, &refused);
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

/* Nothing else runs for this request, as nobody. */
static int stop(struct bw_req *req)
{
	req->resolver = NULL;
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

/* ---- the login ---- */

int security_ask(struct bw_req *req, const struct auth_credentials *c, struct ask_login *login,
                 struct bw_resolver *r)
{
	switch (c->kind) {
	case AUTH_PASSWORD:
		return ask_authenticate_basic(req, c->user, c->password, login, r);
	case AUTH_SESSION:
		return ask_authenticate_token(req, c->token, login, r);
	case AUTH_BEARER:
		return ask_authenticate_bearer(req, c->token, login, r);
	}
	return BW_EINVAL;
}

/* A login without a page of its own is led on by whoever wants to be. */
static bool is_led_on(struct attempt *a, struct bw_req *req)
{
	char ignored[2];

	return (a->handler->succeeded == NULL || a->terms.sudo.is_changed) &&
	       challenge_query_param(req, "sling.auth.redirect", ignored, sizeof(ignored));
}

static int accept_login(struct attempt *a, struct bw_req *req, struct bw_resolver *r)
{
	const struct auth_handler *h = a->handler;

	if (terms_accepted(req, &a->terms, r) != BW_OK)
		return without_answer(req, BW_ENOMEM);
	req->resolver = r; /* whoever looks where it leads does so as the user */
	if (h->succeeded != NULL && h->succeeded(h, req, &a->credentials, &a->terms.ask))
		return stop(req);
	if (challenge_is_validation(req)) {
		(void)stop(req);
		return answer_validation(req);
	}
	if (is_led_on(a, req)) {
		redirect_send(req, redirect_target(req, NULL));
		return stop(req);
	}
	if (go_on(req, r) != BW_OK)
		return stop(req);
	req->remote_user = r->user;
	req->auth_type = bw_str(h->type);
	return BW_OK;
}

static int log_in(struct attempt *a, struct bw_req *req)
{
	const struct auth_credentials *c = &a->credentials;
	struct bw_resolver            *r;
	int                            rc;

	if (!handlers_process(a->handlers, req, bw_str(a->handler->type),
	                      c->kind == AUTH_PASSWORD ? c->user : BW_ABSENT))
		return refuse(a, req);
	terms_read(req, &a->terms);
	/* A question whether they are good begins nothing. */
	a->terms.ask.want_session = c->is_login && !challenge_is_validation(req);
	r = resolver_new(req, RESOLVER_USER);
	rc = security_ask(req, c, &a->terms.ask, r);
	switch (rc) {
	case BW_OK:
		return accept_login(a, req, r);
	case BW_ELOGIN:
		terms_refused(req, &a->terms);
		return refuse(a, req);
	case BW_ETHROTTLED:
		terms_throttled(req, &a->terms);
		return BW_DECLINED;
	default:
		return without_answer(req, rc);
	}
}

/* ---- the entry ---- */

static enum auth_verdict extract(struct attempt *a, struct bw_req *req)
{
	enum auth_verdict verdict = AUTH_NOT_MINE;
	size_t            at = 0;

	while (verdict == AUTH_NOT_MINE &&
	       (a->handler = handlers_next(a->handlers, req, req->path, &at)) != NULL)
		verdict = a->handler->extract(a->handler, req, &a->credentials);
	return verdict;
}

static void begin(struct attempt *a)
{
	a->handlers = handlers_hold();
	a->handler = NULL;
	a->credentials.is_login = false;
	a->credentials.kind = AUTH_PASSWORD;
}

static void end(struct attempt *a)
{
	handlers_release(a->handlers);
	if (a->handler != NULL) /* else nobody has found any */
		explicit_bzero(&a->credentials, sizeof(a->credentials));
}

/* The handlers that answer a request by themselves have done so: this one has got to a servlet. */
enum auth_verdict security_extract(struct bw_req *req, struct auth_credentials *ret)
{
	struct attempt    a;
	enum auth_verdict verdict;

	begin(&a);
	verdict = extract(&a, req);
	*ret = a.credentials;
	/* Those of a password point into their own octets. */
	if (verdict == AUTH_CREDENTIALS && ret->kind == AUTH_PASSWORD) {
		ret->user.p = ret->octets + (a.credentials.user.p - a.credentials.octets);
		ret->password.p = ret->octets + (a.credentials.password.p - a.credentials.octets);
	}
	end(&a);
	return verdict;
}

int security_authenticate(struct bw_req *req)
{
	struct attempt a;
	int            rc = BW_DECLINED;

	if (req->resolver != NULL)
		return BW_OK; /* an include or a forward: it is the same request */
	begin(&a);
	switch (extract(&a, req)) {
	case AUTH_NOT_MINE:
		rc = as_guest(&a, req, &needed);
		break;
	case AUTH_CREDENTIALS:
		rc = log_in(&a, req);
		break;
	case AUTH_STOP:
		break;
	case AUTH_FAILED:
		rc = refuse(&a, req);
		break;
	}
	end(&a);
	form_wipe(req);
	return rc;
}

int security_challenge(struct bw_req *req, const char *reason)
{
	const struct auth_failure why = { reason, "unknown" };

	return dialogue(req, &why);
}

/* ---- for servlets ---- */

static int start_login(struct bw_req *req)
{
	if (challenge_is_browser(req) || !challenge_by_handlers(req, &needed))
		challenge_start(req, &needed); /* 403 to scripts of browsers */
	return BW_DECLINED;
}

/* Whose handlers drop their credentials: those of where the client goes, as at a login. */
static struct bw_str logout_path(struct bw_req *req)
{
	struct bw_str target;

	if (params_get(req, "resource", &target) != BW_OK || target.n == 0 || target.p[0] != '/')
		return req->path;
	return (struct bw_str){ target.p, strcspn(target.p, "?#;") };
}

static int log_out(struct bw_req *req)
{
	struct auth_handlers      *all = handlers_hold();
	const struct auth_handler *h;
	struct bw_str              session = form_session(req), path = logout_path(req);
	size_t                     at = 0;
	int                        rc = req->committed      ? BW_ESTATE
	                                : session.p != NULL ? ask_session_end(req, session, NULL)
	                                                    : BW_OK;

	while (rc == BW_OK && (h = handlers_next(all, req, path, &at)) != NULL)
		if (h->drop != NULL)
			h->drop(h, req);
	if (rc == BW_OK) {
		sudo_clear(req);
		security_csrf_forget(req);
	}
	handlers_release(all);
	return rc;
}

const struct bw_authentication security_authentication = {
	.size = sizeof(struct bw_authentication),
	.login = start_login,
	.logout = log_out,
	.redirect_target = redirect_target,
};

/* ---- life ---- */

void security_init(struct registry *r, const struct gateway_settings *settings)
{
	csrf_init(settings);
	basic_init(settings);
	form_init(r, settings);
	requirements_init(r, settings);
	handlers_init(r);
}

void security_done(void)
{
	handlers_done();
	requirements_done();
	form_done();
	basic_done();
	csrf_done();
}
