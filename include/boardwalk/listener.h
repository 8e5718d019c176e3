/* listener.h - who is told of contexts, requests, sessions and their attributes.
 *
 * One table serves all seven listener interfaces. Which of them count is said by the interface
 * names of the registration (bw_register_many); a NULL entry is not interested. The service needs
 * the property BW_LISTENER = true and chooses its contexts with BW_CONTEXT_SELECT, as a servlet
 * does.
 *
 * Listeners are called in ranking order. An error that one returns is logged; the others are still
 * called, and what they are told of goes on. Arguments are borrowed for the call. Those that are
 * given a request run on its coroutine and may wait; the others may run at any time, also while a
 * bundle starts or stops, and may not. (OSGi 140.8; Jakarta Servlet chapter 11.) */
#pragma once
#include <boardwalk/service.h>

#define BW_CONTEXT_LISTENER           "jakarta.servlet.ServletContextListener"
#define BW_CONTEXT_ATTRIBUTE_LISTENER "jakarta.servlet.ServletContextAttributeListener"
#define BW_REQUEST_LISTENER           "jakarta.servlet.ServletRequestListener"
#define BW_REQUEST_ATTRIBUTE_LISTENER "jakarta.servlet.ServletRequestAttributeListener"
#define BW_SESSION_LISTENER           "jakarta.servlet.http.HttpSessionListener"
#define BW_SESSION_ATTRIBUTE_LISTENER "jakarta.servlet.http.HttpSessionAttributeListener"
#define BW_SESSION_ID_LISTENER        "jakarta.servlet.http.HttpSessionIdListener"

#define BW_LISTENER "osgi.http.whiteboard.listener" /* the property: true */

struct bw_session;
struct bw_value; /* value.h */

struct bw_listener {
	size_t size; /* = sizeof(struct bw_listener) */

	/* BW_CONTEXT_LISTENER. Initialized: before any servlet or filter of the context is, or at
	 * once for a listener that comes later. Destroyed: after all of them were, or when the
	 * listener goes. */
	int (*context_initialized)(void *self, struct bw_context *context);
	int (*context_destroyed)(void *self, struct bw_context *context);

	/* BW_CONTEXT_ATTRIBUTE_LISTENER. Replaced and removed are given the old value. */
	int (*context_attribute_added)(void *self, struct bw_context *context, const char *name,
	                               const struct bw_value *value);
	int (*context_attribute_replaced)(void *self, struct bw_context *context, const char *name,
	                                  const struct bw_value *old);
	int (*context_attribute_removed)(void *self, struct bw_context *context, const char *name,
	                                 const struct bw_value *old);

	/* BW_REQUEST_LISTENER. Once for each request of a client that a servlet or resource of the
	 * context takes: before the helper's handle_security, and after everything, error page
	 * included. */
	int (*request_initialized)(void *self, struct bw_req *req);
	int (*request_destroyed)(void *self, struct bw_req *req);

	/* BW_REQUEST_ATTRIBUTE_LISTENER. What the server sets itself (error, forward, include) is
	 * not told. Replaced and removed are given the old value. */
	int (*request_attribute_added)(void *self, struct bw_req *req, const char *name,
	                               struct bw_str value);
	int (*request_attribute_replaced)(void *self, struct bw_req *req, const char *name,
	                                  struct bw_str old);
	int (*request_attribute_removed)(void *self, struct bw_req *req, const char *name,
	                                 struct bw_str old);

	/* BW_SESSION_LISTENER. Destroyed: while its attributes can still be read. */
	int (*session_created)(void *self, struct bw_session *session);
	int (*session_destroyed)(void *self, struct bw_session *session);

	/* BW_SESSION_ATTRIBUTE_LISTENER. Replaced and removed are given the old value. */
	int (*session_attribute_added)(void *self, struct bw_session *session, const char *name,
	                               const struct bw_value *value);
	int (*session_attribute_replaced)(void *self, struct bw_session *session, const char *name,
	                                  const struct bw_value *old);
	int (*session_attribute_removed)(void *self, struct bw_session *session, const char *name,
	                                 const struct bw_value *old);

	/* BW_SESSION_ID_LISTENER. The session has its new id already. */
	int (*session_id_changed)(void *self, struct bw_session *session, struct bw_str old_id);
};
