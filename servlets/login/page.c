/* page.c - the login page: GET /system/sling/form/login?resource=/where&j_reason=invalid_login
 *
 * The form is posted to /j_security_check of the same context. What the client says is shown escaped, or
 * not at all: resource goes into a hidden field (whoever redirects there looks at it then), and of j_reason
 * only what is a known code becomes a text, one of ours. No script, nothing from elsewhere, no frame
 * around it. Whoever is signed in already is told so, and may sign out.
 *
 * Fails with: what a form that cannot be read is answered with. */
#include "page.h"

#define CHECK(call) \
	do { \
		int err_ = (call); \
		if (err_ != BW_OK) \
			return err_; \
	} while (0)

#define POLICY \
	"default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; " \
	"frame-ancestors 'none'"

/* Codes of X-Reason-Code, and those of Apache Sling's form. */
static const struct {
	struct bw_str code;
	const char   *text;
} reasons[] = {
	{ BW_STR("invalid_login"), "The user name or the password is not right." },
	{ BW_STR("INVALID_CREDENTIALS"), "The user name or the password is not right." },
	{ BW_STR("expired_token"), "Your session has ended. Please sign in again." },
	{ BW_STR("TIMEOUT"), "Your session has ended. Please sign in again." },
};

/* ---- text ---- */

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* As text, or as an attribute between quotes. */
static int put(struct bw_req *req, struct bw_str text)
{
	size_t from = 0;

	for (size_t i = 0; i < text.n; i++) {
		const char *name = entity(text.p[i]);

		if (name == NULL)
			continue;
		CHECK(bw_res_write(req, text.p + from, i - from));
		CHECK(bw_res_puts(req, name));
		from = i + 1;
	}
	return bw_res_write(req, text.p + from, text.n - from);
}

/* before, a path of this context, after. */
static int put_path(struct bw_req *req, const char *before, const char *path, const char *after)
{
	CHECK(bw_res_puts(req, before));
	CHECK(put(req, bw_req_get(req, BW_REQ_CONTEXT_PATH)));
	CHECK(bw_res_puts(req, path));
	return bw_res_puts(req, after);
}

static int put_hidden(struct bw_req *req, const char *name, struct bw_str value)
{
	if (value.n == 0)
		return BW_OK;
	CHECK(bw_res_printf(req, "<input type=\"hidden\" name=\"%s\" value=\"", name));
	CHECK(put(req, value));
	return bw_res_puts(req, "\">\n");
}

/* ---- the page ---- */

static int put_headers(struct bw_req *req)
{
	CHECK(bw_res_content_type(req, "text/html;charset=utf-8"));
	CHECK(bw_res_set_header(req, "Cache-Control", BW_STR("no-store")));
	CHECK(bw_res_set_header(req, "Content-Security-Policy", BW_STR(POLICY)));
	CHECK(bw_res_set_header(req, "X-Frame-Options", BW_STR("DENY")));
	CHECK(bw_res_set_header(req, "X-Content-Type-Options", BW_STR("nosniff")));
	/* Not "no-referrer": browsers would say "Origin: null" with the form then. */
	return bw_res_set_header(req, "Referrer-Policy", BW_STR("same-origin"));
}

static int put_head(struct bw_req *req)
{
	CHECK(bw_res_puts(
		req, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		     "<meta name=\"robots\" content=\"noindex\">\n<title>Sign in</title>\n"));
	return put_path(req, "<link rel=\"stylesheet\" href=\"", LOGIN_STYLE,
	                "\">\n</head>\n<body>\n<main>\n<h1>Sign in</h1>\n");
}

static int put_reason(struct bw_req *req, struct bw_str code)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (bw_str_eq(code, reasons[i].code))
			return bw_res_printf(req, "<p class=\"reason\" role=\"alert\">%s</p>\n",
			                     reasons[i].text);
	return BW_OK;
}

static int put_who(struct bw_req *req, struct bw_str token)
{
	struct bw_str user = bw_req_get(req, BW_REQ_REMOTE_USER);

	if (user.p == NULL)
		return BW_OK;
	CHECK(put_path(req, "<form class=\"out\" method=\"post\" action=\"", LOGIN_OUT,
	               "\">\n<p class=\"who\">You are signed in as <strong>"));
	CHECK(put(req, user));
	CHECK(bw_res_puts(req, "</strong>.</p>\n"));
	CHECK(put_hidden(req, ":csrf", token));
	return bw_res_puts(req, "<button type=\"submit\">Sign out</button>\n</form>\n");
}

static int put_form(struct bw_req *req, struct bw_str resource, struct bw_str token)
{
	CHECK(put_path(req, "<form method=\"post\" action=\"", "/j_security_check", "\">\n"));
	CHECK(put_hidden(req, "resource", resource));
	CHECK(put_hidden(req, ":csrf", token));
	return bw_res_puts(
		req,
		"<label for=\"user\">User name</label>\n"
		"<input id=\"user\" name=\"j_username\" type=\"text\" autocomplete=\"username\" "
		"autocapitalize=\"none\" spellcheck=\"false\" maxlength=\"255\" required "
		"autofocus>\n"
		"<label for=\"password\">Password</label>\n"
		"<input id=\"password\" name=\"j_password\" type=\"password\" "
		"autocomplete=\"current-password\" maxlength=\"1024\" required>\n"
		"<button type=\"submit\">Sign in</button>\n</form>\n"
		"</main>\n</body>\n</html>\n");
}

static int get(void *self, struct bw_req *req)
{
	struct bw_str resource, reason, token;

	(void)self;
	CHECK(bw_req_param(req, "resource", &resource));
	CHECK(bw_req_param(req, "j_reason", &reason));
	CHECK(bw_req_csrf_token(req, &token));
	CHECK(put_headers(req));
	CHECK(put_head(req));
	CHECK(put_reason(req, reason));
	CHECK(put_who(req, token));
	return put_form(req, resource, token);
}

const struct bw_servlet login_page = { .size = sizeof(login_page),
	                               .get = get,
	                               .info = "the login page" };
