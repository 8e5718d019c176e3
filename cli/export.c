/* export.c - the command `export`: a subtree as initial content, one state of it, node by node.
 *
 * One statement walks the tree in document order, through a cursor, in a transaction that sees one
 * snapshot; so the file is what was there at one moment, and neither the tree nor the file is in memory.
 * Spelling: content_json.h. What import needs and Apache Sling's format has no word for (binary values,
 * types that JSON does not show) is under names that begin with jcr:TYPE:.
 *
 * Owns: the file, which appears under its name when it is whole. Runs in: the command. Fails with: a
 * line; a file that was there stays. Tests: tests/system/port_test.c. */
#include "cli.h"
#include "content_json.h"
#include "database.h"
#include "instance.h"
#include "progress.h"

#include <base/fatal.h>
#include <base/json.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CURSOR_ROWS  "256"
#define WRITE_OCTETS (1u << 18)
#define CHUNKS       "16"

struct exporting {
	const char     *name, *path;
	int             fd;
	struct database db;
	struct buf      out;
	unsigned        depth; /* of the node that is open last; the outermost is 1, 0: none */
	struct progress progress;
};

/* ---- the file ---- */

static void put(struct exporting *ex, const char *text)
{
	buf_append(&ex->out, text, strlen(text));
}

static void put_text(struct exporting *ex, const char *p, size_t n)
{
	struct json_out j;

	json_out_init(&j, &ex->out);
	json_out_string(&j, p, n);
}

static bool write_out(struct exporting *ex)
{
	while (buf_size(&ex->out) > 0) {
		ssize_t n = write(ex->fd, buf_data(&ex->out), buf_size(&ex->out));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return complain_errno("%s", ex->name);
		buf_consume(&ex->out, (size_t)n);
	}
	return true;
}

static void indent(struct exporting *ex)
{
	put(ex, "\n");
	for (unsigned i = 0; i < ex->depth; i++)
		put(ex, "  ");
}

/* ",", unless it is the first member of its object. */
static void put_key(struct exporting *ex, bool *first, const char *prefix, const char *name)
{
	char *key = prefix != NULL ? xasprintf("jcr:%s:%s", prefix, name) : xstrdup(name);

	put(ex, *first ? "" : ",");
	*first = false;
	indent(ex);
	put_text(ex, key, strlen(key));
	put(ex, ": ");
	free(key);
}

/* ---- binary values ---- */

static bool put_chunks(struct exporting *ex, const char *value)
{
	const char *params[2] = { value, NULL };
	char        from[24], *text;
	PGresult   *rows;
	int         n, at = 0;

	do {
		snprintf(from, sizeof(from), "%d", at);
		params[1] = from;
		if (!database_query(&ex->db,
		                    "SELECT translate(encode(c.data, 'base64'), E'\\n', '') FROM "
		                    "repo.blob b"
		                    " JOIN repo.blob_chunk c ON c.blob = b.id"
		                    " WHERE b.hash = decode(left($1, 64), 'hex') AND b.length = "
		                    "substr($1, 66)::bigint"
		                    " AND c.n >= $2::integer ORDER BY c.n LIMIT " CHUNKS,
		                    2, params, &rows))
			return false;
		n = PQntuples(rows);
		for (int i = 0; i < n; i++) {
			put(ex, at + i > 0 ? ",\"" : "\"");
			text = PQgetvalue(rows, i, 0);
			put(ex, text);
			put(ex, "\"");
		}
		at += n;
		PQclear(rows);
		if (!write_out(ex))
			return false;
	} while (n > 0);
	return true;
}

static bool put_binary(struct exporting *ex, const char *value)
{
	put(ex, "{ \"hash\": \"");
	buf_append(&ex->out, value, 64);
	put(ex, "\", \"length\": ");
	put(ex, value + 65);
	put(ex, ", \"octets\": [");
	if (!put_chunks(ex, value))
		return false;
	put(ex, "] }");
	return true;
}

/* ---- properties ---- */

static bool put_value(struct exporting *ex, const char *tag, const json_t *value, bool typed)
{
	const char *text = json_string_value(value);
	size_t      n = json_string_length(value);

	if (strcmp(tag, "bin") == 0)
		return put_binary(ex, text);
	if (json_is_integer(value)) {
		char number[24];

		snprintf(number, sizeof(number), "%lld", (long long)json_integer_value(value));
		if (typed)
			put_text(ex, number, strlen(number));
		else
			put(ex, number);
	} else if (json_is_boolean(value)) {
		put(ex, typed                 ? json_is_true(value) ? "\"true\"" : "\"false\""
		        : json_is_true(value) ? "true"
		                              : "false");
	} else if (!typed && strcmp(tag, "d") == 0) {
		buf_append(&ex->out, text, n);
	} else {
		put_text(ex, text, n);
	}
	return true;
}

/* Whether a value shows its type by the way it is written. */
static bool shows_type(const char *tag, const json_t *value)
{
	const char *text = json_string_value(value);
	size_t      n = json_string_length(value);

	if (strcmp(tag, "s") == 0)
		return !content_is_date(text, n);
	if (strcmp(tag, "date") == 0)
		return content_is_date(text, n);
	if (strcmp(tag, "d") == 0)
		return content_is_number(text, n, false);
	return strcmp(tag, "l") == 0 || strcmp(tag, "b") == 0;
}

static bool put_property(struct exporting *ex, bool *first, const char *name,
                         const json_t *typed_value)
{
	void         *member = json_object_iter((json_t *)typed_value);
	const char   *tag = json_object_iter_key(member);
	const json_t *held = json_object_iter_value(member);
	size_t        n = json_is_array(held) ? json_array_size(held) : 1;
	bool          plain = n > 0 || strcmp(tag, "s") == 0, done = true;

	for (size_t i = 0; i < n; i++)
		plain = plain &&
		        shows_type(tag, json_is_array(held) ? json_array_get(held, i) : held);
	put_key(ex, first, plain ? NULL : content_prefix(tag), name);
	put(ex, json_is_array(held) ? "[" : "");
	for (size_t i = 0; i < n && done; i++) {
		put(ex, i > 0 ? ", " : "");
		done = put_value(ex, tag, json_is_array(held) ? json_array_get(held, i) : held,
		                 !plain);
	}
	put(ex, json_is_array(held) ? "]" : "");
	return done;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool put_properties(struct exporting *ex, bool *first, const char *text)
{
	json_t      *properties = json_loads(text, 0, NULL), *value;
	size_t       n = json_object_size(properties), i = 0;
	const char **names = xmalloc((n + 1) * sizeof(*names)), *name;
	bool         done = true;

	json_object_foreach (properties, name, value)
		if (strcmp(name, "jcr:mixinTypes") != 0)
			names[i++] = name;
	qsort(names, i, sizeof(*names), by_name);
	for (size_t k = 0; k < i && done; k++)
		done = put_property(ex, first, names[k], json_object_get(properties, names[k]));
	free(names);
	json_decref(properties);
	return done;
}

/* ---- nodes ---- */

enum column { LEVEL, NAME, TYPE, MIXINS, PROPERTIES, ACL };

static const char walk_sql[] =
	"DECLARE walk NO SCROLL CURSOR FOR "
	"WITH RECURSIVE walk AS ("
	"  SELECT t.id, t.name, t.primary_type, t.mixins, 1 AS level, ARRAY[]::bigint[] AS place"
	"  FROM repo.tree t WHERE t.path = $1"
	"  UNION ALL SELECT t.id, t.name, t.primary_type, t.mixins, w.level + 1,"
	"    w.place || ARRAY[t.position, t.id]"
	"  FROM walk w JOIN repo.tree t ON t.parent = w.id) "
	"SELECT w.level, w.name, w.primary_type, to_json(w.mixins), c.properties,"
	"  (SELECT json_agg(json_build_object('principal', p.name,"
	"      CASE WHEN a.allow THEN 'granted' ELSE 'denied' END, a.privileges,"
	"      'restrictions', a.restrictions) ORDER BY a.position)"
	"    FROM repo.ace a JOIN auth.principal_public p ON p.id = a.principal WHERE a.node = "
	"w.id) "
	"FROM walk w JOIN repo.content c ON c.id = w.id ORDER BY w.place";

/* Ends the nodes that this level is not below. */
static void close_to(struct exporting *ex, unsigned level)
{
	while (ex->depth >= level && ex->depth > 0) {
		ex->depth--;
		indent(ex);
		put(ex, "}");
	}
}

static bool put_node(struct exporting *ex, PGresult *rows, int row)
{
	unsigned    level = (unsigned)strtoul(PQgetvalue(rows, row, LEVEL), NULL, 10);
	const char *mixins = PQgetvalue(rows, row, MIXINS);
	bool        first = true;

	close_to(ex, level);
	if (level > 1) { /* never the first member: the parent has its type before it */
		bool no = false;

		put_key(ex, &no, NULL, PQgetvalue(rows, row, NAME));
	}
	put(ex, "{");
	ex->depth = level;
	put_key(ex, &first, NULL, "jcr:primaryType");
	put_text(ex, PQgetvalue(rows, row, TYPE), strlen(PQgetvalue(rows, row, TYPE)));
	if (strcmp(mixins, "[]") != 0) {
		put_key(ex, &first, NULL, "jcr:mixinTypes");
		put(ex, mixins);
	}
	if (!put_properties(ex, &first, PQgetvalue(rows, row, PROPERTIES)))
		return false;
	if (!PQgetisnull(rows, row, ACL)) {
		put_key(ex, &first, NULL, "security:acl");
		put(ex, PQgetvalue(rows, row, ACL));
	}
	ex->progress.at = ++ex->progress.done;
	return buf_size(&ex->out) < WRITE_OCTETS || write_out(ex);
}

static bool put_nodes(struct exporting *ex)
{
	PGresult *rows;
	bool      done = true;
	int       n;

	do {
		if (!database_query(&ex->db, "FETCH " CURSOR_ROWS " FROM walk", 0, NULL, &rows))
			return false;
		n = PQntuples(rows);
		for (int i = 0; i < n && done; i++)
			done = put_node(ex, rows, i);
		PQclear(rows);
		progress_show(&ex->progress);
	} while (n > 0 && done);
	if (done && ex->progress.done == 0)
		return complain("%s: there is no such node", ex->path);
	close_to(ex, 1);
	put(ex, "\n");
	return done && write_out(ex);
}

/* ---- the command ---- */

static bool count(struct exporting *ex)
{
	const char *params[] = { ex->path };
	PGresult   *rows;

	if (!database_query(&ex->db,
	                    "SELECT count(*) FROM repo.tree t WHERE t.path = $1"
	                    " OR starts_with(t.path, rtrim($1, '/') || '/')",
	                    1, params, &rows))
		return false;
	progress_begin(&ex->progress, strtoull(PQgetvalue(rows, 0, 0), NULL, 10), "nodes");
	PQclear(rows);
	return true;
}

static bool run(struct exporting *ex)
{
	const char *params[] = { ex->path };
	PGresult   *rows;
	bool        done;

	if (!database_run(&ex->db, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") ||
	    !count(ex) || !database_query(&ex->db, walk_sql, 1, params, &rows))
		return false;
	PQclear(rows);
	buf_init(&ex->out);
	done = put_nodes(ex);
	progress_end(&ex->progress);
	buf_done(&ex->out);
	if (done && ex->fd != STDOUT_FILENO)
		fprintf(stderr, "%s: %llu nodes\n", ex->path,
		        (unsigned long long)ex->progress.done);
	return done;
}

static bool work(struct exporting *ex, const struct instance *instance)
{
	bool done = instance_become_owner(instance) &&
	            database_open(&ex->db, instance->owner_conninfo, false) && run(ex);

	database_close(&ex->db);
	return done;
}

/* The operator may write where the owner of the database may not: he keeps the name, the owner gets the
 * open file. */
static bool work_apart(struct exporting *ex, const struct instance *instance)
{
	pid_t child;
	int   status;

	fflush(NULL);
	child = fork();
	if (child < 0)
		return complain_errno("fork");
	if (child == 0)
		exit(work(ex, instance) ? CLI_OK : CLI_FAILED);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) && WEXITSTATUS(status) == CLI_OK;
}

/* Whole or not at all. */
static bool work_to_file(struct exporting *ex, const struct instance *instance, const char *file)
{
	char *temporary = xasprintf("%s.%ld", file, (long)getpid());
	bool  done;

	ex->fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (ex->fd < 0) {
		complain_errno("%s", temporary);
		free(temporary);
		return false;
	}
	done = work_apart(ex, instance);
	if (done && (fsync(ex->fd) != 0 || rename(temporary, file) != 0))
		done = complain_errno("%s", file);
	if (!done)
		unlink(temporary);
	close(ex->fd);
	free(temporary);
	return done;
}

int export_main(struct cli *cli)
{
	const char      *file = cli->operands[1];
	struct exporting ex = { .name = file, .path = cli->operands[0], .fd = STDOUT_FILENO };
	struct instance  instance;
	bool             done;

	if (ex.path[0] != '/') {
		complain("%s: not an absolute path", ex.path);
		return CLI_USAGE;
	}
	done = instance_find(&instance, &cli->settings);
	if (done) {
		done = strcmp(file, "-") == 0 ? work_apart(&ex, &instance)
		                              : work_to_file(&ex, &instance, file);
		instance_done(&instance);
	}
	return done ? CLI_OK : CLI_FAILED;
}
