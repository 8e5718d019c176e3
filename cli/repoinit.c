/* repoinit.c - the command `repoinit` and the same step of `up`: a script against the database.
 *
 * Rows of executors[] are the statements this version can execute; each calls the SQL functions that
 * write the journal row themselves. Nothing is written where the wanted state is there already, so
 * that a second run of a script is silent and wakes nobody.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor.
 * Fails with: false after a line with the statement's place; the transaction is rolled back.
 * Tests: tests/system/repoinit_test.c; the language itself: tests/conformance/repoinit.rows. */
#include "repoinit.h"

#include <base/fatal.h>
#include <repoinit/repoinit.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"
#include "password.h"
#include "value.h"

struct run {
	struct database           *db;
	const struct cli_settings *settings;
	const char                *name;
	bool                       quiet;
	unsigned                   changes;
	struct buf                 said;  /* their lines, printed when they are committed */
	bool                       retry; /* it failed, but may succeed when tried again */
};

/* Always false. */
__attribute__((format(printf, 3, 4))) static bool
fail_at(const struct run *run, struct repoinit_at at, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "boardwalk: %s:%u:%u: ", run->name, at.line, at.column);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

/* One line about a change: "created /a/b". */
static void changed(struct run *run, const char *what, const char *name)
{
	run->changes++;
	buf_printf(&run->said, "%s %s\n", what, name);
}

/* The first column of the first row, owned (free); NULL in *ret if there is no row or it is NULL. */
static bool ask(struct run *run, struct repoinit_at at, const char *sql, int n_params,
                const char *const *params, char **ret)
{
	PGresult *rows;

	if (!database_try(run->db, sql, n_params, params, &rows)) {
		run->retry = database_may_retry(run->db);
		return run->retry ? false : fail_at(run, at, "%s", database_reason(run->db));
	}
	*ret = PQntuples(rows) > 0 && !PQgetisnull(rows, 0, 0) ? xstrdup(PQgetvalue(rows, 0, 0))
	                                                       : NULL;
	PQclear(rows);
	return true;
}

static bool ask_bool(struct run *run, struct repoinit_at at, const char *sql, int n_params,
                     const char *const *params, bool *ret)
{
	char *text;

	if (!ask(run, at, sql, n_params, params, &text))
		return false;
	*ret = text != NULL && strcmp(text, "t") == 0;
	free(text);
	return true;
}

static bool run_sql(struct run *run, struct repoinit_at at, const char *sql)
{
	char *nothing = NULL;
	bool  done = ask(run, at, sql, 0, NULL, &nothing);

	free(nothing);
	return done;
}

static bool create_path(struct run *run, const struct repoinit_statement *s)
{
	char *path = xstrdup("");
	bool  done = true;

	for (const struct repoinit_segment *at = s->path.segments; at != NULL && done;
	     at = at->next) {
		struct bw_str type = at->type.p ? at->type : s->path.default_type;
		char         *longer = xasprintf("%s/%s", path, at->name.p);
		const char   *params[] = { longer, type.p ? type.p : "sling:Folder" };
		bool          made = false;

		free(path);
		path = longer;
		done = ask_bool(run, at->at, "SELECT repo.node_create($1, $2)", 2, params, &made);
		if (made)
			changed(run, "created", path);
	}
	free(path);
	return done;
}

/* Makes a principal; one that exists must be of that class. *ret_made: it was not there. */
static bool create_principal(struct run *run, const struct repoinit_word *name, const char *class,
                             bool *ret_made)
{
	char       *nfc = normalise_name(name->text), *present = NULL;
	const char *params[] = { nfc, class };
	bool        done = false;

	*ret_made = false;
	if (nfc == NULL)
		return fail_at(run, name->at, "'%s' is no name for a user", name->text.p);
	if (!ask(run, name->at, "SELECT class FROM auth.principal_public WHERE name = $1", 1,
	         params, &present))
		goto out;
	if (present != NULL && strcmp(present, class) != 0) {
		fail_at(run, name->at, "'%s' exists as a %s", nfc, present);
		goto out;
	}
	done = true;
	if (present == NULL) {
		char *id = NULL;

		done = *ret_made =
			ask(run, name->at, "SELECT auth.principal_create($1, $2)", 2, params, &id);
		free(id);
	}
	if (*ret_made)
		changed(run,
		        strcmp(class, "service") == 0 ? "created service user" : "created user",
		        nfc);
out:
	free(present);
	free(nfc);
	return done;
}

static bool create_service_users(struct run *run, const struct repoinit_statement *s)
{
	bool made;

	for (const struct repoinit_word *name = s->service_users.names; name != NULL;
	     name = name->next)
		if (!create_principal(run, name, "service", &made))
			return false;
	return true;
}

/* An existing user keeps its password. */
static bool create_user(struct run *run, const struct repoinit_statement *s)
{
	const struct repoinit_word *password = s->user.password;
	char                        verifier[PASSWORD_VERIFIER], *name, *nothing = NULL;
	const char                 *params[2];
	bool                        made, done;

	if (!create_principal(run, s->user.name, "user", &made))
		return false;
	if (!made || password == NULL)
		return true;
	params[1] = password->text.p;
	if (!s->user.hashed) {
		fprintf(stderr, "boardwalk: %s:%u:%u: warning: a password in the open\n", run->name,
		        password->at.line, password->at.column);
		if (!password_verifier(run->settings, password->text.p, password->text.n, verifier))
			return fail_at(run, password->at, "the password cannot be used");
		params[1] = verifier;
	}
	params[0] = name = normalise_name(s->user.name->text);
	done = ask(run, password->at, "SELECT auth.password_set($1, $2)", 2, params, &nothing);
	free(nothing);
	free(name);
	return done;
}

/* The id as text, owned. With ignore_missing an unknown name is *ret NULL, otherwise an error. */
static bool find_principal(struct run *run, const struct repoinit_word *name, bool ignore_missing,
                           char **ret)
{
	char       *nfc = normalise_name(name->text);
	const char *params[] = { nfc };
	bool        done;

	*ret = NULL;
	done = nfc == NULL ||
	       ask(run, name->at, "SELECT id FROM auth.principal_public WHERE name = $1", 1, params,
	           ret);
	free(nfc);
	if (done && *ret == NULL && !ignore_missing)
		return fail_at(run, name->at, "there is no principal '%s'", name->text.p);
	return done;
}

/* {"jcr:read","rep:write"}, owned: the parser lets only harmless characters into a privilege. */
static char *privilege_array(const struct repoinit_word *privileges)
{
	struct buf out;

	buf_init(&out);
	for (const struct repoinit_word *p = privileges; p != NULL; p = p->next)
		buf_printf(&out, "%c\"%s\"", p == privileges ? '{' : ',', p->text.p);
	buf_printf(&out, "}%c", '\0');
	return (char *)out.mem; /* starts there, since nothing was consumed */
}

static bool acl_entry(struct run *run, const char *path, const struct repoinit_acl_line *line,
                      const char *principal)
{
	const char *params[] = { path, principal, line->action == REPOINIT_ALLOW ? "t" : "f",
		                 NULL };
	char       *privileges, *nothing = NULL;
	bool        done;

	if (line->action == REPOINIT_REMOVE_ALL)
		done = ask(run, line->at, "SELECT repo.ace_remove_all($1, $2)", 2, params,
		           &nothing);
	else {
		params[3] = privileges = privilege_array(line->privileges);
		done = ask(run, line->at, "SELECT repo.ace_append($1, $2, $3, $4)", 4, params,
		           &nothing);
		free(privileges);
	}
	free(nothing);
	return done;
}

static bool acl_lines(struct run *run, const char *path, const struct repoinit_statement *s)
{
	for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL; line = line->next) {
		const struct repoinit_word *name;

		for (name = line->principals; name != NULL; name = name->next) {
			char *principal;
			bool  done = find_principal(run, name, s->acl.ignore_missing_principal,
			                            &principal);

			if (done && principal != NULL)
				done = acl_entry(run, path, line, principal);
			free(principal);
			if (!done)
				return false;
		}
	}
	return true;
}

/* The list of a node as one text, in its order: equal texts are equal lists. */
static bool acl_text(struct run *run, struct repoinit_at at, const char *path, char **ret)
{
	const char *params[] = { path };

	return ask(run, at,
	           "SELECT string_agg(format('%s %s %s', a.principal, a.allow, a.privileges), ';'"
	           " ORDER BY a.position) FROM repo.ace a JOIN repo.tree t ON t.id = a.node"
	           " WHERE t.path = $1",
	           1, params, ret);
}

/* The path must exist, unless every line is a `remove *`. */
static bool acl_path_exists(struct run *run, const struct repoinit_word *path,
                            const struct repoinit_statement *s, bool *ret_exists)
{
	const char *params[] = { path->text.p };
	bool        only_removes = true;

	for (const struct repoinit_acl_line *line = s->acl.lines; line != NULL; line = line->next)
		only_removes = only_removes && line->action == REPOINIT_REMOVE_ALL;
	if (!ask_bool(run, path->at, "SELECT EXISTS (SELECT FROM repo.tree WHERE path = $1)", 1,
	              params, ret_exists))
		return false;
	if (!*ret_exists && !only_removes)
		return fail_at(run, path->at, "there is no node %s", path->text.p);
	return true;
}

/* A list that is rebuilt as it was (`remove *` and then the same entries) is not written: what the
 * lines did is taken back, journal rows included. */
static bool set_acl_on(struct run *run, const struct repoinit_word *path,
                       const struct repoinit_statement *s)
{
	char *before = NULL, *after = NULL;
	bool  exists, same, done;

	if (!acl_path_exists(run, path, s, &exists))
		return false;
	if (!exists)
		return true;
	done = run_sql(run, path->at, "SAVEPOINT acl") &&
	       acl_text(run, path->at, path->text.p, &before) && acl_lines(run, path->text.p, s) &&
	       acl_text(run, path->at, path->text.p, &after);
	same = (before == NULL) == (after == NULL) &&
	       (before == NULL || strcmp(before, after) == 0);
	if (done && same)
		done = run_sql(run, path->at, "ROLLBACK TO SAVEPOINT acl");
	else if (done)
		changed(run, "changed the access control list of", path->text.p);
	free(before);
	free(after);
	return done && run_sql(run, path->at, "RELEASE SAVEPOINT acl");
}

static bool set_acl(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *path = s->acl.paths; path != NULL; path = path->next)
		if (!set_acl_on(run, path, s))
			return false;
	return true;
}

static void changed_property(struct run *run, const char *path,
                             const struct repoinit_property *line)
{
	run->changes++;
	buf_printf(&run->said, "set %s of %s\n", line->name.p, path);
}

static bool set_property(struct run *run, const char *path, const struct repoinit_property *line)
{
	struct buf  value;
	const char *params[] = { path, line->name.p, NULL };
	bool        skip = false, written = false, done = true;

	if (line->only_if_missing)
		done = ask_bool(
			run, line->at,
			"SELECT EXISTS (SELECT FROM repo.tree t JOIN repo.content c ON c.id = t.id"
			" WHERE t.path = $1 AND c.properties ? $2)",
			2, params, &skip);
	if (!done || skip)
		return done;
	buf_init(&value);
	value_put(&value, line);
	params[2] = (const char *)buf_data(&value);
	done = ask_bool(run, line->at, "SELECT repo.property_set($1, $2, $3::jsonb)", 3, params,
	                &written);
	if (written)
		changed_property(run, path, line);
	buf_done(&value);
	return done;
}

static bool set_properties(struct run *run, const struct repoinit_statement *s)
{
	for (const struct repoinit_word *path = s->properties.paths; path != NULL;
	     path = path->next) {
		const struct repoinit_property *line;

		for (line = s->properties.lines; line != NULL; line = line->next)
			if (!set_property(run, path->text.p, line))
				return false;
	}
	return true;
}

static bool (*const executors[])(struct run *run, const struct repoinit_statement *s) = {
	[REPOINIT_CREATE_PATH] = create_path,
	[REPOINIT_CREATE_SERVICE_USER] = create_service_users,
	[REPOINIT_CREATE_USER] = create_user,
	[REPOINIT_SET_ACL] = set_acl,
	[REPOINIT_SET_PROPERTIES] = set_properties,
};

static bool run_once(struct run *run, const struct repoinit_script *script)
{
	bool done = database_run(run->db, "BEGIN") &&
	            database_lock(run->db, DATABASE_LOCK_REPOINIT, false);

	run->changes = 0;
	run->retry = false;
	buf_clear(&run->said);
	for (const struct repoinit_statement *s = repoinit_first(script); s != NULL && done;
	     s = s->next)
		done = executors[s->kind](run, s);
	if (done && run->changes > 0) {
		done = database_try(run->db, "COMMIT", 0, NULL, NULL);
		if (!done)
			run->retry = database_may_retry(run->db);
		if (!done && !run->retry)
			complain("%s: %s", run->name, database_reason(run->db));
	} else
		database_try(run->db, "ROLLBACK", 0, NULL, NULL);
	return done;
}

bool repoinit_ring(struct database *db)
{
	return database_run(db, "NOTIFY boardwalk_auth") &&
	       database_run(db, "NOTIFY boardwalk_repo");
}

static void report(const struct run *run)
{
	if (!run->quiet && run->changes > 0)
		fwrite(buf_data(&run->said), 1, buf_size(&run->said), stdout);
	if (run->changes == 0)
		printf("%s: nothing to change\n", run->name);
	else
		printf("%s: %u change%s\n", run->name, run->changes, run->changes == 1 ? "" : "s");
}

bool repoinit_run(struct database *db, const struct cli_settings *settings, const char *name,
                  const char *text, size_t n, bool quiet)
{
	struct run run = { .db = db, .settings = settings, .name = name, .quiet = quiet };
	struct repoinit_script *script;
	struct repoinit_error   error;
	bool                    done = false;

	if (repoinit_parse(text, n, &script, &error) != 0)
		return fail_at(&run, error.at, "%s", error.text);
	buf_init(&run.said);
	for (unsigned tries = 1; tries <= 3 && !done; tries++) {
		done = run_once(&run, script);
		if (!done && !run.retry)
			break;
	}
	repoinit_free(script);
	if (!done && run.retry)
		complain("%s: others changed the same at the same time, three times over", name);
	if (done)
		report(&run);
	buf_done(&run.said);
	return done && (run.changes == 0 || repoinit_ring(db));
}

int repoinit_main(struct cli *cli)
{
	const char     *file = cli->operands[0];
	struct instance instance;
	struct database db = { 0 };
	size_t          size = 0;
	char           *text = read_file(file, REPOINIT_MAX_SCRIPT, &size);
	bool            done;

	if (text == NULL)
		return CLI_FAILED;
	done = instance_find(&instance, &cli->settings);
	if (done) {
		done = instance_become_owner(&instance) &&
		       database_open(&db, instance.owner_conninfo, false) &&
		       repoinit_run(&db, &cli->settings,
		                    strcmp(file, "-") == 0 ? "standard input" : file, text, size,
		                    false);
		database_close(&db);
		instance_done(&instance);
	}
	explicit_bzero(text, size); /* it may hold passwords */
	free(text);
	return done ? CLI_OK : CLI_FAILED;
}
