/* session.h - HTTP sessions: what a servlet remembers of one client between requests.
 *
 * A client has one cookie and, behind it, one session for each context (OSGi 140.2.7, Jakarta
 * Servlet chapter 7). Sessions belong to the context's name: they survive the bundle, its reload
 * and every process, and all workers and nodes share them. Attributes are plain data, copied in and
 * out.
 *
 * A request reads its session once, at its first bw_req_session, and then sees its own changes;
 * what others change meanwhile it sees only through bw_session_add. Each change is sent at its call
 * and is durable when that returns BW_OK: no response can be sent that tells of a change that is
 * lost later. The first look and every change (waits), and fails with BW_EGONE while the repository
 * is away.
 *
 * After bw_session_invalidate everything but bw_session_id fails with BW_ESTATE; so does a change
 * of a session that another request has ended. A session that ends, by that or by its time, is told
 * to the session listeners of its context in one worker (listener.h). */
#pragma once
#include <boardwalk/bundle.h>

/* At most 256 attributes and 64 KiB in a session: an attribute counts with its name and 16 octets.
 */
#define BW_SESSION_MAX_ATTRIBUTES 256
#define BW_SESSION_MAX_OCTETS     65536

struct bw_session_info {
	bool    is_new;      /* made by this request */
	int64_t created_ms;  /* since 1970 */
	int64_t accessed_ms; /* the request before this one; written once a minute at most */
	int32_t timeout_s;   /* without a request, until it ends; 0 or less: never */
};

/* The session of the client in the context of the current dispatch: the same one however often it
 * is asked for. BW_ENOTFOUND: there is none, and create is false. BW_ESTATE: no context (a
 * preprocessor), or one would have to be made and the response is committed or closed. BW_ESYNTAX:
 * the client's Cookie header is malformed. *ret_session lives as long as the request. (waits) */
static inline int bw_req_session(struct bw_req *req, bool create, struct bw_session **ret_session)
{
	return bw_host->req_session(req, create, ret_session);
}

/* What the client's cookie holds, in every context. Absent in a listener that is told of a session
 * whose client has not come again: nobody knows its id then. Never to be logged: who has it is the
 * client. */
static inline struct bw_str bw_session_id(const struct bw_session *s)
{
	return bw_host->session_id(s);
}

/* BW_ESTATE. */
static inline int bw_session_get_info(const struct bw_session *s, struct bw_session_info *ret)
{
	return bw_host->session_info(s, ret);
}

/* 0 or less: it never ends by itself. Longer than 68 years cannot be said. BW_ESTATE. (waits) */
static inline int bw_session_set_timeout(struct bw_session *s, int32_t seconds)
{
	return bw_host->session_set_timeout(s, seconds);
}

/* *ret points into the request's memory. BW_ENOTFOUND: no such attribute. BW_ESTATE. */
static inline int bw_session_get(const struct bw_session *s, const char *name, struct bw_value *ret)
{
	return bw_host->session_get(s, name, ret);
}

/* The name of attribute number i, in their order; absent past the last, or after the end. */
static inline struct bw_str bw_session_name(const struct bw_session *s, size_t i)
{
	return bw_host->session_name(s, i);
}

/* Copied; NULL or type 0 removes. BW_EINVAL: the name is not 1 to 255 octets of UTF-8, or the value
 * none of STRING, LONG, DOUBLE, BOOLEAN and lists of one of them. BW_ETOOBIG: the session would be
 * too large, and keeps what it had. BW_ESTATE. (waits) */
static inline int bw_session_set(struct bw_session *s, const char *name,
                                 const struct bw_value *value)
{
	return bw_host->session_set(s, name, value);
}

/* Adds delta to a LONG as one step, whoever else does the same; an absent one counts as 0.
 * *ret_result (may be NULL): the sum. BW_EINVAL: it is no LONG, or the sum does not fit; else as
 * bw_session_set. (waits) */
static inline int bw_session_add(struct bw_session *s, const char *name, int64_t delta,
                                 int64_t *ret_result)
{
	return bw_host->session_add(s, name, delta, ret_result);
}

/* Ends this context's session; those of other contexts live on. With the last one the cookie goes,
 * if the response is not committed. Listeners hear of it before this returns. (waits) */
static inline int bw_session_invalidate(struct bw_session *s)
{
	return bw_host->session_invalidate(s);
}

/* A new id and cookie for the sessions of all contexts, with all they hold: for the moment a
 * client's rights grow. BW_ESTATE also once the response is committed. (waits) */
static inline int bw_session_change_id(struct bw_session *s)
{
	return bw_host->session_change_id(s);
}
