/* session.h - sessions: from a login to a token, from a token to its account, and their ends. */
#pragma once
#include "account.h"
#include "checked.h"
#include "session_token.h"

struct sessions;

struct session_result {
	int                   err;     /* BW_OK; BW_ELOGIN; BW_EBUSY, BW_EGONE, BW_ETIME, BW_EIO */
	const struct account *account; /* of BW_OK */
	const struct session_claims *claims; /* what the token says */
	const char *why; /* static text for the log and, unless BW_ELOGIN, the asker */
};
/* Everything is borrowed for the call. */
typedef void (*session_cb)(void *arg, const struct session_result *result);
/* user: whose session it was, if it was live. */
typedef void (*session_end_cb)(void *arg, int err, struct bw_str user, bool was_live);

/* Opens a connection of its own. Borrows accounts and keys. on_up(arg), if not NULL, whenever it
 * stands. */
struct sessions *sessions_new(struct ev_loop *loop, const char *conninfo, struct accounts *accounts,
                              struct session_keys *keys, const struct session_times *times,
                              void (*on_up)(void *arg), void                        *arg);
bool             sessions_are_up(const struct sessions *ss);
/* Before the accounts. What is in flight ends with BW_EGONE. NULL is fine. */
void     sessions_free(struct sessions *ss);
unsigned sessions_in_flight(const struct sessions *ss);

/* Whether somebody may have a session: an enabled user. */
bool sessions_may_have(const struct account *a);
/* A token for that account, which has just logged in; owned: jws_free. *ret_s: seconds it lives. */
char *sessions_begin(struct sessions *ss, const struct account *a, unsigned *ret_s);
/* The name of a token in here: a keyed hash. */
void sessions_key(const struct sessions *ss, struct bw_str token, uint8_t key[CHECKED_KEY]);
/* The account of a token that was checked before, needs no renewal, and everything is known to be up
 * to date; no waiting. NULL: sessions_check decides. */
const struct account *sessions_remembered(struct sessions *ss, const uint8_t key[CHECKED_KEY],
                                          uint64_t now_us);
/* cb runs once, perhaps before this returns. token is not needed afterwards. */
void sessions_check(struct sessions *ss, struct bw_str token, const uint8_t key[CHECKED_KEY],
                    session_cb cb, void *arg);
/* Another token for a session that was just checked, if it is due; NULL: it is not. Owned: jws_free. */
char *sessions_renew(struct sessions *ss, const struct session_claims *claims, unsigned *ret_s);
/* Ends the session of a token. cb runs once, perhaps before this returns: BW_OK once it is committed. */
void sessions_end(struct sessions *ss, struct bw_str token, session_end_cb cb, void *arg);

/* ---- for the journal, and for who changes the keys ---- */
void sessions_revoked(struct sessions *ss, struct bw_str jti);
void sessions_forget(struct sessions *ss); /* everything has to be checked anew */
