/* form.h - what a request brings beside its path: header lines, parameters, cookies, parts.
 * Included by boardwalk.h.
 *
 * Lists belong to the request and live as long as it does. A client's mistake is an error of the
 * call that meets it: BW_ESYNTAX and BW_EPARTSYNTAX are answered with 400, BW_EFORMSIZE and
 * BW_EPARTSIZE with 413 when the servlet returns them. */
#pragma once
#include <boardwalk/bundle.h>

/* ---- header lines ---- */

/* All values of that header (case ignored), in the order of their lines; how many there are. */
static inline size_t bw_req_header_values(struct bw_req *req, const char *name,
                                          const struct bw_str **ret_values)
{
	return bw_host->req_header_values(req, name, ret_values);
}

/* The name of each header that is there, once, in lower case; how many. */
static inline size_t bw_req_header_names(struct bw_req *req, const struct bw_str **ret_names)
{
	return bw_host->req_header_names(req, ret_names);
}

/* BW_ENOTFOUND without that header, BW_ESYNTAX if it is no whole number of 64 bits. */
static inline int bw_req_header_int(const struct bw_req *req, const char *name, int64_t *ret)
{
	return bw_host->req_header_int(req, name, ret);
}

/* A date in any of the forms of RFC 9110 5.6.7, as milliseconds since 1970; fails like the last. */
static inline int bw_req_header_date(const struct bw_req *req, const char *name, int64_t *ret_ms)
{
	return bw_host->req_header_date(req, name, ret_ms);
}

/* scheme://authority/path as sent, without the query; absent if the client named no host. The
 * authority is the client's word: do not build links for others from it. */
static inline struct bw_str bw_req_url(struct bw_req *req)
{
	return bw_host->req_url(req);
}

/* The name of each attribute of the request; how many. */
static inline size_t bw_req_attr_names(struct bw_req *req, const struct bw_str **ret_names)
{
	return bw_host->req_attr_names(req, ret_names);
}

/* ---- parameters ----
 *
 * Those of the query first, then those of the body of a POST, if it is
 * application/x-www-form-urlencoded, or multipart/form-data and the servlet takes that (its fields,
 * not its files); in order, decoded, repeated names kept (Jakarta Servlet 3.1). Inside a forward or
 * include the dispatcher's own query goes before all of these. Text is UTF-8 without NUL.
 *
 * All: BW_ESYNTAX (a broken escape, no UTF-8, a NUL, a name above 1 KiB), BW_EFORMSIZE (too
 * many, or a form that is too large: settings gateway.max_parameters and gateway.max_form),
 * BW_EPARTSYNTAX, BW_EPARTSIZE, BW_EGONE, BW_ETIME, BW_EBUSY and BW_EIO for a multipart body. An
 * error stays: the next call returns it too. (waits) for a multipart body whose files go to the
 * disk. */

/* The first value, absent if there is none. */
static inline int bw_req_param(struct bw_req *req, const char *name, struct bw_str *ret_value)
{
	return bw_host->req_param(req, name, ret_value);
}

/* All values of that name. */
static inline int bw_req_param_values(struct bw_req *req, const char *name,
                                      const struct bw_str **ret_values, size_t *ret_n)
{
	return bw_host->req_param_values(req, name, ret_values, ret_n);
}

/* Each name once, in the order of first appearance. */
static inline int bw_req_param_names(struct bw_req *req, const struct bw_str **ret_names,
                                     size_t *ret_n)
{
	return bw_host->req_param_names(req, ret_names, ret_n);
}

/* All of them, as they came. */
static inline int bw_req_params(struct bw_req *req, const struct bw_pair **ret_params,
                                size_t *ret_n)
{
	return bw_host->req_params(req, ret_params, ret_n);
}

/* ---- cookies ---- */

/* The value of the first cookie of that name (case counts), absent if there is none. BW_ESYNTAX:
 * what the client sent is no list of name=value (RFC 6265 4.2.1), or has controls in it. */
static inline int bw_req_cookie(struct bw_req *req, const char *name, struct bw_str *ret_value)
{
	return bw_host->req_cookie(req, name, ret_value);
}

/* All of them, in order; fails like the last. */
static inline int bw_req_cookies(struct bw_req *req, const struct bw_pair **ret_cookies,
                                 size_t *ret_n)
{
	return bw_host->req_cookies(req, ret_cookies, ret_n);
}

/* A cookie with the defaults: for this session of the browser, for the folder of the request's
 * path, not for scripts, not sent along with requests that other sites cause. Change what should
 * differ. */
static inline struct bw_cookie bw_cookie(const char *name, struct bw_str value)
{
	return (struct bw_cookie){ .size = sizeof(struct bw_cookie),
		                   .name = name,
		                   .value = value,
		                   .max_age_s = -1,
		                   .http_only = true,
		                   .same_site = BW_SAME_SITE_LAX };
}

/* Adds a Set-Cookie header; everything is copied. Secure is set by itself if the request came
 * over https. BW_EINVAL, and nothing is added: the name is no token, value, path or domain has
 * what RFC 6265 4.1.1 does not allow there (blanks, commas, ';', '\', controls, octets above
 * 127), name and value have more than 4,096 octets, or clients would not keep it: SameSite=None
 * or a name that begins with __Secure- without Secure, __Host- without Secure and the path "/"
 * or with a domain. BW_ESTATE once committed. */
static inline int bw_res_add_cookie(struct bw_req *req, const struct bw_cookie *cookie)
{
	return bw_host->res_add_cookie(req, cookie);
}

/* ---- forms that change something ---- */

/* The token that a form of this page sends back as its field ":csrf", or a script as the header
 * X-CSRF-Token: for clients that say neither Origin nor Referer, whose requests are refused otherwise
 * (docs/authentication.md). Good for this client until its next login or logout. In the request's
 * memory. The first one sets a cookie: BW_ESTATE once the response is committed. */
static inline int bw_req_csrf_token(struct bw_req *req, struct bw_str *ret_token)
{
	return bw_host->req_csrf_token(req, ret_token);
}

/* ---- multipart/form-data: multipart.h ----
 *
 * The body is taken apart when the parts, or the parameters, are first asked for. */

/* All parts, in order. BW_ESTATE: the servlet does not take multipart bodies. BW_ESERVLET: the
 * body is none. BW_EPARTSYNTAX: it is malformed. BW_EPARTSIZE: it is over one of the servlet's
 * limits. BW_EFORMSIZE: its fields together are larger than gateway.max_form. BW_EIO, BW_EBUSY:
 * the folder for files failed, or is full. An error stays. (waits) */
static inline int bw_req_parts(struct bw_req *req, struct bw_part *const **ret_parts, size_t *ret_n)
{
	return bw_host->req_parts(req, ret_parts, ret_n);
}

/* The first part of that name; BW_ENOTFOUND, and fails like the last. (waits) */
static inline int bw_req_part(struct bw_req *req, const char *name, struct bw_part **ret_part)
{
	return bw_host->req_part(req, name, ret_part);
}

static inline struct bw_str bw_part_get(const struct bw_part *part, enum bw_part_field field)
{
	return bw_host->part_get(part, field);
}

/* The value of the part's own header of that name (case ignored), absent if there is none. */
static inline struct bw_str bw_part_header(const struct bw_part *part, const char *name)
{
	return bw_host->part_header(part, name);
}

/* All header lines of the part, names in lower case; how many. */
static inline size_t bw_part_headers(const struct bw_part *part, const struct bw_pair **ret_headers)
{
	return bw_host->part_headers(part, ret_headers);
}

/* Octets. */
static inline uint64_t bw_part_size(const struct bw_part *part)
{
	return bw_host->part_size(part);
}

/* Copies up to n octets from offset; *ret_n is 0 at the end. BW_EGONE, BW_ETIME; BW_EIO,
 * BW_EBUSY for a part on the disk. (waits) for such a one. */
static inline int bw_part_read(struct bw_part *part, uint64_t offset, void *buf, size_t n,
                               size_t *ret_n)
{
	return bw_host->part_read(part, offset, buf, n, ret_n);
}
