/* session.c - what is known of session tokens: those that were checked (checked.c), and those that were
 * logged out a short time ago.
 *
 *     token --BLAKE2b--> checked before? --yes--> revoked since? --no--> account by id --> good
 *                          | no
 *                          v
 *                 signature, claims --> revoked? (database) --> account by name --> good, remembered
 *
 * An entry names the account and the session version it was checked against, and the account's present
 * one is compared each time, so that nothing is removed when an account changes. A new epoch begins when the keys change, when the journal was out of reach, and when more
 * tokens were revoked than are kept; then everything is checked anew. While the journal does not vouch
 * for memory, accounts are not found there, and each token asks the database.
 * Owns: both tables, a connection. Runs in: the loop. Fails with: what the database fails with.
 * Tests: tests/unit/auth/session_test.c. */
#include "session.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <pg/pg.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/messages.h>

#define REVOKED    16384u /* slots, half of which are filled at most */
#define TIMEOUT_MS 2000u
#define QUEUE      4096u

enum query {
#define Q_SESSION(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
};

static const struct pg_statement statements[] = {
#define Q_SESSION(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};

struct sessions {
	struct pg           *pg;
	struct accounts     *accounts;
	struct session_keys *keys;
	struct session_times times;
	void (*on_up)(void *arg);
	void           *arg;
	struct checked *checked; /* number: hash of the id */
	unsigned        in_flight, n_revoked;
	uint64_t        revoked[REVOKED]; /* hashes of ids; 0: free */
	uint8_t         hash_key[crypto_shorthash_KEYBYTES];
};

static int64_t now_s(void)
{
	return (int64_t)(clock_real_us() / 1000000u);
}

bool sessions_may_have(const struct account *a)
{
	return a->id != 0 && a->id != ACCOUNT_ID_ANONYMOUS && a->class == ACCOUNT_USER &&
	       !a->disabled;
}

/* ---- tokens that were logged out ---- */

/* Never 0. Two ids of one hash would end each other's sessions; there are 2^63. */
static uint64_t hash_jti(const struct sessions *ss, struct bw_str jti)
{
	uint64_t h;

	crypto_shorthash((uint8_t *)&h, (const uint8_t *)jti.p, jti.n, ss->hash_key);
	return h | 1;
}

/* Where it is, or the free place where it would be. */
static unsigned slot_of(const struct sessions *ss, uint64_t jti)
{
	unsigned i = (unsigned)(jti >> 32) % REVOKED;

	while (ss->revoked[i] != 0 && ss->revoked[i] != jti)
		i = (i + 1) % REVOKED;
	return i;
}

static bool is_revoked(const struct sessions *ss, uint64_t jti)
{
	return ss->revoked[slot_of(ss, jti)] != 0;
}

void sessions_revoked(struct sessions *ss, struct bw_str jti)
{
	uint64_t h = hash_jti(ss, jti);
	unsigned i = slot_of(ss, h);

	if (ss->revoked[i] != 0)
		return;
	ss->revoked[i] = h;
	if (++ss->n_revoked == REVOKED / 2)
		sessions_forget(ss);
}

void sessions_forget(struct sessions *ss)
{
	checked_forget(ss->checked);
	ss->n_revoked = 0;
	memset(ss->revoked, 0, sizeof(ss->revoked));
}

/* ---- tokens that were checked ---- */

void sessions_key(const struct sessions *ss, struct bw_str token, uint8_t key[CHECKED_KEY])
{
	checked_key(ss->checked, token, key);
}

/* Until it is due (session_claims_are_due), or over. */
static void keep(struct sessions *ss, const uint8_t *key, const struct session_claims *c,
                 uint64_t epoch)
{
	struct checked_entry e = {
		.account = c->account,
		.version = c->version,
		.number = hash_jti(ss, bw_str(c->jti)),
		.until_s = c->expires_s < c->end_s ? c->expires_s - (ss->times.idle_s + 1) / 2
		                                   : c->expires_s - 1,
	};

	checked_put(ss->checked, key, &e, epoch, now_s());
}

static bool is_account_of(const struct account *a, uint64_t id, uint64_t version)
{
	return a->id == id && a->session_version == version && sessions_may_have(a);
}

const struct account *sessions_remembered(struct sessions *ss, const uint8_t key[CHECKED_KEY],
                                          uint64_t now_us)
{
	const struct checked_entry *e = checked_find(ss->checked, key, now_s());
	const struct account       *a;

	if (e == NULL || is_revoked(ss, e->number))
		return NULL;
	a = accounts_find_id(ss->accounts, e->account, now_us);
	return a != NULL && is_account_of(a, e->account, e->version) ? a : NULL;
}

/* ---- making tokens ---- */

static char *make(struct sessions *ss, const struct session_claims *c, unsigned *ret_s)
{
	char   *token = session_token_make(c, ss->keys);
	uint8_t key[CHECKED_KEY];

	if (token == NULL)
		return NULL;
	sessions_key(ss, bw_str(token), key);
	keep(ss, key, c, checked_epoch(ss->checked));
	*ret_s = (unsigned)(c->expires_s - c->issued_s);
	return token;
}

char *sessions_begin(struct sessions *ss, const struct account *a, unsigned *ret_s)
{
	struct session_claims c;

	session_claims_begin(&c, a->name, a->id, a->session_version, &ss->times, now_s());
	return make(ss, &c, ret_s);
}

char *sessions_renew(struct sessions *ss, const struct session_claims *claims, unsigned *ret_s)
{
	struct session_claims c = *claims;
	int64_t               now = now_s();

	if (!session_claims_are_due(&c, &ss->times, now))
		return NULL;
	session_claims_renew(&c, &ss->times, now);
	return make(ss, &c, ret_s);
}

/* ---- checking them ---- */

struct check {
	struct sessions      *sessions;
	session_cb            cb;
	void                 *arg;
	uint64_t              epoch; /* when it began */
	uint8_t               key[CHECKED_KEY];
	struct session_claims claims;
};

/* The one way out of a check. */
static void end_check(struct check *ck, int err, const struct account *a, const char *why)
{
	struct session_result result = { err, a, &ck->claims, why };

	ck->sessions->in_flight--;
	ck->cb(ck->arg, &result);
	free(ck);
}

static void decide(struct check *ck, const struct account *a)
{
	struct sessions *ss = ck->sessions;
	struct bw_str    jti = { ck->claims.jti, strlen(ck->claims.jti) };

	if (!is_account_of(a, ck->claims.account, ck->claims.version)) {
		end_check(ck, BW_ELOGIN, NULL, "sessions_ended");
	} else if (is_revoked(ss, hash_jti(ss, jti))) {
		end_check(ck, BW_ELOGIN, NULL, "logged_out");
	} else {
		keep(ss, ck->key, &ck->claims, ck->epoch);
		end_check(ck, BW_OK, a, "");
	}
}

static void on_account(void *arg, int err, const struct account *a)
{
	if (err == BW_OK)
		decide(arg, a);
	else
		end_check(arg, err, NULL, "PostgreSQL does not answer");
}

static void look_up(struct check *ck)
{
	struct accounts      *as = ck->sessions->accounts;
	struct bw_str         user = { ck->claims.user, ck->claims.n_user };
	const struct account *a = accounts_find(as, user, clock_boot_us());
	int                   err;

	if (a != NULL)
		decide(ck, a);
	else if ((err = accounts_fetch(as, user, on_account, ck)) != BW_OK)
		on_account(ck, err, NULL);
}

static void on_looked_up(void *arg, int err, const struct pg_rows *rows)
{
	struct check *ck = arg;

	if (err != BW_OK)
		end_check(ck, err, NULL, "PostgreSQL does not answer");
	else if (pg_bool(rows, 0, 0))
		end_check(ck, BW_ELOGIN, NULL, "logged_out");
	else
		look_up(ck);
}

void sessions_check(struct sessions *ss, struct bw_str token, const uint8_t key[CHECKED_KEY],
                    session_cb cb, void *arg)
{
	struct check   *ck = xcalloc(1, sizeof(*ck));
	struct pg_param jti = { ck->claims.jti };
	const char     *why;
	int             err;

	ck->sessions = ss;
	ck->cb = cb;
	ck->arg = arg;
	ck->epoch = checked_epoch(ss->checked);
	memcpy(ck->key, key, sizeof(ck->key));
	ss->in_flight++;
	err = session_token_read(token, ss->keys, now_s(), &ck->claims, &why);
	if (err != BW_OK)
		end_check(ck, err, NULL, why);
	else if ((err = pg_query(ss->pg, QUERY_IS_REVOKED, &jti, on_looked_up, ck)) != BW_OK)
		on_looked_up(ck, err, NULL);
}

/* ---- ending them ---- */

struct ending {
	struct sessions      *sessions;
	session_end_cb        cb;
	void                 *arg;
	struct session_claims claims;
};

static void on_ended(void *arg, int err, const struct pg_rows *rows)
{
	struct ending *e = arg;
	struct bw_str  user = { e->claims.user, e->claims.n_user };

	e->sessions->in_flight--;
	if (err == BW_OK)
		sessions_revoked(e->sessions, bw_str(e->claims.jti));
	e->cb(e->arg, err, user, err == BW_OK && pg_bool(rows, 0, 0));
	free(e);
}

void sessions_end(struct sessions *ss, struct bw_str token, session_end_cb cb, void *arg)
{
	struct ending         *e = xcalloc(1, sizeof(*e));
	struct session_claims *c = &e->claims;
	char                   account[24], version[24], until[24];
	struct pg_param        params[4] = { { account }, { version }, { c->jti }, { until } };
	const char            *why;
	int                    err;

	if (session_token_read(token, ss->keys, now_s(), c, &why) != BW_OK) {
		free(e);
		cb(arg, BW_OK, BW_ABSENT, false);
		return;
	}
	e->sessions = ss;
	e->cb = cb;
	e->arg = arg;
	snprintf(account, sizeof(account), "%llu", (unsigned long long)c->account);
	snprintf(version, sizeof(version), "%llu", (unsigned long long)c->version);
	snprintf(until, sizeof(until), "%lld", (long long)c->end_s);
	ss->in_flight++;
	err = pg_query(ss->pg, QUERY_TOKEN_REVOKE, params, on_ended, e);
	if (err != BW_OK)
		on_ended(e, err, NULL);
}

/* ---- all of them ---- */

static void on_pg_up(struct pg *pg)
{
	const struct sessions *ss = pg_owner(pg);

	if (ss->on_up != NULL)
		ss->on_up(ss->arg);
}

bool sessions_are_up(const struct sessions *ss)
{
	return pg_is_up(ss->pg);
}

struct sessions *sessions_new(struct ev_loop *loop, const char *conninfo, struct accounts *accounts,
                              struct session_keys *keys, const struct session_times *times,
                              void (*on_up)(void *arg), void                        *arg)
{
	static const struct pg_ops ops = { .on_up = on_pg_up };
	struct sessions           *ss = xcalloc(1, sizeof(*ss));

	ss->accounts = accounts;
	ss->keys = keys;
	ss->times = *times;
	ss->on_up = on_up;
	ss->arg = arg;
	ss->checked = checked_new();
	crypto_shorthash_keygen(ss->hash_key);
	ss->pg = pg_new(loop, conninfo, statements, sizeof(statements) / sizeof(statements[0]),
	                NULL, TIMEOUT_MS, QUEUE, &ops, ss);
	pg_require_schema(ss->pg);
	return ss;
}

unsigned sessions_in_flight(const struct sessions *ss)
{
	return ss->in_flight;
}

void sessions_free(struct sessions *ss)
{
	if (ss == NULL)
		return;
	pg_free(ss->pg);
	checked_free(ss->checked);
	free(ss);
}
