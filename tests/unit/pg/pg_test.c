/* Under test: lib/pg/pg.c against a real server. Every query ends once, whatever the server, its
 * other queries or its death do; the connection comes back by itself. */
#include <criterion/criterion.h>
#include <pg/pg.h>
#include <base/clock.h>
#include <base/log.h>
#include <base/schema_version.h>
#include <stdio.h>
#include <support/postgres.h>

enum { ADD, FAIL, SLEEP, NAME, WRITE, WRITE_LATE, COUNT, N };

static const struct pg_statement statements[N] = {
	[ADD] = { "add", "SELECT $1::int + $2::int, NULL::text, true", 2, 3, false },
	[FAIL] = { "fail", "SELECT 1 / $1::int", 1, 1, false },
	[SLEEP] = { "sleep", "SELECT pg_sleep($1::float8)", 1, 1, false },
	[NAME] = { "name", "SELECT $1::text", 1, 1, false },
	[WRITE] = { "write", "INSERT INTO t (v) VALUES ($1::int) RETURNING v", 1, 1, true },
	[WRITE_LATE] = { "write_late", "INSERT INTO late (v) VALUES ($1::int)", 1, 0, true },
	[COUNT] = { "count", "SELECT count(*) FROM t", 0, 1, false },
};

static const char *const channels[] = { "bell", NULL };

struct world {
	struct test_postgres *server;
	struct ev_loop       *loop;
	struct pg            *pg;
	unsigned              ups, downs, bells, ended;
	int                   errs[2048];
	int64_t               values[2048];
	ev_timer              limit;
	bool                  late;
};

static struct world w;

static void on_up(struct pg *pg)
{
	cr_assert(pg_is_up(pg) && pg_owner(pg) == &w);
	w.ups++;
}

static void on_down(struct pg *pg, const char *reason)
{
	cr_assert(!pg_is_up(pg) && pg_in_flight(pg) == 0 && reason[0] != '\0');
	w.downs++;
}

static void on_notify(struct pg *pg, const char *channel)
{
	(void)pg;
	cr_assert_str_eq(channel, "bell");
	w.bells++;
}

static const struct pg_ops ops = { on_up, on_down, on_notify };

static void on_rows(void *arg, int err, const struct pg_rows *rows)
{
	size_t i = (size_t)(uintptr_t)arg;

	cr_assert_eq(w.errs[i], 99, "query %zu ended twice", i);
	w.errs[i] = err;
	cr_assert((rows != NULL) == (err == BW_OK));
	if (rows != NULL && pg_rows_count(rows) > 0)
		w.values[i] = pg_int(rows, 0, 0);
	w.ended++;
}

static int ask(size_t i, unsigned statement, const char *a, const char *b)
{
	w.errs[i] = 99;
	return pg_query(w.pg, statement, (struct pg_param[]){ { a }, { b } }, on_rows,
	                (void *)(uintptr_t)i);
}

static void on_limit(struct ev_loop *loop, ev_timer *t, int events)
{
	(void)events;
	(void)t;
	w.late = true;
	ev_break(loop, EVBREAK_ALL);
}

/* Runs the loop until *counter reaches n. */
static void until(const unsigned *counter, unsigned n)
{
	w.late = false;
	ev_timer_init(&w.limit, on_limit, 15., 0.);
	ev_timer_start(w.loop, &w.limit);
	while (*counter < n && !w.late)
		ev_run(w.loop, EVRUN_ONCE);
	ev_timer_stop(w.loop, &w.limit);
	cr_assert(!w.late, "waited in vain for %u (is %u)", n, *counter);
}

static void begin(unsigned max_queue, unsigned timeout_ms)
{
	log_init("test", LOG_LEVEL_ERROR);
	w.server = test_postgres_new_empty();
	test_postgres_sql(w.server, "CREATE TABLE t (v int UNIQUE); CREATE TABLE late (v int, "
	                            "UNIQUE (v) DEFERRABLE INITIALLY DEFERRED)");
	w.loop = ev_loop_new(EVFLAG_AUTO);
	w.pg = pg_new(w.loop, test_postgres_conninfo(w.server, "postgres"), statements, N, channels,
	              timeout_ms, max_queue, &ops, &w);
	cr_assert_eq(ask(0, ADD, "1", "2"), BW_EGONE, "a query before the connection is up");
	until(&w.ups, 1);
}

static void end(void)
{
	pg_free(w.pg);
	ev_loop_destroy(w.loop);
	test_postgres_free(w.server);
}

Test(pg, query_answers_and_an_error_spoils_no_neighbour)
{
	begin(2048, 5000);
	for (size_t i = 0; i < 1000; i++) {
		char a[16];

		snprintf(a, sizeof(a), "%zu", i);
		if (i % 10 == 3)
			cr_assert_eq(ask(i, FAIL, "0", NULL), BW_OK);
		else
			cr_assert_eq(ask(i, ADD, a, "1000"), BW_OK);
	}
	cr_assert_eq(w.ended, 0, "no callback runs inside pg_query");
	cr_assert_eq(pg_in_flight(w.pg), 1000);
	until(&w.ended, 1000);
	for (size_t i = 0; i < 1000; i++) {
		if (i % 10 == 3)
			cr_assert_eq(w.errs[i], BW_EIO);
		else
			cr_assert(w.errs[i] == BW_OK && w.values[i] == (int64_t)i + 1000, "%zu: %d",
			          i, w.errs[i]);
	}
	cr_assert_eq(pg_in_flight(w.pg), 0);
	end();
}

static void on_kinds(void *arg, int err, const struct pg_rows *rows)
{
	cr_assert_eq(err, BW_OK);
	cr_assert_eq((int)pg_rows_count(rows), 1);
	cr_assert_eq(pg_int(rows, 0, 0), -7);
	cr_assert(pg_text(rows, 0, 0).n == 2 && strcmp(pg_text(rows, 0, 0).p, "-7") == 0);
	cr_assert(pg_text(rows, 0, 1).p == NULL && pg_int(rows, 0, 1) == 0 && !pg_bool(rows, 0, 1));
	cr_assert(pg_bool(rows, 0, 2));
	++*(unsigned *)arg;
}

static void on_text(void *arg, int err, const struct pg_rows *rows)
{
	static const char expected[] = "it's \"\\ \xc3\xa9";

	cr_assert_eq(err, BW_OK);
	cr_assert(bw_str_eq(pg_text(rows, 0, 0), bw_str(expected)));
	++*(unsigned *)arg;
}

static void on_null(void *arg, int err, const struct pg_rows *rows)
{
	cr_assert(err == BW_OK && pg_text(rows, 0, 0).p == NULL);
	++*(unsigned *)arg;
}

Test(pg, values_and_parameters)
{
	unsigned done = 0;
	char     text[] = "it's \"\\ \xc3\xa9";

	begin(16, 5000);
	cr_assert_eq(pg_query(w.pg, ADD, (struct pg_param[]){ { "-9" }, { "2" } }, on_kinds, &done),
	             0);
	cr_assert_eq(pg_query(w.pg, NAME, (struct pg_param[]){ { text } }, on_text, &done), 0);
	memset(text, 'x', sizeof(text) - 1); /* parameters are copied */
	cr_assert_eq(pg_query(w.pg, NAME, (struct pg_param[]){ { NULL } }, on_null, &done), 0);
	until(&done, 3);
	end();
}

Test(pg, queue_is_bounded_and_slow_statements_end)
{
	begin(3, 200);
	cr_assert_eq(ask(0, SLEEP, "5", NULL), BW_OK);
	cr_assert_eq(ask(1, ADD, "1", "1"), BW_OK);
	cr_assert_eq(ask(2, ADD, "1", "2"), BW_OK);
	cr_assert_eq(ask(3, ADD, "1", "3"), BW_EBUSY);
	until(&w.ended, 3);
	cr_assert_eq(w.errs[0], BW_ETIME);
	cr_assert(w.errs[1] == BW_OK && w.values[1] == 2);
	cr_assert(w.errs[2] == BW_OK && w.values[2] == 3);
	cr_assert_eq(ask(3, ADD, "1", "3"), BW_OK);
	until(&w.ended, 4);
	cr_assert_eq(w.ups, 1, "a time-out does not cost the connection");
	end();
}

Test(pg, a_write_has_its_own_transaction)
{
	begin(64, 5000);
	/* Between reads that fail: neither undoes it, nor does it end before its commit. */
	ask(0, FAIL, "0", NULL);
	ask(1, WRITE, "1", NULL);
	ask(2, FAIL, "0", NULL);
	ask(3, WRITE, "1", NULL); /* a duplicate */
	ask(4, WRITE, "2", NULL);
	ask(5, COUNT, NULL, NULL);
	ask(6, WRITE_LATE, "1", NULL);
	ask(7, WRITE_LATE, "1", NULL); /* fails in its commit */
	ask(8, COUNT, NULL, NULL);
	until(&w.ended, 9);
	cr_assert(w.errs[0] == BW_EIO && w.errs[2] == BW_EIO && w.errs[3] == BW_EIO);
	cr_assert(w.errs[1] == BW_OK && w.values[1] == 1 && w.errs[4] == BW_OK && w.values[4] == 2);
	cr_assert(w.errs[5] == BW_OK && w.values[5] == 2);
	cr_assert(w.errs[6] == BW_OK && w.errs[7] == BW_EIO && w.errs[8] == BW_OK);
	cr_assert_eq(w.ups, 1);
	end();
}

Test(pg, bells_ring_and_come_back_with_the_connection)
{
	begin(64, 5000);
	test_postgres_sql(w.server, "NOTIFY bell");
	until(&w.bells, 1);
	test_postgres_sql(w.server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
	                            "WHERE application_name = 'boardwalk'");
	until(&w.ups, 2);
	cr_assert_eq(w.downs, 1);
	test_postgres_sql(w.server, "NOTIFY bell");
	until(&w.bells, 2);
	end();
}

Test(pg, killed_server)
{
	uint64_t began;

	begin(64, 5000);
	for (unsigned round = 1; round <= 3; round++) {
		w.ended = 0;
		ask(0, SLEEP, "3", NULL);
		ask(1, ADD, "1", "1");
		ask(2, WRITE, "7", NULL);
		ev_run(w.loop, EVRUN_NOWAIT);
		test_postgres_kill(w.server);
		until(&w.downs, round);
		cr_assert_eq(w.ended, 3);
		for (size_t i = 0; i < 3; i++)
			cr_assert_eq(w.errs[i], BW_EGONE);
		cr_assert_eq(ask(3, ADD, "1", "1"), BW_EGONE);
		test_postgres_start(w.server);
		began = clock_mono_us();
		until(&w.ups, round + 1);
		cr_assert(clock_mono_us() - began < 1000000, "back within the longest back-off");
		cr_assert_eq(ask(4, ADD, "20", "3"), BW_OK);
		until(&w.ended, 4);
		cr_assert(w.errs[4] == BW_OK && w.values[4] == 23);
	}
	end();
}

Test(pg, freed_with_queries_in_flight)
{
	begin(64, 5000);
	ask(0, SLEEP, "3", NULL);
	ask(1, WRITE, "1", NULL);
	ev_run(w.loop, EVRUN_NOWAIT);
	ask(2, ADD, "1", "1");
	end();
	cr_assert_eq(w.ended, 3);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(w.errs[i], BW_EGONE);
}

Test(pg, comes_up_when_the_schema_does)
{
	static const struct pg_statement later[] = { { "later", "SELECT v FROM later", 0, 1,
		                                       false } };
	struct pg                       *pg;

	begin(64, 5000);
	pg = pg_new(w.loop, test_postgres_conninfo(w.server, "postgres"), later, 1, NULL, 1000, 4,
	            &ops, &w);
	w.ended = 0;
	ask(0, SLEEP, "0.3", NULL);
	until(&w.ended, 1);
	cr_assert(!pg_is_up(pg));
	test_postgres_sql(w.server, "CREATE TABLE later (v int)");
	until(&w.ups, 2);
	cr_assert(pg_is_up(pg));
	pg_free(pg);
	end();
}

/* Absent, empty, too old: the connection stays away, and comes by itself when the migrations are through;
 * also later, in the middle of its life. */
Test(pg, required_schema_is_waited_for)
{
	static const struct pg_statement one[] = { { "one", "SELECT 1", 0, 1, false } };
	static const char *const         before[] = {
			"SELECT 1",
			"CREATE TABLE public.boardwalk_migration (version int)",
			"INSERT INTO public.boardwalk_migration VALUES (0)",
	};
	struct pg *pg;

	begin(64, 5000);
	pg = pg_new(w.loop, test_postgres_conninfo(w.server, "postgres"), one, 1, NULL, 1000, 4,
	            &ops, &w);
	pg_require_schema(pg);
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		test_postgres_sql(w.server, "%s", before[i]);
		w.ended = 0;
		ask(0, SLEEP, "0.6", NULL);
		until(&w.ended, 1);
		cr_assert(!pg_is_up(pg), "%s", before[i]);
	}
	test_postgres_sql(w.server, "INSERT INTO public.boardwalk_migration VALUES (%d)",
	                  SCHEMA_VERSION);
	until(&w.ups, 2);
	cr_assert(pg_is_up(pg));
	pg_free(pg);
	end();
}

Test(pg, newer_schema_is_fatal, .exit_code = 1)
{
	static const struct pg_statement one[] = { { "one", "SELECT 1", 0, 1, false } };

	begin(64, 5000);
	test_postgres_sql(w.server,
	                  "CREATE TABLE public.boardwalk_migration AS SELECT %d AS version",
	                  SCHEMA_VERSION + 1);
	pg_require_schema(pg_new(w.loop, test_postgres_conninfo(w.server, "postgres"), one, 1, NULL,
	                         1000, 4, &ops, &w));
	until(&w.ups, 2);
}

Test(pg, wrong_column_count_is_fatal, .exit_code = 1)
{
	static const struct pg_statement wrong[] = { { "wrong", "SELECT 1, 2", 0, 1, false } };

	begin(64, 5000);
	pg_new(w.loop, test_postgres_conninfo(w.server, "postgres"), wrong, 1, NULL, 1000, 4, &ops,
	       &w);
	until(&w.ups, 2);
}
