/* migrate.c - the command `migrate` and the same step of `up`.
 *
 * auth and repo each have a role that may read its own schema. Behind a foreign server they log in
 * with the passwords that AUTH_DATABASE_URL and REPO_DATABASE_URL (or ..._FILE) hold, which are
 * given to the roles here if these variables are set; in the private cluster the roles have none
 * and the system user decides.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor.
 * Fails with: false after a line on stderr. Tests: tests/system/setup_test.c. */
#include "migrate.h"

#include <base/fatal.h>
#include <base/schema_version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "embedded.h"
#include "instance.h"

static const struct {
	const char *name, *url_variable;
} roles[] = {
	{ "boardwalk_auth", "AUTH_DATABASE_URL" },
	{ "boardwalk_repo", "REPO_DATABASE_URL" },
};

static const char table_sql[] =
	"CREATE TABLE IF NOT EXISTS public.boardwalk_migration ("
	" version int PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT now());"
	"GRANT SELECT ON public.boardwalk_migration TO boardwalk_auth, boardwalk_repo";

static bool create_role(struct database *db, const char *name)
{
	PGresult *rows;
	char     *sql;
	bool      exists, done;

	if (!database_query(db, "SELECT FROM pg_roles WHERE rolname = $1", 1, &name, &rows))
		return false;
	exists = PQntuples(rows) > 0;
	PQclear(rows);
	if (exists)
		return true;
	sql = xasprintf("CREATE ROLE %s LOGIN", name);
	/* Roles belong to the server, the lock to the database: another one may be first. */
	done = database_try(db, sql, 0, NULL, NULL) || strcmp(db->sqlstate, "42710") == 0 ||
	       complain("PostgreSQL: %s", database_reason(db));
	free(sql);
	return done;
}

/* The password of a connection string; NULL: it has none. Owned: free. */
static char *url_password(const char *url)
{
	PQconninfoOption *options = PQconninfoParse(url, NULL);
	char             *password = NULL;

	for (PQconninfoOption *o = options; o != NULL && o->keyword != NULL; o++)
		if (strcmp(o->keyword, "password") == 0 && o->val != NULL)
			password = xstrdup(o->val);
	PQconninfoFree(options);
	return password;
}

/* The server gets the SCRAM verifier, so the password is in no log of its own. */
static bool set_role_password(struct database *db, const char *name, const char *password)
{
	char *verifier = PQencryptPasswordConn(db->conn, password, name, "scram-sha-256");
	char *literal, *sql;
	bool  done;

	if (verifier == NULL)
		return complain("PostgreSQL: %s", database_reason(db));
	literal = PQescapeLiteral(db->conn, verifier, strlen(verifier));
	sql = xasprintf("ALTER ROLE %s PASSWORD %s", name, literal);
	done = database_run(db, sql);
	free(sql);
	PQfreemem(literal);
	PQfreemem(verifier);
	return done;
}

static bool prepare_roles(struct database *db)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
		char *url, *password;
		bool  done = create_role(db, roles[i].name);

		if (!done || !secret_variable(roles[i].url_variable, &url))
			return false;
		password = url != NULL ? url_password(url) : NULL;
		if (password != NULL) {
			done = set_role_password(db, roles[i].name, password);
			explicit_bzero(password, strlen(password));
		}
		free(password);
		free(url);
		if (!done)
			return false;
	}
	return true;
}

static bool current_version(struct database *db, int *ret_version)
{
	PGresult *rows;

	if (!database_query(db, "SELECT coalesce(max(version), 0) FROM public.boardwalk_migration",
	                    0, NULL, &rows))
		return false;
	*ret_version = atoi(PQgetvalue(rows, 0, 0));
	PQclear(rows);
	return true;
}

static bool apply(struct database *db, int version)
{
	const struct embedded_file *file = &embedded_migrations[version - 1];
	char                        number[16];
	const char                 *params[] = { number, file->name };

	snprintf(number, sizeof(number), "%d", version);
	if (!database_run(db, "BEGIN"))
		return false;
	if (!database_try(db, file->text, 0, NULL, NULL))
		return complain("%s: %s", file->name, database_reason(db));
	if (!database_query(
		    db, "INSERT INTO public.boardwalk_migration (version, name) VALUES ($1, $2)", 2,
		    params, NULL) ||
	    !database_run(db, "COMMIT"))
		return false;
	printf("migrated to version %d (%s)\n", version, file->name);
	return true;
}

bool migrate_run(struct database *db)
{
	int version;

	if (!database_lock(db, DATABASE_LOCK_MIGRATE, true) || !prepare_roles(db) ||
	    !database_run(db, table_sql) || !current_version(db, &version))
		return false;
	if (version > SCHEMA_VERSION)
		return complain("the database is at version %d, this program knows only up to %d",
		                version, SCHEMA_VERSION);
	while (version < SCHEMA_VERSION)
		if (!apply(db, ++version))
			return false;
	return database_run(db, "SELECT pg_advisory_unlock_all()");
}

int migrate_main(struct cli *cli)
{
	struct instance instance;
	struct database db = { 0 };
	bool            done;

	if (!instance_find(&instance, &cli->settings))
		return CLI_FAILED;
	done = instance_become_owner(&instance) &&
	       database_open(&db, instance.owner_conninfo, true) && migrate_run(&db);
	if (done)
		printf("the database is at version %d\n", SCHEMA_VERSION);
	database_close(&db);
	instance_done(&instance);
	return done ? CLI_OK : CLI_FAILED;
}
