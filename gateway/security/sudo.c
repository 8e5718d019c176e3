/* sudo.c - impersonation as Apache Sling's authentication has it: `?sudo=NAME` acts as NAME from then on,
 * `?sudo=-` ends it, and the cookie `sling.sudo` keeps it for the browser's session.
 *
 *     parameter      cookie    wants        after an accepted login
 *     NAME           any       NAME         cookie set, unless it says so already or he is NAME
 *     -              any       nobody       cookie cleared
 *     none, empty    NAME      NAME         nothing
 *     none, empty    not ours  nobody       cookie cleared
 *
 * The cookie is no credential: who sends it is still asked who he is, and auth is asked each time
 * whether he may. A link on another site must not change who somebody acts as: the parameter of a request that
 * comes from one (Fetch Metadata, Sec-Fetch-Site) counts for nothing.
 *
 * Owns: nothing; what it reads is in the request's arena. Runs in: a request's fiber; never waits.
 * Fails with: see sudo.h. Tests: tests/unit/engine/sudo_test.c, tests/fuzz/sudo_decode.c,
 * tests/conformance/login. */
#include "percent.h"
#include "security/sudo.h"
#include "forms/cookies.h"
#include "peers/resolver.h"
#include "request.h"
#include "security/handler.h"
#include <stdio.h>

#define COOKIE    "sling.sudo"
#define PARAMETER "sudo"
#define ATTRIBUTE "user.impersonator"

/* ---- the cookie's value ---- */

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("*-._@", c) != NULL);
}

size_t sudo_encode(struct bw_str user, char *out)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t            n = 0;

	out[n++] = '"';
	for (size_t i = 0; i < user.n; i++) {
		if (is_plain(user.p[i])) {
			out[n++] = user.p[i];
			continue;
		}
		out[n++] = '%';
		out[n++] = hex[(unsigned char)user.p[i] >> 4];
		out[n++] = hex[(unsigned char)user.p[i] & 15];
	}
	out[n++] = '"';
	return n;
}

/* One octet of *s, which moves behind it; -1: there is none there. */
static int next_octet(struct bw_str *s)
{
	bool   is_escape = s->p[0] == '%';
	int    octet = is_escape ? percent_octet(s->p, s->n) : (unsigned char)s->p[0];
	size_t used = is_escape ? 3 : 1;

	if (octet < 0 || (!is_escape && !is_plain(s->p[0])))
		return -1;
	*s = (struct bw_str){ s->p + used, s->n - used };
	return octet;
}

bool sudo_decode(struct bw_str value, char *out, size_t *ret_n)
{
	size_t n = 0;

	if (value.n < 2 || value.p[0] != '"' || value.p[value.n - 1] != '"')
		return false;
	value = (struct bw_str){ value.p + 1, value.n - 2 };
	while (value.n > 0) {
		int octet = next_octet(&value);

		if (octet < ' ' || octet == 127 || n == SUDO_MAX_USER)
			return false;
		out[n++] = (char)octet;
	}
	*ret_n = n;
	return n > 0;
}

/* ---- what a request wants ---- */

/* The one cookie; two of them say nothing, like one that is not ours. */
static struct bw_str read_cookie(struct bw_req *req)
{
	const struct bw_pair *all = NULL;
	struct bw_str         found = BW_ABSENT;
	size_t                n = 0;

	if (cookies_all(req, &all, &n) != BW_OK)
		return BW_ABSENT;
	for (size_t i = 0; i < n; i++)
		if (bw_str_eq(all[i].name, BW_STR(COOKIE)))
			found = found.p != NULL ? BW_STR("") : all[i].value;
	return found;
}

static bool is_from_another_site(const struct bw_req *req)
{
	static const struct bw_str name = BW_STR("sec-fetch-site");

	for (size_t i = 0; i < req->n_headers; i++)
		if (bw_str_eq(req->headers[i].name, name))
			return bw_str_eq(req->headers[i].value, BW_STR("cross-site"));
	return false;
}

/* An empty one is none. */
static bool read_parameter(struct bw_req *req, struct sudo *s)
{
	char name[SUDO_MAX_USER + 2]; /* one too long stays too long, and is refused */

	if (req->query.n == 0 || !challenge_query_param(req, PARAMETER, name, sizeof(name)) ||
	    name[0] == '\0' || is_from_another_site(req))
		return false;
	if (strcmp(name, "-") != 0)
		s->user = request_dup(req, bw_str(name));
	s->is_changed = true;
	return true;
}

void sudo_read(struct bw_req *req, struct sudo *ret)
{
	char   name[SUDO_MAX_USER];
	size_t n;

	*ret = (struct sudo){ .cookie = read_cookie(req) };
	if (read_parameter(req, ret) || ret->cookie.p == NULL)
		return;
	if (sudo_decode(ret->cookie, name, &n))
		ret->user = request_dup(req, (struct bw_str){ name, n });
	else
		ret->is_changed = true;
}

/* ---- what comes of it ---- */

/* value absent: cleared. */
static int put_cookie(struct bw_req *req, struct bw_str value)
{
	struct bw_cookie c = {
		.size = sizeof(c),
		.name = COOKIE,
		.value = value.p != NULL ? value : BW_STR(""),
		.path = "/",
		.max_age_s = value.p != NULL ? -1 : 0,
		.http_only = true,
	};

	return cookies_add(req, &c);
}

void sudo_inherit(struct bw_resolver *r, struct bw_str impersonator)
{
	struct arena   *a = &r->req->arena;
	struct bw_pair *all = arena_alloc(a, (r->n_attributes + 1) * sizeof(*all));

	for (size_t i = 0; i < r->n_attributes; i++)
		all[i] = r->attributes[i];
	all[r->n_attributes++] = (struct bw_pair){ BW_STR(ATTRIBUTE), impersonator };
	r->attributes = all;
}

int sudo_accepted(struct bw_req *req, const struct sudo *s, struct bw_str impersonator,
                  struct bw_resolver *r)
{
	char          text[3 * SUDO_MAX_USER + 3];
	struct bw_str value = BW_ABSENT;

	if (impersonator.p != NULL)
		sudo_inherit(r, impersonator);
	if (!s->is_changed)
		return BW_OK;
	if (impersonator.p != NULL)
		value = (struct bw_str){ text, sudo_encode(s->user, text) };
	if (value.p == NULL ? s->cookie.p == NULL : bw_str_eq(value, s->cookie))
		return BW_OK; /* it says so already */
	return put_cookie(req, value);
}

void sudo_clear(struct bw_req *req)
{
	if (read_cookie(req).p != NULL)
		put_cookie(req, BW_ABSENT);
}
