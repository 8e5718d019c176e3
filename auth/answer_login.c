/* answer_login.c - who logs in: AUTHENTICATE_BASIC, _TOKEN and _BEARER, and SESSION_END.
 *
 * Owns: the waiters while passwords are verified. Runs in: the loop. Fails with: an answer BW_ELOGIN,
 * or busy. Tests: tests/unit/auth/answer_test.c. */
#include "answer_impl.h"
#include <base/clock.h>
#include <sodium.h>
#include <stdio.h>

/* ---- what goes with a login ---- */

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
	ret->n_sudo = 0;
	if (name.p == NULL)
		return true;
	if (credential_name(name, ret->sudo, &name) != BW_OK) {
		answer_refuse(c, q, "login", BW_STR("?"), BW_ELOGIN, "not a user name to act as");
		return false;
	}
	if (name.p != ret->sudo)
		memcpy(ret->sudo, name.p, name.n);
	ret->n_sudo = (unsigned)name.n;
	return true;
}

/* ---- the answer ---- */

static void answer_login(struct conn *c, const struct wire_question *q, const struct account *a,
                         const struct answer_terms *terms, uint64_t now_us)
{
	if (a->is_crowded)
		answer_refuse(c, q, "login", a->name, BW_ELOGIN,
		              "it is in more groups than a handle can carry");
	else if (terms->n_sudo > 0 &&
	         !bw_str_eq((struct bw_str){ terms->sudo, terms->n_sudo }, a->name))
		answer_refuse(c, q, "login", a->name, BW_ELOGIN, "nobody may act as another");
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
	if (result->err == BW_OK)
		answer_login(c, &q, result->account, &terms, clock_boot_us());
	else
		answer_refuse(c, &q, "login", result->user, result->err, result->why);
}

static void check(struct conn *c, const struct wire_question *q, struct bw_str user,
                  struct bw_str password, const struct answer_terms *terms)
{
	struct answer_parts  *parts = &answers_of(c)->parts;
	uint64_t              now_us = clock_boot_us();
	const struct account *a;
	struct waiter        *w;
	uint8_t               key[REMEMBER_KEY];

	remember_key(parts->remember, user, password, key);
	a = logins_remembered(parts->logins, user, key, now_us);
	if (a != NULL) {
		answer_login(c, q, a, terms, now_us);
	} else if ((w = answer_wait(c, q, "login", user, 0)) != NULL) {
		w->terms = *terms;
		logins_check(parts->logins, user, password, key, on_login, w);
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
	if (credential_name(user, user_mem, &user) != BW_OK)
		answer_refuse(c, q, "login", BW_STR("?"), BW_ELOGIN, "not a user name");
	else if (credential_password(password, password_mem, &password) != BW_OK)
		answer_refuse(c, q, "login", user, BW_ELOGIN,
		              "not a password: empty, too long or not UTF-8");
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
