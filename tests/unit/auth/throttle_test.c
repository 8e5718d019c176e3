/* Under test: auth/throttle.c and place.c, the clock being a number. Five failures are free, then each
 * doubles the wait; nobody shuts an owner out; a full table loses the least; nothing outlives its time. */
#include <criterion/criterion.h>
#include "auth/throttle.c"

#define S        ((uint64_t)1000000)
#define MINUTE_S ((uint64_t)60 * S)

static struct throttle *t;
static uint64_t         now = 1000 * S;

/* What on_lock was told last. */
static struct {
	unsigned n, failures, wait_s;
	char     user[32];
} lock;

static void on_lock(void *arg, struct bw_str user, unsigned failures, unsigned wait_s)
{
	(void)arg;
	lock.n++;
	lock.failures = failures;
	lock.wait_s = wait_s;
	snprintf(lock.user, sizeof(lock.user), "%.*s", (int)user.n, user.p);
}

static void set_up(void)
{
	static const struct throttle_limits limits = { 5, 20, 900, 1, 900 };

	cr_assert_geq(sodium_init(), 0);
	t = throttle_new(&limits, on_lock, NULL);
}

static void tear_down(void)
{
	throttle_free(t);
}

TestSuite(throttle, .init = set_up, .fini = tear_down);

static struct throttle_who from(const char *user, const char *address)
{
	struct throttle_who who = { .user = bw_str(user) };
	unsigned            a, b, c, d;

	if (sscanf(address, "%u.%u.%u.%u", &a, &b, &c, &d) == 4)
		who.place = (struct place){ 4, { (uint8_t)a, (uint8_t)b, (uint8_t)c, (uint8_t)d } };
	return who;
}

static unsigned attempt(struct throttle_who who, enum throttle_outcome outcome)
{
	unsigned wait = throttle_begin(t, &who, now);

	if (wait == 0)
		throttle_end(t, &who, outcome, now);
	return wait;
}

static void fail(struct throttle_who who, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		cr_assert_eq(attempt(who, THROTTLE_WRONG), 0, "number %u is free", i);
}

Test(throttle, five_are_free_then_the_wait_doubles)
{
	static const unsigned waits[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900 };

	fail(from("ada", ""), 4);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		struct throttle_who ada = from("ada", "");

		cr_assert_eq(throttle_begin(t, &ada, now), 0, "failure %zu is tested", i + 5);
		cr_assert_eq(throttle_end(t, &ada, THROTTLE_WRONG, now), waits[i]);
		cr_assert_eq(attempt(ada, THROTTLE_RIGHT), waits[i], "not even the right one");
		now += waits[i] * S - 1;
		cr_assert_eq(attempt(ada, THROTTLE_RIGHT), 1, "the last second is a whole one");
		now += 1;
	}
}

Test(throttle, knocking_prolongs_nothing)
{
	fail(from("ada", ""), 5);
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(attempt(from("ada", ""), THROTTLE_WRONG), 1);
	now += S;
	cr_assert_eq(attempt(from("ada", ""), THROTTLE_RIGHT), 0);
}

Test(throttle, forgotten_after_fifteen_quiet_minutes)
{
	fail(from("ada", ""), 4);
	now += 15 * MINUTE_S;
	fail(from("ada", ""), 4);
	now += 15 * MINUTE_S - 1;
	fail(from("ada", ""), 1);
	cr_assert_eq(attempt(from("ada", ""), THROTTLE_RIGHT), 1, "a moment earlier it is not");
}

/* The quiet time begins when the delay is over. */
Test(throttle, a_long_delay_is_not_forgotten_in_it)
{
	fail(from("ada", ""), 4);
	for (unsigned i = 0; i < 12; i++) {
		fail(from("ada", ""), 1);
		now += 900 * S;
	}
	now += 899 * S;
	fail(from("ada", ""), 1);
	cr_assert_eq(attempt(from("ada", ""), THROTTLE_WRONG), 900);
	now += 1800 * S;
	fail(from("ada", ""), 5);
	cr_assert_eq(attempt(from("ada", ""), THROTTLE_WRONG), 1, "it begins anew");
}

Test(throttle, success_resets_the_account_and_not_the_address)
{
	for (unsigned i = 0; i < 4; i++) {
		fail(from("ada", "192.0.2.1"), 4);
		cr_assert_eq(attempt(from("ada", "192.0.2.1"), THROTTLE_RIGHT), 0);
	}
	fail(from("ada", "192.0.2.1"), 4); /* 20 of that address */
	cr_assert_eq(attempt(from("ada", "192.0.2.1"), THROTTLE_RIGHT), 1);
	cr_assert_eq(attempt(from("bob", "192.0.2.1"), THROTTLE_RIGHT), 1, "whoever it is");
	cr_assert_eq(attempt(from("ada", "192.0.2.2"), THROTTLE_RIGHT), 0);
}

Test(throttle, an_account_from_many_addresses)
{
	char address[32];

	for (unsigned i = 0; i < 5; i++) {
		snprintf(address, sizeof(address), "192.0.2.%u", i);
		fail(from("ada", address), 1);
	}
	cr_assert_eq(attempt(from("ada", "192.0.2.99"), THROTTLE_RIGHT), 1);
	cr_assert_eq(attempt(from("Ada", "192.0.2.99"), THROTTLE_RIGHT), 0, "another account");
}

Test(throttle, addresses_are_counted_by_their_64)
{
	uint8_t             a[16] = { 0x20, 1, 0xd, 0xb8, 0, 0, 0, 1 };
	struct throttle_who who = { .user = BW_STR("u0") };
	char                user[8];

	for (unsigned i = 0; i < 20; i++) {
		a[15] = (uint8_t)i;
		a[8] = (uint8_t)(i * 7);
		snprintf(user, sizeof(user), "u%u", i);
		who.user = bw_str(user);
		who.place = place_of((struct bw_str){ (char *)a, 16 });
		cr_assert_eq(attempt(who, THROTTLE_WRONG), 0);
	}
	who.user = BW_STR("ada");
	cr_assert_eq(attempt(who, THROTTLE_RIGHT), 1);
	a[7] = 2;
	who.place = place_of((struct bw_str){ (char *)a, 16 });
	cr_assert_eq(attempt(who, THROTTLE_RIGHT), 0, "the next network is another");
}

Test(throttle, an_address_nobody_knows_is_none)
{
	char user[8];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(user, sizeof(user), "u%u", i);
		cr_assert_eq(attempt(from(user, ""), THROTTLE_WRONG), 0);
	}
}

/* The attack: strangers keep the account's delay at its longest, from the owner's own network too. */
Test(throttle, an_owner_is_not_shut_out)
{
	struct throttle_who owner = from("ada", "192.0.2.1");

	owner.is_known = true;
	fail(from("ada", "198.51.100.1"), 5);
	for (unsigned i = 0; i < 20; i++) {
		char user[8];

		snprintf(user, sizeof(user), "u%u", i);
		fail(from(user, "192.0.2.1"), 1);
	}
	cr_assert_eq(attempt(from("ada", "203.0.113.1"), THROTTLE_RIGHT), 1);
	cr_assert_eq(attempt(owner, THROTTLE_RIGHT), 0);
	cr_assert_eq(attempt(from("ada", "203.0.113.1"), THROTTLE_RIGHT), 1,
	             "and that gives the strangers no new guesses");
}

Test(throttle, a_known_place_has_its_own_count)
{
	struct throttle_who owner = from("ada", "192.0.2.1");

	owner.is_known = true;
	fail(owner, 5);
	cr_assert_eq(attempt(owner, THROTTLE_RIGHT), 1);
	cr_assert_eq(attempt(from("ada", "203.0.113.1"), THROTTLE_RIGHT), 1,
	             "and counts for the account");
	now += S;
	cr_assert_eq(attempt(owner, THROTTLE_RIGHT), 0);
	fail(owner, 4);
	cr_assert_eq(attempt(owner, THROTTLE_RIGHT), 0, "a success resets it");
}

Test(throttle, tests_under_way_count_for_the_account)
{
	struct throttle_who ada = from("ada", "192.0.2.1");

	for (unsigned i = 0; i < 5; i++)
		cr_assert_eq(throttle_begin(t, &ada, now), 0);
	cr_assert_eq(throttle_begin(t, &ada, now), 1);
	throttle_end(t, &ada, THROTTLE_UNDECIDED, now);
	cr_assert_eq(throttle_begin(t, &ada, now), 0, "one was not tested after all");
	for (unsigned i = 0; i < 5; i++)
		throttle_end(t, &ada, THROTTLE_WRONG, now);
	now += S;
	cr_assert_eq(throttle_begin(t, &ada, now), 0);
	cr_assert_eq(throttle_begin(t, &ada, now), 1, "beyond the free ones it is one at a time");
	throttle_end(t, &ada, THROTTLE_RIGHT, now);
	cr_assert_eq(attempt(ada, THROTTLE_RIGHT), 0);
}

/* What was under way when the delay began does not make it longer. */
Test(throttle, late_failures_add_no_delay)
{
	struct throttle_who ada = from("ada", "");

	for (unsigned i = 0; i < 5; i++)
		throttle_begin(t, &ada, now);
	for (unsigned i = 0; i < 5; i++)
		throttle_end(t, &ada, THROTTLE_WRONG, now);
	cr_assert_eq(lock.n, 1);
	cr_assert_eq(attempt(ada, THROTTLE_WRONG), 1);
}

Test(throttle, bad_tokens_count_for_the_address)
{
	struct place place = from("", "192.0.2.1").place;

	for (unsigned i = 0; i < 20; i++) {
		cr_assert_eq(throttle_place_wait(t, &place, now), 0);
		throttle_place_failed(t, &place, now);
	}
	cr_assert_eq(throttle_place_wait(t, &place, now), 1);
	cr_assert_eq(attempt(from("ada", "192.0.2.1"), THROTTLE_RIGHT), 1);
}

Test(throttle, delays_are_told_and_restored)
{
	fail(from("ada", ""), 4);
	cr_assert_eq(lock.n, 0);
	fail(from("ada", ""), 1);
	cr_assert(lock.n == 1 && lock.failures == 5 && lock.wait_s == 1);
	cr_assert_str_eq(lock.user, "ada");
	now += S;
	attempt(from("ada", ""), THROTTLE_RIGHT);
	cr_assert(lock.n == 2 && lock.failures == 0, "a success ends it");
	attempt(from("ada", ""), THROTTLE_RIGHT);
	cr_assert_eq(lock.n, 2, "once");

	throttle_restore(t, BW_STR("bob"), 9, 16, now);
	cr_assert_eq(attempt(from("bob", ""), THROTTLE_RIGHT), 16);
	now += 16 * S;
	fail(from("bob", ""), 1);
	cr_assert_eq(lock.wait_s, 32, "it goes on where it was");
	throttle_restore(t, BW_STR("cyd"), 6, -100, now);
	fail(from("cyd", ""), 1);
	cr_assert_eq(lock.wait_s, 4);
	throttle_restore(t, BW_STR("dan"), 6, 1000000, now);
	cr_assert_eq(attempt(from("dan", ""), THROTTLE_RIGHT), 900, "never above the longest");
}

/* Names by the hundred thousand, one failure each, do not push out a name that has to wait. */
Test(throttle, a_flood_of_names_pushes_nobody_out)
{
	char user[32];

	fail(from("ada", ""), 4);
	for (unsigned i = 0; i < 12; i++) {
		fail(from("ada", ""), 1);
		now += 900 * S;
	}
	fail(from("ada", ""), 1);
	for (unsigned i = 0; i < 300000; i++) {
		snprintf(user, sizeof(user), "name-%u", i);
		attempt(from(user, ""), THROTTLE_WRONG);
	}
	cr_assert_eq(attempt(from("ada", ""), THROTTLE_RIGHT), 900);
}

Test(throttle, can_be_switched_off)
{
	static const struct throttle_limits none = { 0 };

	throttle_free(t);
	t = throttle_new(&none, NULL, NULL);
	fail(from("ada", "192.0.2.1"), 100);
}

Test(place, of_an_address)
{
	static const struct {
		const char *octets;
		size_t      n;
		const char *text, *hex;
	} rows[] = {
		{ "\xc0\x00\x02\x01", 4, "192.0.2.1", "c0000201" },
		{ "\x20\x01\x0d\xb8\0\0\0\1\2\3\4\5\6\7\x8\x9", 16, "2001:db8:0:1::/64",
		  "20010db800000001" },
		{ "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\x00\x02\x01", 16, "192.0.2.1", "c0000201" },
		{ "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16, "::/64", "0000000000000000" },
		{ "", 0, "", "" },
		{ "\1\2\3", 3, "", "" },
		{ "\1\2\3\4\5\6\7\x8", 8, "", "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct place p = place_of((struct bw_str){ rows[i].octets, rows[i].n }), back;
		char         text[PLACE_TEXT], hex[PLACE_HEX];

		cr_assert_str_eq(place_text(&p, text), rows[i].text, "row %zu", i);
		cr_assert_str_eq(place_hex(&p, hex), rows[i].hex, "row %zu", i);
		back = place_of_hex(bw_str(hex));
		cr_assert_eq(is_same_place(&p, &back), p.n > 0, "row %zu", i);
	}
	cr_assert_eq(place_of_hex(BW_STR("c000020g")).n, 0);
	cr_assert_eq(place_of_hex(BW_STR("c0000")).n, 0);
}
