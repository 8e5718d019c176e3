/* repo/commit.c, its pool, its judge and migrations' commit functions, over the wire against a real
 * PostgreSQL: what races, what is lost and what waits. What commits do is in
 * tests/conformance/commit. */
#include "changing.h"
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>

static struct world  w;
static struct client c;
static uint64_t      admin;

static void begin(void)
{
	world_begin(&w, 1 << 20);
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	cr_assert(eq(int, change(&c, admin, "create /t type=nt:unstructured"), BW_OK));
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

static void assert_property(const char *path, const char *name, const char *expected)
{
	char *value = client_property(&c, admin, path, name);

	cr_assert(eq(str, value, (char *)expected), "%s of %s", name, path);
	free(value);
}

TestSuite(commit, .init = begin, .fini = end);

Test(commit, what_is_acknowledged_is_read)
{
	for (int i = 0; i < 50; i++) {
		char steps[80], value[16];

		snprintf(value, sizeof(value), "%d", i);
		snprintf(steps, sizeof(steps), "set /t p=%d", i);
		cr_assert(eq(int, change(&c, admin, steps), BW_OK));
		assert_property("/t", "p", value);
	}
}
