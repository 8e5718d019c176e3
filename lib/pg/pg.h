/* pg.h - one pipelined, non-blocking connection to PostgreSQL on a libev loop. Only this
 * folder and the CLI know libpq.
 *
 *   DOWN -> CONNECTING -> PREPARING -> UP --(lost, or statement time-out of the server)--> DOWN
 *
 * A connection comes back by itself (back-off 20 ms to 250 ms). Every query ends exactly once, with
 * rows or with an error: BW_EGONE when the connection is or goes down (outcome unknown), BW_EBUSY
 * beyond max_queue, BW_ETIME on statement_timeout, BW_EIO otherwise; SQLSTATE goes to the log,
 * never to a client. All queries of one loop turn leave in one write. Each is its own unit of work:
 * reads share a sync, and those that a neighbour's error aborted are sent again by themselves; a
 * statement that writes has its own sync and ends once its commit is known. */
#pragma once
#include <boardwalk/err.h>
#include <boardwalk/types.h>
#include <ev.h>

struct pg;
struct pg_rows;

struct pg_statement {
	const char *name, *sql;          /* the folder's queries.def */
	unsigned    n_params, n_columns; /* checked when it is prepared: a mismatch is fatal */
	bool        writes; /* has effects: never shares a transaction, is never repeated */
};

struct pg_param {
	const char *text; /* NUL-terminated text form; NULL: SQL NULL */
};

struct pg_ops {
	void (*on_up)(struct pg *pg); /* prepared and listening, again after each loss */
	void (*on_down)(struct pg  *pg,
	                const char *reason); /* was up; queries in flight have ended */
	void (*on_notify)(struct pg *pg, const char *channel); /* NULL if nothing is listened to */
};

/* conninfo: libpq's, or a postgresql:// URL. listen: NULL-terminated channel names, may be NULL.
 * statements, listen and ops are borrowed until pg_free. A statement that cannot be prepared (the
 * schema is not there yet) is logged and tried again with the connection. */
struct pg *pg_new(struct ev_loop *loop, const char *conninfo, const struct pg_statement *statements,
                  size_t n_statements, const char *const *listen, unsigned statement_timeout_ms,
                  unsigned max_queue, const struct pg_ops *ops, void *owner);
/* Right after pg_new: a transaction that nobody goes on with for so long is ended by the server, and
 * the connection with it. */
void pg_limit_idle(struct pg *pg, unsigned ms);
/* Right after pg_new: no table is read from end to end where an index would do, and plans are made once.
 * They are kept as long as the connection, and one that was made while a table was small would read it
 * whole for ever; the server would also make them anew, each time, for most statements of functions. */
void pg_go_by_index(struct pg *pg);
/* Right after pg_new: the connection is up only where the newest applied migration is SCHEMA_VERSION.
 * While it is older (or PostgreSQL is away) it is asked again with each new connection, and the wait
 * is logged; a newer one is fatal: this program must not touch it. */
void pg_require_schema(struct pg *pg);
/* Queries in flight end with BW_EGONE. Not from a callback of this pg. NULL is fine. */
void  pg_free(struct pg *pg);
void *pg_owner(const struct pg *pg);
bool  pg_is_up(const struct pg *pg);
/* How often it has come up: the number of the present connection, or of the last one; 0: none. */
unsigned pg_connection(const struct pg *pg);
unsigned pg_in_flight(const struct pg *pg);

/* rows: borrowed for the call; NULL unless err is BW_OK. */
typedef void (*pg_rows_cb)(void *arg, int err, const struct pg_rows *rows);
/* BW_OK: cb runs once, later. BW_E*: it never does. params: as many as the statement has;
 * copied. */
int pg_query(struct pg *pg, unsigned statement, const struct pg_param *params, pg_rows_cb cb,
             void *arg);

/* Why the server refused: its SQLSTATE and its first line. Both "" if it was not the server. */
struct pg_failure {
	const char *state, *text;
};

struct pg_step {
	unsigned               statement;
	const struct pg_param *params;
};

/* rows: of the last step that has columns; NULL unless err is BW_OK. Both borrowed for the call. */
typedef void (*pg_batch_cb)(void *arg, int err, const struct pg_rows *rows,
                            const struct pg_failure *why);
/* Statements that leave together: the first that fails is the outcome, and those behind it do not
 * run. Never repeated and not logged: that is the caller's. As "BEGIN" is a statement like any other,
 * a transaction may span several batches; its connection is the caller's alone until he has ended
 * it. Counts as one for max_queue. Else as pg_query. */
int pg_batch(struct pg *pg, const struct pg_step *steps, unsigned n, pg_batch_cb cb, void *arg);

/* A read whose text was made just now, in a segment of its own: prepared by nobody, checked by nobody.
 * What comes from outside goes into params. As it is alone, it may also begin or end a transaction, if
 * the connection is the caller's alone. */
int pg_query_text(struct pg *pg, const char *sql, unsigned n_params, const char *const *params,
                  pg_rows_cb cb, void *arg);

unsigned      pg_rows_count(const struct pg_rows *rows);
struct bw_str pg_text(const struct pg_rows *rows, unsigned row, unsigned column); /* absent: NULL */
int64_t       pg_int(const struct pg_rows *rows, unsigned row, unsigned column);  /* 0 for NULL */
bool          pg_bool(const struct pg_rows *rows, unsigned row, unsigned column);

/* The text form of an array of texts, for a parameter; free with free. */
char *pg_array(const struct bw_str *items, unsigned n);
