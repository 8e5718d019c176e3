/* answer.c - what auth agrees to do: check a password or a token, or believe a name that needs none,
 * and answer with resolver handles. Who logs in: answer_login.c; service users: answer_service.c.
 *
 * A question that can be answered from memory is, at once. Otherwise a waiter stands for it until
 * its login or account has come; if the connection goes first, the waiter stays and answers nobody.
 * Owns: the sockets, the waiters. Runs in: the loop. Logs: each refusal, once (logins: audit.h); handles at debug.
 * Tests: tests/unit/auth/answer_test.c. */
#include "answer_impl.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>

/* The permit table. All else from the gateway closes its connection. */
static const enum wire_id permit[] = {
	WIRE_AUTHENTICATE_BASIC, WIRE_AUTHENTICATE_ANONYMOUS, WIRE_AUTHENTICATE_SERVICE,
	WIRE_AUTHENTICATE_TOKEN, WIRE_AUTHENTICATE_BEARER,    WIRE_SESSION_END,
	WIRE_ACCOUNT_CHANGE,     WIRE_ACCOUNT_READ,           WIRE_NONE,
};

/* What the gateway is told about every refused login; the reason is for our own log. */
#define REFUSED       "login refused"
#define RETRY_AFTER_S 1u

#define TOLD_S 1800u /* so often the audit trail hears that somebody acts as another */

/* ---- the two kinds of answer ---- */

void answer_handles(struct conn *c, const struct wire_question *q, struct bw_str user,
                    const struct mint_identity *who, unsigned count, uint64_t now_us)
{
	Bw__Wire__ResolverHandle m = BW__WIRE__RESOLVER_HANDLE__INIT;

	m.user.data = (uint8_t *)user.p;
	m.user.len = user.n;
	answer_message(c, q, &m, who, count, now_us);
}

void answer_message(struct conn *c, const struct wire_question *q, Bw__Wire__ResolverHandle *m,
                    const struct mint_identity *who, unsigned count, uint64_t now_us)
{
	uint8_t  handles[HANDLES_ROOM];
	uint64_t first = c->channel.sequence;
	size_t   size;

	m->count = mint_handles(&c->channel, answers_of(c)->parts.key, who, now_us, count, handles,
	                        sizeof(handles), &size);
	m->handles.data = handles;
	m->handles.len = m->count * size;
	log_debug(q->request, "handles %llu to %llu of connection %llu for \"%.*s\"",
	          (unsigned long long)first, (unsigned long long)first + m->count - 1,
	          (unsigned long long)c->base.id, (int)m->user.len, (char *)m->user.data);
	wire_answer(c->base.chan, q, 0, 0, &m->base);
}

void answer_refuse(struct conn *c, const struct wire_question *q, const char *what,
                   struct bw_str name, int err, const char *why)
{
	log_warning(q->request, "%s of \"%.*s\" not decided: %s", what, (int)name.n, name.p, why);
	wire_fail(c->base.chan, q, err, RETRY_AFTER_S, why);
}

void answer_login_refused(struct conn *c, const struct wire_question *q)
{
	wire_fail(c->base.chan, q, BW_ELOGIN, 0, REFUSED);
}

/* ---- waiting ---- */

struct waiter *answer_wait(struct conn *c, const struct wire_question *q, const char *what,
                           struct bw_str name, unsigned n_principals)
{
	struct waiter *w;

	if (c->n_waiters >= WIRE_MAX_CALLS || answers_of(c)->is_draining) {
		answer_refuse(c, q, what, name, BW_EBUSY,
		              answers_of(c)->is_draining ? "shutting down"
		                                         : "too many logins in flight");
		return NULL;
	}
	w = xcalloc(1, sizeof(*w) + n_principals * sizeof(w->principals[0]));
	w->conn = c;
	w->question = *q;
	LIST_INSERT_HEAD(&c->waiters, w, next);
	c->n_waiters++;
	return w;
}

struct conn *answer_waiter_end(struct waiter *w, struct wire_question *ret_q)
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

/* ---- AUTHENTICATE_ANONYMOUS ---- */

bool answer_is_count(struct conn *c, const struct wire_question *q, unsigned count)
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
	if (answer_is_count(c, q, m->count))
		answer_handles(c, q, BW_STR("anonymous"), mint_anonymous(), m->count,
		               clock_boot_us());
}

/* ---- connections ---- */

static void on_message(struct wire_conn *base, const struct wire_question *q,
                       struct wire_message *m)
{
	struct conn *c = (struct conn *)base;

	switch (q->id) {
	case WIRE_AUTHENTICATE_BASIC:
		answer_basic(c, q, &m->u->authenticate_basic);
		break;
	case WIRE_AUTHENTICATE_ANONYMOUS:
		on_authenticate_anonymous(c, q, &m->u->authenticate_anonymous);
		break;
	case WIRE_AUTHENTICATE_SERVICE:
		answer_service(c, q, &m->u->authenticate_service);
		break;
	case WIRE_AUTHENTICATE_TOKEN:
		answer_token(c, q, &m->u->authenticate_token);
		break;
	case WIRE_AUTHENTICATE_BEARER:
		answer_bearer(c, q, &m->u->authenticate_bearer);
		break;
	case WIRE_SESSION_END:
		answer_session_end(c, q, &m->u->session_end);
		break;
	case WIRE_ACCOUNT_CHANGE:
		answer_account_change(c, q, &m->u->account_change);
		break;
	case WIRE_ACCOUNT_READ:
		answer_account_read(c, q, &m->u->account_read);
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
	as->told = remember_new(TOLD_S);
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
	remember_free(as->told);
	free(as);
}
