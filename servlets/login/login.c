/* login.c - logging in and out with a browser, at the addresses of Apache Sling:
 *
 *   GET       /system/sling/form/login   the login page (page.c)
 *   GET, POST /system/sling/login        asks for credentials, by whatever the client can answer: 302 to the
 *                                        login page, 401, or 403; 302 to / if there is nothing to do
 *   POST      /system/sling/logout       ends the session; 302 to the parameter resource, else to /
 *   GET       /system/csrf/token.json    {"token": ...}, which scripts send back as X-CSRF-Token
 *
 * A GET does not log out: any page could have a browser send one. Credentials are checked by the server,
 * not here: the login page's form goes to its authenticator. */
#include "page.h"

#include <boardwalk/auth.h>

#define CONTEXT "org.apache.sling"
#define TOKEN   "/system/csrf/token.json"

/* ---- login ---- */

/* Nowhere, or here, which would go on for ever. */
static bool is_nowhere(struct bw_str target)
{
	return target.n == 0 || bw_str_eq(target, BW_STR("/system/sling/login")) ||
	       bw_str_eq(target, BW_STR(LOGIN_PAGE));
}

static int send_home(struct bw_req *req)
{
	struct bw_str context = bw_req_get(req, BW_REQ_CONTEXT_PATH);
	char         *root = bw_req_alloc(req, context.n + 1);

	memcpy(root, context.p, context.n);
	root[context.n] = '/';
	return bw_res_redirect(req, (struct bw_str){ root, context.n + 1 });
}

static int log_in(void *self, struct bw_req *req)
{
	struct bw_str resource;
	int           err = bw_req_param(req, "resource", &resource);

	(void)self;
	if (err != BW_OK)
		return err;
	bw_res_set_header(req, "Cache-Control", BW_STR("no-store"));
	if (bw_req_get(req, BW_REQ_REMOTE_USER).p != NULL && is_nowhere(resource))
		return send_home(req);
	return bw_req_login(req);
}

static const struct bw_servlet login = {
	.size = sizeof(login), .get = log_in, .post = log_in, .info = "starts a login"
};

/* ---- logout ---- */

static int log_out(void *self, struct bw_req *req)
{
	struct bw_str target = bw_req_redirect_target(req, NULL);
	int           err = bw_req_logout(req);

	(void)self;
	if (err != BW_OK)
		return err;
	bw_res_set_header(req, "Cache-Control", BW_STR("no-store"));
	/* Basic credentials are forgotten by browsers that are refused. */
	return bw_res_get_status(req) == 200 ? bw_res_redirect(req, target) : BW_OK;
}

static const struct bw_servlet logout = { .size = sizeof(logout),
	                                  .post = log_out,
	                                  .info = "ends a login" };

/* ---- the token of forms ---- */

/* Other sites can ask for it and not read it. It is base64url: nothing in it has to be escaped. */
static int get_token(void *self, struct bw_req *req)
{
	struct bw_str token;
	int           err = bw_req_csrf_token(req, &token);

	(void)self;
	if (err != BW_OK)
		return err;
	bw_res_set_header(req, "Content-Type", BW_STR("application/json"));
	bw_res_set_header(req, "Cache-Control", BW_STR("no-store"));
	return bw_res_printf(req, "{\"token\":\"%.*s\"}\n", (int)token.n, token.p);
}

static const struct bw_servlet token = { .size = sizeof(token),
	                                 .get = get_token,
	                                 .info = "the token of forms, for scripts" };

/* ---- the bundle ---- */

static int start(struct bw_bundle *self)
{
	int err = bw_register_servlet(self, &login_page, NULL,
	                              BW_P_STRING(BW_SLING_PATHS, LOGIN_PAGE),
	                              BW_P_STRING(BW_AUTH_LOGIN_FORM, LOGIN_PAGE),
	                              BW_P_STRING(BW_AUTH_REQUIREMENTS, "-" LOGIN_PAGE));

	if (err == BW_OK)
		err = bw_register_object(self, "boardwalk.login.Style", &boardwalk_embedded, NULL,
		                         BW_P_STRING(BW_CONTEXT_SELECT, CONTEXT),
		                         BW_P_STRING(BW_RESOURCE_PATTERN, LOGIN_STYLE),
		                         BW_P_STRING(BW_RESOURCE_PREFIX, "/login.css"));
	if (err == BW_OK)
		err = bw_register_servlet(self, &login, NULL,
		                          BW_P_STRING(BW_SLING_PATHS, "/system/sling/login"));
	if (err == BW_OK)
		err = bw_register_servlet(self, &logout, NULL,
		                          BW_P_STRING(BW_SLING_PATHS, LOGIN_OUT));
	if (err == BW_OK)
		err = bw_register_servlet(self, &token, NULL, BW_P_STRING(BW_SLING_PATHS, TOKEN),
		                          BW_P_STRING(BW_AUTH_REQUIREMENTS, "-" TOKEN));
	return err;
}

BW_BUNDLE_EMBEDDED("boardwalk.login", "1.0.0", start, NULL);
