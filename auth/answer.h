/* answer.h - auth's answers to the gateway: the sockets, and what each message does. */
#pragma once
#include "bearer.h"
#include "login.h"
#include "mapping.h"
#include "session.h"
#include <base/conf.h>
#include <sys/types.h>

struct answers;

/* What answers are made of; all borrowed. */
struct answer_parts {
	struct accounts         *accounts;
	struct logins           *logins;
	const struct remember   *remember;
	const struct mapping    *mapping;
	const struct handle_key *key;
	const struct conf_list  *impersonators; /* the setting */
	struct sessions         *sessions;
	struct bearers          *bearers;
	struct throttle         *throttle; /* of bad tokens */
	struct password_pool    *pool;     /* for new passwords */
	bool                     self_registration;
	const struct handle_keys
		*keys; /* NULL: there is the one to mint with; they follow the file */
};

/* Begins to accept on listener, which stays the caller's. gateway: the only user besides our own
 * that is let in; (uid_t)-1: none. */
struct answers *answers_new(struct ev_loop *loop, int listener, uid_t gateway,
                            const struct answer_parts *parts);
/* Logins that would have to wait are refused from now on; remembered ones are still answered. */
void answers_drain(struct answers *as);
/* Closes the connections; what they wait for goes on without them. NULL is fine. */
void answers_free(struct answers *as);
