/* bundle.h - the ABI between Boardwalk and a bundle, and the API built on it.
 *
 * A bundle is a shared object that exports one constant, boardwalk_bundle. It links to nothing of
 * ours: everything it may call comes in the host table given to start, and the functions below are
 * thin covers of that table. Compile with -fvisibility=hidden; end one file with BW_BUNDLE(...).
 *
 * Compatibility: abi_major must be equal; abi_minor of the bundle must not be above ours. Tables
 * grow only at the end and carry their size. No libc FILE, no allocation and no library type
 * crosses: values, buffers and opaque pointers only, so that a call over the wire can serve it. */
#pragma once
#include <boardwalk/context.h>
#include <boardwalk/err.h>
#include <boardwalk/listener.h>
#include <boardwalk/multipart.h>
#include <boardwalk/request.h>
#include <boardwalk/resolver.h>
#include <boardwalk/service.h>
#include <boardwalk/servlet.h>

struct bw_session_info;   /* session.h */
struct bw_editing;        /* edit.h */
struct bw_searching;      /* query.h */
struct bw_blobs;          /* blob.h */
struct bw_access;         /* acl.h */
struct bw_versioning;     /* version.h */
struct bw_authentication; /* auth.h */
struct bw_accounts;       /* account.h */

#define BW_BUNDLE_MAGIC 0x4257424eu /* "BWBN" */
#define BW_ABI_MAJOR    1
#define BW_ABI_MINOR    3

struct bw_host {
	size_t size;

	/* Registry. */
	int (*service_register)(struct bw_bundle *b, const char *const *interfaces,
	                        const struct bw_service_object *object, const struct bw_prop *props,
	                        size_t n_props, struct bw_service **ret_service);
	int (*service_modify)(struct bw_service *s, const struct bw_prop *props, size_t n_props);
	void (*service_unregister)(struct bw_service *s);

	/* Request. */
	struct bw_str (*req_get)(const struct bw_req *req, enum bw_req_field field);
	struct bw_str (*req_header)(const struct bw_req *req, const char *name);
	enum bw_dispatcher (*req_dispatcher)(const struct bw_req *req);
	int64_t (*req_body_length)(const struct bw_req *req);
	int (*req_body_read)(struct bw_req *req, uint64_t offset, void *buf, size_t n,
	                     size_t *ret_n);
	struct bw_str (*req_attr)(const struct bw_req *req, const char *name);
	int (*req_set_attr)(struct bw_req *req, const char *name, struct bw_str value);
	void *(*req_alloc)(struct bw_req *req, size_t n);

	/* Response. */
	int (*res_status)(struct bw_req *req, int status);
	int (*res_get_status)(const struct bw_req *req);
	int (*res_header)(struct bw_req *req, const char *name, struct bw_str value, bool replace);
	int (*res_write)(struct bw_req *req, const void *data, size_t n);
	int (*res_flush)(struct bw_req *req);
	bool (*res_committed)(const struct bw_req *req);
	int (*res_send_error)(struct bw_req *req, int status, const char *text);
	int (*req_fail)(struct bw_req *req, const char *name, const char *text);

	int (*req_authenticate)(struct bw_req *req);
	int (*chain_next)(struct bw_chain *chain, struct bw_req *req);

	/* Repository. */
	int (*req_resolver)(struct bw_req *req, struct bw_resolver **ret_resolver);
	int (*service_resolver)(struct bw_req *req, struct bw_bundle *b, const char *subservice,
	                        struct bw_resolver **ret_resolver);
	struct bw_str (*resolver_user)(const struct bw_resolver *r);
	int (*resolver_get)(struct bw_resolver *r, struct bw_str path,
	                    struct bw_resource **ret_res);
	struct bw_str (*resource_field)(const struct bw_resource *res, enum bw_resource_field f);
	int (*resource_property)(struct bw_resource *res, const char *name, size_t index,
	                         enum bw_value_type *ret_type, struct bw_str *ret_value);
	int (*resolver_children)(struct bw_resolver *r, struct bw_str path, struct bw_str after,
	                         size_t max, struct bw_resource ***ret_children, size_t *ret_n,
	                         bool *ret_more);
	struct bw_resource *(*req_resource)(struct bw_req *req);

	/* Other. */
	void (*log)(struct bw_bundle *b, struct bw_req *req, int level, struct bw_str text);
	int (*offload)(struct bw_req *req, void (*job)(void *arg), void *arg);
	int (*sleep_ms)(struct bw_req *req, uint32_t ms);

	/* Dispatchers. */
	struct bw_request_dispatcher *(*context_dispatcher)(struct bw_req *req, struct bw_str path);
	struct bw_request_dispatcher *(*req_get_dispatcher)(struct bw_req *req, struct bw_str path);
	struct bw_request_dispatcher *(*context_named_dispatcher)(struct bw_req *req,
	                                                          struct bw_str  name);
	int (*forward)(struct bw_req *req, struct bw_request_dispatcher *d);
	int (*include)(struct bw_req *req, struct bw_request_dispatcher *d);

	/* Asynchronous requests. */
	int (*req_start_async)(struct bw_req *req, struct bw_async **ret_async);
	int (*async_set_timeout)(struct bw_async *a, uint32_t ms);
	int (*async_listen)(struct bw_async *a, const struct bw_async_listener *listener,
	                    void *self);
	int (*async_run)(struct bw_async *a, void (*fn)(struct bw_req *req, void *arg), void *arg);
	int (*async_complete)(struct bw_async *a);
	int (*async_dispatch)(struct bw_async *a, struct bw_str path);
	void (*async_release)(struct bw_async *a);

	/* Contexts. */
	struct bw_context *(*req_context)(struct bw_req *req);
	struct bw_str (*context_get)(const struct bw_context *c, enum bw_context_field field);
	struct bw_str (*context_param)(const struct bw_context *c, const char *name);
	struct bw_str (*context_param_name)(const struct bw_context *c, size_t i);
	int (*context_attr)(const struct bw_context *c, const char *name, void *buf, size_t n,
	                    struct bw_value *ret, size_t *ret_need);
	struct bw_str (*context_attr_name)(const struct bw_context *c, size_t i);
	int (*context_set_attr)(struct bw_context *c, const char *name,
	                        const struct bw_value *value);
	struct bw_str (*context_mime_type)(struct bw_context *c, struct bw_bundle *b,
	                                   struct bw_str name);
	int (*context_resource)(struct bw_context *c, struct bw_bundle *b, struct bw_str path,
	                        struct bw_file *ret);
	int (*context_real_path)(struct bw_context *c, struct bw_bundle *b, struct bw_str path,
	                         char *buf, size_t n);
	int (*context_resource_paths)(struct bw_context *c, struct bw_bundle *b, struct bw_str path,
	                              bw_path_cb tell, void *arg);

	/* Files. */
	int (*file_embedded)(const struct bw_bundle *b, struct bw_str path, struct bw_file *ret);
	int (*file_embedded_paths)(const struct bw_bundle *b, struct bw_str path, bw_path_cb tell,
	                           void *arg);
	int (*file_open)(const char *root, struct bw_str path, struct bw_file *ret);
	int (*file_read)(struct bw_req *req, const struct bw_file *file, uint64_t offset, void *buf,
	                 size_t n, size_t *ret_n);
	void (*file_close)(struct bw_file *file);

	int64_t (*service_id)(const struct bw_service *s);

	/* What a request brings: form.h. */
	size_t (*req_header_values)(struct bw_req *req, const char *name,
	                            const struct bw_str **ret_values);
	size_t (*req_header_names)(struct bw_req *req, const struct bw_str **ret_names);
	int (*req_header_int)(const struct bw_req *req, const char *name, int64_t *ret);
	int (*req_header_date)(const struct bw_req *req, const char *name, int64_t *ret_ms);
	struct bw_str (*req_url)(struct bw_req *req);
	size_t (*req_attr_names)(struct bw_req *req, const struct bw_str **ret_names);
	int (*req_param)(struct bw_req *req, const char *name, struct bw_str *ret_value);
	int (*req_param_values)(struct bw_req *req, const char *name,
	                        const struct bw_str **ret_values, size_t *ret_n);
	int (*req_param_names)(struct bw_req *req, const struct bw_str **ret_names, size_t *ret_n);
	int (*req_params)(struct bw_req *req, const struct bw_pair **ret_params, size_t *ret_n);
	int (*req_cookie)(struct bw_req *req, const char *name, struct bw_str *ret_value);
	int (*req_cookies)(struct bw_req *req, const struct bw_pair **ret_cookies, size_t *ret_n);
	int (*res_add_cookie)(struct bw_req *req, const struct bw_cookie *cookie);
	int (*req_parts)(struct bw_req *req, struct bw_part *const **ret_parts, size_t *ret_n);
	int (*req_part)(struct bw_req *req, const char *name, struct bw_part **ret_part);
	struct bw_str (*part_get)(const struct bw_part *part, enum bw_part_field field);
	struct bw_str (*part_header)(const struct bw_part *part, const char *name);
	size_t (*part_headers)(const struct bw_part *part, const struct bw_pair **ret_headers);
	uint64_t (*part_size)(const struct bw_part *part);
	int (*part_read)(struct bw_part *part, uint64_t offset, void *buf, size_t n, size_t *ret_n);

	/* Sessions. */
	int (*req_session)(struct bw_req *req, bool create, struct bw_session **ret_session);
	struct bw_str (*session_id)(const struct bw_session *s);
	int (*session_info)(const struct bw_session *s, struct bw_session_info *ret);
	int (*session_set_timeout)(struct bw_session *s, int32_t seconds);
	int (*session_get)(const struct bw_session *s, const char *name, struct bw_value *ret);
	struct bw_str (*session_name)(const struct bw_session *s, size_t i);
	int (*session_set)(struct bw_session *s, const char *name, const struct bw_value *value);
	int (*session_add)(struct bw_session *s, const char *name, int64_t delta,
	                   int64_t *ret_result);
	int (*session_invalidate)(struct bw_session *s);
	int (*session_change_id)(struct bw_session *s);

	int (*req_fail_because)(struct bw_req *req, const char *name, const char *text,
	                        const char *cause);

	/* Looking inside: runtime.h. */
	int64_t (*runtime_change_count)(void);
	void (*runtime_snapshot)(void (*tell)(void *arg, struct bw_str json), void *arg);
	int (*runtime_route)(const char *method, const char                    *target,
	                     void (*tell)(void *arg, struct bw_str json), void *arg);

	/* Since minor version 2. */
	int (*service_register_as)(struct bw_bundle *b, const struct bw_interface *as, size_t n_as,
	                           const struct bw_service_object *object,
	                           const struct bw_prop *props, size_t n_props,
	                           struct bw_service **ret_service);

	const struct bw_editing *editing; /* edit.h */

	int (*res_reset)(struct bw_req *req, bool body_only);
	struct bw_str (*res_get_header)(const struct bw_req *req, const char *name);

	const struct bw_searching  *searching;  /* query.h */
	const struct bw_blobs      *blobs;      /* blob.h */
	const struct bw_access     *access;     /* acl.h */
	const struct bw_versioning *versioning; /* version.h */

	int (*req_csrf_token)(struct bw_req *req, struct bw_str *ret_token); /* form.h */

	const struct bw_authentication *authentication; /* auth.h */
	const struct bw_accounts       *accounts;       /* account.h */
};

struct bw_bundle_descriptor {
	uint32_t    magic;
	uint16_t    abi_major, abi_minor;
	size_t      size;
	const char *symbolic_name; /* as OSGi's Bundle-SymbolicName: acme.billing */
	const char *version;
	const char *build; /* anything that tells two builds apart */
	/* What it registers is seen when it, and every init, has succeeded. Until then, and while
	 * requests of the old generation last, both generations are at work. */
	int (*start)(const struct bw_host *host, struct bw_bundle *self);
	/* No new request comes to its objects, but some may be inside: what they need is given up in
	 * destroy. Registrations that still stand are taken back, and bw_register answers BW_ESTATE. NULL:
	 * nothing to do. */
	void (*stop)(struct bw_bundle *self);
	/* Since minor version 1: the files embedded in the bundle; NULL: none. */
	const struct bw_embedded *embedded;
};

/* The host table this bundle was started with; BW_BUNDLE defines it, start fills it. */
extern const struct bw_host *bw_host __attribute__((visibility("hidden")));

/* The files of a bundle that has some: boardwalk_embed() of CMake defines it, or the bundle does. */
extern const struct bw_embedded boardwalk_embedded __attribute__((visibility("hidden")));

/* Ends the main file of a bundle: BW_BUNDLE("acme.billing", "1.0.0", start, stop), with
 *   static int  start(struct bw_bundle *self);
 *   static void stop(struct bw_bundle *self);   (or NULL)
 * BW_BUNDLE_EMBEDDED is the same for a bundle with embedded files. */
#define BW_BUNDLE(name, version_text, start_fn, stop_fn) \
	BW_BUNDLE_DESCRIPTOR(name, version_text, start_fn, stop_fn, NULL)
#define BW_BUNDLE_EMBEDDED(name, version_text, start_fn, stop_fn) \
	BW_BUNDLE_DESCRIPTOR(name, version_text, start_fn, stop_fn, &boardwalk_embedded)
/* clang-format off */
#define BW_BUNDLE_DESCRIPTOR(name, version_text, start_fn, stop_fn, files) \
	const struct bw_host *bw_host; \
	static int bw_bundle_start(const struct bw_host *host, struct bw_bundle *self) \
	{ \
		bw_host = host; \
		return start_fn(self); \
	} \
	extern const struct bw_bundle_descriptor boardwalk_bundle; \
	__attribute__((visibility("default"))) const struct bw_bundle_descriptor boardwalk_bundle = { \
		.magic = BW_BUNDLE_MAGIC, .abi_major = BW_ABI_MAJOR, .abi_minor = BW_ABI_MINOR, \
		.size = sizeof(struct bw_bundle_descriptor), .symbolic_name = name, \
		.version = version_text, .build = __DATE__ " " __TIME__, .start = bw_bundle_start, \
		.stop = stop_fn, .embedded = files, \
	}
/* clang-format on */
