/* gateway/value.c and attrs.c: what goes in comes out, as a copy; what is no value is refused. */
#include <gateway/attrs.c>
#include <gateway/value.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static const struct bw_str two[] = { { "a", 1 }, { "b\0c", 3 } };
static const int64_t       numbers[] = { 1, -2, INT64_MAX };
static const double        fractions[] = { 0.5, -0.0 };
static const bool          booleans[] = { true, false, true };

Test(value, a_string_is_copied_with_its_octets_and_a_NUL)
{
	char             text[] = "x\0y";
	struct bw_value  v = BW_V_STRING(((struct bw_str){ text, 3 }));
	struct bw_value *copy = value_dup(&v);

	memset(text, '-', sizeof(text));
	cr_assert(eq(sz, copy->u.string.n, 3));
	cr_assert(memcmp(copy->u.string.p, "x\0y", 4) == 0);
	free(copy);
}

Test(value, lists_of_all_types_are_copied_with_their_items)
{
	struct bw_value list[] = {
		BW_V_STRINGS(two, 2),
		{ .type = BW_VALUE_LONG, .is_list = true, .n = 3, .u.i64s = numbers },
		{ .type = BW_VALUE_DOUBLE, .is_list = true, .n = 2, .u.f64s = fractions },
		{ .type = BW_VALUE_BOOLEAN, .is_list = true, .n = 3, .u.bools = booleans },
	};
	struct bw_value *copies[4];

	for (size_t i = 0; i < 4; i++) {
		cr_assert(value_ok(&list[i]));
		copies[i] = value_dup(&list[i]);
		cr_assert(eq(sz, copies[i]->n, list[i].n));
		cr_assert(ne(ptr, (void *)copies[i]->u.strings, (void *)list[i].u.strings));
	}
	cr_assert(bw_str_eq(copies[0]->u.strings[0], two[0]));
	cr_assert(bw_str_eq(copies[0]->u.strings[1], two[1]));
	cr_assert(memcmp(copies[1]->u.i64s, numbers, sizeof(numbers)) == 0);
	cr_assert(memcmp(copies[2]->u.f64s, fractions, sizeof(fractions)) == 0);
	cr_assert(memcmp(copies[3]->u.bools, booleans, sizeof(booleans)) == 0);
	for (size_t i = 0; i < 4; i++)
		free(copies[i]);
}

Test(value, an_empty_list_is_a_value)
{
	struct bw_value  v = BW_V_STRINGS(NULL, 0);
	struct bw_value *copy;

	cr_assert(value_ok(&v));
	copy = value_dup(&v);
	cr_assert(copy->is_list);
	cr_assert(eq(sz, copy->n, 0));
	free(copy);
}

Test(value, what_is_no_value_is_told)
{
	const struct bw_str absent[] = { { "a", 1 }, { NULL, 0 } };
	struct bw_value     v[] = {
		    { .type = 0 },
		    { .type = BW_VALUE_PATH, .u.string = { "/", 1 } }, /* the repository's own */
		    { .type = BW_VALUE_STRING },
		    { .type = BW_VALUE_LONG, .is_list = true, .n = 1 },
		    BW_V_STRINGS(absent, 2),
		    { .type = 999 },
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		cr_assert(not(value_ok(&v[i])), "%zu", i);
}

static void set(struct attrs *a, const char *name, struct bw_value v)
{
	struct bw_value *old;

	attrs_set(a, name, &v, &old);
	free(old);
}

Test(attrs, names_come_in_the_order_in_which_they_were_first_set)
{
	struct attrs a = { NULL };

	set(&a, "x", BW_V_LONG(1));
	set(&a, "y", BW_V_BOOLEAN(true));
	set(&a, "x", BW_V_LONG(2));
	cr_assert(eq(i64, attrs_find(&a, "x")->u.i64, 2));
	cr_assert(bw_str_eq(attrs_name(&a, 0), BW_STR("x")));
	cr_assert(bw_str_eq(attrs_name(&a, 1), BW_STR("y")));
	cr_assert(eq(ptr, (void *)attrs_name(&a, 2).p, NULL));
	attrs_done(&a);
	cr_assert(eq(ptr, a.first, NULL));
}

Test(attrs, the_old_value_is_handed_out_and_nothing_is_left_of_a_removed_one)
{
	struct attrs     a = { NULL };
	struct bw_value  one = BW_V_LONG(1), absent = { .type = 0 };
	struct bw_value *old;

	attrs_set(&a, "x", &one, &old);
	cr_assert(eq(ptr, old, NULL));
	attrs_set(&a, "x", &absent, &old);
	cr_assert(eq(i64, old->u.i64, 1));
	free(old);
	cr_assert(eq(ptr, a.first, NULL));
	attrs_set(&a, "x", NULL, &old);
	cr_assert(eq(ptr, old, NULL));
}
