/* security.h - the authenticator of the gateway: extraction handlers, the requirement table, 401 and
 * 403. It verifies nothing itself: auth does. */
#pragma once
#include <boardwalk/bundle.h>

struct registry;
struct gateway_settings;

/* Fatal (at start) on a requirement that cannot be: duplicate, bad URL. */
void security_init(struct registry *r, const struct gateway_settings *settings);
void security_done(void);
/* bw_req_authenticate: the authenticator (docs/authentication.md). */
int security_authenticate(struct bw_req *req);
/* Are credentials needed for this canonical path? Asked with the URL path first,
 * with the resource's own path by the engine later; the stricter verdict holds. */
bool security_is_required(const struct bw_req *req, struct bw_str path);
/* The dialogue: a login page, 401 with a challenge, or 403. Always BW_DECLINED. (waits) */
int security_challenge(struct bw_req *req, const char *reason);
/* What the host table's entries do. */
extern const struct bw_authentication security_authentication;

/* Whether the request may be served as far as its origin goes: false for one that another site has a
 * browser send, which is answered with 403 then. Before anything else looks at it; (waits) for the parts
 * of a form. */
bool security_permits(struct bw_req *req);
/* What the host table's entry does. */
int security_csrf_token(struct bw_req *req, struct bw_str *ret_token);
/* After a login or logout: tokens given out before are worth nothing. */
void security_csrf_forget(struct bw_req *req);
