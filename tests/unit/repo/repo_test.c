/* Under test: the process boardwalk-repo (repo/repo.c), from outside: what it refuses to start
 * with, what it waits for, that it works behind its system call filter, and how it ends. */
#include "world.h"
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/process.h>
#include <sys/stat.h>
#include <unistd.h>

static struct world        w; /* its loop, key and socket only: repo is another process here */
static struct test_process p;

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	signal(SIGPIPE, SIG_IGN);
	test_process_init(&p, "repo", BOARDWALK_REPO);
	snprintf(w.socket, sizeof(w.socket), "%s", p.socket);
	w.key = (struct handle_key){ .id = 3, .key = { 0x2a } };
	w.loop = ev_loop_new(EVFLAG_AUTO);
}

static void tear_down(void)
{
	test_process_done(&p);
	ev_loop_destroy(w.loop);
}

TestSuite(repo, .init = set_up, .fini = tear_down);

/* ---- what it does not start with ---- */

Test(repo, bad_configuration)
{
	static const struct {
		const char *more, *says;
	} rows[] = {
		{ "  colour: blue\n", "boardwalk.yaml:7: " },
		{ "  cache_bytes: 1K\n", "cache_bytes" },
		{ "  statement_timeout_ms: 0\n", "statement_timeout_ms" },
		{ "  log_level: loud\n", "log_level" },
		{ "  search_path: [/apps]\n", "does not begin and end with /" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_process_configure(&p, "", rows[i].more);
		test_process_start(&p, "--check");
		cr_assert_eq(test_process_end(&p), 1, "row %zu", i);
		cr_assert(test_process_has_logged(&p, rows[i].says), "row %zu", i);
		test_process_start(&p, NULL);
		cr_assert_eq(test_process_end(&p), 1, "row %zu", i);
	}
	test_process_configure(&p, "", "  search_path: [/apps/, /libs/]\n");
	test_process_start(&p, "--check");
	cr_assert_eq(test_process_end(&p), 0);
}

Test(repo, options)
{
	test_process_configure(&p, "", "");
	test_process_start(&p, "--help");
	cr_assert_eq(test_process_end(&p), 0);
	cr_assert(test_process_has_logged(&p, "cache_bytes: 64M") &&
	          test_process_has_logged(&p, "search_path: [/apps/, /libs/]"));
	test_process_start(&p, "--colour");
	cr_assert_eq(test_process_end(&p), 2);
}

Test(repo, bad_key_file)
{
	test_process_configure(&p, "host=/nowhere", "");
	cr_assert_eq(chmod(p.key_file, 0444), 0);
	test_process_start(&p, NULL);
	cr_assert_eq(test_process_end(&p), 1);
	cr_assert(test_process_has_logged(&p, "repo.key_file"));
	unlink(p.key_file);
	test_process_start(&p, NULL);
	cr_assert_eq(test_process_end(&p), 1);
}

Test(repo, schema_that_is_too_new)
{
	struct test_postgres *db = test_postgres_new();

	test_postgres_sql(
		db, "INSERT INTO public.boardwalk_migration (version, name) VALUES (9999, 'x')");
	test_process_configure(&p, test_postgres_conninfo(db, "boardwalk_repo"), "");
	test_process_start(&p, NULL);
	cr_assert_eq(test_process_end(&p), 1);
	cr_assert(test_process_has_logged(&p, "the database is at schema version 9999"));
	test_postgres_free(db);
}

/* ---- its life ---- */

/* As start-up goes: PostgreSQL is there, the schema comes later; the gateway is greeted only
 * then. */
Test(repo, waits_serves_and_ends)
{
	struct test_postgres *db = test_postgres_new_empty();
	struct client         c;
	uint64_t              as_admin;
	char                 *value;
	double                since = ev_time();

	test_process_configure(&p, test_postgres_conninfo(db, "boardwalk_repo"), "");
	test_process_start(&p, NULL);
	test_process_wait_until_it_listens(&p);
	world_until(&w, test_process_has_logged(&p, "trying on"));
	while (ev_time() - since < 0.5)
		world_turn(&w);
	cr_assert(!test_process_has_logged(&p, "serving"));
	test_postgres_migrate(db);
	test_postgres_sql(db, "SELECT repo.property_set('/', 'v', '{\"s\":\"here\"}')");
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	value = client_property(&c, as_admin, "/", "v");
	cr_assert_str_eq(value, "here", "who is greeted is served");
	free(value);
	cr_assert_eq(kill(p.pid, SIGTERM), 0);
	world_until(&w, c.closed);
	cr_assert_eq(test_process_end(&p), 0);
	cr_assert(test_process_has_logged(&p, "stopped"));
	client_close(&c);
	test_postgres_free(db);
}

/* Its memory is not to be read by other processes of its user, it has given up what it could. */
Test(repo, confined)
{
	struct test_postgres *db = test_postgres_new();
	struct client         c;

	test_process_configure(&p, test_postgres_conninfo(db, "boardwalk_repo"), "");
	test_process_start(&p, NULL);
	test_process_wait_until_it_listens(&p);
	client_open(&w, &c);
	test_process_assert_confined(&p);
	kill(p.pid, SIGINT);
	world_until(&w, c.closed);
	cr_assert_eq(test_process_end(&p), 0);
	client_close(&c);
	test_postgres_free(db);
}
