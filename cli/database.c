/* database.c - libpq, blocking, for the operator's commands.
 *
 * Owns: one connection. Runs in: a command, or a job of the supervisor; never in a process that
 * serves requests. Fails with: false after a line on stderr; SQLSTATE is kept for the caller.
 * Tests: tests/system/setup_test.c. */
#include "database.h"
#include "cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/fatal.h>

/* Notices of the server are for its own log. */
static void drop_notice(void *arg, const PGresult *rows)
{
	(void)arg;
	(void)rows;
}

/* The first line of a message, without its severity. */
static const char *first_line(char *text)
{
	char *end = strchr(text, '\n');

	if (end != NULL)
		*end = '\0';
	return text;
}

const char *database_reason(struct database *db)
{
	static char reason[512];
	const char *text = PQerrorMessage(db->conn);

	if (strncmp(text, "ERROR:  ", 8) == 0)
		text += 8;
	snprintf(reason, sizeof(reason), "%s", text);
	return first_line(reason);
}

static bool connect_to(struct database *db, const char *conninfo, const char *database)
{
	const char *keys[] = { "dbname", "dbname", "application_name", "connect_timeout", NULL };
	const char *values[] = { conninfo, database, "boardwalk", "10", NULL };

	if (database == NULL) {
		keys[1] = "application_name";
		values[1] = "boardwalk";
	}
	db->sqlstate[0] = '\0';
	db->conn = PQconnectdbParams(keys, values, 1);
	if (db->conn == NULL)
		fatalx("out of memory");
	PQsetNoticeReceiver(db->conn, drop_notice, NULL);
	return PQstatus(db->conn) == CONNECTION_OK;
}

/* libpq does not hand out the SQLSTATE of a refused connection, only the text. */
static bool is_missing(struct database *db)
{
	const char *text = PQerrorMessage(db->conn);

	return strstr(text, "database \"") != NULL && strstr(text, "\" does not exist") != NULL;
}

static bool create_database(const char *conninfo, const char *name)
{
	struct database postgres = { 0 };
	char           *quoted, *sql;
	bool            done = false;

	if (!connect_to(&postgres, conninfo, "postgres"))
		complain("PostgreSQL: %s", database_reason(&postgres));
	else {
		quoted = PQescapeIdentifier(postgres.conn, name, strlen(name));
		sql = xasprintf("CREATE DATABASE %s ENCODING 'UTF8' TEMPLATE template0", quoted);
		/* Two starters at once: the second one's failure is none if the database is there. */
		done = database_try(&postgres, sql, 0, NULL, NULL) ||
		       strcmp(postgres.sqlstate, "42P04") == 0 ||
		       strcmp(postgres.sqlstate, "23505") == 0;
		if (!done)
			complain("PostgreSQL: %s", database_reason(&postgres));
		free(sql);
		PQfreemem(quoted);
	}
	database_close(&postgres);
	return done;
}

bool database_open(struct database *db, const char *conninfo, bool create)
{
	char *name;
	bool  made;

	if (connect_to(db, conninfo, NULL))
		return true;
	if (create && is_missing(db)) {
		name = xstrdup(PQdb(db->conn));
		database_close(db);
		made = create_database(conninfo, name);
		free(name);
		if (!made)
			return false;
		if (connect_to(db, conninfo, NULL))
			return true;
	}
	return complain("PostgreSQL: %s", database_reason(db));
}

void database_close(struct database *db)
{
	PQfinish(db->conn);
	db->conn = NULL;
}

bool database_try(struct database *db, const char *sql, int n_params, const char *const *params,
                  PGresult **ret_rows)
{
	PGresult *rows =
		n_params == 0 && ret_rows == NULL
			? PQexec(db->conn, sql)
			: PQexecParams(db->conn, sql, n_params, NULL, params, NULL, NULL, 0);
	ExecStatusType status = PQresultStatus(rows);
	const char    *state;

	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
		if (ret_rows != NULL)
			*ret_rows = rows;
		else
			PQclear(rows);
		return true;
	}
	state = PQresultErrorField(rows, PG_DIAG_SQLSTATE);
	snprintf(db->sqlstate, sizeof(db->sqlstate), "%s", state != NULL ? state : "");
	PQclear(rows);
	return false;
}

bool database_query(struct database *db, const char *sql, int n_params, const char *const *params,
                    PGresult **ret_rows)
{
	return database_try(db, sql, n_params, params, ret_rows) ||
	       complain("PostgreSQL: %s", database_reason(db));
}

bool database_run(struct database *db, const char *sql)
{
	return database_query(db, sql, 0, NULL, NULL);
}

bool database_may_retry(const struct database *db)
{
	return strcmp(db->sqlstate, "40001") == 0 || strcmp(db->sqlstate, "40P01") == 0;
}

bool database_lock(struct database *db, int64_t key, bool session)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "SELECT pg_advisory%s_lock(%" PRId64 ")", session ? "" : "_xact",
	         key);
	return database_run(db, sql);
}
