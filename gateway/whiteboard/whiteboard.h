/* whiteboard.h - the OSGi HTTP Whiteboard of one worker: watches the registry, keeps one immutable
 * snapshot of contexts, servlets and filters, and serves requests from it. */
#pragma once
#include <boardwalk/bundle.h>

struct registry;

void whiteboard_init(struct registry *r);
void whiteboard_done(void);
/* Serves one request, on its fiber: snapshot, context, security, filters, servlet, error page. */
void whiteboard_serve(struct bw_req *req);

/* bw_chain_next: BW_ESTATE the second time. */
int whiteboard_chain_next(struct bw_chain *chain, struct bw_req *req);

/* Is TRACE answered? Off until this is called with true: it shows what proxies in front added. */
void servlet_init(bool trace);
/* Calls a servlet: service, or the method table with the HttpServlet defaults (Jakarta Servlet).
 * Used by the whiteboard and by the engine. */
int servlet_call(const struct bw_servlet *type, void *self, struct bw_req *req);
/* What it says of itself, absent if nothing; borrowed as long as its bundle is mapped. */
struct bw_str servlet_info(const struct bw_servlet *type);
/* Has the client what there is (RFC 9110 13.2.2), which is of that second? INT64_MAX: nobody knows. */
bool servlet_is_unchanged(const struct bw_req *req, int64_t modified_s, int64_t now_s);
/* 405 or 501 if that is what the method gets without asking the servlet, else 0. */
int servlet_refuses(const struct bw_servlet *type, struct bw_str method);
