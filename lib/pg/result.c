/* result.c - what the server sends back, matched with what was sent.
 *
 * Each query: its result, then a NULL; each sync: its result, with no NULL behind it.
 * Owns: nothing. Runs in: the loop. Fails with: the query's error. Logs the server's errors with
 * their SQLSTATE. Tests: tests/unit/pg/pg_test.c. */
#include "pg_impl.h"
#include <base/fatal.h>
#include <base/log.h>
#include <base/schema_version.h>
#include <stdio.h>
#include <stdlib.h>

int pg_error_code(const PGresult *r)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);

	if (state == NULL) /* libpq's own words: the connection broke */
		return BW_EGONE;
	if (strcmp(state, "57014") == 0)
		return BW_ETIME;
	if (strncmp(state, "57P0", 4) == 0 || strncmp(state, "08", 2) == 0)
		return BW_EGONE;
	return BW_EIO;
}

static int error_of(struct pg *pg, const struct entry *e, const PGresult *r)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

	if (state != NULL)
		log_warning(0, "postgresql: %s: %s (%s)",
		            e->sql != NULL ? "query" : pg->statements[e->statement].name,
		            text != NULL ? text : "no text", state);
	return pg_error_code(r);
}

static void query_result(struct pg *pg, struct entry *e, PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	if (e->batch != NULL) {
		pg_batch_result(pg, e, r);
		return;
	}
	e->answered = true;
	if (status == PGRES_PIPELINE_ABORTED) {
		e->aborted = true;
		PQclear(r);
		return;
	}
	e->err = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? BW_OK
	                                                                 : error_of(pg, e, r);
	e->held = r;
}

/* The NULL behind a query's result: a read has ended, a write waits for its sync. */
static void query_done(struct pg *pg, struct entry *e)
{
	STAILQ_REMOVE_HEAD(&pg->sent, next);
	if (e->batch != NULL) {
		pg_batch_step_end(pg, e);
	} else if (e->aborted) {
		e->aborted = e->answered = false;
		if (!pg_send_query(pg, e, true)) {
			pg_end_query(pg, e, BW_EGONE, NULL);
			pg_drop(pg, PQerrorMessage(pg->conn));
		}
	} else if (e->sql == NULL && pg->statements[e->statement].writes && e->err == BW_OK) {
		pg->writing = e;
	} else {
		pg_end_query(pg, e, e->answered ? e->err : BW_EIO, e->held);
	}
}

/* A commit that fails (a deferred constraint) is an error before the sync: no effect. */
static void sync_result(struct pg *pg, struct entry *sync, const PGresult *r)
{
	bool          synced = PQresultStatus(r) == PGRES_PIPELINE_SYNC;
	struct entry *e = pg->writing;

	if (e != NULL) {
		pg->writing = NULL;
		pg_end_query(pg, e, synced ? BW_OK : error_of(pg, e, r), e->held);
	}
	if (synced) {
		STAILQ_REMOVE_HEAD(&pg->sent, next);
		if (sync->batch != NULL)
			pg_batch_end(pg, sync->batch, true);
		free(sync);
		if (pg->state == PG_PREPARING)
			pg_set_up(pg);
	}
}

static void schema_result(struct pg *pg, const PGresult *r)
{
	/* No row yet counts as version 0. */
	int  version = PQgetisnull(r, 0, 0) ? 0 : atoi(PQgetvalue(r, 0, 0));
	char reason[96];

	if (version > SCHEMA_VERSION)
		fatalx("the database is at schema version %d, this program knows %d: it is too old",
		       version, SCHEMA_VERSION);
	if (version == SCHEMA_VERSION)
		return;
	snprintf(reason, sizeof(reason), "waiting for schema version %d, the database is at %d",
	         SCHEMA_VERSION, version);
	pg_drop(pg, reason);
}

static void set_up_result(struct pg *pg, struct entry *e, const PGresult *r)
{
	const struct pg_statement *st = &pg->statements[e->statement];
	ExecStatusType             status = PQresultStatus(r);

	if (status == PGRES_FATAL_ERROR) {
		pg_drop(pg, PQresultErrorMessage(r));
		return;
	}
	if (e->kind == ENTRY_SCHEMA && status == PGRES_TUPLES_OK) {
		schema_result(pg, r);
		return;
	}
	if (e->kind != ENTRY_DESCRIBE || status != PGRES_COMMAND_OK)
		return;
	if ((unsigned)PQnparams(r) != st->n_params || (unsigned)PQnfields(r) != st->n_columns)
		fatalx("statement %s has %d parameters and %d columns, not %u and %u", st->name,
		       PQnparams(r), PQnfields(r), st->n_params, st->n_columns);
}

/* Takes the next result of the head of the list. False: the connection was dropped. */
static bool take_result(struct pg *pg)
{
	struct entry  *e = STAILQ_FIRST(&pg->sent);
	PGresult      *r = PQgetResult(pg->conn);
	ExecStatusType status = r != NULL ? PQresultStatus(r) : PGRES_EMPTY_QUERY;

	if (PQstatus(pg->conn) == CONNECTION_BAD) {
		PQclear(r);
		pg_drop(pg, PQerrorMessage(pg->conn));
		return false;
	}
	if (status == PGRES_COPY_OUT || status == PGRES_COPY_IN || status == PGRES_COPY_BOTH) {
		PQclear(r); /* in a pipeline it never ends */
		pg_drop(pg, "a statement started a COPY");
		return false;
	}
	if (e->kind == ENTRY_QUERY) {
		if (r != NULL)
			query_result(pg, e, r);
		else
			query_done(pg, e);
		return pg->state == PG_UP;
	}
	if (r == NULL && e->kind != ENTRY_SYNC) {
		STAILQ_REMOVE_HEAD(&pg->sent, next);
		free(e);
	} else if (r != NULL && e->kind == ENTRY_SYNC) {
		sync_result(pg, e, r);
	} else if (r != NULL) {
		set_up_result(pg, e, r);
	}
	PQclear(r);
	return pg->state != PG_DOWN;
}

static void take_notifications(struct pg *pg)
{
	PGnotify *n;

	while ((n = PQnotifies(pg->conn)) != NULL) {
		if (pg->ops->on_notify != NULL && pg->state == PG_UP)
			pg->ops->on_notify(pg, n->relname);
		PQfreemem(n);
	}
}

void pg_take_results(struct pg *pg)
{
	if (!PQconsumeInput(pg->conn)) {
		pg_drop(pg, PQerrorMessage(pg->conn));
		return;
	}
	while (!STAILQ_EMPTY(&pg->sent) && !PQisBusy(pg->conn))
		if (!take_result(pg))
			return;
	take_notifications(pg);
	if (STAILQ_EMPTY(&pg->sent))
		ev_timer_stop(pg->loop, &pg->silence);
	else
		ev_timer_again(pg->loop, &pg->silence);
	pg_flush(pg);
}
