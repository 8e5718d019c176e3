/* boardwalk.h - the whole API of a bundle: include this one file.
 *
 * Reading order: types.h, err.h, servlet.h (what you implement), service.h (how it becomes visible),
 * whiteboard.h (by which rules), this file and form.h (what you may call), bundle.h (the ABI). Every
 * function below is a cover of the host table's entry of the same name. Strings returned are borrowed until
 * the request ends.
 * Functions marked (waits) may park the coroutine; they answer BW_EGONE when the client is gone and
 * BW_ETIME when the request's time is up. */
#pragma once
#include <boardwalk/account.h>
#include <boardwalk/async.h>
#include <boardwalk/auth.h>
#include <boardwalk/bundle.h>
#include <boardwalk/dispatcher.h>
#include <boardwalk/acl.h>
#include <boardwalk/edit.h>
#include <boardwalk/event.h>
#include <boardwalk/form.h>
#include <boardwalk/query.h>
#include <boardwalk/runtime.h>
#include <boardwalk/session.h>
#include <boardwalk/version.h>
#include <boardwalk/whiteboard.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- registry ------------------------------------------------------------------------------ */

/* Registers one object under one interface. When this returns BW_OK the service is visible and, if
 * it is a servlet that won its pattern, answering. object: copied; what it points to must outlive
 * the registration. props: copied. *ret_service (may be NULL) is the way to modify or unregister;
 * whatever still stands when the bundle stops is taken back, and more is refused with BW_ESTATE. What
 * start registers is visible when the whole bundle is. A registration the whiteboard cannot use is not
 * an error here: it is recorded as failed, with its reason. */
static inline int bw_register(struct bw_bundle *b, const char *interface,
                              const struct bw_service_object *object, const struct bw_prop *props,
                              size_t n_props, struct bw_service **ret_service)
{
	const char *const interfaces[] = { interface, NULL };
	return bw_host->service_register(b, interfaces, object, props, n_props, ret_service);
}

/* The same under several interfaces that share the object's table, NULL-terminated: a listener's. */
static inline int bw_register_many(struct bw_bundle *b, const char *const *interfaces,
                                   const struct bw_service_object *object,
                                   const struct bw_prop *props, size_t n_props,
                                   struct bw_service **ret_service)
{
	return bw_host->service_register(b, interfaces, object, props, n_props, ret_service);
}

/* One object that is several things, as one service with one id: a servlet that is also a filter, a
 * listener, its own context's helper. Each of the n_as interfaces has its table; those of a listener
 * share one, BW_FILTER and BW_PREPROCESSOR may. Each is bound, initialised and recorded on its own, with
 * the properties that go with it: a singleton's init and destroy are called for each that has them, a
 * factory makes an object for each. */
static inline int bw_register_as(struct bw_bundle *b, const struct bw_interface *as, size_t n_as,
                                 const struct bw_service_object *object,
                                 const struct bw_prop *props, size_t n_props,
                                 struct bw_service **ret_service)
{
	return bw_host->service_register_as(b, as, n_as, object, props, n_props, ret_service);
}

/* A singleton servlet, the shortest form: bw_register_servlet(b, &hello, NULL, P(...), P(...)). */
#define bw_register_servlet(b, type_ptr, self_ptr, ...) \
	bw_register_object(b, BW_SERVLET, type_ptr, self_ptr, __VA_ARGS__)
#define bw_register_filter(b, type_ptr, self_ptr, ...) \
	bw_register_object(b, BW_FILTER, type_ptr, self_ptr, __VA_ARGS__)
/* A filter (struct bw_filter) around everything, before any context is known. */
#define bw_register_preprocessor(b, type_ptr, self_ptr, ...) \
	bw_register_object(b, BW_PREPROCESSOR, type_ptr, self_ptr, __VA_ARGS__)
#define bw_register_context(b, type_ptr, self_ptr, ...) \
	bw_register_object(b, BW_CONTEXT_HELPER, type_ptr, self_ptr, __VA_ARGS__)
#define bw_register_object(b, interface, type_ptr, self_ptr, ...) \
	bw_register(b, interface, \
	            &(struct bw_service_object){ .type = (type_ptr), .self = (self_ptr) }, \
	            (const struct bw_prop[]){ __VA_ARGS__ }, \
	            sizeof((const struct bw_prop[]){ __VA_ARGS__ }) / sizeof(struct bw_prop), \
	            NULL)

/* Replaces all properties. */
static inline int bw_service_modify(struct bw_service *s, const struct bw_prop *props, size_t n)
{
	return bw_host->service_modify(s, props, n);
}

/* Later requests no longer see the service; destroy runs after the last request that still does. */
static inline void bw_service_unregister(struct bw_service *s)
{
	bw_host->service_unregister(s);
}

/* service.id: the number that the whiteboard's records name a service by. Never used again, also not for
 * a later registration of the same object (OSGi core 5.2.5). */
static inline int64_t bw_service_id(const struct bw_service *s)
{
	return bw_host->service_id(s);
}

/* ---- request ------------------------------------------------------------------------------- */

static inline struct bw_str bw_req_get(const struct bw_req *req, enum bw_req_field field)
{
	return bw_host->req_get(req, field);
}

/* The value of the first header of that name (case ignored), absent if there is none. */
static inline struct bw_str bw_req_header(const struct bw_req *req, const char *name)
{
	return bw_host->req_header(req, name);
}

static inline enum bw_dispatcher bw_req_dispatcher(const struct bw_req *req)
{
	return bw_host->req_dispatcher(req);
}

/* Octets of the body, which has arrived whole; 0 without one. */
static inline int64_t bw_req_body_length(const struct bw_req *req)
{
	return bw_host->req_body_length(req);
}

/* Copies up to n octets of the body from offset; *ret_n is 0 at its end. BW_EGONE: client gone. */
static inline int bw_req_body_read(struct bw_req *req, uint64_t offset, void *buf, size_t n,
                                   size_t *ret_n)
{
	return bw_host->req_body_read(req, offset, buf, n, ret_n);
}

/* String attributes of the request; setting an absent value removes. Copied. */
static inline struct bw_str bw_req_attr(const struct bw_req *req, const char *name)
{
	return bw_host->req_attr(req, name);
}

static inline int bw_req_set_attr(struct bw_req *req, const char *name, struct bw_str value)
{
	return bw_host->req_set_attr(req, name, value);
}

/* Memory that lives as long as the request; aligned for any type, never NULL, not cleared. */
static inline void *bw_req_alloc(struct bw_req *req, size_t n)
{
	return bw_host->req_alloc(req, n);
}

/* ---- response ------------------------------------------------------------------------------ */

/* 200 until set. BW_ESTATE once committed; BW_EINVAL outside 200..599. Never calls an error page. */
static inline int bw_res_status(struct bw_req *req, int status)
{
	return bw_host->res_status(req, status);
}

static inline int bw_res_get_status(const struct bw_req *req)
{
	return bw_host->res_get_status(req);
}

/* Sets (replacing) or adds a header. BW_EINVAL: the name is no token, is hop-by-hop or is ours to
 * set (Content-Length, Date, Connection ...), or the value has control characters. */
static inline int bw_res_set_header(struct bw_req *req, const char *name, struct bw_str value)
{
	return bw_host->res_header(req, name, value, true);
}

static inline int bw_res_add_header(struct bw_req *req, const char *name, struct bw_str value)
{
	return bw_host->res_header(req, name, value, false);
}

/* The first value of that header of the response (case ignored), absent if it is not set. */
static inline struct bw_str bw_res_get_header(const struct bw_req *req, const char *name)
{
	return bw_host->res_get_header(req, name);
}

/* Back to 200 without headers, cookies (a new session's, too) and body. BW_ESTATE once committed. */
static inline int bw_res_reset(struct bw_req *req)
{
	return bw_host->res_reset(req, false);
}

/* Only the body. */
static inline int bw_res_reset_body(struct bw_req *req)
{
	return bw_host->res_reset(req, true);
}

static inline int bw_res_content_type(struct bw_req *req, const char *type)
{
	return bw_host->res_header(req, "content-type", bw_str(type), true);
}

/* Appends to the body, copied. Nothing is sent before the body outgrows its buffer, bw_res_flush,
 * or the end of the request, so that Content-Length is right and an error can still replace it.
 * (waits) while a client that reads slowly has not taken what was sent. */
static inline int bw_res_write(struct bw_req *req, const void *data, size_t n)
{
	return bw_host->res_write(req, data, n);
}

static inline int bw_res_puts(struct bw_req *req, const char *text)
{
	return bw_host->res_write(req, text, strlen(text));
}

/* As printf, up to 4,095 octets; BW_ETOOBIG beyond, and nothing is written then. */
__attribute__((format(printf, 2, 3))) static inline int bw_res_printf(struct bw_req *req,
                                                                      const char    *format, ...)
{
	char    text[4096];
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(text))
		return BW_ETOOBIG;
	return bw_host->res_write(req, text, (size_t)n);
}

/* Commits the response and sends what is there. (waits) */
static inline int bw_res_flush(struct bw_req *req)
{
	return bw_host->res_flush(req);
}

static inline bool bw_res_committed(const struct bw_req *req)
{
	return bw_host->res_committed(req);
}

/* Ends the response with an error page for status 400..599; text may be NULL. The body written so
 * far is dropped, headers stay, later writes are ignored. With 200..399 there is no page, and the body
 * is empty. BW_ESTATE once committed. */
static inline int bw_res_send_error(struct bw_req *req, int status, const char *text)
{
	return bw_host->res_send_error(req, status, text);
}

/* Ends the response with 302 and that Location (a URI reference, RFC 9110 10.2.2), which is not looked at
 * further: do not build it from what the client says. */
static inline int bw_res_redirect(struct bw_req *req, struct bw_str location)
{
	int err = bw_host->res_header(req, "location", location, true);

	return err != BW_OK ? err : bw_host->res_send_error(req, 302, NULL);
}

/* return bw_req_fail(req, "acme.billing.declined", "card refused"); names the error being returned
 * (500 unless an error page says otherwise). Always returns BW_ESERVLET. */
static inline int bw_req_fail(struct bw_req *req, const char *name, const char *text)
{
	return bw_host->req_fail(req, name, text);
}

/* The same for an error that another one led to: where no error page is there for name or its parents,
 * one for the cause, or its parents, is taken. */
static inline int bw_req_fail_because(struct bw_req *req, const char *name, const char *text,
                                      const char *cause)
{
	return bw_host->req_fail_because(req, name, text, cause);
}

/* The authenticator, for a context helper's handle_security: extracts credentials, has auth verify
 * them, applies the requirement rules. BW_OK: go on; the request has a resolver, and a remote user
 * unless it is anonymous. BW_DECLINED: it has answered (401, 403). (waits) */
static inline int bw_req_authenticate(struct bw_req *req)
{
	return bw_host->req_authenticate(req);
}

/* The rest of the filter chain and the servlet. BW_ESTATE if called a second time. */
static inline int bw_chain_next(struct bw_chain *chain, struct bw_req *req)
{
	return bw_host->chain_next(chain, req);
}

/* ---- context ------------------------------------------------------------------------------- */

/* The context of the request's current dispatch; in a preprocessor the server's own; NULL outside. */
static inline struct bw_context *bw_req_context(struct bw_req *req)
{
	return bw_host->req_context(req);
}

static inline struct bw_str bw_context_get(const struct bw_context *c, enum bw_context_field field)
{
	return bw_host->context_get(c, field);
}

/* The context's init parameter of that name (context.init.NAME), absent if there is none. Lives as
 * long as the context. */
static inline struct bw_str bw_context_param(const struct bw_context *c, const char *name)
{
	return bw_host->context_param(c, name);
}

/* The name of init parameter number i, absent past the last. */
static inline struct bw_str bw_context_param_name(const struct bw_context *c, size_t i)
{
	return bw_host->context_param_name(c, i);
}

/* Parameters are those of the registration: BW_ESTATE. Servlets, too, come by registration alone:
 * BW_EUNSUPPORTED (OSGi 140.2.7). */
static inline int bw_context_set_param(struct bw_context *c, const char *name, struct bw_str value)
{
	(void)c, (void)name, (void)value;
	return BW_ESTATE;
}

static inline int bw_context_add_servlet(struct bw_context *c, const char *name,
                                         const struct bw_servlet *type, void *self)
{
	(void)c, (void)name, (void)type, (void)self;
	return BW_EUNSUPPORTED;
}

/* An attribute of the context, with what it points to copied into buf (aligned for any type).
 * BW_ENOTFOUND: there is none; BW_ETOOBIG: n octets do not hold it, *ret_need does. */
static inline int bw_context_attr(const struct bw_context *c, const char *name, void *buf, size_t n,
                                  struct bw_value *ret, size_t *ret_need)
{
	return bw_host->context_attr(c, name, buf, n, ret, ret_need);
}

/* The same from the request's current context into the request's memory; type 0: there is none. */
static inline struct bw_value bw_req_context_attr(struct bw_req *req, const char *name)
{
	struct bw_context *c = bw_host->req_context(req);
	struct bw_value    value = { .type = 0 };
	size_t             need = 0;

	if (c && bw_host->context_attr(c, name, NULL, 0, &value, &need) == BW_ETOOBIG)
		bw_host->context_attr(c, name, bw_host->req_alloc(req, need), need, &value, &need);
	return value;
}

/* The name of attribute number i, absent past the last. Borrowed until one is set. */
static inline struct bw_str bw_context_attr_name(const struct bw_context *c, size_t i)
{
	return bw_host->context_attr_name(c, i);
}

/* Sets an attribute of the context, which all of its servlets see, in this worker. Copied; NULL or
 * type 0 removes. BW_EINVAL: no name, or a value that is none. */
static inline int bw_context_set_attr(struct bw_context *c, const char *name,
                                      const struct bw_value *value)
{
	return bw_host->context_set_attr(c, name, value);
}

/* What the helper for bundle b says, or the default (servlet.h). b has something registered in this
 * context; BW_ESTATE, or absent, if it has not. */
static inline struct bw_str bw_context_mime_type(struct bw_context *c, struct bw_bundle *b,
                                                 struct bw_str name)
{
	return bw_host->context_mime_type(c, b, name);
}

/* BW_ENOTFOUND: no such file. *ret: give it back with bw_file_close. */
static inline int bw_context_get_resource(struct bw_context *c, struct bw_bundle *b,
                                          struct bw_str path, struct bw_file *ret)
{
	return bw_host->context_resource(c, b, path, ret);
}

static inline int bw_context_get_real_path(struct bw_context *c, struct bw_bundle *b,
                                           struct bw_str path, char *buf, size_t n)
{
	return bw_host->context_real_path(c, b, path, buf, n);
}

static inline int bw_context_get_resource_paths(struct bw_context *c, struct bw_bundle *b,
                                                struct bw_str path, bw_path_cb tell, void *arg)
{
	return bw_host->context_resource_paths(c, b, path, tell, arg);
}

/* ---- files --------------------------------------------------------------------------------- */

/* The file embedded in bundle b under that name, a leading slash dropped; BW_ENOTFOUND. */
static inline int bw_file_embedded(const struct bw_bundle *b, struct bw_str path,
                                   struct bw_file *ret)
{
	return bw_host->file_embedded(b, path, ret);
}

/* The direct children of path among them; BW_ENOTFOUND: none. */
static inline int bw_file_embedded_paths(const struct bw_bundle *b, struct bw_str path,
                                         bw_path_cb tell, void *arg)
{
	return bw_host->file_embedded_paths(b, path, tell, arg);
}

/* Opens the regular file at path below the folder root. Never leaves it: a path with "..", and one
 * that meets a symbolic link, is BW_ENOTFOUND, as is one that may not be read. BW_EBUSY: no
 * descriptor is left. */
static inline int bw_file_open(const char *root, struct bw_str path, struct bw_file *ret)
{
	return bw_host->file_open(root, path, ret);
}

/* Copies up to n octets from offset; *ret_n is 0 at the file's end. (waits) for a disk. */
static inline int bw_file_read(struct bw_req *req, const struct bw_file *file, uint64_t offset,
                               void *buf, size_t n, size_t *ret_n)
{
	return bw_host->file_read(req, file, offset, buf, n, ret_n);
}

static inline void bw_file_close(struct bw_file *file)
{
	bw_host->file_close(file);
}

/* ---- repository ---------------------------------------------------------------------------- */

/* The requesting user's resolver. BW_ESTATE in a context without authentication: there is no
 * identity then, not even anonymous. Nothing is asked of anybody before its first use. */
static inline int bw_req_resolver(struct bw_req *req, struct bw_resolver **ret_resolver)
{
	return bw_host->req_resolver(req, ret_resolver);
}

/* The resolver of the service user mapped to (this bundle, subservice); subservice may be NULL.
 * BW_ELOGIN if the operator mapped none. (waits) */
static inline int bw_service_resolver(struct bw_req *req, struct bw_bundle *b,
                                      const char *subservice, struct bw_resolver **ret_resolver)
{
	return bw_host->service_resolver(req, b, subservice, ret_resolver);
}

/* The user id: "anonymous" for the guest, never absent. */
static inline struct bw_str bw_resolver_user(const struct bw_resolver *r)
{
	return bw_host->resolver_user(r);
}

/* Reads the resource at an absolute path, exactly. BW_ENOTFOUND also for what may not be read.
 * (waits) */
static inline int bw_resolver_get(struct bw_resolver *r, struct bw_str path,
                                  struct bw_resource **ret_resource)
{
	return bw_host->resolver_get(r, path, ret_resource);
}

static inline struct bw_str bw_resource_get(const struct bw_resource *res, enum bw_resource_field f)
{
	return bw_host->resource_field(res, f);
}

/* Value number index of a property: Long, Double, Boolean as their text. BW_ENOTFOUND if there is no
 * such property or value. ret_type may be NULL. (waits) for a child whose properties were not read
 * yet. */
static inline int bw_resource_property(struct bw_resource *res, const char *name, size_t index,
                                       enum bw_value_type *ret_type, struct bw_str *ret_value)
{
	return bw_host->resource_property(res, name, index, ret_type, ret_value);
}

/* The readable children of the resource at path, in order: at most max (1..256) after the child
 * named after (absent: from the first). *ret_children is an array of *ret_n pointers; a child has
 * name and types at once, its properties are read when first asked for. BW_ENOTFOUND as above.
 * (waits) */
static inline int bw_resolver_children(struct bw_resolver *r, struct bw_str path,
                                       struct bw_str after, size_t max,
                                       struct bw_resource ***ret_children, size_t *ret_n,
                                       bool *ret_more)
{
	return bw_host->resolver_children(r, path, after, max, ret_children, ret_n, ret_more);
}

/* The resource the engine resolved this request to; NULL outside the engine. */
static inline struct bw_resource *bw_req_resource(struct bw_req *req)
{
	return bw_host->req_resource(req);
}

/* ---- other --------------------------------------------------------------------------------- */

enum bw_log_level { BW_LOG_ERROR = 3, BW_LOG_WARNING = 4, BW_LOG_INFO = 6, BW_LOG_DEBUG = 7 };

/* One line in the gateway's log, with the bundle's name and the request's id; req may be NULL. */
__attribute__((format(printf, 4, 5))) static inline void
bw_log(struct bw_bundle *b, struct bw_req *req, int level, const char *format, ...)
{
	char    text[1024];
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n > 0)
		bw_host->log(b, req, level,
		             (struct bw_str){ text, (size_t)n < sizeof(text) ? (size_t)n
		                                                             : sizeof(text) - 1 });
}

/* Runs job(arg) on a thread of a small pool while the worker serves others. The job may not call
 * this API. BW_EBUSY: the pool's queue is full. Returns only when the job is done. (waits) */
static inline int bw_offload(struct bw_req *req, void (*job)(void *arg), void *arg)
{
	return bw_host->offload(req, job, arg);
}

/* Parks the coroutine. (waits) */
static inline int bw_sleep_ms(struct bw_req *req, uint32_t ms)
{
	return bw_host->sleep_ms(req, ms);
}
