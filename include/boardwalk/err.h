/* err.h - the one map of errors: constant, value, dotted error name, HTTP status, text.
 *
 * Every call of the API returns BW_OK, sometimes BW_DECLINED, or one of these negative values. The
 * name is what an error page is chosen by (its parents are found by cutting the last part); the
 * status is what a client sees when nobody handles the error: 500, but where the fault is the client's
 * (400, 403, 409, 413, 429) or passes by itself (503, 504). The log, the error page and the FAILED message between
 * the processes all read this map. A bundle's own errors have no number: they are a dotted name given
 * to bw_req_fail(). */
#pragma once

#define BW_OK       0 /* done */
#define BW_DECLINED 1 /* not mine: the next one may try */

/* clang-format off */
/* X(constant, value, name, status, text) */
#define BW_ERRORS(X) \
	X(BW_EINVAL,      -1,  "bw.error.invalid",         500, "invalid argument") \
	X(BW_ESTATE,      -2,  "bw.error.state",           500, "not allowed in this state") \
	X(BW_EUNSUPPORTED,-3,  "bw.error.unsupported",     500, "not supported") \
	X(BW_ENOMEM,      -4,  "bw.error.memory",          500, "out of memory") \
	X(BW_ENOTFOUND,   -5,  "bw.error.notfound",        500, "not found") \
	X(BW_EDENIED,     -6,  "bw.error.denied",          500, "access denied") \
	X(BW_EIO,         -7,  "bw.error.io",              500, "input/output error") \
	X(BW_ETIME,       -8,  "bw.error.io.timeout",      504, "out of time") \
	X(BW_EGONE,       -9,  "bw.error.io.gone",         503, "the other side is gone") \
	X(BW_EBUSY,       -10, "bw.error.busy",            503, "too much to do") \
	X(BW_ELOGIN,      -11, "bw.error.login",           500, "login refused") \
	X(BW_EEXPIRED,    -12, "bw.error.handle.expired",  500, "resolver handle expired") \
	X(BW_ECLOSED,     -13, "bw.error.handle.closed",   500, "resolver handle closed") \
	X(BW_EFOREIGN,    -14, "bw.error.handle.foreign",  500, "resolver handle of another connection") \
	X(BW_EPROTO,      -15, "bw.error.protocol",        500, "malformed message") \
	X(BW_ETOOBIG,     -16, "bw.error.toobig",          500, "too large") \
	X(BW_EEXIST,      -17, "bw.error.exists",          500, "exists already") \
	X(BW_ECYCLE,      -18, "bw.error.cycle",           500, "cycle") \
	X(BW_ESERVLET,    -19, "bw.error.servlet",         500, "the servlet failed") \
	X(BW_ESYNTAX,     -20, "bw.error.syntax",          400, "malformed request") \
	X(BW_EFORMSIZE,   -21, "bw.error.form.size",       413, "the form is over its limits") \
	X(BW_EPARTSYNTAX, -22, "bw.error.multipart.syntax",400, "malformed multipart body") \
	X(BW_EPARTSIZE,   -23, "bw.error.multipart.size",  413, "the multipart body is over its limits") \
	X(BW_ECONFLICT,   -24, "bw.error.conflict",        409, "somebody else has changed it meanwhile") \
	X(BW_EFORBIDDEN,  -25, "bw.error.forbidden",       403, "not permitted") \
	X(BW_ECONTENT,    -26, "bw.error.content",         400, "breaks a rule of the content") \
	X(BW_ECONTENTSIZE,-27, "bw.error.content.size",    413, "over a limit of the content") \
	X(BW_ETHROTTLED,  -28, "bw.error.login.throttled", 429, "too many failed logins")
/* clang-format on */

enum bw_err {
#define X(constant, value, name, status, text) constant = value,
	BW_ERRORS(X)
#undef X
};
