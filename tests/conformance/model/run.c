/* What a node may be, by rows, in a private PostgreSQL: each row's changes are one commit, as repo makes
 * it, in an empty repository in which what was before has been committed. One that is refused must have
 * changed nothing.
 *
 * Usage: conformance_model FILE... ; the files explain their lines. Fails if a row fails, if a line is
 * not understood, or if there was none. */
#include <base/buf.h>
#include <conformance/repoinit/rowfile.h>
#include <database.h>
#include <fcntl.h>
#include <repoinit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/postgres.h>
#include <unistd.h>
#include <value.h>

static struct test_postgres     *server;
static struct database           db;
static const struct cli_settings settings = { .argon2_ops = 1, .argon2_mem = 8192 };

/* Nodes in the order of their parents' children. What differs from run to run is masked; who created a
 * node whose primary type wants to know it, and when, is left out, as are References to a history. */
static const char state_sql[] =
	"SELECT coalesce(string_agg(t.path || ' ' || t.primary_type || coalesce((SELECT"
	"  string_agg(' ' || p.key || '=' || CASE WHEN p.key IN ('jcr:created', 'jcr:lastModified',"
	"    'jcr:uuid') AND p.value::text !~ 'kept' THEN '?' ELSE p.value::text END, ''"
	"    ORDER BY p.key COLLATE \"C\") FROM jsonb_each(c.properties) p"
	"  WHERE p.key NOT IN ('jcr:versionHistory', 'jcr:baseVersion', 'jcr:predecessors')"
	"    AND NOT (p.key IN ('jcr:created', 'jcr:createdBy')"
	"    AND repo.node_type_is(t.primary_type, 'mix:created'))), ''), '; '"
	"  ORDER BY length(t.path) - length(replace(t.path, '/', '')), t.position, t.id), '')"
	" FROM repo.tree t JOIN repo.content c ON c.id = t.id WHERE t.path <> '/'";

static const char trace_sql[] =
	"SELECT concat((SELECT max(seq) FROM repo.journal), ' ', (SELECT sum(version) FROM "
	"repo.content),"
	"  ' ', (SELECT max(id) || ' ' || count(*) FROM repo.tree), ' ',"
	"  (SELECT string_agg(i.uuid, ' ' ORDER BY i.node) FROM repo.identifier i))";

static void empty_repository(void)
{
	test_postgres_sql(server, "DELETE FROM repo.tree WHERE path <> '/';"
	                          "UPDATE repo.content SET properties = '{}';"
	                          "UPDATE repo.tree SET mixins = '{}';"
	                          "DELETE FROM repo.node_type WHERE NOT builtin;"
	                          "DELETE FROM repo.journal");
}

/* ---- changes, as repo.commit_apply takes them ---- */

/* How the words behind a verb are called, in order; the last one goes to the end of the line. */
static const struct verb {
	const char *name, *members[4];
} verbs[] = {
	{ "create", { "path", "name", "mixins", "properties" } },
	{ "remove", { "path" } },
	{ "move", { "path", "name" } },
	{ "copy", { "path", "name" } },
	{ "order", { "path", "name" } },
	{ "set", { "path", "name", "value" } },
	{ "unset", { "path", "name" } },
	{ "type", { "path", "name" } },
	{ "mixin+", { "path", "name" } },
	{ "mixin-", { "path", "name" } },
};

static const struct verb *verb_of(const char *line)
{
	size_t n = strcspn(line, " ");

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strlen(verbs[i].name) == n && memcmp(verbs[i].name, line, n) == 0)
			return &verbs[i];
	return NULL;
}

static void put_mixins(struct buf *out, const char *word, size_t n)
{
	buf_printf(out, "[");
	for (size_t at = 0; at < n;) {
		size_t one = strcspn(word + at, ",");

		one = one < n - at ? one : n - at;
		buf_printf(out, "%s", at > 0 ? "," : "");
		value_put_text(out, (struct bw_str){ word + at, one });
		at += one + 1;
	}
	buf_printf(out, "]");
}

/* "-" is nothing. */
static void put_member(struct buf *out, const char *member, const char *word, size_t n)
{
	bool nothing = n == 1 && *word == '-';

	buf_printf(out, ",\"%s\":", member);
	if (strcmp(member, "mixins") == 0)
		put_mixins(out, word, nothing ? 0 : n);
	else if (strcmp(member, "value") == 0 || strcmp(member, "properties") == 0)
		buf_printf(out, "%.*s", nothing ? 2 : (int)n, nothing ? "{}" : word);
	else if (nothing)
		buf_printf(out, "null");
	else
		value_put_text(out, (struct bw_str){ word, n });
}

static bool put_change(struct buf *out, const char *line)
{
	const struct verb *verb = verb_of(line);
	const char        *at = line + strcspn(line, " ");

	if (verb == NULL)
		return false;
	buf_printf(out, "%s{\"kind\":\"%s\",\"version\":0", buf_size(out) > 1 ? "," : "",
	           verb->name);
	for (size_t i = 0; i < 4 && verb->members[i] != NULL; i++) {
		bool   last = i == 3 || verb->members[i + 1] == NULL;
		size_t n;

		at += *at == ' ';
		n = last ? strlen(at) : strcspn(at, " ");
		put_member(out, verb->members[i], n > 0 ? at : "-", n > 0 ? n : 1);
		at += n;
	}
	buf_printf(out, "}");
	return true;
}

/* ---- commits ---- */

/* The reason of a change that ended the commit, heap; NULL: all were made. */
static char *apply(const char *changes)
{
	const char *params[] = { changes };
	PGresult   *rows;
	char       *reason = NULL;

	if (!database_try(&db,
	                  "SELECT coalesce(max(coalesce(detail, outcome)) FILTER (WHERE outcome"
	                  " NOT IN ('done', 'same', 'spread', 'copied')), '')"
	                  " FROM repo.commit_apply($1::jsonb, 1, 'row')",
	                  1, params, &rows))
		return strdup(database_reason(&db));
	if (*PQgetvalue(rows, 0, 0) != '\0')
		reason = strdup(PQgetvalue(rows, 0, 0));
	PQclear(rows);
	return reason;
}

static char *commit(const char *changes)
{
	char *reason;

	if (!database_run(&db, "BEGIN"))
		abort();
	reason = apply(changes);
	if (reason == NULL &&
	    !database_try(&db, "SELECT repo.commit_finish('{}', '[]')", 0, NULL, NULL))
		reason = strdup(database_reason(&db));
	if (!database_run(&db, reason == NULL ? "COMMIT" : "ROLLBACK"))
		abort();
	return reason;
}

/* Definitions stand in one line. What repoinit says of its changes goes to nobody. */
static char *register_types(const char *definitions)
{
	struct buf script;
	int        out = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	bool       done;

	fflush(stdout);
	if (out < 0 || nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0)
		abort();
	buf_init(&script);
	buf_printf(&script, "register nodetypes\n<<===\n%s\n===>>\n", definitions);
	done = repoinit_run(&db, &settings, "row", (const char *)buf_data(&script),
	                    buf_size(&script), true);
	buf_done(&script);
	fflush(stdout);
	if (dup2(out, STDOUT_FILENO) < 0)
		abort();
	close(nowhere);
	close(out);
	return done ? NULL : strdup("the types are refused");
}

/* All of them are one commit; `types` are registered before. In place: ⏎ ends a line. */
static char *run_changes(char *lines)
{
	static const char mark[] = "⏎";
	struct buf        changes;
	char             *reason = NULL;

	buf_init(&changes);
	buf_printf(&changes, "[");
	for (char *line = lines, *end; line != NULL && reason == NULL; line = end) {
		end = strstr(line, mark);
		if (end != NULL) {
			*end = '\0';
			end += sizeof(mark) - 1;
		}
		if (strncmp(line, "types ", 6) == 0)
			reason = register_types(line + 6);
		else if (!put_change(&changes, line))
			reason = strdup("not understood");
	}
	buf_printf(&changes, "]%c", '\0');
	if (reason == NULL && buf_size(&changes) > 3)
		reason = commit((const char *)buf_data(&changes));
	buf_done(&changes);
	return reason;
}

/* ---- rows ---- */

static void fail(const char *id, const char *what, const char *want, const char *got)
{
	rowfile.failed++;
	printf("%s: %s\n  want %s\n  got  %s\n", id, what, want, got);
}

static void run_row(const char *id, char *before, char *changes, const char *want)
{
	char *reason, *trace, *got;

	empty_repository();
	reason = strcmp(before, "-") != 0 ? run_changes(before) : NULL;
	if (reason != NULL) {
		fail(id, "what was before", "", reason);
		free(reason);
		return;
	}
	trace = test_postgres_value(server, "%s", trace_sql);
	reason = run_changes(changes);
	got = test_postgres_value(server, "%s", reason == NULL ? state_sql : trace_sql);
	if (reason != NULL && strcmp(got, trace) != 0)
		fail(id, "it was refused, but has written", trace, got);
	else if (strcmp(reason != NULL ? reason : got, want) != 0)
		fail(id, "the result", want, reason != NULL ? reason : got);
	else
		rowfile.passed++;
	free(got);
	free(trace);
	free(reason);
}

/* id | before | changes | result; the last may be empty. */
static void run_line(const char *file, unsigned number, char *line)
{
	char *part[4] = { line };

	for (size_t i = 1; i < 4; i++) {
		part[i] = strstr(part[i - 1], " | ");
		if (part[i] == NULL) {
			rowfile.failed++;
			printf("%s:%u: not understood\n", file, number);
			return;
		}
		*part[i] = '\0';
		part[i] += 3;
	}
	run_row(part[0], part[1], part[2], part[3]);
}

int main(int argc, char **argv)
{
	int status;

	server = test_postgres_new();
	/* What the rows' values of type Binary name. */
	test_postgres_sql(server, "INSERT INTO repo.blob (hash, length) VALUES ("
	                          "decode(repeat('ab', 32), 'hex'), 5)");
	if (!database_open(&db, test_postgres_conninfo(server, "postgres"), false))
		return 1;
	status = rowfile_run(argv + 1, argc - 1, run_line);
	database_close(&db);
	test_postgres_free(server);
	return status;
}
