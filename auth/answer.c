/* answer.c - what auth agrees to do: check a password, or believe a name that needs none, and answer
 * with resolver handles.
 *
 * A question that can be answered from memory is, at once. Otherwise a waiter stands for it until
 * its login or account has come; if the connection goes first, the waiter stays and answers nobody.
 * Owns: the sockets, the waiters. Runs in: the loop. Logs: each refusal, once; handles at debug.
 * Tests: tests/unit/auth/answer_test.c. */
#include "answer.h"
#include "credential.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <wire/server.h>

/* The permit table. All else from the gateway closes its connection. */
static const enum wire_id permit[] = {
	WIRE_AUTHENTICATE_BASIC,
	WIRE_AUTHENTICATE_ANONYMOUS,
	WIRE_AUTHENTICATE_SERVICE,
	WIRE_NONE,
};

/* Of the 16384 octets of a RESOLVER_HANDLE, what is left beside a user's name and the fields' tags
 * and sizes: 32 handles of up to 51 principals, fewer of larger ones. */
#define HANDLES_ROOM (16384u - CREDENTIAL_NAME - 16u)
_Static_assert(HANDLES_ROOM >= HANDLE_MAX, "the largest handle fits");

/* What the gateway is told about every refused login; the reason is for our own log. */
#define REFUSED       "login refused"
#define RETRY_AFTER_S 1u

struct answers {
	struct answer_parts parts;
	struct wire_server *server;
	bool                is_draining;
};

struct waiter {
	LIST_ENTRY(waiter) next;   /* of its connection */
	struct conn         *conn; /* NULL: gone */
	struct wire_question question;
	unsigned             count; /* of handles */
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

static struct answers *answers_of(const struct conn *c)
{
	return wire_server_owner(c->base.server);
}

/* ---- the two kinds of answer ---- */

static void answer_handles(struct conn *c, const struct wire_question *q, struct bw_str user,
                           const struct mint_identity *who, unsigned count, uint64_t now_us)
{
	Bw__Wire__ResolverHandle m = BW__WIRE__RESOLVER_HANDLE__INIT;
	uint8_t                  handles[HANDLES_ROOM];
	uint64_t                 first = c->channel.sequence;
	size_t                   size;

	m.user.data = (uint8_t *)user.p;
	m.user.len = user.n;
	m.count = mint_handles(&c->channel, answers_of(c)->parts.key, who, now_us, count, handles,
	                       sizeof(handles), &size);
	m.handles.data = handles;
	m.handles.len = m.count * size;
	log_debug(q->request, "handles %llu to %llu of connection %llu for \"%.*s\"",
	          (unsigned long long)first, (unsigned long long)first + m.count - 1,
	          (unsigned long long)c->base.id, (int)user.n, user.p);
	wire_answer(c->base.chan, q, 0, 0, &m.base);
}

/* why: for the log; BW_ELOGIN tells the gateway no more than that. */
static void refuse(struct conn *c, const struct wire_question *q, const char *what,
                   struct bw_str name, int err, const char *why)
{
	bool is_final = err == BW_ELOGIN;

	log_printf(is_final ? LOG_LEVEL_INFO : LOG_LEVEL_WARNING, q->request,
	           "%s of \"%.*s\" refused: %s", what, (int)name.n, name.p, why);
	wire_fail(c->base.chan, q, err, is_final ? 0 : RETRY_AFTER_S, is_final ? REFUSED : why);
}

/* ---- waiting ---- */

/* NULL: this connection waits for too much already, and has been told so. */
static struct waiter *wait_for(struct conn *c, const struct wire_question *q, const char *what,
                               struct bw_str name, unsigned n_principals)
{
	struct waiter *w;

	if (c->n_waiters >= WIRE_MAX_CALLS || answers_of(c)->is_draining) {
		refuse(c, q, what, name, BW_EBUSY,
		       answers_of(c)->is_draining ? "shutting down" : "too many logins in flight");
		return NULL;
	}
	w = xcalloc(1, sizeof(*w) + n_principals * sizeof(w->principals[0]));
	w->conn = c;
	w->question = *q;
	LIST_INSERT_HEAD(&c->waiters, w, next);
	c->n_waiters++;
	return w;
}

/* Frees w; returns the connection, NULL if it is gone. */
static struct conn *waiter_end(struct waiter *w, struct wire_question *ret_q)
{
	struct conn *c = w->conn;

	*ret_q = w->question;
	if (c != NULL) {
		LIST_REMOVE(w, next);
		c->n_waiters--;
	}
	free(w);
	return c;
}

/* ---- AUTHENTICATE_BASIC ---- */

static void answer_login(struct conn *c, const struct wire_question *q, const struct account *a,
                         uint64_t now_us)
{
	if (a->is_crowded)
		refuse(c, q, "login", a->name, BW_ELOGIN,
		       "it is in more groups than a handle can carry");
	else
		answer_handles(c, q, a->name, &a->who, 1, now_us);
}

static void on_login(void *arg, const struct login_result *result)
{
	struct wire_question q;
	struct conn         *c = waiter_end(arg, &q);

	if (c == NULL)
		return;
	if (result->err == BW_OK)
		answer_login(c, &q, result->account, clock_boot_us());
	else
		refuse(c, &q, "login", result->user, result->err, result->why);
}

static void check(struct conn *c, const struct wire_question *q, struct bw_str user,
                  struct bw_str password)
{
	struct answer_parts  *parts = &answers_of(c)->parts;
	uint64_t              now_us = clock_boot_us();
	const struct account *a;
	struct waiter        *w;
	uint8_t               key[REMEMBER_KEY];

	remember_key(parts->remember, user, password, key);
	a = logins_remembered(parts->logins, user, key, now_us);
	if (a != NULL)
		answer_login(c, q, a, now_us);
	else if ((w = wait_for(c, q, "login", user, 0)) != NULL)
		logins_check(parts->logins, user, password, key, on_login, w);
}

static void on_authenticate_basic(struct conn *c, const struct wire_question *q,
                                  const Bw__Wire__AuthenticateBasic *m)
{
	struct bw_str user = { (char *)m->user.data, m->user.len };
	struct bw_str password = { (char *)m->password.data, m->password.len };
	char          user_mem[CREDENTIAL_NAME + 1], password_mem[CREDENTIAL_PASSWORD + 1];

	if (credential_name(user, user_mem, &user) != BW_OK)
		refuse(c, q, "login", BW_STR("?"), BW_ELOGIN, "not a user name");
	else if (credential_password(password, password_mem, &password) != BW_OK)
		refuse(c, q, "login", user, BW_ELOGIN,
		       "not a password: empty, too long or not UTF-8");
	else
		check(c, q, user, password);
	if (password.p == password_mem)
		sodium_memzero(password_mem, sizeof(password_mem));
}

/* ---- AUTHENTICATE_ANONYMOUS ---- */

/* The connection is closed if the count is nonsense. */
static bool is_count(struct conn *c, const struct wire_question *q, unsigned count)
{
	char reason[80];

	if (count >= 1 && count <= WIRE_HANDLES)
		return true;
	snprintf(reason, sizeof(reason), "asks for %u handles (request %016llx)", count,
	         (unsigned long long)q->request);
	wire_chan_close(c->base.chan, reason);
	return false;
}

static void on_authenticate_anonymous(struct conn *c, const struct wire_question *q,
                                      const Bw__Wire__AuthenticateAnonymous *m)
{
	if (is_count(c, q, m->count))
		answer_handles(c, q, BW_STR("anonymous"), mint_anonymous(), m->count,
		               clock_boot_us());
}

/* ---- AUTHENTICATE_SERVICE ---- */

/* Why an account is no service user to act as; NULL: it is one. */
static const char *why_not(const struct account *a)
{
	if (a->id == 0)
		return "there is no such user";
	if (a->class != ACCOUNT_SERVICE)
		return "it is not a service user";
	return a->disabled ? "it is disabled" : NULL;
}

static void answer_service(struct conn *c, const struct wire_question *q, const struct account *a,
                           unsigned count, uint64_t now_us)
{
	const char *why = why_not(a);

	if (why == NULL && a->is_crowded)
		why = "it is in more groups than a handle can carry";
	if (why != NULL)
		refuse(c, q, "service login", a->name, BW_ELOGIN, why);
	else
		answer_handles(c, q, a->name, &a->who, count, now_us);
}

static void on_service_account(void *arg, int err, const struct account *a)
{
	unsigned             count = ((struct waiter *)arg)->count;
	struct wire_question q;
	struct conn         *c = waiter_end(arg, &q);

	if (c == NULL)
		return;
	if (err == BW_OK)
		answer_service(c, &q, a, count, clock_boot_us());
	else
		refuse(c, &q, "service login", BW_STR("?"), err, "PostgreSQL does not answer");
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
	c = waiter_end(w, &q);
	if (c != NULL)
		refuse(c, &q, "service login", a->name, BW_ELOGIN, why);
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
	c = waiter_end(w, &q);
	if (c != NULL)
		refuse(c, &q, "service login", BW_STR("?"), err, "PostgreSQL does not answer");
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
	c = waiter_end(w, &q);
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
	struct waiter *w = wait_for(c, q, "service login", list->names[0], list->n);

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
		answer_service(c, q, a, count, now_us);
		return;
	}
	w = wait_for(c, q, "service login", user, 0);
	if (w == NULL)
		return;
	w->count = count;
	err = accounts_fetch(parts->accounts, user, on_service_account, w);
	if (err != BW_OK)
		on_service_account(w, err, NULL);
}

static void on_authenticate_service(struct conn *c, const struct wire_question *q,
                                    const Bw__Wire__AuthenticateService *m)
{
	struct bw_str                bundle = { (char *)m->bundle.data, m->bundle.len };
	struct bw_str                subservice = { (char *)m->subservice.data, m->subservice.len };
	const struct mapping_target *target;

	if (!is_count(c, q, m->count))
		return;
	target = mapping_find(answers_of(c)->parts.mapping, bundle, subservice);
	if (target == NULL)
		refuse(c, q, "service login", bundle, BW_ELOGIN,
		       "no service user is mapped to this bundle");
	else if (target->is_list)
		on_list(c, q, target, m->count);
	else
		on_user(c, q, target->names[0], m->count);
}

/* ---- connections ---- */

static void on_message(struct wire_conn *base, const struct wire_question *q,
                       struct wire_message *m)
{
	struct conn *c = (struct conn *)base;

	switch (q->id) {
	case WIRE_AUTHENTICATE_BASIC:
		on_authenticate_basic(c, q, &m->u->authenticate_basic);
		break;
	case WIRE_AUTHENTICATE_ANONYMOUS:
		on_authenticate_anonymous(c, q, &m->u->authenticate_anonymous);
		break;
	case WIRE_AUTHENTICATE_SERVICE:
		on_authenticate_service(c, q, &m->u->authenticate_service);
		break;
	default:
		fatalx("message %d is permitted and has no answer", q->id);
	}
}

static int on_open(struct wire_conn *base, struct bw_str channel)
{
	struct conn *c = (struct conn *)base;

	LIST_INIT(&c->waiters);
	mint_channel_init(&c->channel, (const uint8_t *)channel.p, clock_boot_us());
	log_info(0, "connection %llu: a gateway worker", (unsigned long long)base->id);
	return BW_OK;
}

static void on_close(struct wire_conn *base, const char *reason)
{
	struct conn   *c = (struct conn *)base;
	struct waiter *w;

	LIST_FOREACH (w, &c->waiters, next)
		w->conn = NULL;
	log_info(0, "connection %llu closed: %s", (unsigned long long)base->id, reason);
}

static const struct wire_server_ops server_ops = {
	.on_open = on_open,
	.on_message = on_message,
	.on_close = on_close,
	.conn_size = sizeof(struct conn),
};

struct answers *answers_new(struct ev_loop *loop, int listener, uid_t gateway,
                            const struct answer_parts *parts)
{
	struct answers *as = xcalloc(1, sizeof(*as));

	as->parts = *parts;
	as->server =
		wire_server_new(loop, listener, WIRE_AUTH, permit, false, gateway, &server_ops, as);
	return as;
}

void answers_drain(struct answers *as)
{
	as->is_draining = true;
}

void answers_free(struct answers *as)
{
	if (as == NULL)
		return;
	wire_server_free(as->server);
	free(as);
}
