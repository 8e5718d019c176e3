/* What repoinit scripts do, by rows, in a private PostgreSQL. Of a row the script of what was before is
 * run in an empty repository, then the row's own twice: the second time must change nothing. One that
 * fails must have changed nothing.
 *
 * Usage: conformance_repoinit_effect FILE... ; the files explain their lines. Fails if a row fails, if
 * a line is not understood, or if there was none. */
#include "rowfile.h"

#include <base/buf.h>
#include <fcntl.h>
#include <repoinit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/postgres.h>
#include <sys/mman.h>
#include <unistd.h>

static struct test_postgres     *server;
static struct database           db;
static const struct cli_settings settings = { .argon2_ops = 1, .argon2_mem = 8192 };

/* Everything a script can change, one text. What differs from run to run is masked; who created a node
 * whose primary type wants to know it, and when, is left out. */
static const char state_sql[] =
	"SELECT coalesce(string_agg(line, '; ' ORDER BY kind, line COLLATE \"C\"), '') FROM ("
	"SELECT 1 AS kind, t.path || ' ' || t.primary_type || coalesce((SELECT"
	"    string_agg(' ' || p.key || '=' || CASE WHEN p.key IN ('jcr:created',"
	"      'jcr:lastModified', 'jcr:uuid') THEN '?' ELSE p.value::text END, ''"
	"      ORDER BY p.key COLLATE \"C\") FROM jsonb_each(c.properties) p"
	"    WHERE p.key NOT IN ('jcr:versionHistory', 'jcr:baseVersion', 'jcr:predecessors')"
	"    AND NOT (p.key IN ('jcr:created', 'jcr:createdBy')"
	"      AND repo.node_type_is(t.primary_type, 'mix:created'))), '') AS line"
	"  FROM repo.tree t JOIN repo.content c ON c.id = t.id WHERE t.path <> '/' "
	"UNION ALL SELECT 2, coalesce(t.path, ':repository') || ':' || string_agg(' ' || CASE WHEN "
	"a.allow THEN '+' ELSE '-'"
	"    END || p.name || ' ' || array_to_string(a.privileges, ',') ||"
	"    CASE WHEN a.restrictions = '{}' THEN '' ELSE ' ' || a.restrictions::text END, '' "
	"ORDER BY "
	"a.position)"
	"  FROM repo.ace a LEFT JOIN repo.tree t ON t.id = a.node"
	"  JOIN auth.principal p ON p.id = a.principal GROUP BY t.path "
	"UNION ALL SELECT 2, 'own list of ' || p.name || ':' || string_agg(' ' || o.path || ' ' ||"
	"    array_to_string(o.privileges, ',') ||"
	"    CASE WHEN o.restrictions = '{}' THEN '' ELSE ' ' || o.restrictions::text END, ''"
	"    ORDER BY o.position)"
	"  FROM repo.own_ace o JOIN auth.principal p ON p.id = o.principal GROUP BY p.name "
	"UNION ALL SELECT 3, p.class || ' ' || p.name || coalesce(' at ' || p.path, '')"
	"  || coalesce(' in ' || (SELECT string_agg(g.name, ',' ORDER BY g.name)"
	"    FROM auth.membership m JOIN auth.principal g ON g.id = m.grp WHERE m.member = p.id), "
	"'')"
	"  || CASE WHEN p.disabled THEN ' disabled' ELSE '' END || coalesce(' ' || p.reason, '')"
	"  || CASE WHEN EXISTS (SELECT FROM auth.credential c WHERE c.principal = p.id)"
	"    THEN ' with a password' ELSE '' END FROM auth.principal p WHERE p.id >= 100 "
	"UNION ALL SELECT 4, 'namespace ' || prefix || ' ' || uri FROM repo.namespace"
	"  WHERE prefix NOT IN ('jcr', 'nt', 'mix', 'xml', 'rep', 'oak', 'sling') "
	"UNION ALL SELECT 5, CASE WHEN abstract THEN 'abstract ' ELSE '' END || 'privilege ' || "
	"name"
	"  || ' = ' || array_to_string(leaves, ',') FROM repo.privilege "
	"UNION ALL SELECT 6, 'type ' || name FROM repo.node_type WHERE NOT builtin) s";

/* Verifiers, versions and times too: equal texts mean that nothing at all was written. */
static const char trace_sql[] =
	"SELECT concat((SELECT max(seq) FROM repo.journal), ' ', (SELECT max(seq) FROM "
	"auth.journal),"
	"  ' ', (SELECT sum(version) FROM repo.content), ' ', (SELECT max(modified) FROM "
	"repo.content),"
	"  ' ', (SELECT acl FROM repo.generation), ' ',"
	"  (SELECT string_agg(verifier, ' ' ORDER BY principal) FROM auth.credential))";

static void empty_repository(void)
{
	test_postgres_sql(server,
	                  "DELETE FROM repo.ace; DELETE FROM repo.own_ace; DELETE FROM "
	                  "repo.content c USING repo.tree t"
	                  " WHERE t.id = c.id AND t.path <> '/';"
	                  "DELETE FROM repo.tree WHERE path <> '/';"
	                  "UPDATE repo.content SET properties = '{}';"
	                  "UPDATE repo.tree SET mixins = '{}';"
	                  "DELETE FROM repo.node_type WHERE NOT builtin;"
	                  "DELETE FROM repo.journal; DELETE FROM repo.privilege;"
	                  "DELETE FROM repo.namespace WHERE prefix NOT IN"
	                  "  ('jcr', 'nt', 'mix', 'xml', 'rep', 'oak', 'sling');"
	                  "DELETE FROM auth.membership; DELETE FROM auth.credential;"
	                  "DELETE FROM auth.principal WHERE id >= 100; DELETE FROM auth.journal");
}

/* ---- running a script ---- */

/* Where stdout and stderr go while a script runs. */
struct capture {
	int memory, out, err;
};

static void capture_begin(struct capture *c)
{
	fflush(stdout);
	c->memory = memfd_create("said", MFD_CLOEXEC);
	c->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	c->err = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (c->memory < 0 || c->out < 0 || c->err < 0 || dup2(c->memory, STDOUT_FILENO) < 0 ||
	    dup2(c->memory, STDERR_FILENO) < 0)
		abort();
}

/* What was said, heap. */
static char *capture_end(struct capture *c)
{
	off_t size;
	char *text;

	fflush(stdout);
	size = lseek(c->memory, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	if (text == NULL || pread(c->memory, text, (size_t)size, 0) != size ||
	    dup2(c->out, STDOUT_FILENO) < 0 || dup2(c->err, STDERR_FILENO) < 0)
		abort();
	close(c->memory);
	close(c->out);
	close(c->err);
	return text;
}

/* ⏎ becomes a newline. */
static bool run_script(const char *escaped, char **ret_said)
{
	static const char mark[] = "⏎";
	struct capture    capture;
	struct buf        script;
	bool              done;

	buf_init(&script);
	for (const char *at = escaped; *at != '\0';)
		if (strncmp(at, mark, sizeof(mark) - 1) == 0) {
			buf_append(&script, "\n", 1);
			at += sizeof(mark) - 1;
		} else
			buf_append(&script, at++, 1);
	capture_begin(&capture);
	done = repoinit_run(&db, &settings, "row", (const char *)buf_data(&script),
	                    buf_size(&script), true);
	*ret_said = capture_end(&capture);
	buf_done(&script);
	return done;
}

/* One part of a result. */
static void put(struct buf *out, const char *text, size_t n)
{
	if (n > 0)
		buf_printf(out, "%s%.*s", buf_size(out) > 0 ? "; " : "", (int)n, text);
}

/* The messages about places: "1:12: note: ...". */
static void put_messages(struct buf *out, const char *said)
{
	static const char before[] = "boardwalk: row:";

	for (const char *at = said; (at = strstr(at, before)) != NULL;) {
		at += sizeof(before) - 1;
		put(out, at, strcspn(at, "\n"));
	}
}

/* ---- rows ---- */

static bool fail(const char *id, const char *what, const char *want, const char *got)
{
	rowfile.failed++;
	printf("%s: %s\n  want %s\n  got  %s\n", id, what, want, got);
	return false;
}

static bool expect_same(const char *id, const char *what, const char *want, const char *sql)
{
	char *got = test_postgres_value(server, "%s", sql);
	bool  same = strcmp(got, want) == 0;

	if (!same)
		fail(id, what, want, got);
	free(got);
	return same;
}

static bool second_run(const char *id, const char *script)
{
	char *trace = test_postgres_value(server, "%s", trace_sql), *said;
	bool  good = run_script(script, &said);

	if (!good || strstr(said, "row: nothing to change\n") == NULL)
		good = fail(id, "the second run", "nothing to change", said);
	good = expect_same(id, "the second run has written", trace, trace_sql) && good;
	free(said);
	free(trace);
	return good;
}

/* What came of the first run, as the rows say it; heap. */
static char *outcome(bool done, const char *said)
{
	char      *state = test_postgres_value(server, "%s", state_sql);
	struct buf out;

	buf_init(&out);
	put_messages(&out, said);
	if (done)
		put(&out, state, strlen(state));
	buf_append(&out, "", 1);
	free(state);
	return (char *)out.mem;
}

static void run_row(const char *id, const char *before, const char *script, const char *want)
{
	char *said, *trace, *state, *got;
	bool  done, good = true;

	empty_repository();
	if (strcmp(before, "-") != 0 && !run_script(before, &said)) {
		fail(id, "what was before", "", said);
		free(said);
		return;
	}
	if (strcmp(before, "-") != 0)
		free(said);
	trace = test_postgres_value(server, "%s", trace_sql);
	state = test_postgres_value(server, "%s", state_sql);
	done = run_script(script, &said);
	got = outcome(done, said);
	if (strcmp(got, want) != 0)
		good = fail(id, "the result", want, got);
	if (done)
		good = second_run(id, script) && good;
	else
		good = expect_same(id, "it failed, but has written", trace, trace_sql) &&
		       expect_same(id, "it failed, but has changed", state, state_sql) && good;
	rowfile.passed += good;
	free(got);
	free(said);
	free(state);
	free(trace);
}

/* id | before | script | result; the last may be empty. */
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
	if (!database_open(&db, test_postgres_conninfo(server, "postgres"), false))
		return 1;
	status = rowfile_run(argv + 1, argc - 1, run_line);
	database_close(&db);
	test_postgres_free(server);
	return status;
}
