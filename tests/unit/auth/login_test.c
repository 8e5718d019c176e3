/* Under test: auth/login.c, between fake accounts and a fake pool, so that every order of events can
 * be made. Equal logins are verified once; who does not exist costs what a wrong password costs; a
 * verification counts only for the verifier that the account has when it ends. */
#include <criterion/criterion.h>
#include "auth/login.c"

/* ---- the fakes ---- */

static struct account account = {
	.name = { "reader", 6 },
	.id = 101,
	.verifier = "$one",
	.verifier_id = 1,
};
static bool        is_cached = true;
static int         fetch_error;
static unsigned    n_fetched, n_verified, n_replaced, n_hashed;
static int         verify_error;
static bool        is_outdated;
static account_cb  fetch_cb;
static password_cb verify_cb, hash_cb;
static void       *fetch_arg, *verify_arg, *hash_arg;
static char        verified_against[32]; /* "": the dummy */
static char        replaced[256];

const struct account *accounts_find(struct accounts *as, struct bw_str name, uint64_t now_us)
{
	(void)as;
	(void)now_us;
	return is_cached && bw_str_eq(name, account.name) ? &account : NULL;
}

int accounts_fetch(struct accounts *as, struct bw_str name, account_cb cb, void *arg)
{
	(void)as;
	(void)name;
	n_fetched++;
	fetch_cb = cb;
	fetch_arg = arg;
	return fetch_error;
}

void accounts_replace_verifier(struct accounts *as, uint64_t id, const char *old, const char *new)
{
	(void)as;
	n_replaced++;
	snprintf(replaced, sizeof(replaced), "%d %s %s", (int)id, old, new);
}

int password_verify(struct password_pool *pool, const char *verifier, struct bw_str password,
                    password_cb cb, void *arg)
{
	(void)pool;
	cr_assert(bw_str_eq(password, BW_STR("secret")));
	if (verify_error != BW_OK)
		return verify_error;
	n_verified++;
	snprintf(verified_against, sizeof(verified_against), "%s",
	         verifier != NULL ? verifier : "");
	verify_cb = cb;
	verify_arg = arg;
	return BW_OK;
}

int password_hash(struct password_pool *pool, struct bw_str password, password_cb cb, void *arg)
{
	(void)pool;
	cr_assert(bw_str_eq(password, BW_STR("secret")));
	n_hashed++;
	hash_cb = cb;
	hash_arg = arg;
	return BW_OK;
}

bool password_is_outdated(const struct password_pool *pool, const char *verifier)
{
	(void)pool;
	(void)verifier;
	return is_outdated;
}

/* ---- driving ---- */

struct outcome {
	unsigned n;
	int      err;
	uint64_t id;
	char     why[64];
};

static struct logins   *ls;
static struct remember *mem;

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	mem = remember_new(300);
	ls = logins_new(NULL, mem, NULL);
}

static void tear_down(void)
{
	logins_free(ls);
	remember_free(mem);
}

TestSuite(login, .init = set_up, .fini = tear_down);

static void on_end(void *arg, const struct login_result *result)
{
	struct outcome *o = arg;

	o->n++;
	o->err = result->err;
	o->id = result->account != NULL ? result->account->id : 0;
	snprintf(o->why, sizeof(o->why), "%s", result->why);
	cr_assert(bw_str_eq(result->user, account.name));
}

static const struct account *start(struct outcome *o)
{
	uint8_t               key[REMEMBER_KEY];
	const struct account *a;

	remember_key(mem, account.name, BW_STR("secret"), key);
	a = logins_remembered(ls, account.name, key, clock_boot_us());
	if (a == NULL)
		logins_check(ls, account.name, BW_STR("secret"), key, on_end, o);
	return a;
}

static void end_verification(bool ok)
{
	verify_cb(verify_arg, ok, NULL);
}

Test(login, verified_once_then_remembered)
{
	struct outcome o = { 0 };

	cr_assert_null(start(&o));
	cr_assert_eq(logins_in_flight(ls), 1);
	cr_assert_str_eq(verified_against, "$one");
	end_verification(true);
	cr_assert_eq(o.n, 1);
	cr_assert_eq(o.err, BW_OK);
	cr_assert_eq(o.id, 101);
	cr_assert_eq(logins_in_flight(ls), 0);
	cr_assert_eq(start(&o), &account, "no waiting any more");
	cr_assert_eq(n_verified, 1);
	cr_assert_eq(n_hashed, 0);
}

Test(login, equal_ones_share_a_verification)
{
	struct outcome o[50] = { 0 };

	for (unsigned i = 0; i < 50; i++)
		start(&o[i]);
	cr_assert_eq(n_verified, 1);
	cr_assert_eq(logins_in_flight(ls), 1);
	end_verification(true);
	for (unsigned i = 0; i < 50; i++)
		cr_assert(o[i].n == 1 && o[i].err == BW_OK);
}

Test(login, failures_are_shared_and_not_remembered)
{
	struct outcome o[3] = { 0 };

	start(&o[0]);
	start(&o[1]);
	end_verification(false);
	cr_assert(o[0].n == 1 && o[0].err == BW_ELOGIN && o[1].n == 1 && o[1].err == BW_ELOGIN);
	cr_assert_null(start(&o[2]));
	cr_assert_eq(n_verified, 2);
	end_verification(false);
	cr_assert(o[2].n == 1 && o[2].err == BW_ELOGIN);
}

/* Unknown, disabled, not a user, without a password: each verifies the dummy and ends in the very
 * answer of a wrong password. */
Test(login, nobody_costs_as_much_as_a_wrong_password)
{
	struct outcome       wrong = { 0 };
	const struct account nobody[] = {
		{ .name = account.name, .id = 0 },
		{ .name = account.name,
		  .id = 101,
		  .disabled = true,
		  .verifier = "$one",
		  .verifier_id = 1 },
		{ .name = account.name,
		  .id = 101,
		  .class = ACCOUNT_SERVICE,
		  .verifier = "$one",
		  .verifier_id = 1 },
		{ .name = account.name,
		  .id = 101,
		  .class = ACCOUNT_GROUP,
		  .verifier = "$one",
		  .verifier_id = 1 },
		{ .name = account.name, .id = 101 },
	};

	start(&wrong);
	end_verification(false);
	for (size_t i = 0; i < sizeof(nobody) / sizeof(nobody[0]); i++) {
		struct outcome o = { 0 };
		unsigned       before = n_verified;

		account = nobody[i];
		start(&o);
		cr_assert_eq(n_verified, before + 1, "row %zu", i);
		cr_assert_str_eq(verified_against, "", "row %zu", i);
		end_verification(false);
		cr_assert_eq(o.n, 1);
		cr_assert_eq(o.err, wrong.err);
		cr_assert_str_eq(o.why, wrong.why);
	}
}

Test(login, remembered_but_disabled_meanwhile)
{
	struct outcome o = { 0 };

	start(&o);
	end_verification(true);
	account.disabled = true;
	cr_assert_null(start(&o));
	cr_assert_str_eq(verified_against, "");
	end_verification(false);
	cr_assert_eq(o.err, BW_ELOGIN);
}

Test(login, old_password_after_a_change)
{
	struct outcome o = { 0 };

	start(&o);
	end_verification(true);
	account.verifier = "$two";
	account.verifier_id = 2;
	cr_assert_null(start(&o));
	cr_assert_str_eq(verified_against, "$two");
	end_verification(false);
	cr_assert_eq(o.err, BW_ELOGIN);
}

/* The verifier changes while it is being verified: what was right for the old one does not count. */
Test(login, changed_while_verifying)
{
	struct outcome o = { 0 };

	start(&o);
	account.verifier = "$two";
	account.verifier_id = 2;
	end_verification(true);
	cr_assert_eq(o.n, 0);
	cr_assert_str_eq(verified_against, "$two");
	end_verification(false);
	cr_assert(o.n == 1 && o.err == BW_ELOGIN);
}

Test(login, disabled_while_verifying)
{
	struct outcome o = { 0 };

	start(&o);
	account.disabled = true;
	end_verification(true);
	cr_assert_str_eq(verified_against, "");
	end_verification(false);
	cr_assert(o.n == 1 && o.err == BW_ELOGIN);
}

Test(login, an_account_that_never_rests)
{
	struct outcome o = { 0 };

	start(&o);
	while (o.n == 0) {
		account.verifier_id++;
		end_verification(true);
	}
	cr_assert_eq(o.err, BW_EBUSY);
	cr_assert_eq(n_verified, MAX_TRIES);
}

Test(login, account_is_read_first_and_again)
{
	struct outcome o = { 0 };

	is_cached = false;
	start(&o);
	cr_assert(n_fetched == 1 && n_verified == 0);
	fetch_cb(fetch_arg, BW_OK, &account);
	cr_assert_eq(n_verified, 1);
	end_verification(true);
	cr_assert(n_fetched == 2 && o.n == 0);
	fetch_cb(fetch_arg, BW_OK, &account);
	cr_assert(o.n == 1 && o.err == BW_OK && o.id == 101);
	/* With memory bypassed, what is remembered saves the argon2 and not the read. */
	cr_assert_null(start(&o));
	cr_assert_eq(n_fetched, 3);
	fetch_cb(fetch_arg, BW_OK, &account);
	cr_assert(o.n == 2 && o.err == BW_OK);
	cr_assert_eq(n_verified, 1);
}

Test(login, database_is_away)
{
	struct outcome o = { 0 };

	is_cached = false;
	fetch_error = BW_EGONE;
	start(&o);
	cr_assert(o.n == 1 && o.err == BW_EGONE, "at once");
	fetch_error = BW_OK;
	start(&o);
	fetch_cb(fetch_arg, BW_ETIME, NULL);
	cr_assert(o.n == 2 && o.err == BW_ETIME, "later");
	start(&o);
	fetch_cb(fetch_arg, BW_OK, &account);
	fetch_error = BW_EGONE;
	end_verification(true);
	cr_assert(o.n == 3 && o.err == BW_EGONE, "after the verification: not believed");
	cr_assert_eq(logins_in_flight(ls), 0);
}

Test(login, pool_is_full)
{
	struct outcome o = { 0 };

	verify_error = BW_EBUSY;
	start(&o);
	cr_assert(o.n == 1 && o.err == BW_EBUSY);
	account.id = 0;
	start(&o);
	cr_assert(o.n == 2 && o.err == BW_EBUSY, "the same for nobody");
}

Test(login, a_verifier_of_another_cost_is_replaced)
{
	struct outcome o = { 0 };

	is_outdated = true;
	start(&o);
	end_verification(true);
	cr_assert(o.n == 1 && o.err == BW_OK, "nobody waits for it");
	cr_assert_eq(n_hashed, 1);
	hash_cb(hash_arg, true, "$new");
	cr_assert_eq(n_replaced, 1);
	cr_assert_str_eq(replaced, "101 $one $new");
	cr_assert_not_null(start(&o));
	cr_assert_eq(n_hashed, 1, "remembered logins hash nothing");
}

Test(login, a_failed_one_replaces_nothing)
{
	struct outcome o = { 0 };

	is_outdated = true;
	start(&o);
	end_verification(false);
	cr_assert_eq(n_hashed, 0);
	start(&o);
	end_verification(true);
	hash_cb(hash_arg, false, NULL);
	cr_assert_eq(n_replaced, 0);
}
