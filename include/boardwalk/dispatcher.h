/* dispatcher.h - handing a request on inside its context: forward and include (Jakarta Servlet 9).
 *
 * A dispatcher is got for a path or a servlet's name and stands for the servlet that takes it in the
 * request's own picture of the whiteboard: what is registered or taken away meanwhile changes nothing
 * for this request. It never leaves the context of the servlet that asks. It lives as long as the
 * request and may be used more than once.
 *
 * path is URI text: "/t/a%20b?x=1". It is made canonical by the same rules as a client's target, and
 * what would be a 400 there is NULL here. The servlet that is called sees bw_req_dispatcher() as
 * BW_FORWARD or BW_INCLUDE, and runs behind the context's handle_security and the filters with that
 * dispatcher type; REQUEST filters do not run again. */
#pragma once
#include <boardwalk/bundle.h>

/* Attributes of the request during a forward: what the client asked for, also in a second forward; and
 * during an include: what is included. Behind each stand request_uri, context_path, servlet_path,
 * path_info, query_string and mapping (the pattern that matched); what is not there is absent. Those of
 * BW_ATTR_ASYNC are set during an asynchronous dispatch. */
#define BW_ATTR_FORWARD "jakarta.servlet.forward."
#define BW_ATTR_INCLUDE "jakarta.servlet.include."
#define BW_ATTR_ASYNC   "jakarta.servlet.async."

/* The dispatcher for a path inside the context of the servlet that asks; path begins with a slash. NULL:
 * nothing there takes it, or it is no path. Borrowed until the request ends. */
static inline struct bw_request_dispatcher *bw_context_dispatcher(struct bw_req *req,
                                                                  struct bw_str  path)
{
	return bw_host->context_dispatcher(req, path);
}

/* The same; a path without a slash in front is taken relative to the directory of the current one: in
 * /d/e/f, "x" is /d/e/x. */
static inline struct bw_request_dispatcher *bw_req_get_dispatcher(struct bw_req *req,
                                                                  struct bw_str  path)
{
	return bw_host->req_get_dispatcher(req, path);
}

/* The best-ranked active servlet of the context that was given this name; NULL. The servlet sees the
 * path values of the caller. */
static inline struct bw_request_dispatcher *bw_context_named_dispatcher(struct bw_req *req,
                                                                        struct bw_str  name)
{
	return bw_host->context_named_dispatcher(req, name);
}

/* Hands the request over. The body written so far is dropped, headers stay; when this returns BW_OK the
 * response is finished, and what the caller writes is ignored, unless asynchronous work was started.
 * BW_ESTATE: committed or finished already. BW_ECYCLE: dispatches are nested too deep. Else what the
 * servlet returned. (waits) */
static inline int bw_forward(struct bw_req *req, struct bw_request_dispatcher *d)
{
	return bw_host->forward(req, d);
}

/* Lets another servlet write into the body; status, headers and errors it sets are ignored. BW_ECYCLE as
 * above; else what it returned: return that, or go on without it. (waits) */
static inline int bw_include(struct bw_req *req, struct bw_request_dispatcher *d)
{
	return bw_host->include(req, d);
}
