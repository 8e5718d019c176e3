/* resolve.h - from the request path to a resource. */
#pragma once
#include "engine/pathinfo.h"

struct bw_req;
struct bw_resource;

struct resolution {
	struct bw_resource *resource;  /* in the request's arena; never NULL on BW_OK */
	struct pathinfo     path_info; /* borrows the request's path */
	uint64_t            types;     /* repo's counter, 0 if repo did not send a resource */
};

/* Needs the request's resolver. (waits) for repo, unless the very path is a mounted servlet. BW_E* of
 * the question. */
int resolve_request(struct bw_req *req, struct resolution *ret);
