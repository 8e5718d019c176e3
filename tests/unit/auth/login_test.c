/* Under test: auth/login.c, between fake accounts and a fake pool, so that every order of events can
 * be made; the throttle is the real one. Equal logins are verified once; who does not exist costs what a wrong password costs; a
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
static unsigned    n_places_seen;
static account_cb  fetch_cb;
static password_cb verify_cb, hash_cb;
static void       *fetch_arg, *verify_arg, *hash_arg;
static void       *verify_args[64];
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

void accounts_place_seen(struct accounts *as, uint64_t id, const struct place *place)
{
	(void)as;
	cr_assert_eq(id, account.id);
	cr_assert_eq(place->n, 4);
	n_places_seen++;
}

int password_verify(struct password_pool *pool, const char *verifier, struct bw_str password,
                    password_cb cb, void *arg)
{
	(void)pool;
	cr_assert(bw_str_eq(password, BW_STR("secret")) || password.n == 1);
	if (verify_error != BW_OK)
		return verify_error;
	verify_args[n_verified++ % 64] = arg;
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
	char     why[64], reason[32];
	unsigned wait_s;
	bool     was_verified;
};

static struct logins   *ls;
static struct remember *mem;
static struct throttle *throttle;
static struct place     home = { 4, { 192, 0, 2, 1 } }, elsewhere = { 4, { 192, 0, 2, 2 } };
static struct place    *whence = &home;

static void set_up(void)
{
	static const struct throttle_limits limits = { 5, 50, 900, 60, 900 };

	cr_assert_geq(sodium_init(), 0);
	mem = remember_new(300);
	throttle = throttle_new(&limits, NULL, NULL);
	ls = logins_new(NULL, mem, throttle, NULL);
}

static void tear_down(void)
{
	logins_free(ls);
	throttle_free(throttle);
	remember_free(mem);
}

TestSuite(login, .init = set_up, .fini = tear_down);

static void on_end(void *arg, const struct login_result *result)
{
	struct outcome *o = arg;

	o->n++;
	o->err = result->err;
	o->id = result->account != NULL ? result->account->id : 0;
	o->wait_s = result->wait_s;
	o->was_verified = result->was_verified;
	snprintf(o->why, sizeof(o->why), "%s", result->why);
	snprintf(o->reason, sizeof(o->reason), "%s", result->reason != NULL ? result->reason : "");
	cr_assert(bw_str_eq(result->user, account.name));
}

static const struct account *start_with(struct outcome *o, const char *password)
{
	uint8_t               key[REMEMBER_KEY];
	const struct account *a;

	remember_key(mem, account.name, bw_str(password), key);
	a = logins_remembered(ls, account.name, key, clock_boot_us());
	if (a == NULL)
		logins_check(ls, account.name, bw_str(password), key, whence, on_end, o);
	return a;
}

static const struct account *start(struct outcome *o)
{
	return start_with(o, "secret");
}

static void end_verification(bool ok)
{
	verify_cb(verify_arg, ok, NULL);
}

static void end_all_verifications(bool ok)
{
	for (unsigned i = 0; i < n_verified; i++)
		verify_cb(verify_args[i], ok, NULL);
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
	struct outcome           wrong = { 0 };
	static const char *const reasons[] = { "account_not_found", "account_locked", "not_a_user",
		                               "not_a_user", "no_password" };
	const struct account     nobody[] = {
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

		/* Each from elsewhere, so that none is throttled. */
		account = nobody[i];
		account.name = (struct bw_str){ "reader" + i, 1 };
		start(&o);
		cr_assert_eq(n_verified, before + 1, "row %zu", i);
		cr_assert_str_eq(verified_against, "", "row %zu", i);
		end_verification(false);
		cr_assert_eq(o.n, 1);
		cr_assert_eq(o.err, wrong.err);
		cr_assert_str_eq(o.why, wrong.why);
		cr_assert_str_eq(o.reason, reasons[i]);
	}
	cr_assert_str_eq(wrong.reason, "wrong_password");
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

/* ---- too many of them ---- */

static void fail(unsigned n)
{
	static char password[2] = "a";

	for (unsigned i = 0; i < n; i++, password[0]++) {
		struct outcome o = { 0 };

		start_with(&o, password);
		cr_assert(o.n == 0, "it is tested");
		end_verification(false);
		cr_assert(o.n == 1 && o.err == BW_ELOGIN);
	}
}

/* Neither a wrong password is tested nor the right one; from wherever it comes. */
Test(login, the_sixth_is_not_tested)
{
	struct outcome o[3] = { 0 };

	fail(5);
	start_with(&o[0], "x");
	cr_assert(o[0].n == 1 && o[0].err == BW_ETHROTTLED);
	cr_assert(o[0].wait_s > 55 && o[0].wait_s <= 60, "%u", o[0].wait_s);
	start(&o[1]);
	cr_assert(o[1].n == 1 && o[1].err == BW_ETHROTTLED);
	whence = &elsewhere;
	start(&o[2]);
	cr_assert(o[2].n == 1 && o[2].err == BW_ETHROTTLED);
	cr_assert_eq(n_verified, 5);
}

Test(login, nobody_is_throttled_like_somebody)
{
	struct outcome o = { 0 };

	account = (struct account){ .name = account.name };
	fail(5);
	start(&o);
	cr_assert(o.n == 1 && o.err == BW_ETHROTTLED && o.wait_s > 55);
}

Test(login, remembered_ones_pass)
{
	struct outcome o = { 0 };

	start(&o);
	end_verification(true);
	fail(5);
	cr_assert_eq(start(&o), &account);
	/* Also when memory is bypassed and the account has to be read. */
	is_cached = false;
	start(&o);
	fetch_cb(fetch_arg, BW_OK, &account);
	cr_assert(o.n == 2 && o.err == BW_OK && !o.was_verified);
}

/* A hundred guesses that arrive together are five. */
Test(login, guesses_at_once_are_counted_before_they_are_wrong)
{
	struct outcome o[26] = { 0 };
	unsigned       n_throttled = 0;
	char           password[2] = "a";

	for (unsigned i = 0; i < 26; i++, password[0]++)
		start_with(&o[i], password);
	for (unsigned i = 0; i < 26; i++)
		n_throttled += o[i].n == 1 && o[i].err == BW_ETHROTTLED && o[i].wait_s == 1;
	cr_assert_eq(n_verified, 5);
	cr_assert_eq(n_throttled, 21);
	end_all_verifications(false);
}

/* Whose place it is has a count of his own, whatever others do to the account. */
Test(login, the_owner_gets_in_from_a_known_place)
{
	struct outcome o = { 0 };

	account.places[0] = home;
	account.n_places = 1;
	whence = &elsewhere;
	fail(5);
	start(&o);
	cr_assert(o.n == 1 && o.err == BW_ETHROTTLED);
	whence = &home;
	start(&o);
	cr_assert_eq(o.n, 1);
	end_verification(true);
	cr_assert(o.n == 2 && o.err == BW_OK);
}

Test(login, a_place_is_remembered_once)
{
	struct outcome o = { 0 };

	start(&o);
	end_verification(false);
	cr_assert_eq(n_places_seen, 0, "not for a wrong password");
	start(&o);
	end_verification(true);
	cr_assert(o.err == BW_OK && o.was_verified);
	cr_assert_eq(n_places_seen, 1);
	account.places[0] = home;
	account.n_places = 1;
	account.verifier_id = 2; /* so that it is verified again */
	start(&o);
	end_verification(true);
	cr_assert_eq(n_places_seen, 1);
}

/* One of those who waited has logged in, the others have used it. */
Test(login, is_a_login_once)
{
	struct outcome o[3] = { 0 };

	for (unsigned i = 0; i < 3; i++)
		start(&o[i]);
	end_verification(true);
	cr_assert_eq(o[0].was_verified + o[1].was_verified + o[2].was_verified, 1);
}

Test(login, busy_counts_for_nothing)
{
	struct outcome o = { 0 };

	verify_error = BW_EBUSY;
	for (unsigned i = 0; i < 20; i++)
		start(&o);
	cr_assert(o.n == 20 && o.err == BW_EBUSY);
	verify_error = BW_OK;
	start(&o);
	end_verification(true);
	cr_assert_eq(o.err, BW_OK);
}
