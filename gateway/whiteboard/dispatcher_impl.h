/* dispatcher_impl.h - what getting a dispatcher (dispatcher.c) and using it (forward.c) share. */
#pragma once
#include "dispatcher.h"

/* What path and pattern decide. */
struct path_values {
	struct bw_str context_path, servlet_path, path_info, servlet_name, pattern, match_value;
};

struct bw_request_dispatcher {
	const struct bw_req           *req;
	const struct snapshot_servlet *servlet;
	bool                           named; /* what follows is not set */
	struct req_target              target;
	struct bw_str                  rest; /* of the path, inside the context */
	struct path_values             values;
};

struct path_values dispatcher_get_values(const struct bw_req *req);
void               dispatcher_put_values(struct bw_req *req, const struct path_values *v);
