/* challenge.c - the dialogue with a client that has to say who it is.
 *
 *    j_validate=true              403, the answer to its question
 *    a browser, by script         403: a script is not given a password box
 *    a browser, Referer = itself  403: it was here before and is going round
 *    a browser                    the dialogue of the first handler that has one (the login page), else 401
 *                                 with a Basic challenge, where browsers get that, else 403
 *    everybody else               401 with a Basic challenge, 403 if Basic is disabled
 *
 * Owns: nothing. Runs in: a request's fiber; waits for handlers of bundles. Fails with: nothing.
 * Tests: tests/conformance/security/login.rows, tests/conformance/login. */
#include <string.h>
#include <strings.h>
#include "percent.h"
#include "request.h"
#include "security/handler.h"
#include "security/security.h"

/* ---- parameters of the query ---- */

/* One decoded octet of *s, which moves behind it; a broken escape stands for itself. */
static char next_octet(struct bw_str *s)
{
	int    octet = percent_octet(s->p, s->n);
	char   c = octet >= 0 ? (char)octet : s->p[0] == '+' ? ' ' : s->p[0];
	size_t used = octet >= 0 ? 3 : 1;

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

bool challenge_is_validation(struct bw_req *req)
{
	struct bw_str value = BW_ABSENT;
	char          text[8];

	/* Most requests have no such parameter: nothing is copied for them. */
	if (challenge_query_param(req, "j_validate", text, sizeof(text)))
		return strcasecmp(text, "true") == 0;
	if (form_is_login(req))
		value = form_param(req, "j_validate");
	return value.n == 4 && strncasecmp(value.p, "true", 4) == 0;
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

/* A handler's type may be asked for by name. */
static bool is_wanted(struct bw_req *req, const struct auth_handler *h)
{
	struct bw_str wanted = form_param(req, "sling:authRequestLogin");

	return (!h->is_for_browsers || challenge_is_browser(req)) &&
	       (wanted.n == 0 || bw_str_eq(wanted, bw_str(h->type)));
}

/* The path that the client wants to get to: whose handlers are asked. */
static struct bw_str target_path(struct bw_req *req)
{
	struct bw_str target = form_param(req, "resource");
	size_t        n = 0;

	if (target.n == 0 || target.p[0] != '/')
		return req->path;
	while (n < target.n && strchr("?#;", target.p[n]) == NULL)
		n++;
	return (struct bw_str){ target.p, n };
}

bool challenge_by_handlers(struct bw_req *req, const struct auth_failure *why)
{
	struct auth_handlers      *all = handlers_hold();
	struct bw_str              path = target_path(req);
	const struct auth_handler *h;
	size_t                     at = 0;
	bool                       done = false;

	while (!done && (h = handlers_next(all, req, path, &at)) != NULL)
		done = h->request != NULL && is_wanted(req, h) && h->request(h, req, why);
	handlers_release(all);
	return done;
}

static void challenge_browser(struct bw_req *req, const struct auth_failure *why)
{
	bool is_loop_of_ours = is_loop(req) && strcmp(why->code, "expired_token") != 0;

	if (is_by_script(req) || is_loop_of_ours)
		challenge_forbid(req, why->reason, why->code);
	else if (challenge_by_handlers(req, why))
		; /* answered */
	else if (basic_is_for_browsers())
		basic_challenge(req);
	else
		challenge_forbid(req, why->reason, why->code);
}

void challenge_start(struct bw_req *req, const struct auth_failure *why)
{
	if (challenge_is_validation(req))
		challenge_forbid(req, why->reason, why->code);
	else if (challenge_is_browser(req))
		challenge_browser(req, why);
	else if (basic_is_on())
		basic_challenge(req);
	else
		challenge_forbid(req, why->reason, why->code);
}
