/* Under test: the process boardwalk-auth (auth/auth.c), from outside: what it refuses to start with,
 * what it waits for, that it works behind its system call filter, and how it ends. */
#include "asker.h"
#include <base/clock.h>
#include <signal.h>
#include <sodium.h>
#include <support/postgres.h>
#include <support/process.h>
#include <sys/stat.h>
#include <unistd.h>

static struct test_process p;

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	signal(SIGPIPE, SIG_IGN);
	test_process_init(&p, "auth", BOARDWALK_AUTH);
	asker_loop = ev_loop_new(EVFLAG_AUTO);
}

static void tear_down(void)
{
	test_process_done(&p);
	ev_loop_destroy(asker_loop);
}

TestSuite(auth, .init = set_up, .fini = tear_down);

/* Hashing as cheap as may be. */
static void configure(const char *conninfo, const char *more)
{
	char all[512];

	snprintf(all, sizeof(all), "  argon2_ops: 1\n  argon2_mem: 8192\n%s", more);
	test_process_configure(&p, conninfo, all);
}

/* ---- what it does not start with ---- */

Test(auth, bad_configuration)
{
	static const struct {
		const char *more, *says;
	} rows[] = {
		{ "  colour: blue\n", "boardwalk.yaml:9: " },
		{ "  hash_threads: 0\n", "hash_threads" },
		{ "  argon2_mem: 4K\n", "argon2_mem" },
		{ "  log_level: loud\n", "log_level" },
		{ "  service_users: [\"b=[]\"]\n", "a list has 1 to 64 principals" },
		{ "  service_users_folder: /nowhere\n", "auth.service_users_folder: /nowhere" },
		{ "  service_places: [\"b=nowhere\"]\n", "auth.service_places" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		configure("", rows[i].more);
		test_process_start(&p, "--check");
		cr_assert_eq(test_process_end(&p), 1, "row %zu", i);
		cr_assert(test_process_has_logged(&p, rows[i].says));
		test_process_start(&p, NULL);
		cr_assert_eq(test_process_end(&p), 1, "row %zu", i);
	}
	configure("", "  service_users: [\"b=u\"]\n");
	test_process_start(&p, "--check");
	cr_assert_eq(test_process_end(&p), 0);
}

Test(auth, options)
{
	configure("", "");
	test_process_start(&p, "--help");
	cr_assert_eq(test_process_end(&p), 0);
	cr_assert(test_process_has_logged(&p, "remember_seconds: 300"));
	test_process_start(&p, "--colour");
	cr_assert_eq(test_process_end(&p), 2);
}

Test(auth, bad_key_file)
{
	configure("host=/nowhere", "");
	cr_assert_eq(chmod(p.key_file, 0444), 0);
	test_process_start(&p, NULL);
	cr_assert_eq(test_process_end(&p), 1);
	cr_assert(test_process_has_logged(&p, "auth.key_file"));
	unlink(p.key_file);
	test_process_start(&p, NULL);
	cr_assert_eq(test_process_end(&p), 1);
}

/* ---- its life ---- */

/* As start-up goes: PostgreSQL is there, the schema comes later; the gateway is greeted only then.
 * Passwords are computed behind the filter. */
Test(auth, waits_serves_and_ends)
{
	struct test_postgres *db = test_postgres_new_empty();
	struct gateway        g;
	struct question       q;
	char                  verifier[crypto_pwhash_STRBYTES];
	uint64_t              since;

	configure(test_postgres_conninfo(db, "boardwalk_auth"), "");
	test_process_start(&p, NULL);
	test_process_wait_until_it_listens(&p);
	gateway_connect(&g, p.socket, "0123456789abcdef");
	for (since = clock_mono_us(); clock_mono_us() - since < 300000;)
		ev_run(asker_loop, EVRUN_NOWAIT);
	cr_assert_not(g.open);
	test_postgres_migrate(db);
	cr_assert_eq(crypto_pwhash_str(verifier, "secret", 6, 2, 16384), 0);
	test_postgres_sql(db, "SELECT auth.password_set('admin', '%s')", verifier);
	gateway_wait(&g);
	cr_assert(g.open);
	cr_assert_eq(basic(&g, &q, "admin", "secret"), BW_OK, "who is greeted is served");
	cr_assert_eq(q.handle.kind, HANDLE_ADMIN);
	cr_assert_eq(basic(&g, &q, "admin", "Secret"), BW_ELOGIN);
	cr_assert_eq(anonymous(&g, &q), BW_OK);
	cr_assert_eq(service(&g, &q, "boardwalk.demo", NULL), BW_ELOGIN);

	cr_assert_eq(kill(p.pid, SIGTERM), 0);
	while (!g.closed)
		ev_run(asker_loop, EVRUN_ONCE);
	cr_assert_eq(test_process_end(&p), 0);
	cr_assert(test_process_has_logged(&p, "request=0000000000000abc"));
	cr_assert(test_process_has_logged(&p, "stopped"));
	gateway_done(&g);
	test_postgres_free(db);
}

/* Its memory is not to be read by other processes of its user, it has given up what it could. */
Test(auth, confined)
{
	struct test_postgres *db = test_postgres_new();
	struct gateway        g;

	configure(test_postgres_conninfo(db, "boardwalk_auth"), "");
	test_process_start(&p, NULL);
	test_process_wait_until_it_listens(&p);
	gateway_init(&g, p.socket, "0123456789abcdef");
	test_process_assert_confined(&p);
	kill(p.pid, SIGINT);
	cr_assert_eq(test_process_end(&p), 0);
	gateway_done(&g);
	test_postgres_free(db);
}
