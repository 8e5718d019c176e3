/* answer_service.c - AUTHENTICATE_SERVICE: handles of the service user, or of the list of principals,
 * that a bundle's service is mapped to (mapping.c).
 *
 * Owns: the waiters while accounts are read. Runs in: the loop. Fails with: an answer BW_ELOGIN, or
 * what the database fails with. Tests: tests/unit/auth/answer_test.c. */
#include "answer_impl.h"
#include <base/clock.h>

/* Why an account is no service user to act as; NULL: it is one. */
static const char *why_not(const struct account *a)
{
	if (a->id == 0)
		return "account_not_found";
	if (a->class != ACCOUNT_SERVICE)
		return "not_a_service_user";
	return a->disabled ? "account_locked" : NULL;
}

static void refuse(struct conn *c, const struct wire_question *q, struct bw_str user,
                   struct bw_str bundle, const char *reason)
{
	struct audit a = {
		.event = "service_login_refused", .user = user, .bundle = bundle, .reason = reason
	};

	audit_write(q->request, &a);
	answer_login_refused(c, q);
}

static void answer_account(struct conn *c, const struct wire_question *q, const struct account *a,
                           unsigned count, uint64_t now_us)
{
	const char *why = why_not(a);

	if (why == NULL && a->is_crowded)
		why = "too_many_groups";
	if (why != NULL)
		refuse(c, q, a->name, BW_ABSENT, why);
	else
		answer_handles(c, q, a->name, &a->who, count, now_us);
}

static void on_service_account(void *arg, int err, const struct account *a)
{
	unsigned             count = ((struct waiter *)arg)->count;
	struct wire_question q;
	struct conn         *c = answer_waiter_end(arg, &q);

	if (c == NULL)
		return;
	if (err == BW_OK)
		answer_account(c, &q, a, count, clock_boot_us());
	else
		answer_refuse(c, &q, "service login", BW_STR("?"), err,
		              "PostgreSQL does not answer");
}

/* ---- the same for a list of principals ---- */

static void look_up_list(struct waiter *w);

/* The next of the list; false: it has been refused and w is gone. */
static bool take_account(struct waiter *w, const struct account *a)
{
	const char          *why = why_not(a);
	struct wire_question q;
	struct conn         *c;

	if (why == NULL) {
		w->principals[w->i++] = a->id << 1;
		return true;
	}
	c = answer_waiter_end(w, &q);
	if (c != NULL)
		refuse(c, &q, a->name, BW_ABSENT, why);
	return false;
}

static void on_listed_account(void *arg, int err, const struct account *a)
{
	struct waiter       *w = arg;
	struct wire_question q;
	struct conn         *c;

	if (err == BW_OK) {
		if (take_account(w, a))
			look_up_list(w);
		return;
	}
	c = answer_waiter_end(w, &q);
	if (c != NULL)
		answer_refuse(c, &q, "service login", BW_STR("?"), err,
		              "PostgreSQL does not answer");
}

/* Neither groups nor everyone: a list is nobody but those it names. */
static void answer_list(struct waiter *w, uint64_t now_us)
{
	const struct mapping_target *list = w->list;
	uint64_t                     principals[MAPPING_MAX_NAMES];
	struct mint_identity who = { HANDLE_SERVICE, w->principals[0] >> 1, list->n, principals };
	unsigned             count = w->count;
	struct wire_question q;
	struct conn         *c;

	memcpy(principals, w->principals, list->n * sizeof(principals[0]));
	c = answer_waiter_end(w, &q);
	if (c != NULL)
		answer_handles(c, &q, list->names[0], &who, count, now_us);
}

/* Goes on until one has to be read, or all are there. */
static void look_up_list(struct waiter *w)
{
	uint64_t now_us = clock_boot_us();

	while (w->conn != NULL && w->i < w->list->n) {
		struct accounts      *accounts = answers_of(w->conn)->parts.accounts;
		struct bw_str         name = w->list->names[w->i];
		const struct account *a = accounts_find(accounts, name, now_us);
		int                   err;

		if (a == NULL) {
			err = accounts_fetch(accounts, name, on_listed_account, w);
			if (err != BW_OK)
				on_listed_account(w, err, NULL);
			return;
		}
		if (!take_account(w, a))
			return;
	}
	answer_list(w, now_us);
}

static void on_list(struct conn *c, const struct wire_question *q,
                    const struct mapping_target *list, unsigned count)
{
	struct waiter *w = answer_wait(c, q, "service login", list->names[0], list->n);

	if (w == NULL)
		return;
	w->list = list;
	w->count = count;
	look_up_list(w);
}

/* ---- whichever it is ---- */

static void on_user(struct conn *c, const struct wire_question *q, struct bw_str user,
                    unsigned count)
{
	struct answer_parts  *parts = &answers_of(c)->parts;
	uint64_t              now_us = clock_boot_us();
	const struct account *a = accounts_find(parts->accounts, user, now_us);
	struct waiter        *w;
	int                   err;

	if (a != NULL) {
		answer_account(c, q, a, count, now_us);
		return;
	}
	w = answer_wait(c, q, "service login", user, 0);
	if (w == NULL)
		return;
	w->count = count;
	err = accounts_fetch(parts->accounts, user, on_service_account, w);
	if (err != BW_OK)
		on_service_account(w, err, NULL);
}

void answer_service(struct conn *c, const struct wire_question *q,
                    const Bw__Wire__AuthenticateService *m)
{
	struct bw_str                bundle = { (char *)m->bundle.data, m->bundle.len };
	struct bw_str                subservice = { (char *)m->subservice.data, m->subservice.len };
	const struct mapping_target *target;
	struct mapping_made          made;
	const char                  *why;

	if (!answer_is_count(c, q, m->count))
		return;
	/* Every connection is a gateway worker's: its peer's user is the gateway's. */
	target = mapping_find(answers_of(c)->parts.mapping, MAPPING_PLACE_GATEWAY, bundle,
	                      subservice, &made, &why);
	if (target == NULL)
		refuse(c, q, BW_ABSENT, bundle, why);
	else if (target->is_list)
		on_list(c, q, target, m->count);
	else
		on_user(c, q, target->names[0], m->count);
}
