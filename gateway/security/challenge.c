/* challenge.c - the dialogue with a client that has to say who it is: 401, or 403 where nobody could
 * answer a challenge.
 *
 *    j_validate=true              403, the answer to its question
 *    a browser, by script         403: a script is not given a password box
 *    a browser, Referer = itself  403: it was here before and is going round
 *    everybody else               401 with a Basic challenge
 *
 * Owns: nothing. Runs in: a request's fiber; never waits. Fails with: nothing.
 * Tests: tests/conformance/security/login.rows. */
#include <string.h>
#include <strings.h>
#include "request.h"
#include "security/handler.h"
#include "security/security.h"

/* ---- parameters of the query ---- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One decoded octet of *s, which moves behind it; a broken escape stands for itself. */
static char next_octet(struct bw_str *s)
{
	char   c = s->p[0];
	size_t used = 1;

	if (c == '+') {
		c = ' ';
	} else if (c == '%' && s->n >= 3 && hex_digit(s->p[1]) >= 0 && hex_digit(s->p[2]) >= 0) {
		c = (char)(hex_digit(s->p[1]) << 4 | hex_digit(s->p[2]));
		used = 3;
	}
	*s = (struct bw_str){ s->p + used, s->n - used };
	return c;
}

static bool decodes_to(struct bw_str s, const char *text)
{
	while (s.n > 0)
		if (*text == '\0' || next_octet(&s) != *text++)
			return false;
	return *text == '\0';
}

/* Cuts s at the first c; what follows goes to *ret_rest, absent if there is no c. */
static struct bw_str cut(struct bw_str s, char c, struct bw_str *ret_rest)
{
	const char   *at = s.n > 0 ? memchr(s.p, c, s.n) : NULL;
	struct bw_str head = { s.p, at != NULL ? (size_t)(at - s.p) : s.n };

	*ret_rest = at != NULL ? (struct bw_str){ at + 1, s.n - head.n - 1 } : BW_ABSENT;
	return head;
}

bool challenge_query_param(const struct bw_req *req, const char *name, char *value, size_t size)
{
	struct bw_str rest = req->query, raw;
	size_t        n = 0;

	while (rest.p != NULL) {
		struct bw_str pair = cut(rest, '&', &rest);

		if (!decodes_to(cut(pair, '=', &raw), name))
			continue;
		while (raw.n > 0 && n + 1 < size)
			value[n++] = next_octet(&raw);
		value[n] = '\0';
		return true;
	}
	return false;
}

bool challenge_is_validation(const struct bw_req *req)
{
	char value[8];

	return challenge_query_param(req, "j_validate", value, sizeof(value)) &&
	       strcasecmp(value, "true") == 0;
}

/* ---- who asks ---- */

static bool contains(struct bw_str s, const char *text)
{
	return s.n > 0 && memmem(s.p, s.n, text, strlen(text)) != NULL;
}

bool challenge_is_browser(const struct bw_req *req)
{
	struct bw_str agent = request_header(req, "user-agent");

	return contains(agent, "Mozilla") || contains(agent, "Opera");
}

static bool is_by_script(const struct bw_req *req)
{
	struct bw_str with = request_header(req, "x-requested-with");

	return with.n == strlen("XMLHttpRequest") &&
	       strncasecmp(with.p, "XMLHttpRequest", with.n) == 0;
}

/* Takes head off the front of *s. */
static bool take(struct bw_str *s, struct bw_str head)
{
	if (s->n < head.n || (head.n > 0 && memcmp(s->p, head.p, head.n) != 0))
		return false;
	*s = (struct bw_str){ s->p + head.n, s->n - head.n };
	return true;
}

/* Is the Referer the full URL of this very request? */
static bool is_loop(const struct bw_req *req)
{
	struct bw_str rest = request_header(req, "referer");

	if (rest.p == NULL || !take(&rest, req->scheme) || !take(&rest, BW_STR("://")) ||
	    !take(&rest, req->host) || !take(&rest, req->uri))
		return false;
	if (req->query.p != NULL && (!take(&rest, BW_STR("?")) || !take(&rest, req->query)))
		return false;
	return rest.n == 0;
}

/* ---- the answers ---- */

void challenge_forbid(struct bw_req *req, const char *reason, const char *code)
{
	response_reset_body(req);
	response_status(req, 403);
	response_header(req, "x-reason", bw_str(reason), true);
	response_header(req, "x-reason-code", bw_str(code), true);
	response_header(req, "content-type", BW_STR("text/plain;charset=UTF-8"), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
	response_write(req, reason, strlen(reason));
}

int security_challenge(struct bw_req *req, const char *reason)
{
	if (challenge_is_validation(req) ||
	    (challenge_is_browser(req) && (is_by_script(req) || is_loop(req))))
		challenge_forbid(req, reason, "unknown");
	else
		basic_challenge(req);
	return BW_DECLINED;
}
