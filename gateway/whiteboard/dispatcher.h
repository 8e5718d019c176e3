/* dispatcher.h - forward and include: what stands behind include/boardwalk/dispatcher.h, and the
 * asynchronous dispatch, which is a forward that nobody called. */
#pragma once
#include "dispatch.h"

#include <boardwalk/dispatcher.h>

/* How deep dispatches may nest: a servlet that includes itself gets an error, not a stack overflow. */
#define DISPATCHER_DEPTH 50

enum {
	ORIGIN_URI,
	ORIGIN_CONTEXT_PATH,
	ORIGIN_SERVLET_PATH,
	ORIGIN_PATH_INFO,
	ORIGIN_QUERY,
	ORIGIN_MAPPING,
	ORIGIN_VALUES
};

/* Six values as the attributes of a dispatch give them. */
struct req_origin {
	struct bw_str values[ORIGIN_VALUES];
};

/* A context helper that waits for the end of asynchronous work to be told of its dispatch's end. */
struct admitted {
	struct admitted     *next; /* older */
	const struct helper *helper;
};

/* Host table entries; include/boardwalk/boardwalk.h says what they promise. */
struct bw_request_dispatcher *dispatcher_of_context(struct bw_req *req, struct bw_str path);
struct bw_request_dispatcher *dispatcher_of_request(struct bw_req *req, struct bw_str path);
struct bw_request_dispatcher *dispatcher_named(struct bw_req *req, struct bw_str name);
int dispatcher_forward(struct bw_req *req, struct bw_request_dispatcher *d);
int dispatcher_include(struct bw_req *req, struct bw_request_dispatcher *d);

/* For what the request is about as it stands, without a look at its text. NULL as above. */
struct bw_request_dispatcher *dispatcher_of_self(struct bw_req *req);
/* Serves d with the type ASYNC. The helper that let it in is put in front of *admitted, and is told of
 * the end by whoever waits for that. What the servlet returned. */
int dispatcher_async(struct bw_req *req, struct bw_request_dispatcher *d,
                     struct admitted **admitted);
