/* who.c - says who asks: GET or POST /pub, /board and what lies below. Tests decide what is open.
 *
 *   user=ada type=FORM resolver=ada
 *   user=bob type=FORM resolver=bob impersonator=ada */
#include <boardwalk/boardwalk.h>

static const char *or_none(struct bw_str s)
{
	return s.p != NULL ? s.p : "-";
}

static int say(void *self, struct bw_req *req)
{
	struct bw_resolver *r;
	struct bw_str       impersonator;
	int                 err = bw_req_resolver(req, &r);

	(void)self;
	if (err != BW_OK)
		return err;
	bw_res_content_type(req, "text/plain;charset=utf-8");
	impersonator = bw_resolver_attribute(r, "user.impersonator");
	return bw_res_printf(req, "user=%s type=%s resolver=%s%s%s\n",
	                     or_none(bw_req_get(req, BW_REQ_REMOTE_USER)),
	                     or_none(bw_req_get(req, BW_REQ_AUTH_TYPE)),
	                     or_none(bw_resolver_user(r)),
	                     impersonator.p != NULL ? " impersonator=" : "",
	                     impersonator.p != NULL ? impersonator.p : "");
}

static const struct bw_servlet who = { .size = sizeof(who), .get = say, .post = say };

static int start(struct bw_bundle *self)
{
	return bw_register_servlet(self, &who, NULL,
	                           BW_P_STRINGS(BW_SLING_PATHS, "/pub", "/board"));
}

BW_BUNDLE("test.who", "1.0.0", start, NULL);
