/* answer_token.c - who shows a token in place of a password: AUTHENTICATE_TOKEN, AUTHENTICATE_BEARER; and
 * SESSION_END.
 *
 * Owns: the waiters while the database is asked. Runs in: the loop. Fails with: an answer BW_ELOGIN,
 * BW_ETHROTTLED for bad bearer tokens, or what the database fails with. Logs: the audit trail.
 * Tests: tests/unit/auth/session_test.c, bearer_test.c. */
#include "answer_impl.h"
#include <base/clock.h>

/* Nobody is named by a token that is not genuine. */
static struct bw_str known(struct bw_str user)
{
	return user.n > 0 ? user : BW_ABSENT;
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
		answer_login_failed(c, &q, known(user), &terms, result->why, 0);
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
	uint8_t               key[CHECKED_KEY];

	if (!answer_terms_get(c, q, &m->address, &m->sudo, &terms))
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
	Bw__Wire__SessionEnded answer = BW__WIRE__SESSION_ENDED__INIT;
	struct audit           a = { .event = "logout", .user = user };
	struct wire_question   q;
	struct conn           *c = answer_waiter_end(arg, &q);

	if (was_live)
		audit_write(q.request, &a);
	if (c == NULL)
		return;
	answer.was_live = was_live;
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

/* A bad token is a failure of the address that it came from, but for one that was good until lately: a client
 * that goes on sending it guesses nothing, and should not bear on others behind its address. */
static void on_bad_bearer(struct conn *c, const struct wire_question *q, struct bw_str user,
                          const struct answer_terms *terms, const char *why)
{
	struct throttle *throttle = answers_of(c)->parts.throttle;
	struct place     place = answer_place(terms);
	uint64_t         now_us = clock_boot_us();
	unsigned         wait_s = throttle_place_wait(throttle, &place, now_us);

	if (wait_s > 0) {
		answer_audit(q, "throttled", known(user), terms, why, wait_s);
		wire_fail(c->base.chan, q, BW_ETHROTTLED, wait_s, "too many failed logins");
		return;
	}
	if (strcmp(why, "expired") != 0)
		throttle_place_failed(throttle, &place, now_us);
	answer_login_failed(c, q, known(user), terms, why, 0);
}

static void on_bearer(void *arg, const struct bearer_result *result)
{
	struct answer_terms  terms = ((struct waiter *)arg)->terms;
	struct wire_question q;
	struct conn         *c = answer_waiter_end(arg, &q);

	if (c == NULL)
		return;
	if (result->err == BW_OK)
		answer_login(c, &q, result->account, &terms, true, NULL);
	else if (result->err == BW_ELOGIN)
		on_bad_bearer(c, &q, result->user, &terms, result->why);
	else
		answer_refuse(c, &q, "login", result->user, result->err, result->why);
}

void answer_bearer(struct conn *c, const struct wire_question *q,
                   const Bw__Wire__AuthenticateBearer *m)
{
	struct bearers       *bearers = answers_of(c)->parts.bearers;
	struct bw_str         token = { (char *)m->token.data, m->token.len };
	struct answer_terms   terms;
	const struct account *a;
	struct waiter        *w;
	uint8_t               key[CHECKED_KEY];

	if (!answer_terms_get(c, q, &m->address, &m->sudo, &terms))
		return;
	terms.type = "BEARER";
	bearers_key(bearers, token, key);
	a = bearers_remembered(bearers, key, clock_boot_us());
	if (a != NULL) {
		answer_login(c, q, a, &terms, false, NULL);
	} else if ((w = answer_wait(c, q, "login", BW_STR("?"), 0)) != NULL) {
		w->terms = terms;
		bearers_check(bearers, token, key, on_bearer, w);
	}
}
