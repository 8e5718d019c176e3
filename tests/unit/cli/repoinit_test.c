/* cli/repoinit.c: several at a time, and what is tried again. What statements do is in
 * tests/conformance/repoinit. */
#include <criterion/criterion.h>
#include <repoinit.h>
#include <stdlib.h>
#include <string.h>
#include <support/postgres.h>
#include <sys/wait.h>
#include <unistd.h>

#define SERVERS 4

static const struct cli_settings cheap = { .argon2_ops = 1, .argon2_mem = 8192 };

static const char script[] = "register namespace (bw) bw:names\n"
			     "create path /a/b/c(nt:unstructured mixin mix:title)\n"
			     "create user u with password secret\n"
			     "create group g\n"
			     "add u to group g\n"
			     "set ACL on /a\n"
			     "  allow jcr:read for g\n"
			     "end\n";

/* As one server at its start: a connection of its own. */
static bool run(struct test_postgres *p)
{
	struct database db = { 0 };
	bool            done;

	done = database_open(&db, test_postgres_conninfo(p, "postgres"), false) &&
	       repoinit_run(&db, &cheap, "script", script, sizeof(script) - 1, true);
	database_close(&db);
	return done;
}

static void expect(struct test_postgres *p, const char *sql, const char *want)
{
	char *got = test_postgres_value(p, "%s", sql);

	cr_assert_str_eq(got, want, "%s: %s", sql, got);
	free(got);
}

Test(repoinit, servers_that_start_together_all_come_up_and_make_it_once)
{
	struct test_postgres *p = test_postgres_new();
	pid_t                 children[SERVERS];
	int                   status;

	for (size_t i = 0; i < SERVERS; i++) {
		children[i] = fork();
		cr_assert_geq(children[i], 0);
		if (children[i] == 0)
			_exit(run(p) ? 0 : 1);
	}
	for (size_t i = 0; i < SERVERS; i++) {
		cr_assert_eq(waitpid(children[i], &status, 0), children[i]);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	expect(p, "SELECT count(*) FROM repo.journal WHERE kind = 'ADDED'", "3");
	expect(p, "SELECT count(*) FROM repo.ace", "1");
	expect(p, "SELECT count(*) FROM auth.journal WHERE kind = 'created'", "2");
	test_postgres_free(p);
}

/* The first n attempts to make the group fail as if another transaction had been faster. A sequence
 * counts them, since it does not go back with the transaction. */
static void fail_first(struct test_postgres *p, unsigned n)
{
	test_postgres_sql(p,
	                  "CREATE SEQUENCE tries;"
	                  "CREATE FUNCTION too_late() RETURNS trigger LANGUAGE plpgsql AS $$"
	                  " BEGIN IF nextval('public.tries') <= %u THEN"
	                  "  RAISE 'could not serialize' USING ERRCODE = '40001'; END IF;"
	                  " RETURN NEW; END $$;"
	                  "CREATE TRIGGER too_late BEFORE INSERT ON auth.principal FOR EACH ROW"
	                  " WHEN (NEW.class = 'group') EXECUTE FUNCTION too_late()",
	                  n);
}

Test(repoinit, a_lost_race_is_run_again_twice)
{
	struct test_postgres *p = test_postgres_new();

	fail_first(p, 2);
	cr_assert(run(p));
	expect(p, "SELECT last_value FROM tries", "3");
	expect(p, "SELECT count(*) FROM repo.journal WHERE kind = 'ADDED'", "3");
	test_postgres_free(p);
}

Test(repoinit, the_third_lost_race_is_the_last_and_leaves_nothing)
{
	struct test_postgres *p = test_postgres_new();

	fail_first(p, 3);
	cr_assert(!run(p));
	expect(p, "SELECT last_value FROM tries", "3");
	expect(p, "SELECT count(*) FROM repo.tree", "1");
	expect(p, "SELECT count(*) FROM repo.namespace WHERE prefix = 'bw'", "0");
	expect(p, "SELECT count(*) FROM auth.principal WHERE id >= 100", "0");
	test_postgres_free(p);
}
