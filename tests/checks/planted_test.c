/* planted_test.c - a test that passes, unless it is told to hide a fault: BOARDWALK_PLANT=leak loses a
 * block of memory, =child fails an assertion in a forked child. tests/checks/run plants each and
 * proves that ./dev test fails because of it. */
#include <stdlib.h>
#include "unit/base/child.h"

static void fail_in_child(void *arg)
{
	child_assert(arg != NULL);
}

static bool is_planted(const char *fault)
{
	const char *planted = getenv("BOARDWALK_PLANT");

	return planted != NULL && strcmp(planted, fault) == 0;
}

Test(planted, passes_unless_it_is_told_to_hide_a_fault)
{
	static char *volatile block;
	int anything;

	block = malloc(4711);
	cr_assert(block != NULL);
	if (!is_planted("leak"))
		free(block);
	block = NULL;
	cr_assert(eq(int, run_child(fail_in_child, is_planted("child") ? NULL : &anything, NULL, 0),
	             0));
}
