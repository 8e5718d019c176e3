/* Under test: auth/checked.c. What was checked is found until its second is over or an epoch begins; a
 * full set loses what would end first. */
#include <criterion/criterion.h>
#include "auth/checked.c"

static struct checked *c;
static uint8_t         key[CHECKED_KEY];

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	c = checked_new();
}

static void tear_down(void)
{
	checked_free(c);
	checked_free(NULL);
}

TestSuite(checked, .init = set_up, .fini = tear_down);

static void put(const uint8_t *of, uint64_t account, int64_t until_s, uint64_t epoch)
{
	checked_put(c, of, &(struct checked_entry){ account, 2, 3, until_s }, epoch, 100);
}

Test(checked, is_found_until_its_second_is_over)
{
	checked_key(c, BW_STR("a.b.c"), key);
	cr_assert_null(checked_find(c, key, 100));
	put(key, 7, 200, 1);
	cr_assert_eq(checked_find(c, key, 200)->account, 7);
	cr_assert_null(checked_find(c, key, 201));
	put(key, 8, 300, 1);
	cr_assert_eq(checked_find(c, key, 201)->account, 8, "it has one place");
	checked_key(c, BW_STR("a.b.d"), key);
	cr_assert_null(checked_find(c, key, 100));
}

Test(checked, epochs)
{
	checked_key(c, BW_STR("a.b.c"), key);
	put(key, 7, 200, checked_epoch(c));
	checked_forget(c);
	cr_assert_null(checked_find(c, key, 100));
	put(key, 7, 200, checked_epoch(c) - 1);
	cr_assert_null(checked_find(c, key, 100), "its check began before");
	put(key, 7, 200, checked_epoch(c));
	cr_assert_not_null(checked_find(c, key, 100));
}

Test(checked, a_full_set_loses_what_ends_first)
{
	uint8_t keys[WAYS + 1][CHECKED_KEY] = { { 0 } }; /* all of one set */

	for (unsigned i = 0; i <= WAYS; i++)
		keys[i][CHECKED_KEY - 1] = (uint8_t)(i + 1);
	for (unsigned i = 0; i < WAYS; i++)
		put(keys[i], i + 1, i == 3 ? 150 : 200, 1);
	put(keys[WAYS], 99, 170, 1);
	cr_assert_null(checked_find(c, keys[3], 100));
	for (unsigned i = 0; i <= WAYS; i++)
		cr_assert(i == 3 || checked_find(c, keys[i], 100) != NULL, "way %u", i);
}
