/* Under test: auth/remember.c. Verified credentials are known again for as long as they are good, and
 * in bounded memory. */
#include <criterion/criterion.h>
#include "auth/remember.c"

#define SECOND 1000000u

static struct remember *r;

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	r = remember_new(300);
}

static void tear_down(void)
{
	remember_free(r);
}

TestSuite(remember, .init = set_up, .fini = tear_down);

static void key_of(const char *user, const char *password, uint8_t *key)
{
	remember_key(r, bw_str(user), bw_str(password), key);
}

Test(remember, key)
{
	struct remember *other = remember_new(300);
	uint8_t          a[REMEMBER_KEY], b[REMEMBER_KEY];

	key_of("admin", "secret", a);
	key_of("admin", "secret", b);
	cr_assert_arr_eq(a, b, REMEMBER_KEY);
	key_of("admin", "Secret", b);
	cr_assert_arr_neq(a, b, REMEMBER_KEY);
	key_of("admins", "ecret", b);
	cr_assert_arr_neq(a, b, REMEMBER_KEY, "the border between name and password counts");
	remember_key(other, bw_str("admin"), bw_str("secret"), b);
	cr_assert_arr_neq(a, b, REMEMBER_KEY, "each process has its own");
	remember_free(other);
}

Test(remember, until_the_time_is_over)
{
	uint8_t key[REMEMBER_KEY];

	key_of("admin", "secret", key);
	cr_assert_not(remember_find(r, key, 1, 77, 5 * SECOND));
	remember_put(r, key, 1, 77, 5 * SECOND);
	cr_assert(remember_find(r, key, 1, 77, 5 * SECOND));
	cr_assert(remember_find(r, key, 1, 77, 305 * SECOND - 1));
	cr_assert_not(remember_find(r, key, 1, 77, 305 * SECOND));
	cr_assert_not(remember_find(r, key, 1, 77, 5 * SECOND),
	              "it was forgotten when it was over");
}

Test(remember, another_verifier_or_account_forgets)
{
	uint8_t key[REMEMBER_KEY];

	key_of("admin", "secret", key);
	remember_put(r, key, 1, 77, 0);
	cr_assert_not(remember_find(r, key, 1, 78, 1), "the password was changed");
	cr_assert_not(remember_find(r, key, 1, 77, 1), "and changing it back does not help");
	remember_put(r, key, 1, 77, 0);
	cr_assert_not(remember_find(r, key, 2, 77, 1), "another account of the same name");
	remember_put(r, key, 1, 78, 0);
	remember_put(r, key, 1, 79, 0);
	cr_assert(remember_find(r, key, 1, 79, 1), "the later one replaces");
}

Test(remember, a_full_set_loses_the_one_that_ends_first)
{
	uint8_t key[REMEMBER_KEY] = { 9, 3 };

	for (unsigned i = 0; i <= WAYS; i++) {
		key[31] = (uint8_t)i;
		remember_put(r, key, 1, 77, (1 + (i + 5) % WAYS) * SECOND + i);
	}
	/* Number 3 was put with the earliest time. */
	for (unsigned i = 0; i <= WAYS; i++) {
		key[31] = (uint8_t)i;
		cr_assert_eq(remember_find(r, key, 1, 77, 20 * SECOND), i != 3, "number %u", i);
	}
}

Test(remember, ended_ones_make_room_first)
{
	uint8_t key[REMEMBER_KEY] = { 9, 3 };

	for (unsigned i = 0; i < WAYS; i++) {
		key[31] = (uint8_t)i;
		remember_put(r, key, 1, 77, i == 6 ? 0 : 200 * SECOND);
	}
	key[31] = 100;
	remember_put(r, key, 1, 77, 301 * SECOND);
	for (unsigned i = 0; i < WAYS; i++) {
		key[31] = (uint8_t)i;
		cr_assert_eq(remember_find(r, key, 1, 77, 301 * SECOND), i != 6, "number %u", i);
	}
}

/* 200,000 logins stay inside of 65,536 entries; the newest are there. */
Test(remember, bounded)
{
	char     password[16];
	uint8_t  key[REMEMBER_KEY];
	unsigned found = 0;

	for (unsigned i = 0; i < 200000; i++) {
		snprintf(password, sizeof(password), "%u", i);
		key_of("u", password, key);
		remember_put(r, key, 1, 77, i);
	}
	cr_assert(remember_find(r, key, 1, 77, 200000));
	for (unsigned i = 0; i < 200000; i++) {
		snprintf(password, sizeof(password), "%u", i);
		key_of("u", password, key);
		found += remember_find(r, key, 1, 77, 200000);
	}
	cr_assert_leq(found, SETS * WAYS);
	cr_assert_geq(found, SETS * WAYS * 9 / 10);
}

Test(remember, off)
{
	struct remember *none = remember_new(0);
	uint8_t          key[REMEMBER_KEY];

	remember_key(none, bw_str("admin"), bw_str("secret"), key);
	remember_put(none, key, 1, 77, 5);
	cr_assert_not(remember_find(none, key, 1, 77, 5));
	remember_free(none);
}
