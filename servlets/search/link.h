/* link.h - where the other pages of a list are (RFC 8288). */
#pragma once
#include <boardwalk/boardwalk.h>

/* The request's query without its cursor, in letters of a URI; NUL-terminated, in the request's memory. */
const char *link_query(struct bw_req *req);
/* Sets the header Link: first, and prev and next where there is such a cursor. */
int link_pages(struct bw_req *req, const char *query, struct bw_str previous, struct bw_str next);
