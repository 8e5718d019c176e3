/* account.c - reads accounts and keeps them.
 *
 * In memory are at most 16,384 accounts and 4,096 names that are not there, found by name and by id,
 * the longest unused ones thrown out first. They are believed until the moment the journal has
 * vouched for, and not a moment longer: if its reader falls silent, each check reads the database.
 *
 * The race to know: a read that began before a change may bring the old row after the news of the
 * change has been applied. Each read notes the number of the news when it begins; with another
 * number at its end it serves those who asked and is not kept.
 *
 * Owns: the reading connection, the accounts. Runs in: the loop. Fails with: see account.h. Logs:
 * accounts that cannot log in for a reason only the operator can mend. Tests:
 * tests/unit/auth/account_test.c (logic), database_test.c (against PostgreSQL). */
#include "account.h"
#include "password.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <pg/pg.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <wire/messages.h>

#define MAX_PRESENT  16384u
#define MAX_ABSENT   4096u
#define BUCKETS      16384u
#define LOAD_BUCKETS 256u
#define READ_MS      2000u
#define READ_QUEUE   4096u

enum query {
#define Q_READ(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
};

static const struct pg_statement statements[] = {
#define Q_READ(name, n_params, n_columns, writes, sql) { #name, sql, n_params, n_columns, writes },
#include "queries.def"
};
#define N_STATEMENTS (sizeof(statements) / sizeof(statements[0]))

struct kept {
	struct account account;
	LIST_ENTRY(kept) by_name, by_id;
	TAILQ_ENTRY(kept) age;
	bool used; /* since it was last looked at for eviction */
	/* Of account.who; the impersonators, the name and the verifier follow. */
	uint64_t principals[];
};
LIST_HEAD(kept_bucket, kept);
TAILQ_HEAD(kept_ages, kept);

struct waiter {
	STAILQ_ENTRY(waiter) next;
	account_cb cb;
	void      *arg;
};

struct load {
	LIST_ENTRY(load) next; /* in loads */
	STAILQ_HEAD(, waiter) waiters;
	struct accounts *accounts;
	uint64_t         news; /* number when it began */
	size_t           n_name;
	char             name[];
};
LIST_HEAD(load_bucket, load);

struct accounts {
	struct pg *pg;
	void (*on_up)(void *arg);
	void              *arg;
	uint64_t           trusted_until_us;
	uint64_t           news; /* counts every change that was heard of */
	uint8_t            hash_key[crypto_shorthash_KEYBYTES];
	struct kept_ages   present, absent; /* the longest kept first */
	unsigned           n_present, n_absent;
	struct kept_bucket by_name[BUCKETS], by_id[BUCKETS];
	struct load_bucket loads[LOAD_BUCKETS];
};

static uint64_t hash(const struct accounts *as, const void *p, size_t n)
{
	uint64_t h;

	crypto_shorthash((uint8_t *)&h, p, n, as->hash_key);
	return h;
}

/* ---- what is kept ---- */

static void kept_free(struct kept *k)
{
	if (k->account.verifier != NULL)
		sodium_memzero((char *)k->account.verifier, strlen(k->account.verifier));
	free(k);
}

static void throw_out(struct accounts *as, struct kept *k)
{
	LIST_REMOVE(k, by_name);
	if (k->account.id != 0) {
		LIST_REMOVE(k, by_id);
		TAILQ_REMOVE(&as->present, k, age);
		as->n_present--;
	} else {
		TAILQ_REMOVE(&as->absent, k, age);
		as->n_absent--;
	}
	kept_free(k);
}

/* The oldest that was not used since it was last asked here; used ones get another round. */
static void evict(struct accounts *as, struct kept_ages *ages)
{
	struct kept *k;

	while ((k = TAILQ_FIRST(ages))->used) {
		k->used = false;
		TAILQ_REMOVE(ages, k, age);
		TAILQ_INSERT_TAIL(ages, k, age);
	}
	throw_out(as, k);
}

static struct kept *lookup(struct accounts *as, struct bw_str name)
{
	struct kept *k;

	LIST_FOREACH (k, &as->by_name[hash(as, name.p, name.n) % BUCKETS], by_name)
		if (bw_str_eq(k->account.name, name))
			return k;
	return NULL;
}

static void keep(struct accounts *as, struct kept *k)
{
	struct bw_str name = k->account.name;
	struct kept  *old = lookup(as, name);

	if (old != NULL)
		throw_out(as, old);
	LIST_INSERT_HEAD(&as->by_name[hash(as, name.p, name.n) % BUCKETS], k, by_name);
	if (k->account.id != 0) {
		if (as->n_present == MAX_PRESENT)
			evict(as, &as->present);
		LIST_INSERT_HEAD(&as->by_id[k->account.id % BUCKETS], k, by_id);
		TAILQ_INSERT_TAIL(&as->present, k, age);
		as->n_present++;
	} else {
		if (as->n_absent == MAX_ABSENT)
			evict(as, &as->absent);
		TAILQ_INSERT_TAIL(&as->absent, k, age);
		as->n_absent++;
	}
}

const struct account *accounts_find(struct accounts *as, struct bw_str name, uint64_t now_us)
{
	struct kept *k = now_us < as->trusted_until_us ? lookup(as, name) : NULL;

	if (k == NULL)
		return NULL;
	k->used = true;
	return &k->account;
}

const struct account *accounts_find_id(struct accounts *as, uint64_t id, uint64_t now_us)
{
	struct kept *k;

	if (now_us >= as->trusted_until_us)
		return NULL;
	LIST_FOREACH (k, &as->by_id[id % BUCKETS], by_id)
		if (k->account.id == id) {
			k->used = true;
			return &k->account;
		}
	return NULL;
}

void accounts_trust(struct accounts *as, uint64_t until_us)
{
	as->trusted_until_us = until_us;
}

void accounts_drop(struct accounts *as, uint64_t id)
{
	struct kept *k, *next;

	as->news++;
	for (k = LIST_FIRST(&as->by_id[id % BUCKETS]); k != NULL; k = next) {
		next = LIST_NEXT(k, by_id);
		if (k->account.id == id)
			throw_out(as, k);
	}
}

void accounts_drop_all(struct accounts *as)
{
	struct kept *k;

	as->news++;
	while ((k = TAILQ_FIRST(&as->present)) != NULL || (k = TAILQ_FIRST(&as->absent)) != NULL)
		throw_out(as, k);
}

/* ---- an account out of its row ---- */

static enum handle_kind kind_of(const struct account *a)
{
	if (a->id == ACCOUNT_ID_ADMIN)
		return HANDLE_ADMIN;
	return a->class == ACCOUNT_SERVICE ? HANDLE_SERVICE : HANDLE_USER;
}

/* The user, its groups (decimal ids with blanks between them), everyone. */
static void set_principals(struct kept *k, const char *groups)
{
	struct account *a = &k->account;
	unsigned        n = 0;

	k->principals[n++] = a->id << 1;
	while (*groups != '\0' && n < ACCOUNT_MAX_PRINCIPALS) {
		char    *end;
		uint64_t id = strtoull(groups, &end, 10);

		k->principals[n++] = id << 1 | 1;
		groups = *end == ' ' ? end + 1 : end;
	}
	if (n == ACCOUNT_MAX_PRINCIPALS) { /* no room for everyone, or more groups than that */
		a->is_crowded = true;
		return;
	}
	k->principals[n++] = ACCOUNT_ID_EVERYONE << 1 | 1;
	a->who = (struct mint_identity){
		.kind = kind_of(a),
		.user_id = a->id,
		.n_principals = n,
		.principals = k->principals,
	};
}

static enum account_class class_of(struct bw_str text)
{
	if (bw_str_eq(text, BW_STR("user")))
		return ACCOUNT_USER;
	return bw_str_eq(text, BW_STR("service")) ? ACCOUNT_SERVICE : ACCOUNT_GROUP;
}

static size_t count_words(const char *s)
{
	size_t n = *s != '\0';

	for (; *s != '\0'; s++)
		n += *s == ' ';
	return n;
}

/* Decimal ids with blanks between them. */
static void set_impersonators(struct account *a, const char *ids, uint64_t *to)
{
	a->impersonators = to;
	while (*ids != '\0') {
		char *end;

		to[a->n_impersonators++] = strtoull(ids, &end, 10);
		ids = *end == ' ' ? end + 1 : end;
	}
}

/* place_hex of each, with blanks between them. */
static void set_places(struct account *a, const char *places)
{
	while (*places != '\0' && a->n_places < ACCOUNT_MAX_PLACES) {
		size_t n = strcspn(places, " ");

		a->places[a->n_places++] = place_of_hex((struct bw_str){ places, n });
		places += n + (places[n] == ' ');
	}
}

/* A column that may be NULL, which is "". */
static const char *words_of(const struct pg_rows *rows, unsigned column)
{
	const char *text = pg_rows_count(rows) > 0 ? pg_text(rows, 0, column).p : NULL;

	return text != NULL ? text : "";
}

static struct kept *account_of(const struct accounts *as, struct bw_str name,
                               const struct pg_rows *rows)
{
	bool          exists = pg_rows_count(rows) > 0;
	struct bw_str verifier = exists ? pg_text(rows, 0, 3) : BW_ABSENT;
	const char   *groups = words_of(rows, 4), *impersonators = words_of(rows, 6);
	size_t        principals = exists ? count_words(groups) + 2 : 0;
	size_t        ids = (principals + count_words(impersonators)) * sizeof(uint64_t);
	struct kept  *k = xcalloc(1, sizeof(*k) + ids + name.n + 1 + verifier.n + 1);
	char         *text = (char *)k->principals + ids;

	k->account.name = (struct bw_str){ memcpy(text, name.p, name.n), name.n };
	if (!exists)
		return k;
	k->account.id = (uint64_t)pg_int(rows, 0, 0);
	k->account.class = class_of(pg_text(rows, 0, 1));
	k->account.disabled = pg_bool(rows, 0, 2);
	k->account.is_admin = k->account.id == ACCOUNT_ID_ADMIN || pg_bool(rows, 0, 5);
	k->account.session_version = (uint64_t)pg_int(rows, 0, 8);
	k->account.ended_s = pg_int(rows, 0, 9);
	set_principals(k, groups);
	set_impersonators(&k->account, impersonators, k->principals + principals);
	set_places(&k->account, words_of(rows, 7));
	if (verifier.p != NULL && password_is_verifier(verifier.p)) {
		k->account.verifier = memcpy(text + name.n + 1, verifier.p, verifier.n);
		k->account.verifier_id = hash(as, verifier.p, verifier.n) | 1;
	} else if (verifier.p != NULL) {
		log_warning(
			0,
			"account %llu: its password cannot be verified: no argon2id of a sane cost",
			(unsigned long long)k->account.id);
	}
	return k;
}

/* ---- reading ---- */

static void end_load(struct load *l, int err, const struct account *a)
{
	struct waiter *w;

	LIST_REMOVE(l, next);
	while ((w = STAILQ_FIRST(&l->waiters)) != NULL) {
		STAILQ_REMOVE_HEAD(&l->waiters, next);
		w->cb(w->arg, err, a);
		free(w);
	}
	free(l);
}

static void on_account(void *arg, int err, const struct pg_rows *rows)
{
	struct load     *l = arg;
	struct accounts *as = l->accounts;
	struct kept     *k;
	bool             is_kept;

	if (err != BW_OK) {
		end_load(l, err, NULL);
		return;
	}
	k = account_of(as, (struct bw_str){ l->name, l->n_name }, rows);
	is_kept = l->news == as->news && clock_boot_us() < as->trusted_until_us;
	if (is_kept)
		keep(as, k);
	end_load(l, BW_OK, &k->account);
	if (!is_kept)
		kept_free(k);
}

/* A read of that name whose answer is as good as one that begins now, or NULL. */
static struct load *find_load(struct accounts *as, struct load_bucket *bucket, struct bw_str name)
{
	struct load *l;

	if (clock_boot_us() >= as->trusted_until_us)
		return NULL;
	LIST_FOREACH (l, bucket, next)
		if (l->news == as->news && l->n_name == name.n &&
		    memcmp(l->name, name.p, name.n) == 0)
			return l;
	return NULL;
}

static int start_load(struct accounts *as, struct load_bucket *bucket, struct bw_str name,
                      struct load **ret)
{
	struct load    *l = xcalloc(1, sizeof(*l) + name.n + 1);
	struct pg_param param = { l->name };
	int             err;

	STAILQ_INIT(&l->waiters);
	l->accounts = as;
	l->news = as->news;
	l->n_name = name.n;
	memcpy(l->name, name.p, name.n);
	err = pg_query(as->pg, QUERY_ACCOUNT, &param, on_account, l);
	if (err != BW_OK) {
		free(l);
		return err;
	}
	LIST_INSERT_HEAD(bucket, l, next);
	*ret = l;
	return BW_OK;
}

int accounts_fetch(struct accounts *as, struct bw_str name, account_cb cb, void *arg)
{
	struct load_bucket *bucket = &as->loads[hash(as, name.p, name.n) % LOAD_BUCKETS];
	struct load        *l = find_load(as, bucket, name);
	struct waiter      *w;
	int                 err;

	if (l == NULL && (err = start_load(as, bucket, name, &l)) != BW_OK)
		return err;
	w = xmalloc(sizeof(*w));
	w->cb = cb;
	w->arg = arg;
	STAILQ_INSERT_TAIL(&l->waiters, w, next);
	return BW_OK;
}

static void on_replaced(void *arg, int err, const struct pg_rows *rows)
{
	(void)arg;
	(void)rows;
	if (err != BW_OK)
		log_info(0, "a password verifier of another cost stays for now: %s",
		         wire_err_text(err));
}

void accounts_replace_verifier(struct accounts *as, uint64_t id, const char *old, const char *new)
{
	char            number[24];
	struct pg_param params[3] = { { number }, { old }, { new } };
	int             err;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	err = pg_query(as->pg, QUERY_VERIFIER_REPLACE, params, on_replaced, as);
	if (err != BW_OK)
		on_replaced(as, err, NULL);
}

static void on_place_seen(void *arg, int err, const struct pg_rows *rows)
{
	(void)arg;
	(void)rows;
	if (err != BW_OK)
		log_info(0, "where an account was logged into from is not remembered: %s",
		         wire_err_text(err));
}

void accounts_place_seen(struct accounts *as, uint64_t id, const struct place *place)
{
	char            number[24], hex[PLACE_HEX];
	struct pg_param params[2] = { { number }, { place_hex(place, hex) } };
	int             err;

	snprintf(number, sizeof(number), "%llu", (unsigned long long)id);
	err = pg_query(as->pg, QUERY_PLACE_SEEN, params, on_place_seen, as);
	if (err != BW_OK)
		on_place_seen(as, err, NULL);
}

struct pg *accounts_pg(struct accounts *as)
{
	return as->pg;
}

static void on_pg_up(struct pg *pg)
{
	struct accounts *as = pg_owner(pg);

	if (as->on_up != NULL)
		as->on_up(as->arg);
}

struct accounts *accounts_new(struct ev_loop *loop, const char *conninfo, void (*on_up)(void *arg),
                              void *arg)
{
	static const struct pg_ops ops = { .on_up = on_pg_up };
	struct accounts           *as = xcalloc(1, sizeof(*as));

	as->on_up = on_up;
	as->arg = arg;
	TAILQ_INIT(&as->present);
	TAILQ_INIT(&as->absent);
	crypto_shorthash_keygen(as->hash_key);
	as->pg = pg_new(loop, conninfo, statements, N_STATEMENTS, NULL, READ_MS, READ_QUEUE, &ops,
	                as);
	pg_require_schema(as->pg);
	return as;
}

void accounts_free(struct accounts *as)
{
	if (as == NULL)
		return;
	pg_free(as->pg);
	accounts_drop_all(as);
	free(as);
}
