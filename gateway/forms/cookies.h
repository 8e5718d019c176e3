/* cookies.h - the cookies a client sends and those it is given (RFC 6265). */
#pragma once
#include "pairs.h"

#include <boardwalk/bundle.h>

/* Adds the cookies of one Cookie header to to, in order; they are copies in the arena.
 * BW_ESYNTAX: a piece between two ';' that is no name=value, a name that is no token, a control
 * in a value. */
int cookies_parse(struct arena *a, struct bw_str header, struct pairs *to);
/* The value of Set-Cookie, in the arena; secure_scheme: the request came over TLS. BW_EINVAL: see
 * bw_res_add_cookie. */
int cookies_format(struct arena *a, const struct bw_cookie *c, bool secure_scheme,
                   struct bw_str *ret);

/* What the host table's entries do. */
int cookies_get(struct bw_req *req, const char *name, struct bw_str *ret_value);
int cookies_all(struct bw_req *req, const struct bw_pair **ret_cookies, size_t *ret_n);
int cookies_add(struct bw_req *req, const struct bw_cookie *c);
