/* impersonate.c - the rule of impersonation, in one function. As Oak's ImpersonationImpl: oneself,
 * administrators and configured impersonators anyone, else the target's own list; and stricter in two
 * ways: the list holds users only, so that a group gives nobody this right, and who is no administrator
 * never becomes one.
 *
 * Owns: nothing. Runs in: the loop. Fails with: a word. Logs nothing. Tests:
 * tests/unit/auth/impersonate_test.c. */
#include "impersonate.h"

struct impersonator impersonator_of(const struct account *a, const struct conf_list *names)
{
	struct impersonator real = { .id = a->id, .is_admin = a->is_admin };

	for (size_t i = 0; i < names->n && !real.is_configured; i++)
		real.is_configured = bw_str_eq(a->name, bw_str(names->items[i]));
	return real;
}

static bool is_listed(const struct impersonator *real, const struct account *target)
{
	for (unsigned i = 0; i < target->n_impersonators; i++)
		if (target->impersonators[i] == real->id)
			return true;
	return false;
}

const char *impersonation_problem(const struct impersonator *real, const struct account *target)
{
	if (target->id == 0)
		return "account_not_found";
	if (target->id == real->id)
		return NULL;
	if (target->class != ACCOUNT_USER || target->id == ACCOUNT_ID_ANONYMOUS)
		return "not_a_user";
	if (target->disabled)
		return "account_locked";
	if (target->is_admin && !real->is_admin)
		return "target_is_administrator";
	if (real->is_admin || real->is_configured || is_listed(real, target))
		return NULL;
	return "not_an_impersonator";
}
