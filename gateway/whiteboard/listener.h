/* listener.h - who hears of contexts, requests, sessions and attributes (OSGi 140.8).
 *
 * A listener in a context is a binding like a servlet's; context-initialized is its init and
 * context-destroyed its destroy. Requests call the listeners of their own snapshot; everything
 * else, which may happen without a request, calls those that are bound to the context at that
 * time. */
#pragma once
#include "binding.h"

/* A crash in one is reported with this and the name of its bundle. */
#define LISTENER_SCOPE "listener"

#include <boardwalk/listener.h>

struct snapshot_context;

/* The interfaces, in the order of struct bw_listener. */
enum listens {
	LISTENS_CONTEXT = 1,
	LISTENS_CONTEXT_ATTRIBUTE = 2,
	LISTENS_REQUEST = 4,
	LISTENS_REQUEST_ATTRIBUTE = 8,
	LISTENS_SESSION = 16,
	LISTENS_SESSION_ATTRIBUTE = 32,
	LISTENS_SESSION_ID = 64,
	LISTENS_TO_REQUESTS = LISTENS_REQUEST | LISTENS_REQUEST_ATTRIBUTE,
};
#define LISTENER_INTERFACES 7

/* The set of listener interfaces that a service is registered under. */
unsigned listener_interfaces(const struct bw_service *s);
/* The table of the first of them; NULL: it is no listener. */
const void *listener_table(const struct bw_service *s);
/* Is it that of them all? */
bool listener_has_one_table(const struct bw_service *s);
/* The name of interface number i. */
const char *listener_interface(size_t i);

/* ---- binding.c: a listener enters and leaves a context ---- */

void listener_attach(struct binding *b);
void listener_detach(struct binding *b);
/* The last reference to b has gone. True: its context is going too and still has servlets or
 * filters at work, so b stays until listener_client_gone(context) is called for the last of
 * them. */
bool listener_outlives(struct binding *b);
void listener_client_gone(struct bw_context *c);
/* Their order has changed. */
void listener_sort(struct bw_context *c);

/* ---- dispatch.c: the request's own listeners, told by its snapshot ---- */

/* Only if c->listens. */
void listener_request_initialized(const struct snapshot_context *c, struct bw_req *req);
void listener_request_destroyed(const struct snapshot_context *c, struct bw_req *req);
/* bw_req_set_attr: what a bundle sets is told, other than what attr_set does for the server. */
int listener_set_attr(struct bw_req *req, const char *name, struct bw_str value);

/* ---- contexts and sessions ---- */

/* Would anybody hear? what: enum listens. For those who would have to fetch an old value first. */
bool listener_hears(const struct bw_context *c, unsigned what);
/* old NULL: added; new NULL: removed; both: replaced. After the change. */
void listener_context_attribute(struct bw_context *c, const char *name, const struct bw_value *old,
                                const struct bw_value *new);
void listener_session_created(struct bw_context *c, struct bw_session *session);
void listener_session_destroyed(struct bw_context *c, struct bw_session *session);
void listener_session_attribute(struct bw_context *c, struct bw_session *session, const char *name,
                                const struct bw_value *old, const struct bw_value *new);
void listener_session_id_changed(struct bw_context *c, struct bw_session *session,
                                 struct bw_str old_id);
