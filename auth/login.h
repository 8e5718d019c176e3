/* login.h - checks user names and passwords; equal ones that arrive together are checked once. */
#pragma once
#include "account.h"
#include "password.h"
#include "remember.h"
#include "throttle.h"

struct logins;

struct login_result {
	int err; /* BW_OK; BW_ELOGIN; BW_ETHROTTLED; BW_EBUSY, BW_EGONE, BW_ETIME, BW_EIO */
	const struct account *account; /* of BW_OK; else NULL */
	struct bw_str         user;
	const char           *why;    /* static text for the log and, unless BW_ELOGIN, the asker */
	const char           *reason; /* static: a word for the audit trail; of BW_ELOGIN */
	bool                  was_verified; /* just now: this is a login, and no use of one */
	unsigned              wait_s;       /* of BW_ETHROTTLED, and when a failure began a delay */
};
/* Everything is borrowed for the call. */
typedef void (*login_cb)(void *arg, const struct login_result *result);

/* All four are borrowed. */
struct logins *logins_new(struct accounts *accounts, struct remember *remember,
                          struct throttle *throttle, struct password_pool *pool);
/* After the pool and the accounts, whose ends end what is in flight. NULL is fine. */
void logins_free(struct logins *ls);
/* How many checks are under way. */
unsigned logins_in_flight(const struct logins *ls);

/* The account if these credentials are remembered and everything is known to be up to date: no
 * waiting. key: of remember_key. NULL: logins_check decides. */
const struct account *logins_remembered(struct logins *ls, struct bw_str user,
                                        const uint8_t key[REMEMBER_KEY], uint64_t now_us);
/* user, password: as credential.h makes them; copied. place: whence. cb runs once, perhaps before this
 * returns. */
void logins_check(struct logins *ls, struct bw_str user, struct bw_str password,
                  const uint8_t key[REMEMBER_KEY], const struct place *place, login_cb cb,
                  void *arg);
