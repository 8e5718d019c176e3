/* Under test: cli/keys.c, what becomes of the lines. (The command: tests/system/keys_test.c.) */
#include "key.h"

#include <criterion/criterion.h>
#include <sodium.h>
#include <string.h>

#define NOW 1000

static struct key_line lines[KEY_LINES];

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	memset(lines, 0, sizeof(lines));
	lines[0].id = 7;
	memset(lines[0].key, 7, sizeof(lines[0].key));
}

TestSuite(keys, .init = set_up);

Test(keys, a_new_one_stands_first)
{
	cr_assert_eq(key_lines_rotate(lines, 1, 2, NOW, NOW + 120), 2);
	cr_assert(lines[0].id == 8 && lines[0].until == 0);
	cr_assert(lines[1].id == 7 && lines[1].until == NOW + 120 && lines[1].key[0] == 7);
	cr_assert(memcmp(lines[0].key, lines[1].key, sizeof(lines[0].key)) != 0);
}

Test(keys, old_ones_go_when_their_time_is_over)
{
	cr_assert_eq(key_lines_rotate(lines, 1, 2, NOW, NOW + 120), 2);
	cr_assert_eq(key_lines_rotate(lines, 2, 2, NOW + 119, NOW + 239), -1, "it is still in use");
	cr_assert_eq(key_lines_rotate(lines, 2, 2, NOW + 120, NOW + 240), 2);
	cr_assert(lines[0].id == 9 && lines[1].id == 8 && lines[1].until <= NOW + 240);
}

Test(keys, an_end_is_never_put_off)
{
	int n = 1;

	for (int i = 0; i < 7; i++)
		n = key_lines_rotate(lines, (unsigned)n, KEY_LINES, NOW + i, NOW + i + 100);
	cr_assert_eq(n, 8);
	for (int i = 1; i < 8; i++)
		cr_assert_eq(lines[i].until, NOW + 106 - (i - 1));
	cr_assert_eq(key_lines_rotate(lines, 8, KEY_LINES, NOW + 50, NOW + 150), -1);
	cr_assert_eq(key_lines_rotate(lines, 8, KEY_LINES, NOW + 103, NOW + 203), 5);
	cr_assert(lines[0].id == 15 && lines[1].id == 14 && lines[4].id == 11);
}

Test(keys, numbers_begin_anew)
{
	lines[0].id = UINT32_MAX;
	cr_assert_eq(key_lines_rotate(lines, 1, 2, NOW, NOW + 120), 2);
	cr_assert_eq(lines[0].id, 1);
}
