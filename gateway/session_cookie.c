/* session_cookie.c - the one cookie behind which all sessions of a client stand.
 *
 *   Set-Cookie: JSESSIONID=<32 characters>; Path=/; HttpOnly; SameSite=Lax [; Secure]
 *
 * It goes to every path, since contexts share it (OSGi 140.2.7), and not to scripts or other sites.
 * Owns: the cookie's name. Runs in: the gateway, on a request's fiber. Fails with: fatal at start, for
 * a name that is no token. Tests: tests/unit/gateway/session_test.c, tests/system/session_test.c. */
#include "request.h"
#include "session.h"
#include "token.h"
#include <base/fatal.h>

static struct bw_str cookie_name;

void session_cookie_init(const char *name)
{
	cookie_name = bw_str(name);
	for (size_t i = 0; i < cookie_name.n; i++)
		if (token_lower[(unsigned char)name[i]] == 0)
			cookie_name.n = 0;
	if (cookie_name.n == 0 || cookie_name.n > 64)
		fatalx("gateway.session_cookie: \"%s\" is no name for a cookie", name);
}

/* What one pair of a Cookie header ("name=value", blanks around it gone) holds, if it is ours. */
static struct bw_str id_of(struct bw_str pair)
{
	struct bw_str value;

	while (pair.n > 0 && (*pair.p == ' ' || *pair.p == '\t'))
		pair = (struct bw_str){ pair.p + 1, pair.n - 1 };
	while (pair.n > 0 && (pair.p[pair.n - 1] == ' ' || pair.p[pair.n - 1] == '\t'))
		pair.n--;
	if (pair.n <= cookie_name.n || pair.p[cookie_name.n] != '=' ||
	    memcmp(pair.p, cookie_name.p, cookie_name.n) != 0)
		return BW_ABSENT;
	value = (struct bw_str){ pair.p + cookie_name.n + 1, pair.n - cookie_name.n - 1 };
	return session_id_fits(value) ? value : BW_ABSENT;
}

/* The first that could be an id: what a client was given for a longer path comes first (RFC 6265 5.4),
 * and ours are all for "/". */
static struct bw_str id_in(struct bw_str header)
{
	while (header.n > 0) {
		const char   *end = memchr(header.p, ';', header.n);
		size_t        n = end != NULL ? (size_t)(end - header.p) : header.n;
		struct bw_str id = id_of((struct bw_str){ header.p, n });

		if (id.p != NULL)
			return id;
		n += end != NULL;
		header = (struct bw_str){ header.p + n, header.n - n };
	}
	return BW_ABSENT;
}

struct bw_str session_cookie_get(const struct bw_req *req)
{
	for (size_t i = 0; i < req->n_headers; i++) {
		const struct bw_res_header *h = &req->headers[i];
		struct bw_str               id =
                        bw_str_eq(h->name, BW_STR("cookie")) ? id_in(h->value) : BW_ABSENT;

		if (id.p != NULL)
			return id;
	}
	return BW_ABSENT;
}

void session_cookie_put(struct bw_req *req, struct bw_str id)
{
	const char *secure = bw_str_eq(req->scheme, BW_STR("https")) ? "; Secure" : "";
	const char *gone = id.p == NULL ? "; Max-Age=0" : "";
	char *text = arena_printf(&req->arena, "%.*s=%.*s; Path=/%s; HttpOnly; SameSite=Lax%s",
	                          (int)cookie_name.n, cookie_name.p, (int)id.n,
	                          id.p != NULL ? id.p : "", gone, secure);

	response_set_cookie(req, cookie_name, bw_str(text));
}
