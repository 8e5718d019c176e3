/* Under test: auth/account.c, journal.c, login.c and migrations/0001_auth.sql together with
 * a real PostgreSQL: what changes there is believed here within 300 ms, whatever else goes on. */
#include "world.h"
#include <pg/pg.h>

#define LIMIT_US 300000u

static struct gateway  g;
static struct question q;

static void set_up(void)
{
	world_init(2, 64, OPS, MEM);
	test_postgres_sql(w.db, "SELECT auth.principal_create('svc', 'service');"
	                        "SELECT auth.principal_create('reader', 'user')");
	set_password("reader", "first");
	set_password("admin", "admin's");
	wait_until_followed();
	gateway_init(&g, w.path, "0123456789abcdef");
}

static void tear_down(void)
{
	gateway_done(&g);
	world_done();
}

TestSuite(database, .init = set_up, .fini = tear_down);

/* Asks until it is refused; the last time it was believed is at most 300 ms after since_us. */
static void assert_refused_in_time(const char *user, const char *password, uint64_t since_us)
{
	uint64_t asked_us = clock_boot_us();
	int      err;

	while ((err = basic(&g, &q, user, password)) != BW_ELOGIN) {
		cr_assert(err == BW_OK || err == BW_EGONE, "%d", err);
		if (err == BW_OK)
			cr_assert_leq(asked_us - since_us, LIMIT_US);
		ev_run(w.loop, EVRUN_NOWAIT);
		asked_us = clock_boot_us();
	}
	cr_assert_eq(basic(&g, &q, user, password), BW_ELOGIN, "and it stays so");
}

Test(database, password_changed)
{
	char old[16] = "first", new[16];

	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(basic(&g, &q, "reader", old), BW_OK);
		cr_assert_eq(basic(&g, &q, "reader", old), BW_OK);
		snprintf(new, sizeof(new), "number %u", i);
		set_password("reader", new);
		if (i % 2)
			test_postgres_sql(w.db, "NOTIFY boardwalk_auth");
		assert_refused_in_time("reader", old, clock_boot_us());
		cr_assert_eq(basic(&g, &q, "reader", new), BW_OK);
		strcpy(old, new);
	}
}

Test(database, disabled_and_enabled)
{
	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	test_postgres_sql(w.db, "SELECT auth.principal_disable('reader', true)");
	assert_refused_in_time("reader", "first", clock_boot_us());
	test_postgres_sql(w.db, "SELECT auth.principal_disable('reader', false)");
	while (basic(&g, &q, "reader", "first") != BW_OK)
		cr_assert_eq(q.err, BW_ELOGIN);
}

Test(database, new_account_and_new_group)
{
	uint64_t since, asked;

	cr_assert_eq(basic(&g, &q, "late", "late's"), BW_ELOGIN);
	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	cr_assert_eq(q.handle.n_principals, 2);
	test_postgres_sql(w.db, "SELECT auth.principal_create('late', 'user');"
	                        "SELECT auth.principal_create('team', 'group');"
	                        "SELECT auth.membership_add('team', 'reader')");
	set_password("late", "late's");
	since = clock_boot_us();
	while (asked = clock_boot_us(), basic(&g, &q, "late", "late's") != BW_OK)
		cr_assert_leq(asked - since, LIMIT_US);
	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	cr_assert_eq(q.handle.n_principals, 3);
}

/* ---- a second session of the owner, for transactions that stay open ---- */

enum { BEGIN, TAKE_XID, SET_PASSWORD, COMMIT, N_STATEMENTS };

static const struct pg_statement statements[N_STATEMENTS] = {
	[BEGIN] = { "begin", "BEGIN", 0, 0, true },
	[TAKE_XID] = { "take_xid", "SELECT pg_current_xact_id()::text", 0, 1, true },
	[SET_PASSWORD] = { "set_password", "SELECT auth.password_set($1, $2)", 2, 1, true },
	[COMMIT] = { "commit", "COMMIT", 0, 0, true },
};

static void on_done(void *arg, int err, const struct pg_rows *rows)
{
	(void)rows;
	cr_assert_eq(err, BW_OK);
	*(bool *)arg = true;
}

static void run(struct pg *pg, unsigned statement, const char *a, const char *b)
{
	bool done = false;

	cr_assert_eq(pg_query(pg, statement, (struct pg_param[]){ { a }, { b } }, on_done, &done),
	             BW_OK);
	while (!done)
		ev_run(w.loop, EVRUN_ONCE);
}

static struct pg *session_new(void)
{
	static const struct pg_ops none = { 0 };
	struct pg *pg = pg_new(w.loop, test_postgres_conninfo(w.db, "postgres"), statements,
	                       N_STATEMENTS, NULL, 60000, 8, &none, NULL);

	while (!pg_is_up(pg))
		ev_run(w.loop, EVRUN_ONCE);
	return pg;
}

/* It holds pg_snapshot_xmin; the news goes on. */
Test(database, long_transaction_elsewhere)
{
	struct pg *other = session_new();

	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	run(other, BEGIN, NULL, NULL);
	run(other, TAKE_XID, NULL, NULL);
	for (unsigned i = 0; i < 3; i++) {
		char new[16];

		snprintf(new, sizeof(new), "number %u", i);
		set_password("reader", new);
		assert_refused_in_time("reader", "first", clock_boot_us());
		cr_assert_eq(basic(&g, &q, "reader", new), BW_OK);
		set_password("reader", "first");
		assert_refused_in_time("reader", new, clock_boot_us());
		cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	}
	run(other, COMMIT, NULL, NULL);
	pg_free(other);
}

/* A change with an older number and transaction id than news already applied commits after it. */
Test(database, commits_out_of_order)
{
	struct pg *other = session_new();
	char       verifier[crypto_pwhash_STRBYTES];

	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	cr_assert_eq(basic(&g, &q, "admin", "admin's"), BW_OK, "remembered: only news ends it");
	make_verifier("second", OPS, verifier);
	run(other, BEGIN, NULL, NULL);
	run(other, SET_PASSWORD, "reader", verifier);
	set_password("admin", "new");
	assert_refused_in_time("admin", "admin's", clock_boot_us());
	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK, "not committed yet");
	run(other, COMMIT, NULL, NULL);
	assert_refused_in_time("reader", "first", clock_boot_us());
	cr_assert_eq(basic(&g, &q, "reader", "second"), BW_OK);
	pg_free(other);
}

/* ---- the server goes ---- */

Test(database, killed_and_back)
{
	uint64_t started;

	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	for (unsigned i = 0; i < 3; i++) {
		test_postgres_kill(w.db);
		while (basic(&g, &q, "reader", "first") == BW_OK)
			; /* until the loss has been seen */
		cr_assert_eq(q.err, BW_EGONE);
		cr_assert_eq(q.retry_after, 1);
		cr_assert_eq(anonymous(&g, &q), BW_OK, "needs no database");
		while (service(&g, &q, "demo", NULL) == BW_OK)
			; /* a backend may outlive its server for a moment */
		cr_assert_eq(q.err, BW_EGONE);
		test_postgres_start(w.db);
		started = clock_boot_us();
		while (basic(&g, &q, "reader", "first") != BW_OK) {
			cr_assert_eq(q.err, BW_EGONE);
			cr_assert_leq(clock_boot_us() - started, 5000000);
		}
		cr_assert_eq(service(&g, &q, "demo", NULL), BW_OK);
	}
}

/* A server that does not answer: nothing old is believed beyond the limit, and the refusal is not
 * that of a wrong password. */
Test(database, paused)
{
	struct question waiting;
	uint64_t        since;

	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	test_postgres_pause(w.db, true);
	since = clock_boot_us();
	while (clock_boot_us() - since < LIMIT_US)
		ev_run(w.loop, EVRUN_NOWAIT);
	send_basic(&g, &waiting, "reader", "first");
	for (since = clock_boot_us(); clock_boot_us() - since < 100000;)
		ev_run(w.loop, EVRUN_NOWAIT);
	cr_assert_eq(waiting.ended, 0);
	test_postgres_pause(w.db, false);
	wait_end(&waiting);
	cr_assert_eq(waiting.err, BW_OK);
}

Test(database, changed_while_nobody_listened)
{
	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_OK);
	test_postgres_sql(w.db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
	                        "WHERE usename = 'boardwalk_auth'");
	set_password("reader", "second");
	assert_refused_in_time("reader", "first", clock_boot_us());
	cr_assert_eq(basic(&g, &q, "reader", "second"), BW_OK);
}

/* ---- verifiers ---- */

Test(database, verifier_of_another_cost)
{
	char  verifier[crypto_pwhash_STRBYTES];
	char *now;

	make_verifier("second", OPS + 2, verifier);
	test_postgres_sql(w.db, "SELECT auth.password_set('reader', '%s')", verifier);
	while (basic(&g, &q, "reader", "second") != BW_OK)
		;
	do {
		ev_run(w.loop, EVRUN_ONCE);
		now = test_postgres_value(
			w.db, "SELECT verifier FROM auth.credential c JOIN auth.principal p "
			      "ON p.id = c.principal WHERE p.name = 'reader'");
		if (strcmp(now, verifier) != 0)
			break;
		free(now);
	} while (true);
	cr_assert_not(password_is_outdated(w.pool, now));
	cr_assert_eq(crypto_pwhash_str_verify(now, "second", 6), 0);
	free(now);
	for (uint64_t since = clock_boot_us(); clock_boot_us() - since < 2 * LIMIT_US;)
		cr_assert_eq(basic(&g, &q, "reader", "second"), BW_OK);
}

/* What the table's own checks keep out is not believed either. */
Test(database, verifier_that_is_none)
{
	test_postgres_sql(w.db,
	                  "ALTER TABLE auth.credential DROP CONSTRAINT credential_is_argon2id;"
	                  "UPDATE auth.credential SET verifier = 'first'");
	accounts_drop_all(w.accounts);
	cr_assert_eq(basic(&g, &q, "reader", "first"), BW_ELOGIN);
}

/* ---- the schema's promises ---- */

Test(database, functions)
{
	static const struct {
		const char *sql, *state; /* NULL: works */
	} rows[] = {
		{ "SELECT auth.principal_create('reader', 'user')", "23505" },
		{ "SELECT auth.principal_create('', 'user')", "23514" },
		{ "SELECT auth.principal_create(E'a\\tb', 'user')", "23514" },
		{ "SELECT auth.principal_create(E'a\\u0085b', 'user')", "23514" },
		{ "SELECT auth.principal_create(repeat('x', 256), 'user')", "23514" },
		{ "SELECT auth.principal_create(repeat('x', 255), 'user')", NULL },
		{ "SELECT auth.principal_create('x', 'robot')", "23514" },
		{ "SELECT auth.principal_create('g1', 'group'), auth.principal_create('g2', "
		  "'group')",
		  NULL },
		{ "SELECT auth.membership_add('g1', 'reader'), auth.membership_add('g2', 'g1')",
		  NULL },
		{ "SELECT auth.membership_add('g1', 'g2')", "23514" },
		{ "SELECT auth.membership_add('g1', 'g1')", "23514" },
		{ "SELECT auth.membership_add('everyone', 'reader')", "42809" },
		{ "SELECT auth.membership_add('admin', 'reader')", "42809" },
		{ "SELECT auth.membership_add('g1', 'nobody')", "P0002" },
		{ "SELECT auth.password_set('nobody', '$argon2id$x')", "P0002" },
		{ "SELECT auth.password_set('reader', 'plain')", "22023" },
		{ "SELECT auth.password_set('svc', '$argon2id$x')", "42809" },
		{ "SELECT auth.password_set('anonymous', '$argon2id$x')", "42809" },
		{ "SELECT auth.principal_disable('g1', true)", "23514" },
	};
	char state[6], *same;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(test_postgres_fails(w.db, state, "%s", rows[i].sql),
		             rows[i].state != NULL, "%s", rows[i].sql);
		cr_assert_str_eq(state, rows[i].state != NULL ? rows[i].state : "", "%s",
		                 rows[i].sql);
	}
	same = test_postgres_value(w.db, "SELECT auth.membership_add('g1', 'reader')");
	cr_assert_str_eq(same, "f");
	free(same);
}

/* The rights of the two processes end where the promise says. */
Test(database, rights)
{
	static const struct {
		const char *role, *sql;
		bool        works;
	} rows[] = {
		{ "boardwalk_auth", "SELECT count(*) FROM auth.credential", true },
		{ "boardwalk_auth", "UPDATE auth.credential SET verifier = verifier", false },
		{ "boardwalk_auth",
		  "INSERT INTO auth.journal (principal, kind) VALUES (1, 'password')", false },
		{ "boardwalk_auth", "SELECT auth.password_set('admin', '$argon2id$x')", false },
		{ "boardwalk_auth", "SELECT auth.principal_create('eve', 'user')", false },
		{ "boardwalk_auth", "SELECT auth.membership_add('everyone', 'admin')", false },
		{ "boardwalk_auth", "SELECT auth.verifier_replace(1, 'guess', '$argon2id$x')",
		  true },
		{ "boardwalk_repo", "SELECT count(*) FROM auth.principal_public", true },
		{ "boardwalk_repo", "SELECT count(*) FROM auth.principal", false },
		{ "boardwalk_repo", "SELECT count(*) FROM auth.credential", false },
		{ "boardwalk_repo", "SELECT count(*) FROM auth.journal", false },
		{ "boardwalk_repo", "SELECT auth.verifier_replace(1, 'guess', '$argon2id$x')",
		  false },
	};
	char state[6], *verifier;

	verifier = test_postgres_value(w.db,
	                               "SELECT verifier FROM auth.credential WHERE principal = 1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_postgres_sql(w.db, "SET ROLE %s", rows[i].role);
		cr_assert_eq(test_postgres_fails(w.db, state, "%s", rows[i].sql), !rows[i].works,
		             "%s: %s", rows[i].role, rows[i].sql);
		cr_assert_str_eq(state, rows[i].works ? "" : "42501", "%s: %s", rows[i].role,
		                 rows[i].sql);
		test_postgres_sql(w.db, "RESET ROLE");
	}
	test_postgres_sql(
		w.db,
		"DO $$ BEGIN ASSERT (SELECT verifier FROM auth.credential WHERE principal = 1)"
		" = '%s'; END $$",
		verifier);
	free(verifier);
}

Test(database, journal_is_kept_for_an_hour)
{
	char *kept;

	test_postgres_sql(w.db, "UPDATE auth.journal SET at = at - interval '61 minutes'");
	set_password("reader", "second");
	kept = test_postgres_value(w.db, "SELECT count(*) FROM auth.journal");
	cr_assert_str_eq(kept, "1");
	free(kept);
}
