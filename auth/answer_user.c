/* answer_user.c - ACCOUNT_CHANGE and ACCOUNT_READ: accounts, for whom a resolver handle speaks.
 *
 *     handle: ours, of this connection, in time --> names --> his own old password, if it is given
 *         --> a verifier of the new one --> auth.account_change, one transaction, which decides
 *
 * The gateway says nothing about who asks but the handle. Whether he may is decided in PostgreSQL, by
 * what his account is at that moment: a handle lives for a minute, and an administrator may have been
 * one until just now. Only the old password is judged here, as a login is: with the same delays.
 * That repo has seen a handle's end is not known here; it is good for 60 seconds at most.
 *
 * Owns: the jobs, each with a copy of the new password, wiped when it ends. Runs in: the loop. Fails
 * with: an answer; nonsense from the gateway closes its connection. Logs: refusals; changes are in the
 * audit trail, by the journal. Tests: tests/unit/auth/user_test.c. */
#include "answer_impl.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <boardwalk/account.h>
#include <pg/pg.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_MEMBERS 256u
#define MAX_REASON  1024u
#define MAX_JSON    262000u

enum query {
#define Q_READ(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
};

/* What SQL calls them. */
static const char *const whats[] = {
	[BW_ACCOUNT_CREATE_USER] = "create_user",
	[BW_ACCOUNT_CREATE_GROUP] = "create_group",
	[BW_ACCOUNT_PASSWORD] = "password",
	[BW_ACCOUNT_DISABLE] = "disable",
	[BW_ACCOUNT_ENABLE] = "enable",
	[BW_ACCOUNT_DELETE_USER] = "delete_user",
	[BW_ACCOUNT_DELETE_GROUP] = "delete_group",
	[BW_ACCOUNT_MEMBERS] = "members",
};

/* One question on its way. What it needs outlives the connection's end, unlike the connection. */
struct job {
	struct waiter         *waiter;
	struct accounts       *accounts;
	struct logins         *logins;
	struct password_pool  *pool;
	const struct remember *remember;
	uint64_t               asker;
	enum bw_account_what   what;
	bool                   may; /* whoever he is: what account_change calls so */
	struct place           place;
	char                   name[CREDENTIAL_NAME + 1];
	char                  *value;   /* the reason, or NULL */
	char                  *members; /* as an array's text, or NULL */
	size_t                 n_password, n_old;
	char                   password[CREDENTIAL_PASSWORD], old[CREDENTIAL_PASSWORD];
};

static struct conn *job_end(struct job *job, struct wire_question *ret_q)
{
	struct conn *c = answer_waiter_end(job->waiter, ret_q);

	free(job->value);
	free(job->members);
	sodium_memzero(job, sizeof(*job));
	free(job);
	return c;
}

static void fail(struct conn *c, const struct wire_question *q, int err, unsigned wait_s,
                 const char *why)
{
	log_info(q->request, "about accounts: refused: %s", why);
	wire_fail(c->base.chan, q, err, wait_s, why);
}

static void job_fail(struct job *job, int err, unsigned wait_s, const char *why)
{
	struct wire_question q;
	struct conn         *c = job_end(job, &q);

	if (c != NULL)
		fail(c, &q, err, wait_s, why);
}

/* ---- the handle ---- */

/* False: it has been answered, or the connection is closed. */
static bool asker_get(struct conn *c, const struct wire_question *q,
                      const ProtobufCBinaryData *handle, struct handle *ret)
{
	const struct answer_parts *parts = &answers_of(c)->parts;
	const struct handle_keys  *all =
		parts->keys; /* also the one before, whose handles live on */
	char reason[80];

	if (handle_get(handle->data, handle->len, all != NULL ? all->keys : parts->key,
	               all != NULL ? all->n : 1, ret) != BW_OK) {
		snprintf(reason, sizeof(reason), "a handle that is none (request %016llx)",
		         (unsigned long long)q->request);
		wire_chan_close(c->base.chan, reason);
		return false;
	}
	if (memcmp(ret->channel, c->channel.channel, HANDLE_CHANNEL) != 0)
		fail(c, q, BW_EFOREIGN, 0, "the handle is another connection's");
	else if (ret->expires_us <= clock_boot_us())
		fail(c, q, BW_EEXPIRED, 0, "the handle has expired");
	else if (ret->kind == HANDLE_SERVICE)
		fail(c, q, BW_EFORBIDDEN, 0, "not permitted to service users");
	else
		return true;
	return false;
}

/* As accounts are looked up by; a colon would not survive Basic (RFC 7617 2). */
static bool name_get(const char *text, size_t n, char ret[CREDENTIAL_NAME + 1])
{
	struct bw_str name = { text, n };

	if (credential_name(name, ret, &name) != BW_OK || memchr(name.p, ':', name.n) != NULL)
		return false;
	memmove(ret, name.p, name.n);
	ret[name.n] = '\0';
	return true;
}

/* ---- the change ---- */

/* What PostgreSQL's functions refuse with: SQLSTATE to an error; BW_OK: it is none of theirs. */
static int error_of(const char *state)
{
	static const struct {
		const char *state;
		int         err;
	} states[] = {
		{ "42501", BW_EFORBIDDEN }, { "P0002", BW_ENOTFOUND }, { "23505", BW_EEXIST },
		{ "23514", BW_ECYCLE },     { "42809", BW_ECONTENT },  { "22023", BW_ECONTENT },
		{ "54000", BW_ECONTENT },
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(states[i].state, state) == 0)
			return states[i].err;
	return BW_OK;
}

static void on_changed(void *arg, int err, const struct pg_rows *rows, const struct pg_failure *why)
{
	Bw__Wire__AccountChanged m = BW__WIRE__ACCOUNT_CHANGED__INIT;
	struct job              *job = arg;
	struct wire_question     q;
	struct conn             *c;
	int                      refused = err != BW_OK ? error_of(why->state) : BW_OK;

	if (refused != BW_OK) {
		job_fail(job, refused, 0, why->text);
		return;
	}
	if (err != BW_OK) {
		if (*why->state != '\0')
			log_warning(0, "an account could not be changed: %s %s", why->state,
			            why->text);
		job_fail(job, err, 1, "PostgreSQL does not answer");
		return;
	}
	m.changed = pg_bool(rows, 0, 0);
	/* The journal says the same to everybody; who has made an account finds it here at once. */
	accounts_drop_all(job->accounts);
	c = job_end(job, &q);
	if (c != NULL)
		wire_answer(c->base.chan, &q, 0, 0, &m.base);
}

static void change(struct job *job, const char *value)
{
	char                  asker[24];
	const struct pg_param params[6] = { { asker },        { whats[job->what] },
		                            { job->name },    { value },
		                            { job->members }, { job->may ? "t" : "f" } };
	const struct pg_step  step = { QUERY_ACCOUNT_CHANGE, params };
	int                   err;

	snprintf(asker, sizeof(asker), "%llu", (unsigned long long)job->asker);
	err = pg_batch(accounts_pg(job->accounts), &step, 1, on_changed, job);
	if (err != BW_OK)
		job_fail(job, err, 1, "PostgreSQL does not answer");
}

static void on_hashed(void *arg, bool ok, const char *verifier)
{
	struct job *job = arg;

	if (ok)
		change(job, verifier);
	else
		job_fail(job, BW_EBUSY, 1, "no memory for argon2id, or the end of auth");
}

/* The password becomes a verifier, if there is one. */
static void go_on(struct job *job)
{
	struct bw_str password = { job->password, job->n_password };

	if (job->waiter->conn == NULL)
		job_fail(job, BW_EGONE, 0, "");
	else if (job->n_password == 0)
		change(job, job->value);
	else if (password_hash(job->pool, password, on_hashed, job) != BW_OK)
		job_fail(job, BW_EBUSY, 1, "too many passwords are waiting");
}

/* ---- the old password ---- */

static void on_login(void *arg, const struct login_result *result)
{
	struct job  *job = arg;
	struct audit a = { .event = "password_change_failed",
		           .user = result->user,
		           .reason = result->reason,
		           .place = job->place,
		           .wait_s = result->wait_s };

	if (result->err == BW_OK && result->account->id == job->asker) {
		job->may = true;
		go_on(job);
		return;
	}
	if (result->err == BW_ELOGIN || result->err == BW_ETHROTTLED)
		audit_write(job->waiter->question.request, &a);
	job_fail(job, result->err != BW_OK ? result->err : BW_EFORBIDDEN, result->wait_s,
	         result->err == BW_ELOGIN ? "the old password is wrong" : result->why);
}

/* The password of another account is not tried out here, whoever asks: then it does not count. */
static void on_account(void *arg, int err, const struct account *a)
{
	struct job   *job = arg;
	struct bw_str name = bw_str(job->name), old = { job->old, job->n_old };
	uint8_t       key[REMEMBER_KEY];

	if (err != BW_OK) {
		job_fail(job, err, 1, "PostgreSQL does not answer");
	} else if (a->id == 0 || a->id != job->asker) {
		go_on(job);
	} else {
		remember_key(job->remember, name, old, key);
		logins_check(job->logins, name, old, key, &job->place, on_login, job);
	}
}

static void look_up(struct job *job)
{
	int err = accounts_fetch(job->accounts, bw_str(job->name), on_account, job);

	if (err != BW_OK)
		on_account(job, err, NULL);
}

/* ---- ACCOUNT_CHANGE ---- */

/* A new or an old password, copied; false: it is none. Absent is the empty one. */
static bool password_get(const ProtobufCBinaryData *data, bool has, char ret[CREDENTIAL_PASSWORD],
                         size_t *ret_n)
{
	char          mem[CREDENTIAL_PASSWORD + 1];
	struct bw_str password = { (char *)data->data, data->len };
	bool          good;

	if (!has)
		return true;
	good = credential_password(password, mem, &password) == BW_OK;
	if (good)
		memcpy(ret, password.p, *ret_n = password.n);
	sodium_memzero(mem, sizeof(mem));
	return good;
}

/* Lines +NAME and -NAME as an array; false: one is neither, or there are too many. */
static bool members_get(const ProtobufCBinaryData *data, char **ret)
{
	const char   *p = (char *)data->data, *end = p + data->len;
	struct bw_str items[MAX_MEMBERS];
	char(*names)[CREDENTIAL_NAME + 2] = xcalloc(MAX_MEMBERS, sizeof(*names));
	unsigned n = 0;
	bool     good = true;

	while (good && p < end) {
		const char *line = memchr(p, '\n', (size_t)(end - p));

		good = n < MAX_MEMBERS && line != NULL && line > p && (*p == '+' || *p == '-') &&
		       name_get(p + 1, (size_t)(line - p - 1), names[n] + 1);
		if (!good)
			break;
		names[n][0] = *p;
		items[n] = bw_str(names[n]);
		n++;
		p = line + 1;
	}
	if (good)
		*ret = pg_array(items, n);
	free(names);
	return good;
}

static bool reason_get(const ProtobufCBinaryData *data, char **ret)
{
	if (data->len < 1 || data->len > MAX_REASON || memchr(data->data, '\0', data->len) != NULL)
		return false;
	*ret = xasprintf("%.*s", (int)data->len, (char *)data->data);
	return true;
}

/* NULL: the job is complete; else what is wrong with the question. */
static const char *job_fill(struct job *job, const Bw__Wire__AccountChange *m)
{
	if (!name_get((char *)m->name.data, m->name.len, job->name))
		return "not a name: 1 to 255 octets of UTF-8 without controls and colons";
	if (!password_get(&m->password, m->has_password, job->password, &job->n_password) ||
	    (m->what == BW_ACCOUNT_PASSWORD && job->n_password == 0))
		return "not a password: 1 to 1024 octets of UTF-8";
	if (!password_get(&m->old, m->has_old, job->old, &job->n_old))
		job->n_old = 0; /* it is nobody's, and does not count */
	if (m->has_reason && !reason_get(&m->reason, &job->value))
		return "not a reason: 1 to 1024 octets";
	if ((m->has_members || m->what == BW_ACCOUNT_MEMBERS) &&
	    !members_get(&m->members, &job->members))
		return "not a list of members: up to 256 names";
	return NULL;
}

static bool takes_password(enum bw_account_what what)
{
	return what == BW_ACCOUNT_CREATE_USER || what == BW_ACCOUNT_PASSWORD;
}

/* Nonsense that no gateway of ours says. */
static bool is_sane(struct conn *c, const Bw__Wire__AccountChange *m)
{
	bool sane =
		m->what >= 1 && m->what < sizeof(whats) / sizeof(whats[0]) &&
		(!m->has_password || takes_password(m->what)) &&
		(!m->has_reason || m->what == BW_ACCOUNT_DISABLE) &&
		(m->address.len == 0 || m->address.len == 4 || m->address.len == ANSWER_ADDRESS);

	if (!sane)
		wire_chan_close(c->base.chan, "a change of an account that makes no sense");
	return sane;
}

void answer_account_change(struct conn *c, const struct wire_question *q,
                           const Bw__Wire__AccountChange *m)
{
	struct answer_parts *parts = &answers_of(c)->parts;
	struct handle        asker;
	struct job          *job;
	struct waiter       *w;
	const char          *why;

	if (!is_sane(c, m) || !asker_get(c, q, &m->handle, &asker) ||
	    (w = answer_wait(c, q, "a change of an account", BW_STR("?"), 0)) == NULL)
		return;
	job = xcalloc(1, sizeof(*job));
	job->waiter = w;
	job->accounts = parts->accounts;
	job->logins = parts->logins;
	job->pool = parts->pool;
	job->remember = parts->remember;
	job->asker = asker.user_id;
	job->what = m->what;
	job->may = m->what == BW_ACCOUNT_CREATE_USER && parts->self_registration;
	job->place = place_of((struct bw_str){ (char *)m->address.data, m->address.len });
	why = job_fill(job, m);
	if (why != NULL)
		job_fail(job, BW_ECONTENT, 0, why);
	else if (m->what == BW_ACCOUNT_PASSWORD && job->n_old > 0)
		look_up(job);
	else
		go_on(job);
}

/* ---- ACCOUNT_READ ---- */

static void on_json(void *arg, int err, const struct pg_rows *rows)
{
	Bw__Wire__AccountText m = BW__WIRE__ACCOUNT_TEXT__INIT;
	struct wire_question  q;
	struct conn          *c = answer_waiter_end(arg, &q);
	struct bw_str         json;

	if (c == NULL)
		return;
	if (err != BW_OK) {
		fail(c, &q, err, 1, "PostgreSQL does not answer");
		return;
	}
	json = pg_text(rows, 0, 0);
	if (json.p == NULL) {
		fail(c, &q, BW_ENOTFOUND, 0, "there is no such account");
		return;
	}
	if (json.n > MAX_JSON) {
		fail(c, &q, BW_ETOOBIG, 0, "that is too much for one page");
		return;
	}
	m.json = (ProtobufCBinaryData){ json.n, (uint8_t *)json.p };
	wire_answer(c->base.chan, &q, 0, 0, &m.base);
}

static void read_json(struct conn *c, const struct wire_question *q, uint64_t asker,
                      const Bw__Wire__AccountRead *m, const char *name, const char *after)
{
	struct waiter        *w = answer_wait(c, q, "a look at accounts", BW_STR("?"), 0);
	char                  id[24], max[16];
	const struct pg_param params[5] = { { id },
		                            { m->what == BW_ACCOUNT_GROUPS ? "group" : "user" },
		                            { name },
		                            { after },
		                            { max } };
	int                   err;

	if (w == NULL)
		return;
	snprintf(id, sizeof(id), "%llu", (unsigned long long)asker);
	snprintf(max, sizeof(max), "%u", m->max);
	err = pg_query(accounts_pg(answers_of(c)->parts.accounts), QUERY_ACCOUNT_JSON, params,
	               on_json, w);
	if (err != BW_OK)
		on_json(w, err, NULL);
}

void answer_account_read(struct conn *c, const struct wire_question *q,
                         const Bw__Wire__AccountRead *m)
{
	struct handle asker;
	char          name[CREDENTIAL_NAME + 1], after[CREDENTIAL_NAME + 1];

	if ((m->what != BW_ACCOUNT_USERS && m->what != BW_ACCOUNT_GROUPS) || m->max < 1 ||
	    m->max > BW_ACCOUNT_PAGE) {
		wire_chan_close(c->base.chan, "a look at accounts that makes no sense");
		return;
	}
	if (!asker_get(c, q, &m->handle, &asker))
		return;
	if ((m->has_name && !name_get((char *)m->name.data, m->name.len, name)) ||
	    (m->has_after && !name_get((char *)m->after.data, m->after.len, after)))
		fail(c, q, BW_ENOTFOUND, 0, "there is no such account");
	else
		read_json(c, q, asker.user_id, m, m->has_name ? name : NULL,
		          m->has_after ? after : NULL);
}
