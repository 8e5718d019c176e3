/* Cookies, both ways.
 *
 * In: RFC 6265 says what a server may send, and a client sends back what it was given by anybody in
 * the domain. So the frame must be right (name=value; name=value, names are tokens, no controls),
 * while a value may have blanks, commas, quotes and octets above 127 in it; quotes are part of the
 * value.
 *
 * Out: only what every client gives back unchanged is let through, and nothing that it would refuse
 * to keep (the __Secure- and __Host- prefixes, SameSite=None without Secure).
 *
 * Owns: nothing; all is in the request's arena. Runs in: the request's fiber. Fails with:
 * BW_ESYNTAX (in), BW_EINVAL (out), what response_header fails with.
 * Tests: tests/unit/gateway/cookies_test.c, tests/fuzz/cookies_parse.c. */
#include "cookies.h"

#include "request.h"
#include "token.h"

#include <stdio.h>
#include <strings.h>

#define MAX_OCTETS 4096 /* of a cookie; more is not kept by browsers */

struct cookies {
	int          err;
	struct pairs list;
};

/* ---- in ---- */

static bool is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!token_lower[(unsigned char)p[i]])
			return false;
	return n > 0;
}

static bool has_control(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)p[i] < ' ' || p[i] == 127)
			return true;
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The piece is our own copy; a NUL is put behind name and value. */
static int add_piece(struct arena *a, char *p, char *end, struct pairs *to)
{
	struct bw_str name, value;
	char         *equals;

	while (p < end && is_blank(*p))
		p++;
	while (p < end && is_blank(end[-1]))
		end--;
	if (p == end)
		return BW_OK; /* "a=b; " is seen, and says nothing wrong */
	equals = memchr(p, '=', (size_t)(end - p));
	if (!equals)
		return BW_ESYNTAX;
	name = (struct bw_str){ p, (size_t)(equals - p) };
	value = (struct bw_str){ equals + 1, (size_t)(end - equals - 1) };
	if (!is_token(name.p, name.n) || has_control(value.p, value.n))
		return BW_ESYNTAX;
	*equals = *end = '\0';
	pairs_add(a, to, name, value);
	return BW_OK;
}

int cookies_parse(struct arena *a, struct bw_str header, struct pairs *to)
{
	char *p = arena_dup(a, header.p, header.n), *end = p + header.n;
	int   err = BW_OK;

	while (err == BW_OK && p < end) {
		char *semicolon = memchr(p, ';', (size_t)(end - p));
		char *stop = semicolon ? semicolon : end;

		err = add_piece(a, p, stop, to);
		p = stop + 1;
	}
	return err;
}

static const struct cookies *cookies_of(struct bw_req *req)
{
	struct cookies *c = req->cookies;

	if (c)
		return c;
	c = req->cookies = arena_zalloc(&req->arena, sizeof(*c));
	for (size_t i = 0; c->err == BW_OK && i < req->n_headers; i++) {
		const struct bw_res_header *h = &req->headers[i];

		if (h->name.n == 6 && strncasecmp(h->name.p, "cookie", 6) == 0)
			c->err = cookies_parse(&req->arena, h->value, &c->list);
	}
	return c;
}

int cookies_get(struct bw_req *req, const char *name, struct bw_str *ret_value)
{
	const struct cookies *c = cookies_of(req);

	if (c->err == BW_OK)
		*ret_value = pairs_find(&c->list, bw_str(name));
	return c->err;
}

int cookies_all(struct bw_req *req, const struct bw_pair **ret_cookies, size_t *ret_n)
{
	const struct cookies *c = cookies_of(req);

	if (c->err == BW_OK) {
		*ret_cookies = c->list.items;
		*ret_n = c->list.n;
	}
	return c->err;
}

/* ---- out ---- */

/* RFC 6265 4.1.1: cookie-octets, in quotes or not. */
static bool is_value(struct bw_str v)
{
	if (v.n >= 2 && v.p[0] == '"' && v.p[v.n - 1] == '"')
		v = (struct bw_str){ v.p + 1, v.n - 2 };
	for (size_t i = 0; i < v.n; i++) {
		unsigned char c = (unsigned char)v.p[i];

		if (c <= ' ' || c >= 127 || c == '"' || c == ',' || c == ';' || c == '\\')
			return false;
	}
	return true;
}

static bool is_path(const char *path)
{
	size_t n = strlen(path);

	return path[0] == '/' && !has_control(path, n) && !strchr(path, ';');
}

static bool is_domain(const char *domain)
{
	static const char allowed[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-.";
	size_t n = strlen(domain);

	return n > 0 && n < 256 && strspn(domain, allowed) == n;
}

/* Would a client keep it? RFC 6265bis 4.1.3 and 5.7. */
static bool is_kept(const struct bw_cookie *c, bool secure)
{
	if (strncasecmp(c->name, "__Host-", 7) == 0)
		return secure && !c->domain && c->path && strcmp(c->path, "/") == 0;
	if (strncasecmp(c->name, "__Secure-", 9) == 0 && !secure)
		return false;
	return c->same_site != BW_SAME_SITE_NONE || secure;
}

static bool is_good(const struct bw_cookie *c, bool secure)
{
	size_t n = c->name ? strlen(c->name) : 0;

	return c->size >= sizeof(*c) && is_token(c->name, n) && is_value(c->value) &&
	       n + c->value.n <= MAX_OCTETS && (!c->path || is_path(c->path)) &&
	       (!c->domain || is_domain(c->domain)) && c->same_site <= BW_SAME_SITE_NONE &&
	       is_kept(c, secure);
}

int cookies_format(struct arena *a, const struct bw_cookie *c, bool secure_scheme,
                   struct bw_str *ret)
{
	static const char *const same_site[] = { "Lax", "Strict", "None" };
	bool                     secure = c->secure || secure_scheme;
	char                     age[40] = "";

	if (!is_good(c, secure))
		return BW_EINVAL;
	if (c->max_age_s >= 0)
		snprintf(age, sizeof(age), "; Max-Age=%lld", (long long)c->max_age_s);
	*ret = bw_str(arena_printf(a, "%s=%.*s%s%s%s%s%s%s%s; SameSite=%s", c->name,
	                           (int)c->value.n, c->value.n > 0 ? c->value.p : "",
	                           c->path ? "; Path=" : "", c->path ? c->path : "",
	                           c->domain ? "; Domain=" : "", c->domain ? c->domain : "", age,
	                           secure ? "; Secure" : "", c->http_only ? "; HttpOnly" : "",
	                           same_site[c->same_site]));
	return BW_OK;
}

int cookies_add(struct bw_req *req, const struct bw_cookie *c)
{
	struct bw_str value;
	int err = cookies_format(&req->arena, c, bw_str_eq(req->scheme, BW_STR("https")), &value);

	return err != BW_OK ? err : response_header(req, "set-cookie", value, false);
}
