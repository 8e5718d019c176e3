/* answer_login.c - who logs in: AUTHENTICATE_BASIC, _TOKEN and _BEARER, and SESSION_END.
 *
 * Owns: the waiters while passwords are verified. Runs in: the loop. Fails with: an answer BW_ELOGIN,
 * BW_ETHROTTLED, or busy. Logs: the audit trail. Tests: tests/unit/auth/answer_test.c. */
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

/* is_login: he has just logged in, and does not only show that he has. */
static void answer_login(struct conn *c, const struct wire_question *q, const struct account *a,
                         const struct answer_terms *terms, bool is_login, uint64_t now_us)
{
	if (a->is_crowded) { /* more than a handle can carry */
		refuse(c, q, a->name, terms, "too_many_groups", 0);
		return;
	}
	if (is_login)
		audit(q, "login", a->name, terms, NULL, 0);
	if (terms->n_sudo > 0 && !bw_str_eq((struct bw_str){ terms->sudo, terms->n_sudo }, a->name))
		answer_act(c, q, a, terms, now_us);
	else
		answer_handles(c, q, a->name, &a->who, 1, now_us);
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
		             result->was_verified || terms.want_session, clock_boot_us());
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
	uint64_t              now_us = clock_boot_us();
	const struct account *a;
	struct place          place = place_of_terms(terms);
	struct waiter        *w;
	uint8_t               key[REMEMBER_KEY];

	remember_key(parts->remember, user, password, key);
	a = logins_remembered(parts->logins, user, key, now_us);
	if (a != NULL) {
		answer_login(c, q, a, terms, terms->want_session, now_us);
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

/* ---- tokens ---- */

void answer_token(struct conn *c, const struct wire_question *q,
                  const Bw__Wire__AuthenticateToken *m)
{
	struct answer_terms terms;

	if (terms_get(c, q, &m->address, &m->sudo, &terms))
		answer_refuse(c, q, "login", BW_STR("?"), BW_ELOGIN, "not a session token");
}

void answer_bearer(struct conn *c, const struct wire_question *q,
                   const Bw__Wire__AuthenticateBearer *m)
{
	struct answer_terms terms;

	if (terms_get(c, q, &m->address, &m->sudo, &terms))
		answer_refuse(c, q, "login", BW_STR("?"), BW_ELOGIN, "a token of no issuer");
}

void answer_session_end(struct conn *c, const struct wire_question *q,
                        const Bw__Wire__SessionEnd *m)
{
	Bw__Wire__SessionEnded answer = BW__WIRE__SESSION_ENDED__INIT;

	(void)m;
	wire_answer(c->base.chan, q, 0, 0, &answer.base);
}
