/* answer_login.c - who logs in: AUTHENTICATE_BASIC, and what all logins have in common. Tokens:
 * answer_token.c.
 *
 * Owns: the waiters while passwords are verified. Runs in: the loop. Fails
 * with: an answer BW_ELOGIN, BW_ETHROTTLED, or what the database and the hashing threads fail with.
 * Logs: the audit trail. Tests: tests/unit/auth/answer_test.c, session_test.c. */
#include "answer_impl.h"
#include <base/clock.h>
#include <sodium.h>
#include <stdio.h>

/* ---- what goes with a login ---- */

struct place answer_place(const struct answer_terms *terms)
{
	return place_of((struct bw_str){ (const char *)terms->address, terms->n_address });
}

void answer_audit(const struct wire_question *q, const char *event, struct bw_str user,
                  const struct answer_terms *terms, const char *reason, unsigned wait_s)
{
	struct audit a = {
		.event = event,
		.user = user,
		.type = terms->type,
		.reason = reason,
		.place = answer_place(terms),
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

bool answer_terms_get(struct conn *c, const struct wire_question *q,
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
		answer_audit(q, "impersonation_refused", BW_ABSENT, ret, "malformed_name", 0);
		answer_login_refused(c, q);
		return false;
	}
	if (name.p != ret->sudo)
		memcpy(ret->sudo, name.p, name.n);
	ret->n_sudo = (unsigned)name.n;
	return true;
}

/* ---- the answer ---- */

void answer_login_failed(struct conn *c, const struct wire_question *q, struct bw_str user,
                         const struct answer_terms *terms, const char *reason, unsigned wait_s)
{
	answer_audit(q, "login_failed", user, terms, reason, wait_s);
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

void answer_login(struct conn *c, const struct wire_question *q, const struct account *a,
                  const struct answer_terms *terms, bool is_login,
                  const struct session_claims *claims)
{
	struct sessions *sessions = answers_of(c)->parts.sessions;
	char            *token = NULL;
	unsigned         token_s = 0;

	if (a->is_crowded) { /* more than a handle can carry */
		answer_login_failed(c, q, a->name, terms, "too_many_groups", 0);
		return;
	}
	if (is_login)
		answer_audit(q, "login", a->name, terms, NULL, 0);
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
		answer_login_failed(c, &q, result->user, &terms, result->reason, result->wait_s);
		break;
	case BW_ETHROTTLED:
		answer_audit(&q, "throttled", result->user, &terms, NULL, result->wait_s);
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
	struct place          place = answer_place(terms);
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

	if (!answer_terms_get(c, q, &m->address, &m->sudo, &terms))
		return;
	terms.want_session = m->want_session;
	terms.type = m->want_session ? "FORM" : "BASIC";
	if (credential_name(user, user_mem, &user) != BW_OK)
		answer_login_failed(c, q, BW_ABSENT, &terms, "malformed_name", 0);
	else if (credential_password(password, password_mem, &password) != BW_OK)
		/* Empty, too long, or no UTF-8: it is no guess, and costs nothing. */
		answer_login_failed(c, q, user, &terms, "malformed_password", 0);
	else
		check(c, q, user, password, &terms);
	if (password.p == password_mem)
		sodium_memzero(password_mem, sizeof(password_mem));
}
