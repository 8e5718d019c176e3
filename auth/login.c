/* login.c - from a user name and a password to an account.
 *
 *     logins_check --> account known? --no--> accounts_fetch --+
 *                          |                                   |
 *                          v  <--------------------------------+
 *      remembered, or just verified, against the account's present verifier? --yes--> BW_OK
 *                          | no
 *                          v
 *                   password_verify --wrong--> BW_ELOGIN
 *                          | right
 *                          `--> the account once more: it may have changed meanwhile
 *
 * An account that is unknown, disabled, not a user or without a password takes the same way with a
 * dummy verifier, so that time tells nothing. A second login with the same credentials joins the
 * attempt that is under way.
 * Owns: the attempts, each with a copy of its password, wiped when it ends. Runs in: the loop.
 * Fails with: see login.h. Logs nothing: answer.c does. Tests: tests/unit/auth/login_test.c. */
#include "login.h"
#include "credential.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/queue.h>

#define BUCKETS   1024u
#define MAX_TRIES 3u /* verifications of an account that changes under our hands */

struct waiter {
	STAILQ_ENTRY(waiter) next;
	login_cb cb;
	void    *arg;
};

struct attempt {
	LIST_ENTRY(attempt) next;
	struct logins *logins;
	STAILQ_HEAD(, waiter) waiters;
	uint8_t  key[REMEMBER_KEY];
	unsigned tries;
	uint64_t verifying, verified; /* number of the verifier; 0: the dummy, none yet */
	uint64_t account;             /* whose verifier that is */
	size_t   n_user, n_password;
	char     user[CREDENTIAL_NAME];
	char     password[CREDENTIAL_PASSWORD];
};
LIST_HEAD(bucket, attempt);

struct logins {
	struct accounts      *accounts;
	struct remember      *remember;
	struct password_pool *pool;
	unsigned              n;
	struct bucket         attempts[BUCKETS];
};

static struct bw_str user_of(const struct attempt *at)
{
	return (struct bw_str){ at->user, at->n_user };
}

static struct bw_str password_of(const struct attempt *at)
{
	return (struct bw_str){ at->password, at->n_password };
}

static void attempt_free(struct attempt *at)
{
	sodium_memzero(at, sizeof(*at));
	free(at);
}

/* The one way out of an attempt. */
static void end(struct attempt *at, int err, const struct account *a, const char *why)
{
	struct login_result result = { err, a, user_of(at), why };
	struct waiter      *w;

	LIST_REMOVE(at, next);
	at->logins->n--;
	while ((w = STAILQ_FIRST(&at->waiters)) != NULL) {
		STAILQ_REMOVE_HEAD(&at->waiters, next);
		w->cb(w->arg, &result);
		free(w);
	}
	attempt_free(at);
}

/* ---- a verifier of another cost, after a success ---- */

struct rehash {
	struct logins *logins;
	uint64_t       account;
	char           old[crypto_pwhash_STRBYTES];
};

static void on_rehashed(void *arg, bool ok, const char *verifier)
{
	struct rehash *r = arg;

	if (ok)
		accounts_replace_verifier(r->logins->accounts, r->account, r->old, verifier);
	free(r);
}

/* If the pool has nothing better to do; else the next verification tries again. */
static void rehash(struct attempt *at, const struct account *a)
{
	struct rehash *r = xmalloc(sizeof(*r));

	r->logins = at->logins;
	r->account = a->id;
	snprintf(r->old, sizeof(r->old), "%s", a->verifier);
	if (password_hash(at->logins->pool, password_of(at), on_rehashed, r) != BW_OK)
		free(r);
}

/* ---- the steps ---- */

static void on_verified(void *arg, bool ok, const char *verifier);

static bool can_log_in(const struct account *a)
{
	return a->id != 0 && a->class == ACCOUNT_USER && !a->disabled && a->verifier != NULL;
}

static void decide(struct attempt *at, const struct account *a)
{
	struct logins *ls = at->logins;
	bool           usable = can_log_in(a);
	bool was_verified = usable && at->verified == a->verifier_id && at->account == a->id;

	if (was_verified && password_is_outdated(ls->pool, a->verifier))
		rehash(at, a);
	if (was_verified || (usable && remember_find(ls->remember, at->key, a->id, a->verifier_id,
	                                             clock_boot_us()))) {
		end(at, BW_OK, a, "verified");
		return;
	}
	if (at->tries++ == MAX_TRIES) {
		end(at, BW_EBUSY, NULL, "the account changes too fast");
		return;
	}
	at->verifying = usable ? a->verifier_id : 0;
	at->account = a->id;
	if (password_verify(ls->pool, usable ? a->verifier : NULL, password_of(at), on_verified,
	                    at) != BW_OK)
		end(at, BW_EBUSY, NULL, "too many passwords are waiting to be verified");
}

static void on_account(void *arg, int err, const struct account *a)
{
	if (err == BW_OK)
		decide(arg, a);
	else
		end(arg, err, NULL, "PostgreSQL does not answer");
}

static void look_up(struct attempt *at)
{
	struct accounts      *as = at->logins->accounts;
	const struct account *a = accounts_find(as, user_of(at), clock_boot_us());
	int                   err;

	if (a != NULL)
		decide(at, a);
	else if ((err = accounts_fetch(as, user_of(at), on_account, at)) != BW_OK)
		on_account(at, err, NULL);
}

static void on_verified(void *arg, bool ok, const char *verifier)
{
	struct attempt *at = arg;

	(void)verifier;
	if (!ok) {
		end(at, BW_ELOGIN, NULL, "wrong user name or password");
		return;
	}
	at->verified = at->verifying;
	/* Good only for as long as the account has this verifier, whatever happened meanwhile. */
	remember_put(at->logins->remember, at->key, at->account, at->verified, clock_boot_us());
	look_up(at);
}

const struct account *logins_remembered(struct logins *ls, struct bw_str user,
                                        const uint8_t key[REMEMBER_KEY], uint64_t now_us)
{
	const struct account *a = accounts_find(ls->accounts, user, now_us);

	if (a == NULL || !can_log_in(a) ||
	    !remember_find(ls->remember, key, a->id, a->verifier_id, now_us))
		return NULL;
	return a;
}

static struct attempt *find(struct bucket *bucket, const uint8_t *key)
{
	struct attempt *at;

	LIST_FOREACH (at, bucket, next)
		if (memcmp(at->key, key, REMEMBER_KEY) == 0)
			return at;
	return NULL;
}

static struct attempt *attempt_new(struct logins *ls, struct bw_str user, struct bw_str password,
                                   const uint8_t *key)
{
	struct attempt *at = xcalloc(1, sizeof(*at));

	at->logins = ls;
	STAILQ_INIT(&at->waiters);
	memcpy(at->key, key, REMEMBER_KEY);
	memcpy(at->user, user.p, at->n_user = user.n);
	memcpy(at->password, password.p, at->n_password = password.n);
	ls->n++;
	return at;
}

void logins_check(struct logins *ls, struct bw_str user, struct bw_str password,
                  const uint8_t key[REMEMBER_KEY], login_cb cb, void *arg)
{
	struct bucket  *bucket = &ls->attempts[(key[0] | (unsigned)key[1] << 8) % BUCKETS];
	struct attempt *at = find(bucket, key);
	struct waiter  *w = xmalloc(sizeof(*w));
	bool            is_new = at == NULL;

	if (is_new) {
		at = attempt_new(ls, user, password, key);
		LIST_INSERT_HEAD(bucket, at, next);
	}
	w->cb = cb;
	w->arg = arg;
	STAILQ_INSERT_TAIL(&at->waiters, w, next);
	if (is_new)
		look_up(at);
}

unsigned logins_in_flight(const struct logins *ls)
{
	return ls->n;
}

struct logins *logins_new(struct accounts *accounts, struct remember *remember,
                          struct password_pool *pool)
{
	struct logins *ls = xcalloc(1, sizeof(*ls));

	ls->accounts = accounts;
	ls->remember = remember;
	ls->pool = pool;
	return ls;
}

void logins_free(struct logins *ls)
{
	if (ls != NULL && ls->n != 0)
		fatalx("%u logins are under way after their end", ls->n);
	free(ls);
}
