/* answer_act.c - somebody who has proved who he is wants to act as somebody else.
 *
 * The handle is the other's, with his rights and no others; who acts goes beside it. Both are looked up
 * for each request, so that a right that was taken away is gone with the next one.
 * Owns: nothing. Runs in: the loop. Fails with: an answer BW_ELOGIN, which does not say why. Logs: each
 * refusal, and who acts as whom, once in TOLD_S. Tests: tests/unit/auth/guard_test.c. */
#include "answer_impl.h"
#include <base/clock.h>

static struct bw_str name_of(const struct answer_real *real)
{
	return (struct bw_str){ real->name, real->n_name };
}

static void audit_act(const struct wire_question *q, const struct answer_real *real,
                      struct bw_str target, const struct answer_terms *terms, const char *problem)
{
	struct audit a = {
		.event = problem != NULL ? "impersonation_refused" : "impersonation",
		.user = name_of(real),
		.target = target,
		.type = terms->type,
		.reason = problem,
		.place =
			place_of((struct bw_str){ (const char *)terms->address, terms->n_address }),
	};

	audit_write(q->request, &a);
}

/* Each request with the cookie is one; the audit trail wants to know that it goes on, not how often. */
static void tell(struct conn *c, const struct wire_question *q, const struct answer_real *real,
                 const struct account *target, const struct answer_terms *terms, uint64_t now_us)
{
	struct remember *told = answers_of(c)->told;
	uint8_t          key[REMEMBER_KEY];

	remember_key(told, name_of(real), target->name, key);
	if (remember_find(told, key, real->rights.id, target->id, now_us))
		return;
	remember_put(told, key, real->rights.id, target->id, now_us);
	audit_act(q, real, target->name, terms, NULL);
}

static void act(struct conn *c, const struct wire_question *q, const struct answer_real *real,
                const struct account *target, const struct answer_terms *terms, uint64_t now_us)
{
	Bw__Wire__ResolverHandle m = BW__WIRE__RESOLVER_HANDLE__INIT;
	const char              *problem = impersonation_problem(&real->rights, target);

	if (problem == NULL && target->is_crowded)
		problem = "too_many_groups";
	if (problem != NULL) {
		audit_act(q, real, target->name, terms, problem);
		answer_login_refused(c, q);
		return;
	}
	tell(c, q, real, target, terms, now_us);
	m.user.data = (uint8_t *)target->name.p;
	m.user.len = target->name.n;
	m.has_impersonator = true;
	m.impersonator.data = (uint8_t *)real->name;
	m.impersonator.len = real->n_name;
	answer_put_token(&m, real->token, real->token_s);
	answer_message(c, q, &m, &target->who, 1, now_us);
}

static void on_target(void *arg, int err, const struct account *target)
{
	struct answer_terms  terms = ((struct waiter *)arg)->terms;
	struct answer_real   real = ((struct waiter *)arg)->real;
	struct wire_question q;
	struct conn         *c = answer_waiter_end(arg, &q);

	if (c != NULL && err == BW_OK)
		act(c, &q, &real, target, &terms, clock_boot_us());
	else if (c != NULL)
		answer_refuse(c, &q, "login", name_of(&real), err, "PostgreSQL does not answer");
	jws_free(real.token);
}

void answer_act(struct conn *c, const struct wire_question *q, const struct account *a,
                const struct answer_terms *terms, char *token, unsigned token_s)
{
	struct answer_parts  *parts = &answers_of(c)->parts;
	uint64_t              now_us = clock_boot_us();
	struct bw_str         name = { terms->sudo, terms->n_sudo };
	const struct account *target = accounts_find(parts->accounts, name, now_us);
	struct answer_real    real = { .rights = impersonator_of(a, parts->impersonators),
		                       .n_name = a->name.n,
		                       .token = token,
		                       .token_s = token_s };
	struct waiter        *w;
	int                   err;

	memcpy(real.name, a->name.p, a->name.n);
	if (target != NULL) {
		act(c, q, &real, target, terms, now_us);
		jws_free(token);
		return;
	}
	w = answer_wait(c, q, "login", a->name, 0);
	if (w == NULL) {
		jws_free(token);
		return;
	}
	w->terms = *terms;
	w->real = real;
	err = accounts_fetch(parts->accounts, name, on_target, w);
	if (err != BW_OK)
		on_target(w, err, NULL);
}
