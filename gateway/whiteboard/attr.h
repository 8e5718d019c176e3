/* attr.h - the string attributes of a request. */
#pragma once
#include <request.h>

/* What a context helper sets to say who is there (OSGi 140.2.7). */
/* Borrowed until set again; absent. */
struct bw_str attr_get(const struct bw_req *req, const char *name);
/* Copies; an absent value removes; no listener is told. BW_EINVAL: no name. */
int attr_set(struct bw_req *req, const char *name, struct bw_str value);
/* Puts n attributes (names and values set, not copied) in front of all others, of which they hide those
 * of the same names, until attr_pop with the same block; in brackets. An absent value hides, too. */
void attr_push(struct bw_req *req, struct req_attr *block, size_t n);
void attr_pop(struct bw_req *req, const struct req_attr *block, size_t n);
/* Their names, as a list in the request's arena; how many. */
size_t attr_names(struct bw_req *req, const struct bw_str **ret_names);
