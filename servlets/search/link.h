/* link.h - where the other pages of a list are (RFC 8288). */
#pragma once
#include <boardwalk/boardwalk.h>

/* The request's query without its cursor and offset of pages; NUL-terminated, in the request's memory. NULL:
 * it has what could end a reference too early, and no link can be built from it. */
const char *link_query(struct bw_req *req);
/* Sets the header Link: first, and prev and next where there is such a cursor. */
int link_pages(struct bw_req *req, const char *query, struct bw_str previous, struct bw_str next);
