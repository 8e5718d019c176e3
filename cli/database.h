/* database.h - a blocking connection to PostgreSQL with the owner's rights, for one command.
 *
 * Every function that fails has written one line to stderr and answers false. */
#pragma once
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct database {
	PGconn *conn;
	char    sqlstate[6]; /* of the last failure; "" if the server did not say one */
};

/* Keys of advisory locks: one of each kind of work at a time, whoever starts it. */
#define DATABASE_LOCK_MIGRATE  INT64_C(0x626f617264776b01)
#define DATABASE_LOCK_REPOINIT INT64_C(0x626f617264776b02)

/* A missing database is made, through the database `postgres`, if create is true. */
bool database_open(struct database *db, const char *conninfo, bool create);
void database_close(struct database *db); /* may be called twice */
/* One or more statements without parameters and rows. */
bool database_run(struct database *db, const char *sql);
/* One statement with text parameters (NULL: SQL NULL); *ret_rows is owned: PQclear. */
bool database_query(struct database *db, const char *sql, int n_params, const char *const *params,
                    PGresult **ret_rows);
/* The same without a word, for whoever adds a place to the message: database_reason. */
bool database_try(struct database *db, const char *sql, int n_params, const char *const *params,
                  PGresult **ret_rows);
/* Why the last call failed: the server's primary message, or libpq's, without the line's end.
 * Borrowed until the next call. */
const char *database_reason(struct database *db);
/* Serialisation failure or deadlock: the whole transaction may succeed when tried again. */
bool database_may_retry(const struct database *db);
/* Holds the lock until the transaction or, if session, the connection ends. */
bool database_lock(struct database *db, int64_t key, bool session);
