/* session_token.h - what a session token says, and when it is believed. */
#pragma once
#include "credential.h"
#include "session_key.h"

#define SESSION_TOKEN_MAX 1536u /* octets of one that is made here */
#define SESSION_JTI       22u   /* 16 random octets in base64url */

/* Seconds are of 1970. */
struct session_claims {
	size_t   n_user;
	char     user[CREDENTIAL_NAME + 1];
	char     jti[SESSION_JTI + 1]; /* of the session: a renewed token keeps it */
	uint64_t account, version;     /* id, and its session_version */
	int64_t  issued_s, expires_s;
	int64_t  end_s; /* of the session: no token of it lives longer */
};

struct session_times {
	int64_t idle_s; /* of a token, from its making */
	int64_t life_s; /* of a session, from its login */
};

/* Those of a login now. */
void session_claims_begin(struct session_claims *ret, struct bw_str user, uint64_t account,
                          uint64_t version, const struct session_times *times, int64_t now_s);
/* Less than half of the idle time is left (exactly half is enough), and a new token would end later. */
bool session_claims_are_due(const struct session_claims *c, const struct session_times *times,
                            int64_t now_s);
void session_claims_renew(struct session_claims *c, const struct session_times *times,
                          int64_t now_s);

/* Owned: jws_free. NULL: out of memory. */
char *session_token_make(const struct session_claims *c, const struct session_keys *keys);
/* BW_OK; or BW_ELOGIN with a static reason: it is none of ours, or its time is over. Whether the account
 * is as it was, and the session has not been logged out, is for the caller. */
int session_token_read(struct bw_str token, struct session_keys *keys, int64_t now_s,
                       struct session_claims *ret, const char **ret_why);
