/* fault.h - what went wrong with a request, for the whiteboard's error pages and the engine's error
 * handlers. */
#pragma once
#include <boardwalk/types.h>

struct bw_req;

struct fault {
	int           status;
	struct bw_str name;  /* of the error that was returned; absent: sendError */
	struct bw_str text;  /* absent if none */
	struct bw_str cause; /* name of the error behind it; absent if none */
};

/* err: what was returned; BW_OK: what sendError was given. An error that was returned replaces an
 * earlier sendError. */
struct fault fault_of(const struct bw_req *req, int err);
/* The attributes of Jakarta Servlet 10.9.1. servlet_name: absent if the request had none. */
void fault_set_attributes(struct bw_req *req, const struct fault *f, struct bw_str servlet_name);
