/* bearer.c - bearer tokens: what their issuers say is theirs, whether their user may come in is ours.
 *
 * A token speaks for an existing, enabled user other than admin, whose name alone is worth too much to
 * lie in another's hands, and the guest. Its sessions' end (a new password, disabling, logout everywhere)
 * ends what was issued before as well: by "ver", if a token has it, else by the time of its issue.
 * Owns: the table of checked tokens. Runs in: the loop. Fails with: BW_ELOGIN and a word for the audit
 * trail, or what the database fails with. Tests: tests/unit/auth/bearer_test.c. */
#include "bearer.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <stdlib.h>

/* In checked_entry.version: the token says none. */
#define NO_VERSION UINT64_MAX

struct bearers {
	struct accounts *accounts;
	struct issuers  *issuers;
	struct checked  *checked; /* number: when it was issued */
	unsigned         in_flight;
};

static int64_t now_s(void)
{
	return (int64_t)(clock_real_us() / 1000000u);
}

static uint64_t version_of(const struct issuer_claims *c)
{
	return c->has_version ? (uint64_t)c->version : NO_VERSION;
}

/* NULL: it may speak for him. */
static const char *why_not(const struct account *a, uint64_t version, int64_t issued_s)
{
	if (a->id == 0 || a->class != ACCOUNT_USER || a->id == ACCOUNT_ID_ANONYMOUS)
		return "account_not_found";
	if (a->id == ACCOUNT_ID_ADMIN)
		return "target_is_admin";
	if (a->disabled)
		return "account_locked";
	if (version != NO_VERSION ? version != a->session_version : issued_s <= a->ended_s)
		return "sessions_ended";
	return NULL;
}

void bearers_key(const struct bearers *bs, struct bw_str token, uint8_t key[CHECKED_KEY])
{
	checked_key(bs->checked, token, key);
}

const struct account *bearers_remembered(struct bearers *bs, const uint8_t key[CHECKED_KEY],
                                         uint64_t now_us)
{
	const struct checked_entry *e = checked_find(bs->checked, key, now_s());
	const struct account       *a;

	if (e == NULL)
		return NULL;
	a = accounts_find_id(bs->accounts, e->account, now_us);
	return a != NULL && why_not(a, e->version, (int64_t)e->number) == NULL ? a : NULL;
}

/* ---- checking ---- */

struct check {
	struct bearers      *bearers;
	bearer_cb            cb;
	void                *arg;
	uint64_t             epoch; /* when it began */
	uint8_t              key[CHECKED_KEY];
	struct issuer_claims claims;
};

/* The one way out of a check. */
static void end(struct check *ck, int err, const struct account *a, const char *why)
{
	struct bearer_result result = { err, a, { ck->claims.user, ck->claims.n_user }, why };

	ck->bearers->in_flight--;
	ck->cb(ck->arg, &result);
	free(ck);
}

static void on_account(void *arg, int err, const struct account *a)
{
	struct check        *ck = arg;
	struct checked_entry e;
	const char          *why;

	if (err != BW_OK) {
		end(ck, err, NULL, "PostgreSQL does not answer");
		return;
	}
	why = why_not(a, version_of(&ck->claims), ck->claims.issued_s);
	if (why != NULL) {
		end(ck, BW_ELOGIN, NULL, why);
		return;
	}
	e = (struct checked_entry){
		.account = a->id,
		.version = version_of(&ck->claims),
		.number = (uint64_t)ck->claims.issued_s,
		.until_s = ck->claims.expires_s - 1,
	};
	checked_put(ck->bearers->checked, ck->key, &e, ck->epoch, now_s());
	end(ck, BW_OK, a, "");
}

static void look_up(struct check *ck)
{
	struct accounts      *as = ck->bearers->accounts;
	struct bw_str         user = { ck->claims.user, ck->claims.n_user };
	const struct account *a = accounts_find(as, user, clock_boot_us());
	int                   err = BW_OK;

	if (a != NULL)
		on_account(ck, BW_OK, a);
	else if ((err = accounts_fetch(as, user, on_account, ck)) != BW_OK)
		on_account(ck, err, NULL);
}

void bearers_check(struct bearers *bs, struct bw_str token, const uint8_t key[CHECKED_KEY],
                   bearer_cb cb, void *arg)
{
	struct check *ck = xcalloc(1, sizeof(*ck));
	const char   *why;
	int           err;

	ck->bearers = bs;
	ck->cb = cb;
	ck->arg = arg;
	ck->epoch = checked_epoch(bs->checked);
	memcpy(ck->key, key, sizeof(ck->key));
	bs->in_flight++;
	err = issuers_verify(bs->issuers, token, now_s(), &ck->claims, &why);
	if (err != BW_OK)
		end(ck, err, NULL, why);
	else
		look_up(ck);
}

/* ---- all of them ---- */

struct bearers *bearers_new(struct accounts *accounts, struct issuers *issuers)
{
	struct bearers *bs = xcalloc(1, sizeof(*bs));

	bs->accounts = accounts;
	bs->issuers = issuers;
	bs->checked = checked_new();
	return bs;
}

void bearers_forget(struct bearers *bs)
{
	checked_forget(bs->checked);
}

unsigned bearers_in_flight(const struct bearers *bs)
{
	return bs->in_flight;
}

void bearers_free(struct bearers *bs)
{
	if (bs == NULL)
		return;
	checked_free(bs->checked);
	free(bs);
}
