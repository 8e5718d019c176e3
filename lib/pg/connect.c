/* connect.c - a connection comes up, prepares its statements, and goes down.
 *
 * Owns: nothing but the state. Runs in: the loop, never blocks, except that libpq looks up a host
 * name in PQconnectStart. Fails with: nothing; it tries again. Logs a loss, and each new reason why
 * it does not come up. Tests: tests/unit/pg/pg_test.c. */
#include "pg_impl.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>

#define BACKOFF_LAST_S    0.25
#define CONNECT_TIMEOUT_S 10.0

/* First of all: statements for another schema may be prepared, and mean something else. */
static bool send_schema_version(struct pg *pg)
{
	static const char sql[] = "SELECT max(version) FROM public.boardwalk_migration";

	if (!PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
		return false;
	pg_push(pg, ENTRY_SCHEMA, 0);
	return true;
}

static bool send_set_up(struct pg *pg)
{
	/* Statements here are short and prepared: compiling one takes longer than it ever runs. */
	static const char limits[] =
		"SELECT set_config('statement_timeout', $1, false),"
		"  set_config('idle_in_transaction_session_timeout', $2, false),"
		"  set_config('jit', 'off', false), set_config('enable_seqscan', $3, false),"
		"  set_config('plan_cache_mode', $4, false)";
	char              timeout[16], idle[16];
	const char *const params[4] = { timeout, idle, pg->by_index ? "off" : "on",
		                        pg->by_index ? "force_generic_plan" : "auto" };

	snprintf(timeout, sizeof(timeout), "%u", pg->timeout_ms);
	snprintf(idle, sizeof(idle), "%u", pg->idle_ms);
	if (!PQsendQueryParams(pg->conn, limits, 4, NULL, params, NULL, NULL, 0))
		return false;
	pg_push(pg, ENTRY_SETUP, 0);
	if (pg->requires_schema && !send_schema_version(pg))
		return false;
	for (size_t i = 0; i < pg->n_statements; i++) {
		const struct pg_statement *st = &pg->statements[i];

		if (!PQsendPrepare(pg->conn, st->name, st->sql, 0, NULL))
			return false;
		pg_push(pg, ENTRY_SETUP, (unsigned)i);
		if (!PQsendDescribePrepared(pg->conn, st->name))
			return false;
		pg_push(pg, ENTRY_DESCRIBE, (unsigned)i);
	}
	for (size_t i = 0; pg->listen != NULL && pg->listen[i] != NULL; i++) {
		char sql[96];

		snprintf(sql, sizeof(sql), "LISTEN %s", pg->listen[i]);
		if (!PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
			return false;
		pg_push(pg, ENTRY_SETUP, 0);
	}
	return pg_end_segment(pg);
}

void pg_set_up(struct pg *pg)
{
	pg->state = PG_UP;
	pg->times_up++;
	pg->backoff_s = PG_BACKOFF_FIRST_S;
	free(pg->last_reason);
	pg->last_reason = NULL;
	ev_timer_stop(pg->loop, &pg->again);
	if (pg->ops->on_up != NULL)
		pg->ops->on_up(pg);
}

static void connected(struct pg *pg)
{
	pg->state = PG_PREPARING;
	if (PQsetnonblocking(pg->conn, 1) != 0 || !PQenterPipelineMode(pg->conn) ||
	    !send_set_up(pg)) {
		pg_drop(pg, PQerrorMessage(pg->conn));
		return;
	}
	pg->want_write = false;
	pg_watch(pg, EV_READ);
	pg_flush(pg);
}

static void go_on_connecting(struct pg *pg)
{
	ev_io_stop(pg->loop, &pg->io);
	switch (PQconnectPoll(pg->conn)) {
	case PGRES_POLLING_READING:
		pg_watch(pg, EV_READ);
		break;
	case PGRES_POLLING_WRITING:
		pg_watch(pg, EV_WRITE);
		break;
	case PGRES_POLLING_OK:
		connected(pg);
		break;
	default:
		pg_drop(pg, PQerrorMessage(pg->conn));
	}
}

void pg_on_io(struct ev_loop *loop, ev_io *w, int revents)
{
	struct pg *pg = w->data;

	(void)loop;
	if (pg->state == PG_CONNECTING)
		go_on_connecting(pg);
	else if (revents & EV_READ)
		pg_take_results(pg);
	else
		pg_flush(pg);
}

static void drop_notice(void *arg, const char *text)
{
	(void)arg;
	log_debug(0, "postgresql: %s", text);
}

static void connect_now(struct pg *pg)
{
	const char *const keys[] = { "dbname", "client_encoding", "fallback_application_name",
		                     NULL };
	const char *const values[] = { pg->conninfo, "UTF8", "boardwalk", NULL };

	pg->state = PG_CONNECTING;
	ev_timer_stop(pg->loop, &pg->again);
	ev_timer_set(&pg->again, CONNECT_TIMEOUT_S, 0.);
	ev_timer_start(pg->loop, &pg->again);
	pg->conn = PQconnectStartParams(keys, values, 1);
	if (pg->conn == NULL)
		fatalx("out of memory");
	PQsetNoticeProcessor(pg->conn, drop_notice, NULL);
	if (PQstatus(pg->conn) == CONNECTION_BAD)
		pg_drop(pg, PQerrorMessage(pg->conn));
	else
		pg_watch(pg, EV_WRITE);
}

void pg_on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pg *pg = w->data;

	(void)loop;
	(void)revents;
	if (pg->state == PG_DOWN)
		connect_now(pg);
	else
		pg_drop(pg, "the server did not complete the connection in time");
}

/* Ends what is in flight. Their callbacks may ask again: pg_query refuses, the state is DOWN. */
void pg_end_all(struct pg *pg)
{
	struct entries gone = STAILQ_HEAD_INITIALIZER(gone);
	struct entry  *e;

	STAILQ_CONCAT(&gone, &pg->sent);
	if (pg->writing != NULL) {
		e = pg->writing;
		pg->writing = NULL;
		pg_end_query(pg, e, BW_EGONE, e->held);
	}
	while ((e = STAILQ_FIRST(&gone)) != NULL) {
		STAILQ_REMOVE_HEAD(&gone, next);
		if (e->kind == ENTRY_QUERY && e->batch == NULL) {
			pg_end_query(pg, e, BW_EGONE, e->held);
			continue;
		}
		if (e->kind == ENTRY_SYNC && e->batch != NULL)
			pg_batch_end(pg, e->batch, false);
		free(e);
	}
}

/* One line for a loss and one for each new reason why it does not come back. Keeps reason. */
static void log_drop(struct pg *pg, bool was_up, char *reason)
{
	if (was_up)
		log_warning(0, "postgresql: connection lost: %s", reason);
	else if (pg->last_reason == NULL || strcmp(pg->last_reason, reason) != 0)
		log_warning(0, "postgresql: not ready, trying on: %s", reason);
	free(pg->last_reason);
	pg->last_reason = reason;
}

void pg_drop(struct pg *pg, const char *reason)
{
	bool was_up = pg->state == PG_UP;

	if (pg->state == PG_DOWN)
		return;
	/* A copy of the first line: libpq's buffer goes with the connection. */
	log_drop(pg, was_up, xstrndup(reason, strcspn(reason, "\n")));
	pg->state = PG_DOWN;
	pg->broken = false;
	pg->unsynced = 0;
	ev_io_stop(pg->loop, &pg->io);
	ev_timer_stop(pg->loop, &pg->again);
	ev_timer_stop(pg->loop, &pg->silence);
	pg_end_all(pg);
	PQfinish(pg->conn);
	pg->conn = NULL;
	ev_timer_set(&pg->again, pg->backoff_s, 0.);
	ev_timer_start(pg->loop, &pg->again);
	pg->backoff_s = pg->backoff_s * 2 < BACKOFF_LAST_S ? pg->backoff_s * 2 : BACKOFF_LAST_S;
	if (was_up && pg->ops->on_down != NULL)
		pg->ops->on_down(pg, pg->last_reason);
}
