/* session_cookie.c - the one cookie behind which all sessions of a client stand.
 *
 * It goes to every path, since contexts share it (OSGi 140.2.7), and not to scripts or other sites.
 * Owns: the cookie's name. Runs in: the gateway, on a request's fiber. Fails with: BW_ESYNTAX (the
 * client's Cookie header is malformed); fatal at start, for a name that cannot be.
 * Tests: tests/unit/gateway/session_test.c, tests/system/session_test.c. */
#include "forms/cookies.h"
#include "request.h"
#include "session.h"
#include <base/fatal.h>

static struct bw_str cookie_name;

/* id absent: the client is to forget it. */
static struct bw_cookie cookie_of(struct bw_str id)
{
	return (struct bw_cookie){
		.size = sizeof(struct bw_cookie),
		.name = cookie_name.p,
		.value = id.p != NULL ? id : BW_STR(""),
		.path = "/",
		.max_age_s = id.p != NULL ? -1 : 0,
		.http_only = true,
		.same_site = BW_SAME_SITE_LAX,
	};
}

void session_cookie_init(const char *name)
{
	struct bw_cookie cookie;
	struct bw_str    text;
	struct arena     a;

	cookie_name = bw_str(name);
	cookie = cookie_of(BW_ABSENT);
	arena_init(&a);
	if (cookies_format(&a, &cookie, true, &text) != BW_OK)
		fatalx("gateway.session_cookie: \"%s\" is no name for a cookie", name);
	arena_done(&a);
}

/* The first that could be ours: one that another server of the domain has set for a longer path
 * comes before it (RFC 6265 5.4). */
int session_cookie_get(struct bw_req *req, struct bw_str *ret_id)
{
	const struct bw_pair *all;
	size_t                n;
	int                   err = cookies_all(req, &all, &n);

	if (err != BW_OK)
		return err;
	*ret_id = BW_ABSENT;
	for (size_t i = 0; i < n && ret_id->p == NULL; i++)
		if (bw_str_eq(all[i].name, cookie_name) && session_id_fits(all[i].value))
			*ret_id = all[i].value;
	return BW_OK;
}

int session_cookie_put(struct bw_req *req, struct bw_str id)
{
	struct bw_cookie cookie = cookie_of(id);
	struct bw_str    text;
	int err = cookies_format(&req->arena, &cookie, bw_str_eq(req->scheme, BW_STR("https")),
	                         &text);

	if (err == BW_OK)
		response_set_cookie(req, cookie_name, text);
	return err;
}
