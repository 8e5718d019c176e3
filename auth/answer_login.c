/* answer_login.c - who logs in: AUTHENTICATE_BASIC, _TOKEN and _BEARER, and SESSION_END.
 *
 * Owns: the waiters while passwords are verified or the database is asked. Runs in: the loop. Fails
 * with: an answer BW_ELOGIN, BW_ETHROTTLED, or what the database and the hashing threads fail with.
 * Logs: the audit trail. Tests: tests/unit/auth/answer_test.c, session_test.c. */
#include "answer_impl.h"
#include <base/clock.h>
#include <sodium.h>
#include <stdio.h>

/* ---- what goes with a login ---- */

static struct place place_of_terms(const struct answer_terms *terms)
{
	return place_of((struct bw_str){ (const char *)terms->address, terms->n_address });
}

static void audit(const struct wire_question *q, const char *event, struct bw_str user,
                  const struct answer_terms *terms, const char *reason, unsigned wait_s)
{
	struct audit a = {
		.event = event,
		.user = user,
		.type = terms->type,
		.reason = reason,
		.place = place_of_terms(terms),
		.wait_s = wait_s,
	};

	audit_write(q->request, &a);
}

static bool is_address(struct conn *c, const struct wire_question *q,
                       const ProtobufCBinaryData *address)
{
	char reason[80];

	if (address->len == 0 || address->len == 4 || address->len == ANSWER_ADDRESS)
		return true;
	snprintf(reason, sizeof(reason), "an address of %zu octets (request %016llx)", address->len,
	         (unsigned long long)q->request);
	wire_chan_close(c->base.chan, reason);
	return false;
}

/* False: the login has been refused, or the connection closed. sudo: its data is NULL if absent. */
static bool terms_get(struct conn *c, const struct wire_question *q,
                      const ProtobufCBinaryData *address, const ProtobufCBinaryData *sudo,
                      struct answer_terms *ret)
{
	struct bw_str name = { (char *)sudo->data, sudo->len };

	if (!is_address(c, q, address))
		return false;
	ret->n_address = (unsigned)address->len;
	if (address->len > 0)
		memcpy(ret->address, address->data, address->len);
	ret->want_session = false;
	ret->type = NULL;
	ret->n_sudo = 0;
	if (name.p == NULL)
		return true;
	if (credential_name(name, ret->sudo, &name) != BW_OK) {
		audit(q, "impersonation_refused", BW_ABSENT, ret, "malformed_name", 0);
		answer_login_refused(c, q);
		return false;
	}
	if (name.p != ret->sudo)
		memcpy(ret->sudo, name.p, name.n);
	ret->n_sudo = (unsigned)name.n;
	return true;
}

/* ---- the answer ---- */

static void refuse(struct conn *c, const struct wire_question *q, struct bw_str user,
                   const struct answer_terms *terms, const char *reason, unsigned wait_s)
{
	audit(q, "login_failed", user, terms, reason, wait_s);
	answer_login_refused(c, q);
}

void answer_put_token(Bw__Wire__ResolverHandle *m, const char *token, unsigned token_s)
{
	if (token == NULL)
		return;
	m->has_token = m->has_token_s = 1;
	m->token = (ProtobufCBinaryData){ strlen(token), (uint8_t *)token };
	m->token_s = token_s;
}

/* token: a session's, new or renewed, or NULL; wiped and freed. */
static void answer_account(struct conn *c, const struct wire_question *q, const struct account *a,
                           char *token, unsigned token_s)
{
	Bw__Wire__ResolverHandle m = BW__WIRE__RESOLVER_HANDLE__INIT;

	m.user = (ProtobufCBinaryData){ a->name.n, (uint8_t *)a->name.p };
	answer_put_token(&m, token, token_s);
	answer_message(c, q, &m, &a->who, 1, clock_boot_us());
	jws_free(token);
}

/* The credentials are good. is_login: he has just logged in, and does not only show that he has.
 * claims: of a session that was checked just now, or NULL. */
static void answer_login(struct conn *c, const struct wire_question *q, const struct account *a,
                         const struct answer_terms *terms, bool is_login,
                         const struct session_claims *claims)
{
	struct sessions *sessions = answers_of(c)->parts.sessions;
	char            *token = NULL;
	unsigned         token_s = 0;

	if (a->is_crowded) { /* more than a handle can carry */
		refuse(c, q, a->name, terms, "too_many_groups", 0);
		return;
	}
	if (is_login)
		audit(q, "login", a->name, terms, NULL, 0);
	if (terms->want_session)
		token = sessions_begin(sessions, a, &token_s);
	else if (claims != NULL)
		token = sessions_renew(sessions, claims, &token_s);
	if (terms->n_sudo > 0 && !bw_str_eq((struct bw_str){ terms->sudo, terms->n_sudo }, a->name))
		answer_act(c, q, a, terms, token, token_s);
	else
		answer_account(c, q, a, token, token_s);
}

/* ---- AUTHENTICATE_BASIC ---- */

static void on_login(void *arg, const struct login_result *result)
{
	struct answer_terms  terms = ((struct waiter *)arg)->terms;
	struct wire_question q;
	struct conn         *c = answer_waiter_end(arg, &q);

	if (c == NULL)
		return;
	switch (result->err) {
	case BW_OK:
		answer_login(c, &q, result->account, &terms,
		             result->was_verified || terms.want_session, NULL);
		break;
	case BW_ELOGIN:
		refuse(c, &q, result->user, &terms, result->reason, result->wait_s);
		break;
	case BW_ETHROTTLED:
		audit(&q, "throttled", result->user, &terms, NULL, result->wait_s);
		wire_fail(c->base.chan, &q, BW_ETHROTTLED, result->wait_s, result->why);
		break;
	default:
		answer_refuse(c, &q, "login", result->user, result->err, result->why);
	}
}

static void check(struct conn *c, const struct wire_question *q, struct bw_str user,
                  struct bw_str password, const struct answer_terms *terms)
{
	struct answer_parts  *parts = &answers_of(c)->parts;
	const struct account *a;
	struct place          place = place_of_terms(terms);
	struct waiter        *w;
	uint8_t               key[REMEMBER_KEY];

	remember_key(parts->remember, user, password, key);
	a = logins_remembered(parts->logins, user, key, clock_boot_us());
	if (a != NULL) {
		answer_login(c, q, a, terms, terms->want_session, NULL);
	} else if ((w = answer_wait(c, q, "login", user, 0)) != NULL) {
		w->terms = *terms;
		logins_check(parts->logins, user, password, key, &place, on_login, w);
	}
}

void answer_basic(struct conn *c, const struct wire_question *q,
                  const Bw__Wire__AuthenticateBasic *m)
{
	struct bw_str       user = { (char *)m->user.data, m->user.len };
	struct bw_str       password = { (char *)m->password.data, m->password.len };
	char                user_mem[CREDENTIAL_NAME + 1], password_mem[CREDENTIAL_PASSWORD + 1];
	struct answer_terms terms;

	if (!terms_get(c, q, &m->address, &m->sudo, &terms))
		return;
	terms.want_session = m->want_session;
	terms.type = m->want_session ? "FORM" : "BASIC";
	if (credential_name(user, user_mem, &user) != BW_OK)
		refuse(c, q, BW_ABSENT, &terms, "malformed_name", 0);
	else if (credential_password(password, password_mem, &password) != BW_OK)
		/* Empty, too long, or no UTF-8: it is no guess, and costs nothing. */
		refuse(c, q, user, &terms, "malformed_password", 0);
	else
		check(c, q, user, password, &terms);
	if (password.p == password_mem)
		sodium_memzero(password_mem, sizeof(password_mem));
}

/* ---- AUTHENTICATE_TOKEN ---- */

static void on_session(void *arg, const struct session_result *result)
{
	struct answer_terms  terms = ((struct waiter *)arg)->terms;
	struct bw_str        user = { result->claims->user, result->claims->n_user };
	struct wire_question q;
	struct conn         *c = answer_waiter_end(arg, &q);

	if (c == NULL)
		return;
	if (result->err == BW_OK)
		answer_login(c, &q, result->account, &terms, false, result->claims);
	else if (result->err == BW_ELOGIN)
		refuse(c, &q, user, &terms, result->why, 0);
	else
		answer_refuse(c, &q, "session", user, result->err, result->why);
}

void answer_token(struct conn *c, const struct wire_question *q,
                  const Bw__Wire__AuthenticateToken *m)
{
	struct sessions      *sessions = answers_of(c)->parts.sessions;
	struct bw_str         token = { (char *)m->token.data, m->token.len };
	struct answer_terms   terms;
	const struct account *a;
	struct waiter        *w;
	uint8_t               key[SESSION_KEY];

	if (!terms_get(c, q, &m->address, &m->sudo, &terms))
		return;
	terms.type = "SESSION";
	sessions_key(sessions, token, key);
	a = sessions_remembered(sessions, key, clock_boot_us());
	if (a != NULL) {
		answer_login(c, q, a, &terms, false, NULL);
	} else if ((w = answer_wait(c, q, "session", BW_STR("?"), 0)) != NULL) {
		w->terms = terms;
		sessions_check(sessions, token, key, on_session, w);
	}
}

/* ---- SESSION_END ---- */

static void on_session_end(void *arg, int err, struct bw_str user, bool was_live)
{
	struct audit           a = { .event = "logout", .user = user };
	Bw__Wire__SessionEnded answer = BW__WIRE__SESSION_ENDED__INIT;
	struct wire_question   q;
	struct conn           *c = answer_waiter_end(arg, &q);

	if (c == NULL)
		return;
	answer.was_live = was_live;
	if (was_live)
		audit_write(q.request, &a);
	if (err == BW_OK)
		wire_answer(c->base.chan, &q, 0, 0, &answer.base);
	else
		answer_refuse(c, &q, "logout", BW_STR("?"), err, "PostgreSQL does not answer");
}

void answer_session_end(struct conn *c, const struct wire_question *q,
                        const Bw__Wire__SessionEnd *m)
{
	struct bw_str  token = { (char *)m->token.data, m->token.len };
	struct waiter *w = answer_wait(c, q, "logout", BW_STR("?"), 0);

	if (w != NULL)
		sessions_end(answers_of(c)->parts.sessions, token, on_session_end, w);
}

/* ---- AUTHENTICATE_BEARER ---- */

void answer_bearer(struct conn *c, const struct wire_question *q,
                   const Bw__Wire__AuthenticateBearer *m)
{
	struct answer_terms terms;

	if (!terms_get(c, q, &m->address, &m->sudo, &terms))
		return;
	terms.type = "BEARER";
	refuse(c, q, BW_ABSENT, &terms, "unknown_key", 0);
}
