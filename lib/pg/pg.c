/* pg.c - the pipelined connection to PostgreSQL.
 *
 * Everything sent is remembered in one list, in the order in which libpq hands back the results:
 *
 *    head                                                              tail
 *    QUERY  QUERY  QUERY  SYNC  QUERY  SYNC  QUERY  QUERY              (open segment)
 *    `---- one segment ----'    ^ writes                 ^ the SYNC follows in on_turn
 *
 * A segment is one transaction for the server. If a query in it fails, those behind it come back as
 * aborted: they are reads, and are sent again, each in a segment of its own.
 * Owns: the connection, the list. Runs in: the loop given to pg_new, never blocks. Fails with: see
 * pg.h. Tests: tests/unit/pg/pg_test.c. */
#include "pg_impl.h"
#include <base/fatal.h>
#include <stdlib.h>

#define SILENCE_S 5.0 /* beyond the statement time-out: the server is gone */

void pg_watch(struct pg *pg, int events)
{
	/* Always set anew: while it connects, libpq may have closed the descriptor and got the same
	 * number again, of which the kernel's poll set knows nothing. */
	ev_io_stop(pg->loop, &pg->io);
	ev_io_set(&pg->io, PQsocket(pg->conn), events);
	ev_io_start(pg->loop, &pg->io);
}

struct entry *pg_push(struct pg *pg, enum entry_kind kind, unsigned statement)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	e->kind = kind;
	e->statement = statement;
	STAILQ_INSERT_TAIL(&pg->sent, e, next);
	return e;
}

/* The one place where a query ends. Frees it. */
void pg_end_query(struct pg *pg, struct entry *e, int err, PGresult *rows)
{
	pg->queries--;
	e->cb(e->arg, err, err == BW_OK ? (const struct pg_rows *)rows : NULL);
	PQclear(rows);
	free(e);
}

void pg_flush(struct pg *pg)
{
	int left = PQflush(pg->conn);

	if (left < 0) {
		pg_drop(pg, PQerrorMessage(pg->conn));
		return;
	}
	if ((left == 1) != pg->want_write) {
		pg->want_write = left == 1;
		pg_watch(pg, EV_READ | (pg->want_write ? EV_WRITE : 0));
	}
}

bool pg_end_segment(struct pg *pg)
{
	if (!PQpipelineSync(pg->conn))
		return false;
	pg->unsynced = 0;
	pg_push(pg, ENTRY_SYNC, 0);
	return true;
}

/* Sends a query that has not been sent or was aborted; alone: in a segment of its own. False: it
 * was not sent. If only the sync behind it fails, on_turn tries that again and drops. */
bool pg_send_query(struct pg *pg, struct entry *e, bool alone)
{
	const struct pg_statement *st = &pg->statements[e->statement];

	if (alone && pg->unsynced > 0 && !pg_end_segment(pg))
		return false;
	if (!(e->sql != NULL ? PQsendQueryParams(pg->conn, e->sql, (int)e->n_params, NULL,
	                                         e->params, NULL, NULL, 0)
	                     : PQsendQueryPrepared(pg->conn, st->name, (int)st->n_params, e->params,
	                                           NULL, NULL, 0)))
		return false;
	STAILQ_INSERT_TAIL(&pg->sent, e, next);
	pg->unsynced++;
	/* Runs behind all other watchers that are pending, in this turn of the loop, even if we are
	 * called from somebody's ev_prepare. */
	ev_feed_event(pg->loop, &pg->turn, EV_CUSTOM);
	if (alone)
		(void)pg_end_segment(pg);
	return true;
}

static void on_turn(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct pg *pg = w->data;

	(void)loop;
	(void)revents;
	if (pg->state == PG_DOWN)
		return;
	if (pg->broken || (pg->unsynced > 0 && !pg_end_segment(pg)))
		pg_drop(pg, PQerrorMessage(pg->conn));
	else
		pg_flush(pg);
}

static void on_silence(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	pg_drop(w->data, "the server does not answer");
}

struct pg *pg_new(struct ev_loop *loop, const char *conninfo, const struct pg_statement *statements,
                  size_t n_statements, const char *const *listen, unsigned statement_timeout_ms,
                  unsigned max_queue, const struct pg_ops *ops, void *owner)
{
	struct pg *pg = xcalloc(1, sizeof(*pg));

	pg->loop = loop;
	pg->conninfo = xstrdup(conninfo);
	pg->statements = statements;
	pg->n_statements = n_statements;
	pg->listen = listen;
	pg->timeout_ms = statement_timeout_ms;
	pg->max_queue = max_queue;
	pg->ops = ops;
	pg->owner = owner;
	pg->backoff_s = PG_BACKOFF_FIRST_S;
	STAILQ_INIT(&pg->sent);
	for (size_t i = 0; i < n_statements; i++)
		if (statements[i].n_params > PG_MAX_PARAMS)
			fatalx("statement %s has more than %d parameters", statements[i].name,
			       PG_MAX_PARAMS);
	ev_io_init(&pg->io, pg_on_io, -1, EV_READ);
	ev_timer_init(&pg->again, pg_on_again, 0., 0.);
	ev_timer_init(&pg->silence, on_silence, 0., statement_timeout_ms / 1000. + SILENCE_S);
	ev_prepare_init(&pg->turn, on_turn);
	ev_set_priority(&pg->turn, EV_MINPRI);
	pg->io.data = pg->again.data = pg->silence.data = pg->turn.data = pg;
	ev_timer_start(loop, &pg->again);
	return pg;
}

void pg_require_schema(struct pg *pg)
{
	pg->requires_schema = true;
}

void pg_limit_idle(struct pg *pg, unsigned ms)
{
	pg->idle_ms = ms;
}

void pg_go_by_index(struct pg *pg)
{
	pg->by_index = true;
}

void pg_free(struct pg *pg)
{
	if (pg == NULL)
		return;
	pg->state = PG_DOWN;
	ev_io_stop(pg->loop, &pg->io);
	ev_timer_stop(pg->loop, &pg->again);
	ev_timer_stop(pg->loop, &pg->silence);
	ev_clear_pending(pg->loop, &pg->turn);
	pg_end_all(pg);
	PQfinish(pg->conn);
	free(pg->last_reason);
	free(pg->conninfo);
	free(pg);
}

void *pg_owner(const struct pg *pg)
{
	return pg->owner;
}

bool pg_is_up(const struct pg *pg)
{
	return pg->state == PG_UP;
}

unsigned pg_connection(const struct pg *pg)
{
	return pg->times_up;
}

unsigned pg_in_flight(const struct pg *pg)
{
	return pg->queries;
}

/* ---- asking ---- */

/* One block: the entry, the pointers, the texts. Kept for the case that a neighbour aborts it. */
struct entry *pg_entry_of(const struct pg_statement *st, const struct pg_param *params)
{
	size_t        pointers = st->n_params * sizeof(char *), texts = 0, n[PG_MAX_PARAMS];
	struct entry *e;
	char         *at;

	for (unsigned i = 0; i < st->n_params; i++) {
		n[i] = params[i].text != NULL ? strlen(params[i].text) + 1 : 0;
		texts += n[i];
	}
	e = xmalloc(sizeof(*e) + pointers + texts);
	memset(e, 0, sizeof(*e));
	at = (char *)e + sizeof(*e) + pointers;
	for (unsigned i = 0; i < st->n_params; i++) {
		e->params[i] = n[i] > 0 ? memcpy(at, params[i].text, n[i]) : NULL;
		at += n[i];
	}
	return e;
}

int pg_query(struct pg *pg, unsigned statement, const struct pg_param *params, pg_rows_cb cb,
             void *arg)
{
	struct entry *e;

	if (pg->state != PG_UP)
		return BW_EGONE;
	if (pg->queries >= pg->max_queue)
		return BW_EBUSY;
	e = pg_entry_of(&pg->statements[statement], params);
	e->kind = ENTRY_QUERY;
	e->statement = statement;
	e->cb = cb;
	e->arg = arg;
	if (!ev_is_active(&pg->silence))
		ev_timer_again(pg->loop, &pg->silence);
	if (!pg_send_query(pg, e, pg->statements[statement].writes)) {
		free(e);
		return BW_EGONE;
	}
	pg->queries++;
	return BW_OK;
}
