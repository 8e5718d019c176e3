/* Under test: auth/audit.c: the shape of a line, and that nobody forges one by his name. */
#include <criterion/criterion.h>
#include "auth/audit.c"

static char   captured[1024];
static size_t n_captured;

void log_event(uint64_t request, const char *event, const struct log_field *fields, size_t n)
{
	n_captured = (size_t)snprintf(captured, sizeof(captured), "%llu %s",
	                              (unsigned long long)request, event);
	for (size_t i = 0; i < n; i++)
		n_captured += (size_t)snprintf(captured + n_captured, sizeof(captured) - n_captured,
		                               " %s=%.*s", fields[i].name, (int)fields[i].n,
		                               fields[i].value);
}

Test(audit, all_fields_in_order)
{
	struct audit a = {
		.event = "login_failed",
		.user = BW_STR("ada"),
		.target = BW_STR("bob"),
		.type = "BASIC",
		.reason = "wrong_password",
		.place = { 4, { 192, 0, 2, 1 } },
		.wait_s = 4,
	};

	audit_write(7, &a);
	cr_assert_str_eq(captured, "7 login_failed user=ada target=bob auth_type=BASIC "
	                           "address=192.0.2.1 reason=wrong_password retry_after=4");
}

Test(audit, absent_fields_are_left_out)
{
	struct audit a = { .event = "logout", .user = BW_STR("ada") };

	audit_write(0, &a);
	cr_assert_str_eq(captured, "0 logout user=ada");
}
