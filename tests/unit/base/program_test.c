/* lib/base/program.c: the command line and the environment of every process. */
#include <base/program.h>
#include <getopt.h>
#include <stdlib.h>
#include "child.h"

static void print_table(FILE *out)
{
	fputs("the table\n", out);
}

static struct program_options parse(const char *a, const char *b, const char *c)
{
	char *argv[] = { "x", (char *)a, (char *)b, (char *)c, NULL };
	int   argc = 1 + (a != NULL) + (b != NULL) + (c != NULL);

	optind = 0; /* glibc: begin anew */

	return program_options(argc, argv, "boardwalk-x", print_table);
}

static void unknown_option(void *arg)
{
	parse(arg, NULL, NULL);
}

Test(program, options)
{
	struct program_options o = parse("--config", "a.yaml", "--check");
	char                   text[1024];

	cr_assert(strcmp(o.config, "a.yaml") == 0 && o.check);
	cr_assert(eq(int, run_child(unknown_option, "--nonsense", text, sizeof(text)), 2));
	cr_assert(strstr(text, "usage: boardwalk-x [--config FILE]") != NULL);
	cr_assert(strstr(text, "the table") != NULL);
	cr_assert(eq(int, run_child(unknown_option, "operand", text, sizeof(text)), 2));
}

Test(program, no_options)
{
	struct program_options o = parse(NULL, NULL, NULL);

	cr_assert(o.config == NULL && !o.check);
}

static void bad_level(void *arg)
{
	program_log_level("x.log_level", arg);
}

Test(program, log_level)
{
	char text[1024];

	cr_assert(program_log_level("x.log_level", "error") == LOG_LEVEL_ERROR);
	cr_assert(program_log_level("x.log_level", "debug") == LOG_LEVEL_DEBUG);
	cr_assert(eq(int, run_child(bad_level, "loud", text, sizeof(text)), 1));
	cr_assert(strstr(text, "x.log_level") != NULL && strstr(text, "loud") != NULL, "%s", text);
}

static void no_file(void *arg)
{
	(void)arg;
	free(program_secret("BW_TEST_SECRET", ""));
}

Test(program, secret)
{
	char file[] = "/tmp/boardwalk-program-XXXXXX", text[1024], *s;
	int  fd = mkstemp(file);

	cr_assert(fd >= 0 && write(fd, "from file\r\nmore\n", 16) == 16);
	close(fd);
	s = program_secret("BW_TEST_SECRET", "otherwise");
	cr_assert(strcmp(s, "otherwise") == 0);
	free(s);
	setenv("BW_TEST_SECRET_FILE", file, 1);
	s = program_secret("BW_TEST_SECRET", "otherwise");
	cr_assert(strcmp(s, "from file") == 0);
	free(s);
	setenv("BW_TEST_SECRET", "from variable", 1);
	s = program_secret("BW_TEST_SECRET", "otherwise");
	cr_assert(strcmp(s, "from variable") == 0);
	free(s);
	unlink(file);
	unsetenv("BW_TEST_SECRET");
	cr_assert(eq(int, run_child(no_file, NULL, text, sizeof(text)), 1));
	cr_assert(strstr(text, "BW_TEST_SECRET_FILE") != NULL, "%s", text);
}

Test(program, peer)
{
	cr_assert(program_peer("root") == 0);
	cr_assert(program_peer("") == (uid_t)-1);
	cr_assert(program_peer("nobody-of-this-name") == (uid_t)-1);
}
