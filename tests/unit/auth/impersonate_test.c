/* Under test: auth/impersonate.c: one table, who may act as whom. */
#include <criterion/criterion.h>
#include "auth/impersonate.c"

static const uint64_t listed[] = { 7, 101 };

static const struct {
	const char    *name;
	uint64_t       real;
	bool           is_admin, is_configured;
	struct account target;
	const char    *problem; /* NULL: he may */
} rows[] = {
	{ "oneself", 101, 0, 0, { .id = 101 }, NULL },
	{ "a stranger", 102, 0, 0, { .id = 103 }, "not_an_impersonator" },
	{ "listed", 101, 0, 0, { .id = 103, .impersonators = listed, .n_impersonators = 2 }, NULL },
	{ "others are listed",
	  102,
	  0,
	  0,
	  { .id = 103, .impersonators = listed, .n_impersonators = 2 },
	  "not_an_impersonator" },
	{ "an administrator", 102, 1, 0, { .id = 103 }, NULL },
	{ "a configured one", 102, 0, 1, { .id = 103 }, NULL },
	{ "an administrator as another", 102, 1, 0, { .id = 1, .is_admin = true }, NULL },
	{ "configured, as an administrator",
	  102,
	  0,
	  1,
	  { .id = 1, .is_admin = true },
	  "target_is_administrator" },
	{ "listed, as an administrator",
	  101,
	  0,
	  0,
	  { .id = 103, .is_admin = true, .impersonators = listed, .n_impersonators = 2 },
	  "target_is_administrator" },
	{ "as nobody", 102, 1, 1, { .id = 0 }, "account_not_found" },
	{ "as a service user", 102, 1, 1, { .id = 103, .class = ACCOUNT_SERVICE }, "not_a_user" },
	{ "as a group", 102, 1, 1, { .id = 103, .class = ACCOUNT_GROUP }, "not_a_user" },
	{ "as the guest", 102, 1, 1, { .id = ACCOUNT_ID_ANONYMOUS }, "not_a_user" },
	{ "as somebody disabled", 102, 1, 1, { .id = 103, .disabled = true }, "account_locked" },
};

Test(impersonate, rows)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct impersonator real = { rows[i].real, rows[i].is_admin,
			                     rows[i].is_configured };
		const char         *problem = impersonation_problem(&real, &rows[i].target);

		cr_assert_str_eq(problem != NULL ? problem : "",
		                 rows[i].problem != NULL ? rows[i].problem : "", "%s",
		                 rows[i].name);
	}
}

Test(impersonate, configured_by_the_whole_name)
{
	char            *names[] = { "ada", "bob" };
	struct conf_list list = { names, 2 };
	struct account   a = { .name = BW_STR("bob"), .id = 5 };

	cr_assert(impersonator_of(&a, &list).is_configured);
	a.name = BW_STR("bo");
	cr_assert_not(impersonator_of(&a, &list).is_configured);
	a.is_admin = true;
	cr_assert(impersonator_of(&a, &list).is_admin && impersonator_of(&a, &list).id == 5);
}
