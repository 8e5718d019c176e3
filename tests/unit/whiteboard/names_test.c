/* gateway/whiteboard/names.c: of one name the first counts, and every name is found among many. */
#include <gateway/whiteboard/names.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { MANY = 1000 };

Test(names, finds_nothing_in_an_empty_table)
{
	struct names t = { NULL, 0 };
	struct arena a;

	arena_init(&a);
	names_compile(&t, &a, NULL, 0);
	cr_assert(names_find(&t, BW_STR("x")) == NULL);
	cr_assert(names_find(&t, BW_ABSENT) == NULL);
	arena_done(&a);
}

Test(names, finds_each_of_many_and_the_best_of_equal_ones)
{
	static struct snapshot_servlet servlets[MANY + 1];
	const struct snapshot_servlet *list[MANY + 1];
	struct names                   t = { NULL, 0 };
	struct arena                   a;

	arena_init(&a);
	for (int i = 0; i <= MANY; i++) {
		servlets[i].name = bw_str(arena_printf(&a, "servlet-%d", i % MANY));
		list[i] = &servlets[i];
	}
	names_compile(&t, &a, list, MANY + 1);
	for (int i = 0; i < MANY; i++)
		cr_assert(names_find(&t, servlets[i].name) == &servlets[i], "%d", i);
	cr_assert(names_find(&t, BW_STR("servlet-")) == NULL);
	cr_assert(names_find(&t, BW_STR("servlet-1000")) == NULL);
	cr_assert(names_find(&t, BW_STR("")) == NULL);
	cr_assert(names_find(&t, BW_ABSENT) == NULL);
	arena_done(&a);
}
