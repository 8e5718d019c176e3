/* sudo.h - acting as somebody else: what a request wants, and the cookie that keeps it. Auth decides
 * whether that may be. Private to gateway/security. */
#pragma once
#include <boardwalk/bundle.h>

struct bw_resolver;

#define SUDO_MAX_USER 255u

/* What a request wants; in its arena. All zero: nothing, and there is no cookie. */
struct sudo {
	struct bw_str user;       /* whom to act as; absent: nobody */
	struct bw_str cookie;     /* as it was sent; absent: it was not */
	bool          is_changed; /* by the parameter: the cookie has to follow */
};

/* For a request with credentials: the parameter `sudo` of the query, else the cookie. */
void sudo_read(struct bw_req *req, struct sudo *ret);
/* The login has been accepted; impersonator: who acts as r's user, absent if it is himself. Sets or
 * clears the cookie, and tells servlets. Returns an error of bw_res_add_cookie. */
int sudo_accepted(struct bw_req *req, const struct sudo *s, struct bw_str impersonator,
                  struct bw_resolver *r);
/* The login has been refused, or is over: a client that goes on sending the cookie would be refused for
 * ever. Nothing if it has not sent it. */
void sudo_clear(struct bw_req *req);
/* r is like from, which was logged in as it is. */
void sudo_inherit(struct bw_resolver *r, struct bw_str impersonator);

/* ---- the cookie's value ---- */

/* In quotes; letters, digits and "*-._@" stand for themselves, other octets as %XX. Room for
 * 3 * user.n + 3 octets. */
size_t sudo_encode(struct bw_str user, char *out);
/* Into out of SUDO_MAX_USER octets. False: no encoding of a name of 1 to SUDO_MAX_USER octets without
 * control characters. */
bool sudo_decode(struct bw_str value, char *out, size_t *ret_n);
