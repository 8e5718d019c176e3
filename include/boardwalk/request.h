/* request.h - the request a servlet reads and the response it writes.
 *
 * The request and all that is reached from it live until the servlet's coroutine has ended. When the
 * client has gone or the deadline has passed, calls that write or wait return BW_EGONE or BW_ETIME
 * at once; a servlet then simply returns. Getters give borrowed strings, valid for the request's
 * life, absent (p == NULL) where there is nothing. Path values are those of the current dispatch
 * (Jakarta Servlet 3.5; contextPath + servletPath + pathInfo = the canonical path). */
#pragma once
#include <boardwalk/types.h>

enum bw_dispatcher { BW_REQUEST, BW_FORWARD, BW_INCLUDE, BW_ASYNC, BW_ERROR };

enum bw_req_field {
	BW_REQ_METHOD,       /* as sent, case kept */
	BW_REQ_URI,          /* raw path as sent, without the query */
	BW_REQ_QUERY,        /* raw, without '?'; absent if there was no '?' */
	BW_REQ_PATH,         /* the canonical path: decoded once, dots resolved, parameters cut */
	BW_REQ_CONTEXT_PATH, /* "" for a context at / */
	BW_REQ_SERVLET_PATH,
	BW_REQ_PATH_INFO,
	BW_REQ_SCHEME,
	BW_REQ_HOST, /* the authority: Host, or that of an absolute-form target */
	BW_REQ_REMOTE_ADDR,
	BW_REQ_REMOTE_USER, /* set by the context's security, absent for anonymous */
	BW_REQ_AUTH_TYPE,
	BW_REQ_SERVLET_NAME,
	BW_REQ_PATTERN, /* the pattern that matched */
	BW_REQ_MATCH_VALUE,
	BW_REQ_ID, /* 16 hexadecimal digits: also in every log line and in X-Request-Id */
	/* Engine requests only (Sling's RequestPathInfo): */
	BW_REQ_RESOURCE_PATH,
	BW_REQ_SELECTORS,
	BW_REQ_EXTENSION,
	BW_REQ_SUFFIX,
};

enum bw_same_site { BW_SAME_SITE_LAX, BW_SAME_SITE_STRICT, BW_SAME_SITE_NONE };

/* A cookie to be given to the client; start from bw_cookie() of form.h, which sets the defaults. */
struct bw_cookie {
	size_t            size; /* = sizeof(struct bw_cookie): later versions only append */
	const char       *name;
	struct bw_str     value;     /* absent: empty */
	const char       *path;      /* NULL: the client takes the folder of the request's path */
	const char       *domain;    /* NULL: for this host alone */
	int64_t           max_age_s; /* below 0: until the browser ends; 0: forget it */
	bool              secure; /* over https only; set by itself if the request came that way */
	bool              http_only; /* not for scripts */
	enum bw_same_site same_site;
};
