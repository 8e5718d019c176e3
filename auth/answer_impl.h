/* answer_impl.h - what the files that answer the gateway share: its connections, who waits, and the
 * two kinds of answer. */
#pragma once
#include "answer.h"
#include "audit.h"
#include "credential.h"
#include "impersonate.h"
#include <sys/queue.h>
#include <wire/server.h>

/* Room for handles in an answer: 32 of up to 51 principals, fewer of larger ones. The rest of a
 * RESOLVER_HANDLE's 18432 octets is for two names, a session token, and the fields' tags and sizes. */
#define HANDLES_ROOM     (16384u - CREDENTIAL_NAME - 16u)
#define ANSWER_TOKEN_MAX 1536u
_Static_assert(HANDLES_ROOM >= HANDLE_MAX, "the largest handle fits");
_Static_assert(HANDLES_ROOM + 2 * CREDENTIAL_NAME + ANSWER_TOKEN_MAX + 32 <= 18432u,
               "the largest answer fits");

struct answers {
	struct answer_parts parts;
	struct wire_server *server;
	bool                is_draining;
	struct remember    *told; /* who acts as whom: what the audit trail has */
};

#define ANSWER_ADDRESS 16u

/* What goes with a login. */
struct answer_terms {
	bool        want_session;
	const char *type;                      /* how they prove it; static text */
	unsigned    n_address, n_sudo;         /* octets; 0: none */
	uint8_t     address[ANSWER_ADDRESS];   /* of the client: IPv4 or IPv6 */
	char        sudo[CREDENTIAL_NAME + 1]; /* whom to act as, as credential_name makes it */
};

/* Who has proved who he is, while the one to act as is looked up. */
struct answer_real {
	struct impersonator rights;
	size_t              n_name;
	char                name[CREDENTIAL_NAME];
	char               *token;   /* of his session, new or renewed, or NULL; jws_free */
	unsigned            token_s; /* seconds it lives */
};

struct waiter {
	LIST_ENTRY(waiter) next;   /* of its connection */
	struct conn         *conn; /* NULL: gone */
	struct wire_question question;
	unsigned             count; /* of handles */
	struct answer_terms  terms; /* of a login */
	struct answer_real   real;  /* of one who wants to act as another */
	/* Of a list of principals: the accounts before number i are there. */
	const struct mapping_target *list;
	unsigned                     i;
	uint64_t                     principals[]; /* list->n */
};

/* One gateway worker. */
struct conn {
	struct wire_conn    base;
	struct mint_channel channel;
	LIST_HEAD(, waiter) waiters;
	unsigned n_waiters;
};

static inline struct answers *answers_of(const struct conn *c)
{
	return wire_server_owner(c->base.server);
}

/* ---- answer.c ---- */

void answer_handles(struct conn *c, const struct wire_question *q, struct bw_str user,
                    const struct mint_identity *who, unsigned count, uint64_t now_us);
/* The same with a message that has its user, and whatever else there is to say. */
void answer_message(struct conn *c, const struct wire_question *q, Bw__Wire__ResolverHandle *m,
                    const struct mint_identity *who, unsigned count, uint64_t now_us);
/* Neither yes nor no: err is not BW_ELOGIN. why: for the log and the gateway's. */
void answer_refuse(struct conn *c, const struct wire_question *q, const char *what,
                   struct bw_str name, int err, const char *why);
/* BW_ELOGIN and not a word more; the audit trail has the reason. */
void answer_login_refused(struct conn *c, const struct wire_question *q);
/* Closes the connection, and is false, if the count of handles is nonsense. */
bool answer_is_count(struct conn *c, const struct wire_question *q, unsigned count);

/* NULL: this connection waits for too much already, and has been told so. */
struct waiter *answer_wait(struct conn *c, const struct wire_question *q, const char *what,
                           struct bw_str name, unsigned n_principals);
/* Frees w; returns the connection, NULL if it is gone. */
struct conn *answer_waiter_end(struct waiter *w, struct wire_question *ret_q);

/* ---- answer_login.c ---- */

/* Puts a session token into a message, until that is sent; NULL: there is none. */
void answer_put_token(Bw__Wire__ResolverHandle *m, const char *token, unsigned token_s);

/* False: the login has been refused, or the connection closed. sudo: its data is NULL if absent. */
bool         answer_terms_get(struct conn *c, const struct wire_question *q,
                              const ProtobufCBinaryData *address, const ProtobufCBinaryData *sudo,
                              struct answer_terms *ret);
struct place answer_place(const struct answer_terms *terms);
/* A line of the audit trail. user may be absent; reason may be NULL. */
void answer_audit(const struct wire_question *q, const char *event, struct bw_str user,
                  const struct answer_terms *terms, const char *reason, unsigned wait_s);
/* BW_ELOGIN, and the reason for the audit trail alone. */
void answer_login_failed(struct conn *c, const struct wire_question *q, struct bw_str user,
                         const struct answer_terms *terms, const char *reason, unsigned wait_s);
/* The credentials are good. is_login: he has just logged in, and does not only show that he has.
 * claims: of a session that was checked just now, or NULL. */
void answer_login(struct conn *c, const struct wire_question *q, const struct account *a,
                  const struct answer_terms *terms, bool is_login,
                  const struct session_claims *claims);
void answer_basic(struct conn *c, const struct wire_question *q,
                  const Bw__Wire__AuthenticateBasic *m);

/* ---- answer_token.c ---- */

void answer_token(struct conn *c, const struct wire_question *q,
                  const Bw__Wire__AuthenticateToken *m);
void answer_bearer(struct conn *c, const struct wire_question *q,
                   const Bw__Wire__AuthenticateBearer *m);
void answer_session_end(struct conn *c, const struct wire_question *q,
                        const Bw__Wire__SessionEnd *m);

/* ---- answer_act.c ---- */

/* As another user, whose name is in terms, if a may act as him. token: of a's session, or NULL; is
 * freed. */
void answer_act(struct conn *c, const struct wire_question *q, const struct account *a,
                const struct answer_terms *terms, char *token, unsigned token_s);

/* ---- answer_user.c ---- */

void answer_account_change(struct conn *c, const struct wire_question *q,
                           const Bw__Wire__AccountChange *m);
void answer_account_read(struct conn *c, const struct wire_question *q,
                         const Bw__Wire__AccountRead *m);

/* ---- answer_service.c ---- */

void answer_service(struct conn *c, const struct wire_question *q,
                    const Bw__Wire__AuthenticateService *m);
