/* repoinit.c - the command `repoinit` and the same step of `up`: a script against the database.
 *
 * A row of executors[] is a kind of statement and the function that carries it out, through the SQL
 * functions that write the journal themselves: repoinit_node.c, repoinit_acl.c, repoinit_principal.c.
 * Nothing is written where the wanted state is there already, so that a second run of a script is
 * silent and wakes nobody. Lists of principals' own are in repoinit_own.c, nodes of accounts in
 * repoinit_home.c.
 *
 * Owns: nothing. Runs in: the command, or a job of the supervisor.
 * Fails with: false after a line with the statement's place; the transaction is rolled back.
 * Tests: tests/system/setup_test.c; each statement's effect: tests/conformance/repoinit. */
#include "repoinit.h"

#include <base/fatal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor.h"
#include "instance.h"
#include "password.h"
#include "repoinit_run.h"

bool run_fail(const struct run *run, struct repoinit_at at, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "boardwalk: %s:%u:%u: ", run->name, at.line, at.column);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return false;
}

void run_note(const struct run *run, struct repoinit_at at, const char *kind, const char *format,
              ...)
{
	va_list args;

	fprintf(stderr, "boardwalk: %s:%u:%u: %s: ", run->name, at.line, at.column, kind);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void run_changed(struct run *run, const char *format, ...)
{
	char    line[4096]; /* a path is at most 2048 octets */
	va_list args;

	run->changes++;
	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	buf_printf(&run->said, "%s\n", line);
}

bool run_ask(struct run *run, struct repoinit_at at, const char *sql, int n_params,
             const char *const *params, char **ret)
{
	PGresult *rows;

	if (!database_try(run->db, sql, n_params, params, &rows)) {
		run->retry = database_may_retry(run->db);
		return run->retry ? false : run_fail(run, at, "%s", database_reason(run->db));
	}
	*ret = PQntuples(rows) > 0 && !PQgetisnull(rows, 0, 0) ? xstrdup(PQgetvalue(rows, 0, 0))
	                                                       : NULL;
	PQclear(rows);
	return true;
}

bool run_ask_bool(struct run *run, struct repoinit_at at, const char *sql, int n_params,
                  const char *const *params, bool *ret)
{
	char *text;

	if (!run_ask(run, at, sql, n_params, params, &text))
		return false;
	*ret = text != NULL && strcmp(text, "t") == 0;
	free(text);
	return true;
}

bool run_exists(struct run *run, const struct repoinit_word *path, bool *ret)
{
	const char *params[] = { path->text.p };

	*ret = true;
	if (run_is_repository(path))
		return true;
	return run_ask_bool(run, path->at, "SELECT EXISTS (SELECT FROM repo.tree WHERE path = $1)",
	                    1, params, ret);
}

bool run_find_principal(struct run *run, const struct repoinit_word *name, char **ret)
{
	char       *nfc = normalise_name(name->text);
	const char *params[] = { nfc };
	bool        done;

	*ret = NULL;
	done = nfc == NULL ||
	       run_ask(run, name->at, "SELECT id FROM auth.principal_public WHERE name = $1", 1,
	               params, ret);
	free(nfc);
	return done;
}

/* An element of an array's text, behind "{" or another one. */
static void put_element(struct buf *out, const char *text)
{
	buf_printf(out, "%s\"", buf_size(out) > 1 ? "," : "");
	for (const char *c = text; *c != '\0'; c++)
		buf_printf(out, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
	buf_printf(out, "\"");
}

void run_touched(struct run *run, const char *path)
{
	if (buf_size(&run->touched) == 0)
		buf_printf(&run->touched, "{");
	put_element(&run->touched, path);
}

/* Whether all nodes that were touched are as their types want them. */
static bool check_touched(struct run *run, struct repoinit_at at)
{
	const char *params[1];
	char       *nothing = NULL;
	bool        done;

	if (buf_size(&run->touched) == 0)
		return true;
	buf_printf(&run->touched, "}%c", '\0');
	params[0] = (const char *)buf_data(&run->touched);
	done = run_ask(run, at,
	               "SELECT repo.node_check(ARRAY ("
	               "SELECT id FROM repo.tree WHERE path = ANY ($1::text[])))",
	               1, params, &nothing);
	buf_clear(&run->touched);
	free(nothing);
	return done;
}

char *run_array(const struct repoinit_word *words)
{
	struct buf out;

	buf_init(&out);
	buf_printf(&out, "{");
	for (const struct repoinit_word *w = words; w != NULL; w = w->next)
		put_element(&out, w->text.p);
	buf_printf(&out, "}%c", '\0');
	return (char *)out.mem; /* starts there, since nothing was consumed */
}

/* Namespaces come first, then node types and privileges, which have names; the rest follows the
 * script. */
static const struct executor {
	bool (*run)(struct run *run, const struct repoinit_statement *s);
	unsigned pass;
} executors[] = {
	[REPOINIT_REGISTER_NAMESPACE] = { run_namespace, 0 },
	[REPOINIT_REGISTER_NODE_TYPES] = { run_node_types, 1 },
	[REPOINIT_REGISTER_PRIVILEGE] = { run_privilege, 1 },
	[REPOINIT_CREATE_PATH] = { run_path, 2 },
	[REPOINIT_ENSURE_NODES] = { run_path, 2 },
	[REPOINIT_CREATE_PRINCIPAL] = { run_create_principals, 2 },
	[REPOINIT_DELETE_PRINCIPAL] = { run_delete_principals, 2 },
	[REPOINIT_DISABLE_USER] = { run_disable, 2 },
	[REPOINIT_ADD_MEMBERS] = { run_membership, 2 },
	[REPOINIT_REMOVE_MEMBERS] = { run_membership, 2 },
	[REPOINIT_SET_ACL] = { run_set_acl, 2 },
	[REPOINIT_REMOVE_ACE] = { run_remove_ace, 2 },
	[REPOINIT_DELETE_ACL] = { run_delete_acl, 2 },
	[REPOINIT_SET_OWN_ACL] = { run_own_acl, 2 },
	[REPOINIT_ENSURE_OWN_ACL] = { run_own_acl, 2 },
	[REPOINIT_REMOVE_OWN_ACE] = { run_own_acl, 2 },
	[REPOINIT_DELETE_OWN_ACL] = { run_delete_own_acl, 2 },
	[REPOINIT_SET_PROPERTIES] = { run_set_properties, 2 },
	[REPOINIT_ADD_MIXIN] = { run_mixins, 2 },
	[REPOINIT_REMOVE_MIXIN] = { run_mixins, 2 },
};

/* Nodes are checked when a statement is through; its `with properties` is a second one at its place. */
static bool run_statement(struct run *run, const struct repoinit_statement *s)
{
	if (!run_find_homes(run, s) || !executors[s->kind].run(run, s))
		return false;
	if (s->next != NULL && s->next->at.line == s->at.line && s->next->at.column == s->at.column)
		return true;
	return check_touched(run, s->at);
}

static bool run_pass(struct run *run, const struct repoinit_script *script, unsigned pass)
{
	for (const struct repoinit_statement *s = repoinit_first(script); s != NULL; s = s->next)
		if (executors[s->kind].pass == pass && !run_statement(run, s))
			return false;
	return true;
}

static bool run_once(struct run *run, const struct repoinit_script *script)
{
	bool done = database_run(run->db, "BEGIN") &&
	            database_lock(run->db, DATABASE_LOCK_REPOINIT, false) && actor_tell(run->db);

	run->changes = 0;
	run->retry = false;
	buf_clear(&run->said);
	buf_clear(&run->touched);
	for (unsigned pass = 0; pass < 3 && done; pass++)
		done = run_pass(run, script, pass);
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
		return run_fail(&run, error.at, "%s", error.text);
	buf_init(&run.said);
	buf_init(&run.touched);
	arena_init(&run.homes);
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
	buf_done(&run.touched);
	arena_done(&run.homes);
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
