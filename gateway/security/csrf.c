/* csrf.c - a request that changes something has to come from our own pages, or from no browser at all.
 *
 *    GET, HEAD, OPTIONS, TRACE               pass: they change nothing
 *    a path of gateway.referrer_exclude      passes
 *    Authorization: Bearer, and no cookie    passes: no browser sends that by itself
 *    X-CSRF-Token                            has to be right wherever it is sent
 *    Sec-Fetch-Site                          same-origin and none pass; others need a trusted origin
 *    else Origin, else Referer               our own origin or a trusted one (RFC 6454)
 *    else the form's field :csrf             if it is right
 *    none of these                           passes only without a browser's marks: Mozilla or Opera in
 *                                            User-Agent, a login cookie of ours
 *
 * This is Apache Sling's Referrer Filter, made stricter: it looks at all methods that are not safe and
 * does not ask who calls himself a browser before it believes what only a browser says (Fetch Metadata,
 * Origin). The token is for pages that a browser sends without either: a keyed hash of a random cookie
 * that scripts cannot read and that a login replaces.
 *
 * Owns: the trusted origins. Runs in: a request's fiber, before anything else sees the request; waits
 * only for the parts of a form. Fails with: false, having answered 403. Logs refusals, without a token.
 * Tests: tests/conformance/origin, tests/system/csrf_test.c. */
#include "forms/cookies.h"
#include "forms/params.h"
#include "request.h"
#include "security/handler.h"
#include "security/origin.h"
#include "security/security.h"
#include "settings.h"

#include <base/fatal.h>
#include <base/log.h>
#include <base/mac.h>
#include <boardwalk/form.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define SECRET_OCTETS 32u
#define TEXT_OCTETS   43u /* 32 octets in base64url */
#define LABEL         "boardwalk csrf"

_Static_assert(MAC_SIZE == SECRET_OCTETS, "cookie and token have the same form");

static struct {
	bool                    is_on, allows_empty;
	const struct conf_list *excluded; /* paths */
	struct origin_list     *trusted;
} csrf;

/* ---- base64url without padding (RFC 4648 section 5) ---- */

static void encode(const uint8_t octets[SECRET_OCTETS], char text[TEXT_OCTETS + 1])
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	unsigned n_bits = 0;
	size_t   at = 0;

	for (size_t i = 0; i < SECRET_OCTETS; i++) {
		bits = bits << 8 | octets[i];
		for (n_bits += 8; n_bits >= 6; n_bits -= 6)
			text[at++] = alphabet[bits >> (n_bits - 6) & 63];
	}
	text[at++] = alphabet[bits << (6 - n_bits) & 63];
	text[at] = '\0';
}

/* ---- the token ---- */

static const char *cookie_name(const struct bw_req *req)
{
	return bw_str_eq(req->scheme, BW_STR("https")) ? "__Host-bw-csrf" : "bw-csrf";
}

/* The token that belongs to a cookie's text. */
static void token_of(struct bw_str secret, char token[TEXT_OCTETS + 1])
{
	uint8_t mac[MAC_SIZE];

	mac_make(secret.p, secret.n, LABEL, strlen(LABEL), mac);
	encode(mac, token);
}

/* The secret that the client has; absent: none, or not one of ours. */
static struct bw_str secret_of(struct bw_req *req)
{
	struct bw_str secret;

	if (cookies_get(req, cookie_name(req), &secret) != BW_OK || secret.n != TEXT_OCTETS)
		return BW_ABSENT;
	return secret;
}

static bool is_token(struct bw_req *req, struct bw_str token)
{
	struct bw_str secret = secret_of(req);
	char          right[TEXT_OCTETS + 1];

	if (secret.p == NULL || token.n != TEXT_OCTETS)
		return false;
	token_of(secret, right);
	return mac_eq(right, token.p, TEXT_OCTETS);
}

static int give_secret(struct bw_req *req, struct bw_str secret, int64_t max_age_s)
{
	struct bw_cookie cookie = bw_cookie(cookie_name(req), secret);

	cookie.path = "/";
	cookie.max_age_s = max_age_s;
	return cookies_add(req, &cookie);
}

int security_csrf_token(struct bw_req *req, struct bw_str *ret_token)
{
	struct bw_str secret = secret_of(req);
	char          text[TEXT_OCTETS + 1], token[TEXT_OCTETS + 1];
	uint8_t       octets[SECRET_OCTETS];
	int           err = BW_OK;

	*ret_token = BW_ABSENT;
	if (secret.p == NULL) {
		if (getrandom(octets, sizeof(octets), 0) != sizeof(octets))
			fatal("getrandom");
		encode(octets, text);
		secret = bw_str(text);
		err = give_secret(req, secret, -1);
	}
	if (err != BW_OK)
		return err;
	token_of(secret, token);
	*ret_token = request_dup(req, bw_str(token));
	return BW_OK;
}

void security_csrf_forget(struct bw_req *req)
{
	if (secret_of(req).p != NULL)
		(void)give_secret(req, BW_ABSENT, 0); /* too late: the response is on its way */
}

/* ---- who asks ---- */

/* The one header of that name: BW_ABSENT with *ret_n 0 for none, *ret_n > 1 for several. Blanks alone
 * count as none. */
static struct bw_str only_header(const struct bw_req *req, const char *name, size_t *ret_n)
{
	struct bw_str value = BW_ABSENT;

	*ret_n = 0;
	for (size_t i = 0; i < req->n_headers; i++) {
		struct bw_str v = req->headers[i].value;

		if (!bw_str_eq(req->headers[i].name, bw_str(name)))
			continue;
		while (v.n > 0 && (v.p[0] == ' ' || v.p[0] == '\t'))
			v = (struct bw_str){ v.p + 1, v.n - 1 };
		if (v.n > 0) {
			value = v;
			++*ret_n;
		}
	}
	return value;
}

static bool is_safe(const struct bw_req *req)
{
	return bw_str_eq(req->method, BW_STR("GET")) || bw_str_eq(req->method, BW_STR("HEAD")) ||
	       bw_str_eq(req->method, BW_STR("OPTIONS")) || bw_str_eq(req->method, BW_STR("TRACE"));
}

static bool is_excluded(const struct bw_req *req)
{
	for (size_t i = 0; i < csrf.excluded->n; i++)
		if (bw_str_eq(req->path, bw_str(csrf.excluded->items[i])))
			return true;
	return false;
}

static bool is_bearer_alone(const struct bw_req *req)
{
	static const struct bw_str scheme = BW_STR("bearer ");
	struct bw_str              value = request_header(req, "authorization");

	return value.n > scheme.n && strncasecmp(value.p, scheme.p, scheme.n) == 0 &&
	       request_header(req, "cookie").p == NULL;
}

static bool has_login_cookie(struct bw_req *req)
{
	struct bw_str value;

	if (request_header(req, "cookie").p == NULL)
		return false;
	/* Cookies that cannot be read may hide one. */
	return cookies_get(req, "bw", &value) != BW_OK || value.p != NULL ||
	       cookies_get(req, "__Host-bw", &value) != BW_OK || value.p != NULL;
}

/* ---- where from ---- */

enum from { FROM_US, FROM_TRUSTED, FROM_ELSEWHERE, FROM_NOWHERE };

static enum from place(const struct bw_req *req, struct bw_str text)
{
	struct origin from, own;

	if (!origin_parse(text, &from))
		return FROM_ELSEWHERE;
	if (origin_of(req->scheme, req->host, &own) && origin_eq(&from, &own))
		return FROM_US;
	return origin_list_has(csrf.trusted, &from) ? FROM_TRUSTED : FROM_ELSEWHERE;
}

static bool is_null(struct bw_str text)
{
	return text.n == 4 && strncasecmp(text.p, "null", 4) == 0;
}

/* Origin, or Referer without one; a relative Referer is of our own pages. */
static enum from where_from(const struct bw_req *req)
{
	size_t        n;
	struct bw_str value = only_header(req, "origin", &n);

	if (n > 0)
		return n > 1 ? FROM_ELSEWHERE : place(req, value);
	value = only_header(req, "referer", &n);
	if (n > 1)
		return FROM_ELSEWHERE;
	if (n == 0 || is_null(value))
		return FROM_NOWHERE;
	return memmem(value.p, value.n, ":/", 2) == NULL ? FROM_US : place(req, value);
}

/* ---- the decision ---- */

/* The field of a form; one that cannot be read has none. */
static bool has_form_token(struct bw_req *req)
{
	struct bw_str token;

	/* A login's password is left in no other memory than its own. */
	if (form_is_login(req))
		token = form_param(req, ":csrf");
	else if (params_get(req, ":csrf", &token) != BW_OK)
		return false;
	return is_token(req, token);
}

/* Why it is refused; NULL: it is not. */
static const char *why_not(struct bw_req *req)
{
	size_t        n_site, n_token;
	struct bw_str site = only_header(req, "sec-fetch-site", &n_site);
	struct bw_str token = only_header(req, "x-csrf-token", &n_token);
	enum from     from;

	if (n_token > 1 || (n_token == 1 && !is_token(req, token)))
		return "a token that is not this client's";
	from = where_from(req);
	if (n_site > 0) {
		bool is_ours = n_site == 1 && (bw_str_eq(site, BW_STR("same-origin")) ||
		                               bw_str_eq(site, BW_STR("none")));

		return is_ours || from == FROM_TRUSTED ? NULL : "sent by another site";
	}
	switch (from) {
	case FROM_US:
	case FROM_TRUSTED:
		return NULL;
	case FROM_ELSEWHERE:
		return "sent by another origin";
	case FROM_NOWHERE:
		break;
	}
	if (csrf.allows_empty || n_token == 1)
		return NULL;
	if (!challenge_is_browser(req) && !has_login_cookie(req))
		return NULL;
	return has_form_token(req) ? NULL : "sent by a browser that does not say from where";
}

bool security_permits(struct bw_req *req)
{
	const char *why;

	if (is_safe(req) || !csrf.is_on || is_excluded(req) || is_bearer_alone(req))
		return true;
	why = why_not(req);
	if (why == NULL)
		return true;
	log_info(req->id, "%.*s %.*s refused: %s", (int)req->method.n, req->method.p,
	         (int)req->path.n, req->path.p, why);
	response_send_error(req, 403, "Cross-site request");
	response_builtin_page(req, 403);
	response_header(req, "x-reason-code", BW_STR("csrf"), true);
	return false;
}

void csrf_init(const struct gateway_settings *settings)
{
	csrf.is_on = settings->referrer_check;
	csrf.allows_empty = settings->referrer_allow_empty;
	csrf.excluded = &settings->referrer_exclude;
	csrf.trusted = origin_list_new(&settings->referrer_hosts, &settings->referrer_hosts_regexp);
}

void csrf_done(void)
{
	origin_list_free(csrf.trusted);
	csrf.trusted = NULL;
}
