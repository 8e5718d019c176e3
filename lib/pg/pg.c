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
 * Owns: the connection, the list. Runs in: the loop given to pg_new, never blocks, except that libpq
 * looks up a host name in PQconnectStart. Fails with: see pg.h. Logs the server's errors with their
 * SQLSTATE. Tests: tests/unit/pg/pg_test.c. */
#include <pg/pg.h>
#include <base/fatal.h>
#include <base/log.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <sys/queue.h>

#define BACKOFF_FIRST_S   0.02
#define BACKOFF_LAST_S    0.25
#define CONNECT_TIMEOUT_S 10.0
#define SILENCE_S         5.0 /* beyond the statement time-out: the server is gone */
#define MAX_PARAMS        16

enum pg_state {
	PG_DOWN,       /* no connection; the timer `again` is running */
	PG_CONNECTING, /* PQconnectPoll goes on; the timer `again` is its limit */
	PG_PREPARING,  /* set-up is in the pipeline; `again` is still its limit */
	PG_UP,
};

enum entry_kind { ENTRY_SETUP, ENTRY_DESCRIBE, ENTRY_QUERY, ENTRY_SYNC };

struct entry {
	STAILQ_ENTRY(entry) next;
	enum entry_kind     kind;
	unsigned            statement;
	bool                answered; /* its result has come, the NULL behind it has not */
	bool                aborted;
	int                 err;  /* of a query that writes, kept until the sync */
	PGresult           *held; /* rows of a query that writes, the same */
	pg_rows_cb          cb;
	void               *arg;
	const char         *params[]; /* the texts follow */
};
STAILQ_HEAD(entries, entry);

struct pg {
	struct ev_loop            *loop;
	char                      *conninfo;
	const struct pg_statement *statements;
	size_t                     n_statements;
	const char *const         *listen;
	unsigned                   timeout_ms, max_queue;
	const struct pg_ops       *ops;
	void                      *owner;

	enum pg_state  state;
	PGconn        *conn;
	struct entries sent;
	struct entry  *writing; /* answered, its sync has not come */
	unsigned       queries; /* ENTRY_QUERY in the list, and the one that is writing */
	unsigned       unsynced;
	bool           want_write;
	char          *last_reason; /* why it did not come up; NULL since it was up */
	double         backoff_s;
	ev_io          io;
	ev_timer       again, silence;
	ev_prepare     turn; /* never started; fed when something is to be sent */
};

static void drop(struct pg *pg, const char *reason);

static void watch(struct pg *pg, int events)
{
	/* Always set anew: while it connects, libpq may have closed the descriptor and got the same
	 * number again, of which the kernel's poll set knows nothing. */
	ev_io_stop(pg->loop, &pg->io);
	ev_io_set(&pg->io, PQsocket(pg->conn), events);
	ev_io_start(pg->loop, &pg->io);
}

static struct entry *push(struct pg *pg, enum entry_kind kind, unsigned statement)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	e->kind = kind;
	e->statement = statement;
	STAILQ_INSERT_TAIL(&pg->sent, e, next);
	return e;
}

/* The one place where a query ends. Frees it. */
static void end_query(struct pg *pg, struct entry *e, int err, PGresult *rows)
{
	pg->queries--;
	e->cb(e->arg, err, err == BW_OK ? (const struct pg_rows *)rows : NULL);
	PQclear(rows);
	free(e);
}

static void flush(struct pg *pg)
{
	int left = PQflush(pg->conn);

	if (left < 0) {
		drop(pg, PQerrorMessage(pg->conn));
		return;
	}
	if ((left == 1) != pg->want_write) {
		pg->want_write = left == 1;
		watch(pg, EV_READ | (pg->want_write ? EV_WRITE : 0));
	}
}

static bool end_segment(struct pg *pg)
{
	if (!PQpipelineSync(pg->conn))
		return false;
	pg->unsynced = 0;
	push(pg, ENTRY_SYNC, 0);
	return true;
}

/* Sends a query that has not been sent or was aborted; alone: in a segment of its own. False: it
 * was not sent. If only the sync behind it fails, on_turn tries that again and drops. */
static bool send_query(struct pg *pg, struct entry *e, bool alone)
{
	const struct pg_statement *st = &pg->statements[e->statement];

	if (alone && pg->unsynced > 0 && !end_segment(pg))
		return false;
	if (!PQsendQueryPrepared(pg->conn, st->name, (int)st->n_params, e->params, NULL, NULL, 0))
		return false;
	STAILQ_INSERT_TAIL(&pg->sent, e, next);
	pg->unsynced++;
	/* Runs behind all other watchers that are pending, in this turn of the loop, even if we are
	 * called from somebody's ev_prepare. */
	ev_feed_event(pg->loop, &pg->turn, EV_CUSTOM);
	if (alone)
		(void)end_segment(pg);
	return true;
}

static void on_turn(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct pg *pg = w->data;

	(void)loop;
	(void)revents;
	if (pg->state == PG_DOWN)
		return;
	if (pg->unsynced > 0 && !end_segment(pg))
		drop(pg, PQerrorMessage(pg->conn));
	else
		flush(pg);
}

/* ---- results ---- */

static int error_of(struct pg *pg, const struct entry *e, const PGresult *r)
{
	const char *state = PQresultErrorField(r, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);

	if (state == NULL) /* libpq's own words: the connection broke */
		return BW_EGONE;
	log_warning(0, "postgresql: %s: %s (%s)", pg->statements[e->statement].name,
	            text != NULL ? text : "no text", state);
	if (strcmp(state, "57014") == 0)
		return BW_ETIME;
	if (strncmp(state, "57P0", 4) == 0 || strncmp(state, "08", 2) == 0)
		return BW_EGONE;
	return BW_EIO;
}

static void query_result(struct pg *pg, struct entry *e, PGresult *r)
{
	ExecStatusType status = PQresultStatus(r);

	e->answered = true;
	if (status == PGRES_PIPELINE_ABORTED) {
		e->aborted = true;
		PQclear(r);
		return;
	}
	e->err = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ? BW_OK : error_of(pg, e, r);
	e->held = r;
}

/* The NULL behind a query's result: a read has ended, a write waits for its sync. */
static void query_done(struct pg *pg, struct entry *e)
{
	STAILQ_REMOVE_HEAD(&pg->sent, next);
	if (e->aborted) {
		e->aborted = e->answered = false;
		if (!send_query(pg, e, true)) {
			end_query(pg, e, BW_EGONE, NULL);
			drop(pg, PQerrorMessage(pg->conn));
		}
	} else if (pg->statements[e->statement].writes && e->err == BW_OK) {
		pg->writing = e;
	} else {
		end_query(pg, e, e->answered ? e->err : BW_EIO, e->held);
	}
}

static void up(struct pg *pg)
{
	pg->state = PG_UP;
	pg->backoff_s = BACKOFF_FIRST_S;
	free(pg->last_reason);
	pg->last_reason = NULL;
	ev_timer_stop(pg->loop, &pg->again);
	if (pg->ops->on_up != NULL)
		pg->ops->on_up(pg);
}

/* A commit that fails (a deferred constraint) is an error before the sync: no effect. */
static void sync_result(struct pg *pg, struct entry *sync, const PGresult *r)
{
	bool          synced = PQresultStatus(r) == PGRES_PIPELINE_SYNC;
	struct entry *e = pg->writing;

	if (e != NULL) {
		pg->writing = NULL;
		end_query(pg, e, synced ? BW_OK : error_of(pg, e, r), e->held);
	}
	if (synced) {
		STAILQ_REMOVE_HEAD(&pg->sent, next);
		free(sync);
		if (pg->state == PG_PREPARING)
			up(pg);
	}
}

static void set_up_result(struct pg *pg, struct entry *e, const PGresult *r)
{
	const struct pg_statement *st = &pg->statements[e->statement];
	ExecStatusType             status = PQresultStatus(r);

	if (status == PGRES_FATAL_ERROR) {
		drop(pg, PQresultErrorMessage(r));
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
		drop(pg, PQerrorMessage(pg->conn));
		return false;
	}
	if (status == PGRES_COPY_OUT || status == PGRES_COPY_IN || status == PGRES_COPY_BOTH) {
		PQclear(r); /* in a pipeline it never ends */
		drop(pg, "a statement started a COPY");
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

static void on_readable(struct pg *pg)
{
	if (!PQconsumeInput(pg->conn)) {
		drop(pg, PQerrorMessage(pg->conn));
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
	flush(pg);
}

static void on_silence(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	drop(w->data, "the server does not answer");
}

/* ---- coming up and going down ---- */

static bool send_set_up(struct pg *pg)
{
	char        timeout[16];
	const char *const param[1] = { timeout };

	snprintf(timeout, sizeof(timeout), "%u", pg->timeout_ms);
	if (!PQsendQueryParams(pg->conn, "SELECT set_config('statement_timeout', $1, false)", 1, NULL,
	                       param, NULL, NULL, 0))
		return false;
	push(pg, ENTRY_SETUP, 0);
	for (size_t i = 0; i < pg->n_statements; i++) {
		const struct pg_statement *st = &pg->statements[i];

		if (!PQsendPrepare(pg->conn, st->name, st->sql, 0, NULL))
			return false;
		push(pg, ENTRY_SETUP, (unsigned)i);
		if (!PQsendDescribePrepared(pg->conn, st->name))
			return false;
		push(pg, ENTRY_DESCRIBE, (unsigned)i);
	}
	for (size_t i = 0; pg->listen != NULL && pg->listen[i] != NULL; i++) {
		char sql[96];

		snprintf(sql, sizeof(sql), "LISTEN %s", pg->listen[i]);
		if (!PQsendQueryParams(pg->conn, sql, 0, NULL, NULL, NULL, NULL, 0))
			return false;
		push(pg, ENTRY_SETUP, 0);
	}
	return end_segment(pg);
}

static void connected(struct pg *pg)
{
	pg->state = PG_PREPARING;
	if (PQsetnonblocking(pg->conn, 1) != 0 || !PQenterPipelineMode(pg->conn) || !send_set_up(pg)) {
		drop(pg, PQerrorMessage(pg->conn));
		return;
	}
	pg->want_write = false;
	watch(pg, EV_READ);
	flush(pg);
}

static void go_on_connecting(struct pg *pg)
{
	ev_io_stop(pg->loop, &pg->io);
	switch (PQconnectPoll(pg->conn)) {
	case PGRES_POLLING_READING:
		watch(pg, EV_READ);
		break;
	case PGRES_POLLING_WRITING:
		watch(pg, EV_WRITE);
		break;
	case PGRES_POLLING_OK:
		connected(pg);
		break;
	default:
		drop(pg, PQerrorMessage(pg->conn));
	}
}

static void on_io(struct ev_loop *loop, ev_io *w, int revents)
{
	struct pg *pg = w->data;

	(void)loop;
	if (pg->state == PG_CONNECTING)
		go_on_connecting(pg);
	else if (revents & EV_READ)
		on_readable(pg);
	else
		flush(pg);
}

static void drop_notice(void *arg, const char *text)
{
	(void)arg;
	log_debug(0, "postgresql: %s", text);
}

static void connect_now(struct pg *pg)
{
	const char *const keys[] = { "dbname", "client_encoding", "fallback_application_name", NULL };
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
		drop(pg, PQerrorMessage(pg->conn));
	else
		watch(pg, EV_WRITE);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct pg *pg = w->data;

	(void)loop;
	(void)revents;
	if (pg->state == PG_DOWN)
		connect_now(pg);
	else
		drop(pg, "the server did not complete the connection in time");
}

/* Ends what is in flight. Their callbacks may ask again: pg_query refuses, the state is DOWN. */
static void end_all(struct pg *pg)
{
	struct entries gone = STAILQ_HEAD_INITIALIZER(gone);
	struct entry  *e;

	STAILQ_CONCAT(&gone, &pg->sent);
	if (pg->writing != NULL) {
		e = pg->writing;
		pg->writing = NULL;
		end_query(pg, e, BW_EGONE, e->held);
	}
	while ((e = STAILQ_FIRST(&gone)) != NULL) {
		STAILQ_REMOVE_HEAD(&gone, next);
		if (e->kind == ENTRY_QUERY)
			end_query(pg, e, BW_EGONE, e->held);
		else
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

/* Any state -> DOWN, with the reason. Comes back by itself after the back-off. */
static void drop(struct pg *pg, const char *reason)
{
	bool was_up = pg->state == PG_UP;

	if (pg->state == PG_DOWN)
		return;
	/* A copy of the first line: libpq's buffer goes with the connection. */
	log_drop(pg, was_up, xstrndup(reason, strcspn(reason, "\n")));
	pg->state = PG_DOWN;
	pg->unsynced = 0;
	ev_io_stop(pg->loop, &pg->io);
	ev_timer_stop(pg->loop, &pg->again);
	ev_timer_stop(pg->loop, &pg->silence);
	end_all(pg);
	PQfinish(pg->conn);
	pg->conn = NULL;
	ev_timer_set(&pg->again, pg->backoff_s, 0.);
	ev_timer_start(pg->loop, &pg->again);
	pg->backoff_s = pg->backoff_s * 2 < BACKOFF_LAST_S ? pg->backoff_s * 2 : BACKOFF_LAST_S;
	if (was_up && pg->ops->on_down != NULL)
		pg->ops->on_down(pg, pg->last_reason);
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
	pg->backoff_s = BACKOFF_FIRST_S;
	STAILQ_INIT(&pg->sent);
	for (size_t i = 0; i < n_statements; i++)
		if (statements[i].n_params > MAX_PARAMS)
			fatalx("statement %s has more than %d parameters", statements[i].name, MAX_PARAMS);
	ev_io_init(&pg->io, on_io, -1, EV_READ);
	ev_timer_init(&pg->again, on_again, 0., 0.);
	ev_timer_init(&pg->silence, on_silence, 0., statement_timeout_ms / 1000. + SILENCE_S);
	ev_prepare_init(&pg->turn, on_turn);
	ev_set_priority(&pg->turn, EV_MINPRI);
	pg->io.data = pg->again.data = pg->silence.data = pg->turn.data = pg;
	ev_timer_start(loop, &pg->again);
	return pg;
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
	end_all(pg);
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

unsigned pg_in_flight(const struct pg *pg)
{
	return pg->queries;
}

/* ---- asking ---- */

/* One block: the entry, the pointers, the texts. Kept for the case that a neighbour aborts it. */
static struct entry *entry_of(const struct pg_statement *st, const struct pg_param *params)
{
	size_t        pointers = st->n_params * sizeof(char *), texts = 0, n[MAX_PARAMS];
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

int pg_query(struct pg *pg, unsigned statement, const struct pg_param *params, pg_rows_cb cb, void *arg)
{
	struct entry *e;

	if (pg->state != PG_UP)
		return BW_EGONE;
	if (pg->queries >= pg->max_queue)
		return BW_EBUSY;
	e = entry_of(&pg->statements[statement], params);
	e->kind = ENTRY_QUERY;
	e->statement = statement;
	e->cb = cb;
	e->arg = arg;
	if (!ev_is_active(&pg->silence))
		ev_timer_again(pg->loop, &pg->silence);
	if (!send_query(pg, e, pg->statements[statement].writes)) {
		free(e);
		return BW_EGONE;
	}
	pg->queries++;
	return BW_OK;
}
