/* lib/base/fatal.c: one line, flushed, exit code 1, also through the log's ring; memory that is
 * always there or ends the process. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "child.h"

static void end_with_errno(void *arg)
{
	(void)arg;
	errno = ENOENT;
	fatal("opening \"%s\"", "/x");
}

static void end_without_errno(void *arg)
{
	(void)arg;
	errno = ENOENT;
	fatalx("odd number: %d", 7);
}

static void end_through_ring(void *arg)
{
	(void)arg;
	log_init("f", LOG_LEVEL_INFO);
	log_start();
	log_info(0, "before");
	fatalx("after");
}

static void end_with_much_text(void *arg)
{
	static char text[8192];

	(void)arg;
	memset(text, 'x', sizeof(text) - 1);
	errno = EIO;
	fatal("%s", text);
}

Test(fatal, writes_one_line_and_exits_1)
{
	static const struct {
		void (*run)(void *arg);
		const char *line; /* is in what it wrote */
	} cases[] = {
		{ end_with_errno, "level=error process=boot" },
		{ end_with_errno, "msg=\"opening \\\"/x\\\": No such file or directory\"\n" },
		{ end_without_errno, "msg=\"odd number: 7\"\n" },
		{ end_through_ring, "msg=\"after\"\n" },
		{ end_with_much_text, "xxx\"\n" },
	};
	char text[8192];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert(eq(int, run_child(cases[i].run, NULL, text, sizeof(text)), 1), "case %zu",
		          i);
		cr_assert(strstr(text, cases[i].line) != NULL, "case %zu: %s", i, text);
		cr_assert(eq(sz, strlen(text), (size_t)(strrchr(text, '\n') - text) + 1));
	}
	cr_assert(eq(int, run_child(end_through_ring, NULL, text, sizeof(text)), 1));
	cr_assert(strstr(text, "before") < strstr(text, "after"), "order: %s", text);
}

#ifndef BOARDWALK_SANITIZED /* its allocator ends the process by itself, with a report */
static void want_too_much(void *arg)
{
	volatile size_t n = SIZE_MAX / 2;

	(void)arg;
	((volatile char *)xmalloc(n))[0] = 1;
}

static void want_too_many(void *arg)
{
	volatile size_t n = SIZE_MAX / 2;

	(void)arg;
	((volatile char *)xcalloc(n, 4))[0] = 1;
}

static void grow_too_much(void *arg)
{
	volatile size_t n = SIZE_MAX / 2;

	(void)arg;
	((volatile char *)xrealloc(xmalloc(1), n))[0] = 1;
}

Test(fatal, memory_that_is_not_there_ends_the_process)
{
	void (*const cases[])(void *arg) = { want_too_much, want_too_many, grow_too_much };
	char text[4096];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_assert(eq(int, run_child(cases[i], NULL, text, sizeof(text)), 1), "case %zu", i);
		cr_assert(strstr(text, "out of memory") != NULL, "case %zu: %s", i, text);
	}
}
#endif

Test(fatal, allocators_copy_and_never_give_null)
{
	char *p = xmalloc(0), *z = xcalloc(0, 0), *c = xcalloc(3, 5);
	char *s = xstrdup("abc"), *n = xstrndup("abcdef", 4), *m = xstrndup("ab", 10);
	char *a = xasprintf("%d-%s", 7, "x");

	cr_assert(p != NULL && z != NULL);
	for (int i = 0; i < 15; i++)
		cr_assert(eq(chr, c[i], 0));
	cr_assert(eq(str, s, "abc"));
	cr_assert(eq(str, n, "abcd"));
	cr_assert(eq(str, m, "ab"));
	cr_assert(eq(str, a, "7-x"));
	s = xrealloc(s, 100);
	cr_assert(eq(str, s, "abc"));
	free(p);
	free(z);
	free(c);
	free(s);
	free(n);
	free(m);
	free(a);
}
