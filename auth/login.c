/* login.c - from a user name and a password to an account.
 *
 *     logins_check --> account known? --no--> accounts_fetch --+
 *                          |                                   |
 *                          v  <--------------------------------+
 *      remembered, or just verified, against the account's present verifier? --yes--> BW_OK
 *                          | no
 *                          v
 *                     throttle_begin --too many failures--> BW_ETHROTTLED
 *                          |
 *                          v
 *                   password_verify --wrong--> BW_ELOGIN
 *                          | right
 *                          `--> the account once more: it may have changed meanwhile
 *
 * An account that is unknown, disabled, not a user or without a password takes the same way with a
 * dummy verifier, so that time tells nothing. A second login with the same credentials joins the
 * attempt that is under way, and is judged with it: it is not a second guess.
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
	uint8_t      key[REMEMBER_KEY];
	unsigned     tries;
	uint64_t     verifying, verified; /* number of the verifier; 0: the dummy, none yet */
	uint64_t     account;             /* whose verifier that is */
	const char  *reason;              /* why a login cannot succeed, or did not */
	bool         is_testing;          /* throttle_end is owed */
	bool         is_known;            /* that the account is used from there */
	struct place place;
	size_t       n_user, n_password;
	char         user[CREDENTIAL_NAME];
	char         password[CREDENTIAL_PASSWORD];
};
LIST_HEAD(bucket, attempt);

struct logins {
	struct accounts      *accounts;
	struct remember      *remember;
	struct throttle      *throttle;
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

static struct throttle_who who_of(const struct attempt *at)
{
	return (struct throttle_who){ user_of(at), at->place, at->is_known };
}

/* The seconds of a delay that begins with it. */
static unsigned end_test(struct attempt *at, int err)
{
	struct throttle_who who = who_of(at);

	return throttle_end(at->logins->throttle, &who,
	                    err == BW_OK       ? THROTTLE_RIGHT
	                    : err == BW_ELOGIN ? THROTTLE_WRONG
	                                       : THROTTLE_UNDECIDED,
	                    clock_boot_us());
}

/* The one way out of an attempt. */
static void finish(struct attempt *at, struct login_result *result)
{
	struct waiter *w;

	if (at->is_testing)
		result->wait_s = end_test(at, result->err);
	result->user = user_of(at);
	LIST_REMOVE(at, next);
	at->logins->n--;
	while ((w = STAILQ_FIRST(&at->waiters)) != NULL) {
		STAILQ_REMOVE_HEAD(&at->waiters, next);
		w->cb(w->arg, result);
		result->was_verified = false; /* the others have joined it */
		free(w);
	}
	attempt_free(at);
}

static void end(struct attempt *at, int err, const char *why)
{
	struct login_result result = { .err = err, .why = why, .reason = at->reason };

	finish(at, &result);
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

static const char *reason_of(const struct account *a)
{
	if (a->id == 0)
		return "account_not_found";
	if (a->class != ACCOUNT_USER)
		return "not_a_user";
	if (a->disabled)
		return "account_locked";
	return a->verifier == NULL ? "no_password" : "wrong_password";
}

static bool is_known_place(const struct account *a, const struct place *place)
{
	for (unsigned i = 0; i < a->n_places; i++)
		if (is_same_place(&a->places[i], place))
			return true;
	return false;
}

static void succeed(struct attempt *at, const struct account *a, bool was_verified)
{
	struct login_result result = {
		.err = BW_OK, .account = a, .why = "verified", .was_verified = was_verified
	};

	if (was_verified && password_is_outdated(at->logins->pool, a->verifier))
		rehash(at, a);
	if (was_verified && at->place.n > 0 && !is_known_place(a, &at->place))
		accounts_place_seen(at->logins->accounts, a->id, &at->place);
	finish(at, &result);
}

/* False: it has been told to wait, and at is gone. */
static bool may_test(struct attempt *at, const struct account *a)
{
	struct login_result result = { .err = BW_ETHROTTLED, .why = "too many failed logins" };
	struct throttle_who who;

	if (at->is_testing)
		return true; /* once more, of an account that has changed */
	at->is_known = is_known_place(a, &at->place);
	who = who_of(at);
	result.wait_s = throttle_begin(at->logins->throttle, &who, clock_boot_us());
	if (result.wait_s > 0) {
		finish(at, &result);
		return false;
	}
	at->is_testing = true;
	return true;
}

static void test_password(struct attempt *at, const struct account *a)
{
	bool usable = can_log_in(a);

	if (!may_test(at, a))
		return;
	at->verifying = usable ? a->verifier_id : 0;
	at->account = a->id;
	at->reason = reason_of(a);
	if (password_verify(at->logins->pool, usable ? a->verifier : NULL, password_of(at),
	                    on_verified, at) != BW_OK)
		end(at, BW_EBUSY, "too many passwords are waiting to be verified");
}

static void decide(struct attempt *at, const struct account *a)
{
	struct logins *ls = at->logins;
	bool           usable = can_log_in(a);
	bool was_verified = usable && at->verified == a->verifier_id && at->account == a->id;

	if (was_verified || (usable && remember_find(ls->remember, at->key, a->id, a->verifier_id,
	                                             clock_boot_us())))
		succeed(at, a, was_verified);
	else if (at->tries++ == MAX_TRIES)
		end(at, BW_EBUSY, "the account changes too fast");
	else
		test_password(at, a);
}

static void on_account(void *arg, int err, const struct account *a)
{
	if (err == BW_OK)
		decide(arg, a);
	else
		end(arg, err, "PostgreSQL does not answer");
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
		end(at, BW_ELOGIN, "wrong user name or password");
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
                                   const uint8_t *key, const struct place *place)
{
	struct attempt *at = xcalloc(1, sizeof(*at));

	at->logins = ls;
	STAILQ_INIT(&at->waiters);
	at->place = *place;
	memcpy(at->key, key, REMEMBER_KEY);
	memcpy(at->user, user.p, at->n_user = user.n);
	memcpy(at->password, password.p, at->n_password = password.n);
	ls->n++;
	return at;
}

void logins_check(struct logins *ls, struct bw_str user, struct bw_str password,
                  const uint8_t key[REMEMBER_KEY], const struct place *place, login_cb cb,
                  void *arg)
{
	struct bucket  *bucket = &ls->attempts[(key[0] | (unsigned)key[1] << 8) % BUCKETS];
	struct attempt *at = find(bucket, key);
	struct waiter  *w = xmalloc(sizeof(*w));
	bool            is_new = at == NULL;

	if (is_new) {
		at = attempt_new(ls, user, password, key, place);
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
                          struct throttle *throttle, struct password_pool *pool)
{
	struct logins *ls = xcalloc(1, sizeof(*ls));

	ls->accounts = accounts;
	ls->remember = remember;
	ls->throttle = throttle;
	ls->pool = pool;
	return ls;
}

void logins_free(struct logins *ls)
{
	if (ls != NULL && ls->n != 0)
		fatalx("%u logins are under way after their end", ls->n);
	free(ls);
}
