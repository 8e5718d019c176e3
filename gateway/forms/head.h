/* head.h - the head of a request, seen from a servlet: what the host table's entries of similar
 * names do. Lists live as long as the request. */
#pragma once
#include <boardwalk/types.h>

/* All values of the header, in order; how many. */
size_t head_values(struct bw_req *req, const char *name, const struct bw_str **ret_values);
/* Each name once, in lower case, in order; how many. */
size_t head_names(struct bw_req *req, const struct bw_str **ret_names);
/* BW_OK, BW_ENOTFOUND, BW_ESYNTAX (no number, or none of 64 bits). */
int head_int(const struct bw_req *req, const char *name, int64_t *ret);
/* Milliseconds since 1970; fails like head_int. */
int head_date(const struct bw_req *req, const char *name, int64_t *ret_ms);
/* Scheme, authority, raw path; absent if the client named no host. */
struct bw_str head_url(struct bw_req *req);
