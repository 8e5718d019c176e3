/* pg_impl.h - struct pg, for the files of this folder: pg.c (life, sending), batch.c (statements that
 * end together), connect.c (coming up and going down), result.c (what comes back). */
#pragma once
#include <libpq-fe.h>
#include <pg/pg.h>
#include <sys/queue.h>

#define PG_BACKOFF_FIRST_S 0.02
#define PG_MAX_PARAMS      16

enum pg_state {
	PG_DOWN,       /* no connection; the timer `again` is running */
	PG_CONNECTING, /* PQconnectPoll goes on; the timer `again` is its limit */
	PG_PREPARING,  /* set-up is in the pipeline; `again` is still its limit */
	PG_UP,
};

enum entry_kind { ENTRY_SETUP, ENTRY_SCHEMA, ENTRY_DESCRIBE, ENTRY_QUERY, ENTRY_SYNC };

/* What several entries, the sync behind them the last, end together. */
struct pg_batch_state {
	int         err;
	PGresult   *rows, *refusal; /* refusal: the server's, with its reason */
	pg_batch_cb cb;
	void       *arg;
};

struct entry {
	STAILQ_ENTRY(entry) next;
	enum entry_kind        kind;
	unsigned               statement;
	bool                   answered; /* its result has come, the NULL behind it has not */
	bool                   aborted;
	int                    err;   /* of a query that writes, kept until the sync */
	PGresult              *held;  /* rows of a query that writes, the same */
	struct pg_batch_state *batch; /* NULL: none; its sync frees it */
	pg_rows_cb             cb;
	void                  *arg;
	const char            *sql;      /* its own text; NULL: a prepared statement */
	unsigned               n_params; /* of its own text */
	const char            *params[]; /* the texts follow */
};
STAILQ_HEAD(entries, entry);

struct pg {
	struct ev_loop            *loop;
	char                      *conninfo;
	const struct pg_statement *statements;
	size_t                     n_statements;
	const char *const         *listen;
	unsigned                   timeout_ms, idle_ms, max_queue;
	bool                       requires_schema, by_index;
	const struct pg_ops       *ops;
	void                      *owner;

	enum pg_state  state;
	PGconn        *conn;
	struct entries sent;
	struct entry  *writing; /* answered, its sync has not come */
	unsigned       queries; /* in the list, and the one that is writing; a batch is one */
	unsigned       unsynced;
	bool           want_write;
	bool           broken; /* something could be sent in part only: it goes down in this turn */
	char          *last_reason; /* why it did not come up; NULL since it was up */
	double         backoff_s;
	unsigned       times_up;
	ev_io          io;
	ev_timer       again, silence;
	ev_prepare     turn; /* never started; fed when something is to be sent */
};

/* pg.c. Sending only fills libpq's buffer; it leaves at the end of the loop's turn. */
void          pg_watch(struct pg *pg, int events);
void          pg_flush(struct pg *pg);
struct entry *pg_push(struct pg *pg, enum entry_kind kind, unsigned statement);
/* A query of its own, or of a batch: not in the list yet; free with free. */
struct entry *pg_entry_of(const struct pg_statement *st, const struct pg_param *params);
bool          pg_send_query(struct pg *pg, struct entry *e, bool alone);
bool          pg_end_segment(struct pg *pg);
/* The one place where a query ends. Frees it; clears rows. */
void pg_end_query(struct pg *pg, struct entry *e, int err, PGresult *rows);

/* connect.c. Any state -> DOWN, with the reason; comes back by itself after the back-off. */
void pg_drop(struct pg *pg, const char *reason);
void pg_set_up(struct pg *pg);  /* PREPARING -> UP */
void pg_end_all(struct pg *pg); /* ends what is in flight as BW_EGONE */
void pg_on_io(struct ev_loop *loop, ev_io *w, int revents);
void pg_on_again(struct ev_loop *loop, ev_timer *w, int revents);

/* batch.c. A result of one of its steps, the NULL behind it, its sync (true: it was reached). */
void pg_batch_result(struct pg *pg, struct entry *e, PGresult *r);
void pg_batch_step_end(struct pg *pg, struct entry *e);
void pg_batch_end(struct pg *pg, struct pg_batch_state *batch, bool synced);

/* result.c. The server's answer as BW_E*, without a word to the log. */
int  pg_error_code(const PGresult *r);
void pg_take_results(struct pg *pg);
