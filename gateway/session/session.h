/* session.h - sessions as the gateway keeps them: read once per request and context, in the
 * request's arena; every change goes to repo at its call.
 *
 *   NONE (repo was asked, there is none) --create--> LIVE --invalidate, time--> ENDING --told--> VOID
 *
 * Without the request (session_watch.c) a session is ENDING from its start. */
#pragma once
#include <base/arena.h>
#include <boardwalk/session.h>
#include <wire/session.h>

struct gateway_settings;

enum session_state {
	SESSION_NONE, /* not shown to anybody */
	SESSION_LIVE,
	SESSION_ENDING, /* deleted; listeners may still read it */
	SESSION_VOID,
};

struct session_attr {
	struct session_attr *next;
	struct bw_str        name;
	struct bw_value      value;
};

struct bw_session {
	struct bw_session   *next; /* of the request */
	struct bw_req       *req;  /* NULL: ended without one */
	struct arena        *arena;
	struct bw_str        id;      /* absent: not known */
	struct bw_str        context; /* its name */
	enum session_state   state;
	bool                 is_new;
	int32_t              max_inactive;
	uint64_t             created_us, accessed_us;
	uint64_t             lease_us; /* to be released at the end of the request; 0: nothing is */
	struct session_attr *attrs;    /* in the order of their names */
};

/* What a request knows of its client's sessions. */
struct req_sessions {
	struct bw_str      id; /* under which they live; absent: the client has none */
	uint8_t            hash[SESSION_HASH_SIZE];
	bool               lives; /* repo has seen one live under it, or made it */
	struct bw_session *first;
};

void sessions_init(const struct gateway_settings *settings);
void sessions_done(void);
/* The end of a request that has asked for one: short-lived sessions begin to age. */
void sessions_release(struct bw_req *req);

/* ---- host table entries ---- */
int           session_of_request(struct bw_req *req, bool create, struct bw_session **ret);
struct bw_str session_id(const struct bw_session *s);
int           session_info(const struct bw_session *s, struct bw_session_info *ret);
int           session_set_timeout(struct bw_session *s, int32_t seconds);
int           session_get(const struct bw_session *s, const char *name, struct bw_value *ret);
struct bw_str session_name(const struct bw_session *s, size_t i);
int           session_set(struct bw_session *s, const char *name, const struct bw_value *value);
int           session_add(struct bw_session *s, const char *name, int64_t delta, int64_t *ret);
int           session_invalidate(struct bw_session *s);
int           session_change_id(struct bw_session *s);

/* ---- session_value.c: attributes, and their octets on the wire ---- */
/* BW_EINVAL, BW_ETOOBIG. *ret in the arena. */
int session_value_pack(struct arena *a, const struct bw_value *v, enum session_kind *ret_kind,
                       struct bw_str *ret);
/* octets fit kind. What *ret points to is in the arena. */
void session_value_unpack(struct arena *a, enum session_kind kind, struct bw_str octets,
                          struct bw_value *ret);
struct session_attr *session_attr_find(const struct bw_session *s, struct bw_str name);
/* Adds, replaces, or (value NULL) removes. */
void session_attr_put(struct bw_session *s, struct bw_str name, const struct bw_value *value);
/* Everything that repo says of it; its arena and its context are set, its old attributes forgotten.
 */
void session_fill(struct bw_session *s, const struct session_record *r);

/* ---- session_cookie.c ---- */
void session_cookie_init(const char *name);
/* The id that the request's cookie holds; absent if it holds none that could be one of ours. */
int session_cookie_get(struct bw_req *req, struct bw_str *ret_id);
/* Into the response, in place of one that was set before. id absent: the client is to forget it.
 * BW_EINVAL: clients would not keep a cookie of that name over http. */
int session_cookie_put(struct bw_req *req, struct bw_str id);

/* ---- session_tell.c: the listeners of a session's context, wherever it came from ---- */
void session_tell_created(struct bw_session *s);
/* old NULL: added; new NULL: removed. */
void session_tell_attribute(struct bw_session *s, struct bw_str name, const struct bw_value *old,
                            const struct bw_value *new);
/* Destroyed, then each attribute removed; void from then on. */
void session_tell_end(struct bw_session *s);
/* Would anybody in that context hear of a new id? */
bool session_hears_id(struct bw_str context);
void session_tell_id(struct bw_session *s, struct bw_str old_id);

/* ---- session_watch.c: sessions that end while no client asks ---- */
void session_watch_init(void);
void session_watch_done(void);
