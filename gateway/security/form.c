/* form.c - logging in by a form, and the session that it begins.
 *
 *    POST .../j_security_check with j_username and j_password in a form   credentials of a login
 *    cookie __Host-bw (bw over plain HTTP)                                credentials of a session
 *    a browser that has to log in                                         302 to the login page
 *    after the login                                                      302 to where it wanted to be
 *
 * A login is a POST with both fields in its body, never in a URL. The session is a signed token that auth
 * makes and checks; here it is a cookie: HttpOnly, Secure over https, SameSite=Lax, no domain, gone with the
 * browser. Two cookies of the name are none: one of them is somebody else's. The login page is a servlet
 * that says so (BW_AUTH_LOGIN_FORM); without one browsers get what others get.
 *
 * Owns: the list of login pages, whose services and settings it borrows. Runs in: a request's fiber; waits for auth at
 * the end of a session. Fails with: AUTH_FAILED. Tests: tests/conformance/login. */
#include "forms/cookies.h"
#include "forms/urlform.h"
#include "peers/ask.h"
#include "request.h"
#include "security/handler.h"
#include "security/redirect.h"
#include "security/security.h"
#include "settings.h"
#include "whiteboard/registry.h"

#include <base/fatal.h>
#include <base/log.h>
#include <boardwalk/auth.h>
#include <boardwalk/form.h>
#include <stdlib.h>
#include <strings.h>

#define MAX_FORM   16384u /* octets of a login's body */
#define MAX_FIELDS 32u

static const struct bw_str login_suffix = BW_STR("/j_security_check");

static struct registry    *registry;
static struct bw_service **pages; /* that of the highest ranking first */
static size_t              n_pages;
static const char         *own_page; /* of the settings, before all others; NULL: none */
static bool                expired_logs_in;

bool form_expired_logs_in(void)
{
	return expired_logs_in;
}

/* ---- the login's own form ---- */

bool form_is_login(const struct bw_req *req)
{
	return req->path.n >= login_suffix.n && memcmp(req->path.p + req->path.n - login_suffix.n,
	                                               login_suffix.p, login_suffix.n) == 0;
}

static bool is_form(const struct bw_req *req)
{
	static const struct bw_str type = BW_STR("application/x-www-form-urlencoded");
	struct bw_str              is = request_header(req, "content-type");

	return bw_str_eq(req->method, BW_STR("POST")) && form_is_login(req) && is.n >= type.n &&
	       strncasecmp(is.p, type.p, type.n) == 0 &&
	       (is.n == type.n || strchr("; \t", is.p[type.n]) != NULL) && req->body_length > 0 &&
	       req->body_length <= MAX_FORM;
}

/* The fields, in text, which has room for MAX_FORM + 1 octets and is the caller's to wipe. */
static bool read_form(struct bw_req *req, char *text, struct pairs *ret)
{
	size_t n = 0;

	*ret = (struct pairs){ 0 };
	if (!is_form(req) || request_body_read(req, 0, text, MAX_FORM, &n) != BW_OK ||
	    n != req->body_length)
		return false;
	text[n] = '\0';
	return urlform_parse(&req->arena, text, n, MAX_FIELDS, ret) == BW_OK;
}

struct bw_str form_param(struct bw_req *req, const char *name)
{
	char         *value = NULL, *text;
	struct pairs  fields;
	struct bw_str found = BW_ABSENT;

	if (req->query.p != NULL) {
		value = arena_alloc(&req->arena, req->query.n + 1);
		if (challenge_query_param(req, name, value, req->query.n + 1))
			return bw_str(value);
	}
	if (!is_form(req))
		return BW_ABSENT;
	text = xmalloc(MAX_FORM + 1);
	if (read_form(req, text, &fields))
		found = request_dup(req, pairs_find(&fields, bw_str(name)));
	explicit_bzero(text, MAX_FORM + 1);
	free(text);
	return found;
}

void form_wipe(struct bw_req *req)
{
	if (form_is_login(req) && req->body_length <= MAX_FORM)
		request_body_wipe(req);
}

/* ---- the cookie ---- */

static const char *cookie_name(const struct bw_req *req)
{
	return bw_str_eq(req->scheme, BW_STR("https")) ? "__Host-bw" : "bw";
}

/* Most requests have none, and most cookies are not ours: they are not read then. */
static bool may_have_cookie(const struct bw_req *req)
{
	static const struct bw_str name = BW_STR("cookie");

	for (size_t i = 0; i < req->n_headers; i++) {
		struct bw_str value = req->headers[i].value;

		if (bw_str_eq(req->headers[i].name, name) && value.n >= 3 &&
		    memmem(value.p, value.n, "bw=", 3) != NULL)
			return true;
	}
	return false;
}

/* The one cookie of the name; *ret_n counts them. Cookies that cannot be read count as none. */
static struct bw_str cookie_of(struct bw_req *req, size_t *ret_n)
{
	const struct bw_pair *all;
	struct bw_str         value = BW_ABSENT, name = bw_str(cookie_name(req));
	size_t                n = 0;

	*ret_n = 0;
	if (!may_have_cookie(req) || cookies_all(req, &all, &n) != BW_OK)
		return BW_ABSENT;
	for (size_t i = 0; i < n; i++) {
		if (!bw_str_eq(all[i].name, name))
			continue;
		value = all[i].value;
		++*ret_n;
	}
	return value;
}

struct bw_str form_session(struct bw_req *req)
{
	size_t        n;
	struct bw_str value = cookie_of(req, &n);

	return n == 1 && value.n > 0 ? value : BW_ABSENT;
}

static void give_cookie(struct bw_req *req, struct bw_str value, int64_t max_age_s)
{
	struct bw_cookie cookie = bw_cookie(cookie_name(req), value);

	cookie.path = "/";
	cookie.max_age_s = max_age_s;
	if (cookies_add(req, &cookie) != BW_OK)
		log_error(req->id, "the cookie of a session cannot be set");
}

/* ---- the handler ---- */

static enum auth_verdict extract_form(struct bw_req *req, struct auth_credentials *ret)
{
	char             *text = xmalloc(MAX_FORM + 1);
	struct pairs      fields;
	enum auth_verdict verdict = AUTH_NOT_MINE;

	if (read_form(req, text, &fields)) {
		struct bw_str user = pairs_find(&fields, BW_STR("j_username"));
		struct bw_str password = pairs_find(&fields, BW_STR("j_password"));

		if (user.p != NULL && password.p != NULL) {
			verdict = handlers_put_password(user, password, ret);
			ret->is_login = verdict == AUTH_CREDENTIALS;
		}
	}
	explicit_bzero(text, MAX_FORM + 1);
	free(text);
	return verdict;
}

static enum auth_verdict extract(const struct auth_handler *h, struct bw_req *req,
                                 struct auth_credentials *ret)
{
	enum auth_verdict verdict = AUTH_NOT_MINE;
	struct bw_str     token;
	size_t            n;

	(void)h;
	if (is_form(req))
		verdict = extract_form(req, ret);
	if (verdict != AUTH_NOT_MINE)
		return verdict;
	token = cookie_of(req, &n);
	if (n == 0)
		return AUTH_NOT_MINE;
	ret->kind = AUTH_SESSION;
	ret->token = token;
	return n == 1 && token.n > 0 ? AUTH_CREDENTIALS : AUTH_FAILED;
}

/* Where browsers are sent; NULL: nowhere. */
static const char *page_path(void)
{
	const struct bw_prop *path;

	if (own_page != NULL)
		return own_page;
	path = n_pages > 0 ? service_prop(pages[0], BW_AUTH_LOGIN_FORM) : NULL;
	return path != NULL && path->type == BW_PROP_STRING ? path->u.string : NULL;
}

/* What the client wants, if it is a login that has failed: where it was to lead. */
static struct bw_str wanted_by(struct bw_req *req)
{
	struct bw_str wanted = form_param(req, "resource");

	if (wanted.n > 0)
		return wanted;
	if (form_is_login(req))
		return BW_STR("/");
	if (req->query.p == NULL)
		return req->uri;
	return bw_str(arena_printf(&req->arena, "%.*s?%.*s", (int)req->uri.n, req->uri.p,
	                           (int)req->query.n, req->query.p));
}

/* The login page, with where the client wanted to be and a word on why it is there. A page that needs
 * credentials itself would be asked for again and again. */
static bool request(const struct auth_handler *h, struct bw_req *req,
                    const struct auth_failure *why)
{
	const char   *page = page_path();
	struct bw_str location;

	(void)h;
	if (page == NULL || bw_str_eq(req->path, bw_str(page)))
		return false;
	location = redirect_add(&req->arena, bw_str(page), "resource", wanted_by(req));
	if (strcmp(why->code, "unknown") != 0)
		location = redirect_add(&req->arena, location, "j_reason", bw_str(why->code));
	redirect_send(req, location);
	return true;
}

static void drop(const struct auth_handler *h, struct bw_req *req)
{
	size_t n;

	(void)h;
	(void)cookie_of(req, &n);
	if (n > 0)
		give_cookie(req, BW_ABSENT, 0);
}

/* A login leaves no session of before it, and no token of a form. */
static void forget_before(struct bw_req *req)
{
	struct bw_str before = form_session(req);
	int           rc = before.p != NULL ? ask_session_end(req, before, NULL) : BW_OK;

	if (rc != BW_OK)
		log_warning(req->id, "the session of before a login was not ended: %d", rc);
	security_csrf_forget(req);
}

static bool succeeded(const struct auth_handler *h, struct bw_req *req,
                      const struct auth_credentials *c, const struct ask_login *login)
{
	(void)h;
	if (c->is_login && !challenge_is_validation(req))
		forget_before(req);
	if (login->token.p != NULL)
		give_cookie(req, login->token, -1);
	if (!c->is_login || challenge_is_validation(req))
		return false;
	redirect_send(req, redirect_target(req, NULL));
	return true;
}

const struct auth_handler form_handler = {
	.type = "FORM",
	.extract = extract,
	.request = request,
	.drop = drop,
	.succeeded = succeeded,
	.failed = drop, /* a session that is over need not come again */
};

/* ---- the login page ---- */

static void on_event(void *arg, enum registry_event event, struct bw_service *s)
{
	size_t i = 0;

	(void)arg;
	while (i < n_pages && pages[i] != s)
		i++;
	if (i < n_pages) {
		n_pages--;
		memmove(pages + i, pages + i + 1, (n_pages - i) * sizeof(*pages));
	}
	if (event == REGISTRY_UNREGISTERING || service_prop(s, BW_AUTH_LOGIN_FORM) == NULL)
		return;
	pages = xrealloc(pages, (n_pages + 1) * sizeof(*pages));
	for (i = n_pages++; i > 0 && service_compare(s, pages[i - 1]) < 0; i--)
		pages[i] = pages[i - 1];
	pages[i] = s;
}

static void use_page(const char *path)
{
	static const struct redirect_site everywhere = { BW_STR(""), NULL, NULL };
	struct arena                      a;
	struct bw_str                     checked;

	arena_init(&a);
	checked = redirect_check(&a, &everywhere, bw_str(path));
	if (checked.p == NULL || !bw_str_eq(checked, bw_str(path)))
		fatalx("gateway.login_page: \"%s\" is no path that a client can be sent to", path);
	arena_done(&a);
	own_page = path;
}

void form_init(struct registry *r, const struct gateway_settings *settings)
{
	registry = r;
	expired_logs_in = settings->form_onexpire_login;
	own_page = NULL;
	if (settings->login_page != NULL && settings->login_page[0] != '\0')
		use_page(settings->login_page);
	registry_listen(r, on_event, NULL);
}

void form_done(void)
{
	registry_unlisten(registry, on_event, NULL);
	free(pages);
	pages = NULL;
	n_pages = 0;
}
