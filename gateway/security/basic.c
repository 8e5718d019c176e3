/* basic.c - HTTP Basic (RFC 7617): reads the header, and challenges for it.
 *
 * Strict on purpose: base64 with its padding and nothing besides, UTF-8 (which the challenge asks
 * for), no control characters, a name of 1 to 255 octets, a password of at most 1024. What does not
 * keep to that is answered like a wrong password and never gets to auth.
 *
 * Owns: the challenge. The decoded octets are the caller's, who wipes them; the header itself stays in
 * the request, since the servlet may be one that passes it on.
 * Runs in: a request's fiber; never waits. Fails with: AUTH_FAILED.
 * Tests: tests/unit/engine/basic_test.c, tests/conformance/security/basic.rows. */
#include <base/fatal.h>
#include <base/log.h>
#include <stdlib.h>
#include <strings.h>
#include "request.h"
#include "security/handler.h"
#include "settings.h"

static char *challenge; /* the value of WWW-Authenticate */

/* auth.http: ENABLED challenges everybody, PREEMPTIVE only clients that are no browsers. */
static enum { PREEMPTIVE, ENABLED, DISABLED } mode;

/* ---- base64 (RFC 4648 section 4) ---- */

/* -1: no character of the alphabet. */
static int sextet(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes a group of four of which the last `padding` are '='. Bits that padding leaves over have to
 * be zero: otherwise several texts would mean the same credentials. */
static bool decode_group(const char *p, size_t padding, uint8_t out[3])
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int value = i < 4 - padding ? sextet(p[i]) : 0;

		if (value < 0)
			return false;
		bits = bits << 6 | (uint32_t)value;
	}
	out[0] = (uint8_t)(bits >> 16);
	out[1] = (uint8_t)(bits >> 8);
	out[2] = (uint8_t)bits;
	return padding == 0 || (bits & (padding == 1 ? 0xffu : 0xffffu)) == 0;
}

/* Into at most cap octets. */
static bool decode_base64(struct bw_str text, char *out, size_t cap, size_t *ret_n)
{
	size_t n = 0, padding = 0;

	if (text.n == 0 || text.n % 4 != 0)
		return false;
	if (text.p[text.n - 1] == '=')
		padding = text.p[text.n - 2] == '=' ? 2 : 1;
	for (size_t i = 0; i < text.n; i += 4) {
		bool    is_last = i + 4 == text.n;
		size_t  keep = is_last ? 3 - padding : 3;
		uint8_t group[3];

		if (n + keep > cap || !decode_group(text.p + i, is_last ? padding : 0, group))
			return false;
		memcpy(out + n, group, keep);
		explicit_bzero(group, sizeof(group));
		n += keep;
	}
	*ret_n = n;
	return true;
}

/* ---- text ---- */

/* Octets of the UTF-8 sequence at p of at most n; 0: none. Overlong forms, surrogates and what lies
 * beyond U+10FFFF are none. *ret_point: the character. */
static size_t decode_utf8(const uint8_t *p, size_t n, uint32_t *ret_point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t                length = p[0] < 0x80             ? 1
	                               : (p[0] & 0xe0) == 0xc0 ? 2
	                               : (p[0] & 0xf0) == 0xe0 ? 3
	                               : (p[0] & 0xf8) == 0xf0 ? 4
	                                                       : 0;
	uint32_t              point = length == 1 ? p[0] : p[0] & (0x7fu >> length);

	if (length == 0 || length > n)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (p[i] & 0x3fu);
	}
	if (point < least[length] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return length;
}

/* UTF-8 without control characters (C0, DEL, C1). */
bool basic_is_text(struct bw_str s)
{
	const uint8_t *p = (const uint8_t *)s.p;

	for (size_t i = 0; i < s.n;) {
		uint32_t point;
		size_t   length = decode_utf8(p + i, s.n - i, &point);

		if (length == 0 || point < 0x20 || (point >= 0x7f && point < 0xa0))
			return false;
		i += length;
	}
	return true;
}

/* ---- the header ---- */

/* The one Authorization header; *ret_n counts them. */
struct bw_str basic_authorization(const struct bw_req *req, size_t *ret_n)
{
	static const struct bw_str name = BW_STR("authorization");
	struct bw_str              value = BW_ABSENT;

	*ret_n = 0;
	for (size_t i = 0; i < req->n_headers; i++) {
		if (req->headers[i].name.n == name.n && bw_str_eq(req->headers[i].name, name)) {
			value = req->headers[i].value;
			++*ret_n;
		}
	}
	return value;
}

struct bw_str basic_token(struct bw_str value, struct bw_str scheme)
{
	if (value.n <= scheme.n || strncasecmp(value.p, scheme.p, scheme.n) != 0 ||
	    value.p[scheme.n] != ' ')
		return BW_ABSENT;
	value = (struct bw_str){ value.p + scheme.n, value.n - scheme.n };
	while (value.n > 0 && value.p[0] == ' ')
		value = (struct bw_str){ value.p + 1, value.n - 1 };
	return value.n > 0 ? value : BW_ABSENT;
}

/* name:password at the first colon; without one the password is empty. */
static bool split(struct auth_credentials *c, size_t n)
{
	const char *colon = memchr(c->octets, ':', n);

	c->user = (struct bw_str){ c->octets, colon != NULL ? (size_t)(colon - c->octets) : n };
	c->password = colon != NULL ? (struct bw_str){ colon + 1, n - c->user.n - 1 } : BW_STR("");
	return c->user.n > 0 && c->user.n <= AUTH_MAX_USER && c->password.n <= AUTH_MAX_PASSWORD &&
	       basic_is_text(c->user) && basic_is_text(c->password);
}

static enum auth_verdict extract(const struct auth_handler *h, struct bw_req *req,
                                 struct auth_credentials *ret)
{
	size_t        n_headers, n;
	struct bw_str token = basic_token(basic_authorization(req, &n_headers), BW_STR("basic"));
	char          ignored[2];

	(void)h;
	if (mode == DISABLED)
		return AUTH_NOT_MINE;
	if (n_headers > 1) {
		log_info(req->id, "login refused: %zu Authorization headers", n_headers);
		return AUTH_FAILED;
	}
	if (n_headers == 0 &&
	    challenge_query_param(req, "sling:authRequestLogin", ignored, sizeof(ignored))) {
		basic_challenge(req);
		return AUTH_STOP;
	}
	if (token.p == NULL)
		return AUTH_NOT_MINE;
	if (!decode_base64(token, ret->octets, sizeof(ret->octets), &n) || !split(ret, n)) {
		log_info(req->id, "login refused: malformed Basic credentials");
		return AUTH_FAILED;
	}
	ret->kind = AUTH_PASSWORD;
	return AUTH_CREDENTIALS;
}

/* ---- the challenge ---- */

void basic_challenge(struct bw_req *req)
{
	response_builtin_page(req, 401);
	response_header(req, "www-authenticate", bw_str(challenge), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
}

bool basic_is_on(void)
{
	return mode != DISABLED;
}

bool basic_is_for_browsers(void)
{
	return mode == ENABLED;
}

/* Without the guest somebody has to be able to log in: the header is read then. */
static void set_mode(const struct gateway_settings *settings)
{
	const char *text = settings->auth_http != NULL ? settings->auth_http : "preemptive";

	if (strcmp(text, "enabled") == 0)
		mode = ENABLED;
	else if (strcmp(text, "preemptive") == 0)
		mode = PREEMPTIVE;
	else if (strcmp(text, "disabled") == 0)
		mode = DISABLED;
	else
		fatalx("gateway.auth_http: \"%s\" is none of preemptive, enabled, disabled", text);
	if (!settings->anonymous)
		mode = ENABLED;
}

void basic_init(const struct gateway_settings *settings)
{
	const char *realm = settings->realm != NULL ? settings->realm : "";
	char       *quoted = xmalloc(2 * strlen(realm) + 1), *to = quoted;

	set_mode(settings);

	for (const char *from = realm; *from != '\0'; from++) {
		if ((unsigned char)*from < ' ' || *from == 0x7f)
			fatalx("gateway.realm: has a control character");
		if (*from == '"' || *from == '\\')
			*to++ = '\\';
		*to++ = *from;
	}
	*to = '\0';
	challenge = xasprintf("Basic realm=\"%s\", charset=\"UTF-8\"", quoted);
	free(quoted);
}

void basic_done(void)
{
	free(challenge);
	challenge = NULL;
}

/* Refused credentials get 401, on an open path too. */
static void refuse(const struct auth_handler *h, struct bw_req *req, const struct auth_failure *why)
{
	(void)h;
	(void)why;
	basic_challenge(req);
}

/* A client that has sent the header is asked anew, which makes a browser forget it. */
static void drop(const struct auth_handler *h, struct bw_req *req)
{
	size_t n;

	(void)h;
	if (mode == ENABLED && basic_token(basic_authorization(req, &n), BW_STR("basic")).p != NULL)
		basic_challenge(req);
}

const struct auth_handler basic_handler = {
	.type = "BASIC",
	.extract = extract,
	.drop = drop,
	.refuse = refuse,
};
