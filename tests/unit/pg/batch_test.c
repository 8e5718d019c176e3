/* lib/pg/batch.c against a real server: a batch ends once, with its first failure, and leaves the
 * connection to others; a transaction spans batches, and its end with the connection is told. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <base/log.h>
#include <pg/pg.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/postgres.h>

enum { BEGIN, COMMIT, ROLLBACK, INSERT, DIVIDE, NOTHING, COUNT, SLEEP, N };

static const struct pg_statement statements[N] = {
	[BEGIN] = { "begin", "BEGIN", 0, 0, true },
	[COMMIT] = { "commit", "COMMIT", 0, 0, true },
	[ROLLBACK] = { "rollback", "ROLLBACK", 0, 0, true },
	[INSERT] = { "insert", "INSERT INTO t VALUES ($1::int) RETURNING v", 1, 1, true },
	[DIVIDE] = { "divide", "SELECT 1 / $1::int", 1, 1, true },
	[NOTHING] = { "nothing", "UPDATE t SET v = v WHERE false", 0, 0, true },
	[COUNT] = { "count", "SELECT count(*) FROM t", 0, 1, false },
	[SLEEP] = { "sleep", "SELECT pg_sleep($1::float8)", 1, 1, true },
};

static struct test_postgres *server;
static struct ev_loop       *loop;
static struct pg            *pg;
static unsigned              ups, ended;

/* What came of a batch. */
struct outcome {
	bool     ended;
	int      err;
	int64_t  value;
	unsigned rows;
	char     state[8], text[128];
};

static void on_up(struct pg *p)
{
	(void)p;
	ups++;
}

static const struct pg_ops ops = { on_up, NULL, NULL };

static void on_end(void *arg, int err, const struct pg_rows *rows, const struct pg_failure *why)
{
	struct outcome *o = arg;

	cr_assert_not(o->ended, "a batch ends twice");
	o->ended = true;
	o->err = err;
	cr_assert(rows == NULL || err == BW_OK);
	o->rows = rows != NULL ? pg_rows_count(rows) : 0;
	o->value = o->rows > 0 ? pg_int(rows, 0, 0) : -1;
	snprintf(o->state, sizeof(o->state), "%s", why->state);
	snprintf(o->text, sizeof(o->text), "%s", why->text);
	ended++;
}

static void until(const unsigned *counter, unsigned n)
{
	double limit = ev_time() + 15.;

	while (*counter < n) {
		ev_now_update(loop);
		ev_run(loop, EVRUN_ONCE);
		cr_assert(ev_time() < limit, "waited in vain for %u (is %u)", n, *counter);
	}
}

static void begin(unsigned max_queue, unsigned idle_ms)
{
	log_init("test", LOG_LEVEL_ERROR);
	server = test_postgres_new_empty();
	test_postgres_sql(server, "CREATE TABLE t (v int UNIQUE DEFERRABLE INITIALLY DEFERRED)");
	loop = ev_loop_new(EVFLAG_AUTO);
	pg = pg_new(loop, test_postgres_conninfo(server, "postgres"), statements, N, NULL, 5000,
	            max_queue, &ops, NULL);
	pg_limit_idle(pg, idle_ms);
	until(&ups, 1);
}

static void end(void)
{
	pg_free(pg);
	ev_loop_destroy(loop);
	test_postgres_free(server);
}

#define PARAM(text) ((struct pg_param[]){ { text } })

/* Sends a batch; all of it in one array, a statement and its parameter. */
#define SEND(outcome, ...) \
	send_steps(outcome, (struct pg_step[]){ __VA_ARGS__ }, \
	           sizeof((struct pg_step[]){ __VA_ARGS__ }) / sizeof(struct pg_step))

static void send_steps(struct outcome *o, const struct pg_step *steps, size_t n)
{
	*o = (struct outcome){ .ended = false };
	cr_assert(eq(int, pg_batch(pg, steps, (unsigned)n, on_end, o), BW_OK));
}

static int64_t count(void)
{
	char   *text = test_postgres_value(server, "SELECT count(*) FROM t");
	int64_t n = strtoll(text, NULL, 10);

	free(text);
	return n;
}

TestSuite(batch, .fini = end);

Test(batch, steps_end_together_with_the_rows_of_the_last_that_has_some)
{
	struct outcome o;

	begin(8, 0);
	SEND(&o, { BEGIN, NULL }, { INSERT, PARAM("7") }, { INSERT, PARAM("8") }, { NOTHING, NULL },
	     { COMMIT, NULL });
	until(&ended, 1);
	cr_assert(o.err == BW_OK && o.rows == 1 && o.value == 8);
	cr_assert(eq(str, o.state, ""));
	cr_assert(eq(i64, count(), 2));
}

Test(batch, first_failure_is_the_outcome_and_the_rest_does_not_run)
{
	struct outcome o, p;

	begin(8, 0);
	SEND(&o, { BEGIN, NULL }, { INSERT, PARAM("7") }, { DIVIDE, PARAM("0") },
	     { DIVIDE, PARAM("x") }, { COMMIT, NULL });
	SEND(&p, { ROLLBACK, NULL });
	until(&ended, 2);
	cr_assert(eq(int, o.err, BW_EIO));
	cr_assert(eq(str, o.state, "22012"));
	cr_assert(eq(str, o.text, "division by zero"));
	cr_assert(eq(int, p.err, BW_OK));
	cr_assert(eq(i64, count(), 0));
}

Test(batch, commit_that_fails_is_the_failure)
{
	struct outcome o;

	begin(8, 0);
	SEND(&o, { BEGIN, NULL }, { INSERT, PARAM("7") }, { INSERT, PARAM("7") }, { COMMIT, NULL });
	until(&ended, 1);
	cr_assert(eq(int, o.err, BW_EIO));
	cr_assert(eq(str, o.state, "23505"));
	cr_assert(eq(i64, count(), 0));
}

Test(batch, transaction_spans_batches_and_the_next_one_may_stand_behind_its_end)
{
	struct outcome o[4];

	begin(8, 0);
	SEND(&o[0], { BEGIN, NULL }, { INSERT, PARAM("1") });
	until(&ended, 1);
	cr_assert(o[0].err == BW_OK && o[0].value == 1);
	cr_assert(eq(i64, count(), 0));
	SEND(&o[1], { ROLLBACK, NULL });
	SEND(&o[2], { BEGIN, NULL }, { INSERT, PARAM("2") });
	SEND(&o[3], { INSERT, PARAM("3") }, { COMMIT, NULL });
	until(&ended, 4);
	for (int i = 1; i < 4; i++)
		cr_assert(eq(int, o[i].err, BW_OK));
	cr_assert(eq(i64, count(), 2));
}

static void on_rows(void *arg, int err, const struct pg_rows *rows)
{
	*(int64_t *)arg = err == BW_OK ? pg_int(rows, 0, 0) : err;
	ended++;
}

Test(batch, queries_of_one_turn_are_not_touched_by_a_batch_that_fails)
{
	struct outcome o;
	int64_t        before = -1, behind = -1;

	begin(8, 0);
	cr_assert(eq(int, pg_query(pg, COUNT, NULL, on_rows, &before), BW_OK));
	SEND(&o, { DIVIDE, PARAM("0") });
	cr_assert(eq(int, pg_query(pg, COUNT, NULL, on_rows, &behind), BW_OK));
	until(&ended, 3);
	cr_assert(eq(int, o.err, BW_EIO));
	cr_assert(before == 0 && behind == 0);
}

Test(batch, beyond_the_queue_is_busy_and_without_a_connection_gone)
{
	struct outcome o[3];
	struct pg_step step = { SLEEP, PARAM("30") };

	begin(2, 0);
	SEND(&o[0], { SLEEP, PARAM("30") });
	SEND(&o[1], { SLEEP, PARAM("30") });
	cr_assert(eq(int, pg_batch(pg, &step, 1, on_end, &o[2]), BW_EBUSY));
	cr_assert(eq(uint, pg_in_flight(pg), 2));
	test_postgres_kill(server);
	until(&ended, 2);
	cr_assert(o[0].err == BW_EGONE && o[1].err == BW_EGONE);
	cr_assert(eq(int, pg_batch(pg, &step, 1, on_end, &o[2]), BW_EGONE));
	test_postgres_start(server);
	until(&ups, 2);
}

Test(batch, forgotten_transaction_is_ended_by_the_server)
{
	struct outcome o;

	begin(8, 50);
	SEND(&o, { BEGIN, NULL }, { INSERT, PARAM("1") });
	until(&ended, 1);
	until(&ups, 2); /* the connection went with it, and came back */
	SEND(&o, { INSERT, PARAM("2") });
	until(&ended, 2);
	cr_assert(eq(int, o.err, BW_OK));
	cr_assert(eq(i64, count(), 1));
}
