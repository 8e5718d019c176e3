/* Under test: lib/base/symbolic.c: what is a symbolic name, and what is not. */
#include <base/symbolic.h>
#include <criterion/criterion.h>

Test(symbolic, names)
{
	static const struct {
		const char *name;
		bool        good;
	} rows[] = {
		{ "a", true },    { "acme.a-b_1", true }, { "", false },
		{ ".a", false },  { "a.", false },        { "a..b", false },
		{ "a/b", false }, { "a b", false },       { "\xc3\xa4", false },
	};
	char long_name[SYMBOLIC_NAME_MAX + 2];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect(symbolic_name_ok(rows[i].name) == rows[i].good, "%s", rows[i].name);
	memset(long_name, 'a', sizeof(long_name));
	long_name[SYMBOLIC_NAME_MAX + 1] = '\0';
	cr_expect(!symbolic_name_ok(long_name));
	long_name[SYMBOLIC_NAME_MAX] = '\0';
	cr_expect(symbolic_name_ok(long_name));
	cr_expect(symbolic_ok("ab.", 2) && !symbolic_ok("ab.", 3));
}
