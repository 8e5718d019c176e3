/* servlet.h - what a bundle implements: servlets, filters, context helpers.
 *
 * Every function here runs on the request's own coroutine and may call anything of request.h and
 * resolver.h as if it were local: underneath the coroutine is parked and the worker runs on. Return
 * BW_OK, or an error: returning it is answering it (bw_req_fail() first gives it an own name). Read
 * servlets/demo next. */
#pragma once
#include <boardwalk/context.h>

/* What init learns. Borrowed for the call; strings live as long as the binding. */
struct bw_config {
	struct bw_str      name;    /* servlet.name or filter.name, or <bundle>/<service id> */
	struct bw_context *context; /* NULL for a context helper itself */
	struct bw_bundle  *bundle;
	/* The init parameter of that name, absent if there is none (prefix already removed). */
	struct bw_str (*param)(const struct bw_config *cfg, const char *name);
	/* Since minor version 2: the name of init parameter number i, absent past the last. */
	struct bw_str (*param_name)(const struct bw_config *cfg, size_t i);
};

/* A servlet either takes the raw call (service) or fills the method table; the table gives the
 * HttpServlet defaults: HEAD from GET, OPTIONS and 405 with Allow, 501 for unknown methods. */
struct bw_servlet {
	size_t size; /* = sizeof(struct bw_servlet): later versions only append */
	int (*init)(void *self, const struct bw_config *cfg); /* NULL: nothing to do */
	void (*destroy)(void *self);                    /* once, after the last request; NULL */
	int (*service)(void *self, struct bw_req *req); /* raw; the table is not looked at */
	int (*get)(void *self, struct bw_req *req);
	int (*head)(void *self, struct bw_req *req);
	int (*post)(void *self, struct bw_req *req);
	int (*put)(void *self, struct bw_req *req);
	int (*patch)(void *self, struct bw_req *req);
	int (*delete)(void *self, struct bw_req *req);
	int (*options)(void *self, struct bw_req *req);
	/* Of a table: when what GET would answer was changed last, in milliseconds since 1970; below 0 if
	 * that is not known. It becomes Last-Modified, unless that is set, and answers If-Modified-Since
	 * of GET and HEAD with 304, without a call of get or head. NULL: never known. */
	int64_t (*last_modified)(void *self, struct bw_req *req);
	/* Called only where the setting gateway.trace is on; NULL: the request comes back as message/http,
	 * without what identifies the client. */
	int (*trace)(void *self, struct bw_req *req);
	/* A line for those who look inside: what it is, whose, which version; static. NULL: nothing. */
	const char *info;
};

struct bw_filter {
	size_t size;
	int (*init)(void *self, const struct bw_config *cfg);
	void (*destroy)(void *self);
	/* Call bw_chain_next(chain, req) once to go on; not calling it ends the request here. */
	int (*filter)(void *self, struct bw_req *req, struct bw_chain *chain);
};

struct bw_context_helper {
	size_t size;
	/* Before the filters of each dispatch into this context. BW_OK: go on; who asks is what it has set as
	 * BW_ATTR_REMOTE_USER and BW_ATTR_AUTH_TYPE (whiteboard.h). BW_DECLINED: the helper has answered, or
	 * wants the default 403. BW_E*: 500. NULL: everybody may. */
	int (*handle_security)(void *self, struct bw_req *req);
	/* Once for each handle_security that returned BW_OK, also when the servlet failed. */
	void (*finish_security)(void *self, struct bw_req *req);

	/* The rest may be NULL or return BW_DECLINED (an absent string) for the default, and is asked
	 * of the calling bundle's own helper. Paths are given as the caller has them. */

	/* The media type for a file's name. Borrowed as long as the helper lives. Default: the
	 * server's own table of extensions. */
	struct bw_str (*get_mime_type)(void *self, struct bw_str name);
	/* The file at path, for resource services and bw_context_get_resource. *ret comes empty, with
	 * fd -1. BW_ENOTFOUND: there is none, and a directory is none. Default: the bundle's embedded
	 * file of that name, a leading slash dropped. */
	int (*get_resource)(void *self, struct bw_str path, struct bw_file *ret);
	/* Where the file at path lies in the file system, with a NUL, into buf. BW_ETOOBIG: longer than
	 * n. Default: BW_ENOTFOUND. */
	int (*get_real_path)(void *self, struct bw_str path, char *buf, size_t n);
	/* Tells the direct children of path. BW_ENOTFOUND: it has none. Default: those among the
	 * bundle's embedded files. */
	int (*get_resource_paths)(void *self, struct bw_str path, bw_path_cb tell, void *arg);
};
