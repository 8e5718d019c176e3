/* batch.c - statements that leave in one segment and end together, with the sync behind them.
 *
 *    QUERY  QUERY  QUERY  SYNC
 *    `------ one batch -----'   the first that fails is the outcome; the server skips the rest
 *
 * Owns: the state that the entries of a batch share; the sync's entry frees it. Runs in: the loop.
 * Fails with: see pg.h. Logs nothing. Tests: tests/unit/pg/batch_test.c. */
#include "pg_impl.h"
#include <base/fatal.h>
#include <stdlib.h>

void pg_batch_result(struct pg *pg, struct entry *e, PGresult *r)
{
	struct pg_batch_state *batch = e->batch;
	ExecStatusType         status = PQresultStatus(r);

	(void)pg;
	e->answered = true;
	if (status == PGRES_TUPLES_OK) {
		PQclear(batch->rows);
		batch->rows = r;
		return;
	}
	if (status != PGRES_COMMAND_OK && batch->err == BW_OK) {
		batch->err = pg_error_code(r);
		batch->refusal = r;
		return;
	}
	PQclear(r);
}

/* A statement without any result has not run: the connection is on its way down. */
void pg_batch_step_end(struct pg *pg, struct entry *e)
{
	(void)pg;
	if (!e->answered && e->batch->err == BW_OK)
		e->batch->err = BW_EGONE;
	free(e);
}

static const char *field(const PGresult *r, int code)
{
	const char *text = r != NULL ? PQresultErrorField(r, code) : NULL;

	return text != NULL ? text : "";
}

void pg_batch_end(struct pg *pg, struct pg_batch_state *batch, bool synced)
{
	struct pg_failure why = { field(batch->refusal, PG_DIAG_SQLSTATE),
		                  field(batch->refusal, PG_DIAG_MESSAGE_PRIMARY) };
	int               err = batch->err == BW_OK && !synced ? BW_EGONE : batch->err;

	pg->queries--;
	batch->cb(batch->arg, err, err == BW_OK ? (const struct pg_rows *)batch->rows : NULL, &why);
	PQclear(batch->rows);
	PQclear(batch->refusal);
	free(batch);
}

/* False: a part of it may have been sent. */
static bool send_all(struct pg *pg, struct pg_batch_state *batch, const struct pg_step *steps,
                     unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct entry *e = pg_entry_of(&pg->statements[steps[i].statement], steps[i].params);

		e->kind = ENTRY_QUERY;
		e->statement = steps[i].statement;
		e->batch = batch;
		if (!pg_send_query(pg, e, false)) {
			free(e);
			return false;
		}
	}
	if (!PQpipelineSync(pg->conn))
		return false;
	pg->unsynced = 0;
	pg_push(pg, ENTRY_SYNC, 0)->batch = batch;
	return true;
}

int pg_batch(struct pg *pg, const struct pg_step *steps, unsigned n, pg_batch_cb cb, void *arg)
{
	struct pg_batch_state *batch;

	if (pg->state != PG_UP)
		return BW_EGONE;
	if (pg->queries >= pg->max_queue)
		return BW_EBUSY;
	if (pg->unsynced > 0 && !pg_end_segment(pg))
		return BW_EGONE;
	batch = xcalloc(1, sizeof(*batch));
	batch->cb = cb;
	batch->arg = arg;
	if (!ev_is_active(&pg->silence))
		ev_timer_again(pg->loop, &pg->silence);
	pg->queries++;
	if (!send_all(pg, batch, steps, n)) {
		pg_push(pg, ENTRY_SYNC, 0)->batch = batch; /* ends with the connection */
		pg->broken = true;
		ev_feed_event(pg->loop, &pg->turn, EV_CUSTOM);
	}
	return BW_OK;
}
