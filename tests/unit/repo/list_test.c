/* Under test: lists of service users' own and how repo reads all lists from PostgreSQL: the functions
 * of the migrations, repo/entries.c, repo/acl.c. The rows of tests/conformance/own.rows. */
#include "questions.h"
#include "world.h"
#include <stdio.h>
#include <stdlib.h>
#include <support/rows.h>

static struct world             w;
static struct principals_table *table;

static void begin(void)
{
	world_begin(&w, 1u << 20);
	table = principals_table_new();
}

static void end(void)
{
	principals_table_free(table);
	world_end(&w);
}

TestSuite(list, .init = begin, .fini = end);

static uint64_t number(const char *sql, const char *param)
{
	char    *text = test_postgres_value(w.server, sql, param);
	uint64_t v = strtoull(text, NULL, 10);

	free(text);
	return v;
}

/* Until repo has the entries that are in the database now. */
static void settle(void)
{
	int64_t now = (int64_t)number("SELECT acl FROM repo.generation -- %s", "");

	test_postgres_sql(w.server, "NOTIFY boardwalk_repo");
	world_until(&w, acl_generation(resources_acl(w.resources)) == now);
}

static void make_service(const char *name)
{
	test_postgres_sql(w.server, "SELECT auth.principal_create('%s', 'service')", name);
	if (name[0] == 'x')
		test_postgres_sql(w.server, "SELECT auth.principal_place('%s', '/home/users/x/%s')",
		                  name, name);
}

/* An empty repository with /a and the three service users. */
static void start_anew(void)
{
	test_postgres_sql(w.server, "SELECT auth.principal_delete(name) FROM auth.principal "
	                            "WHERE id >= 100");
	test_postgres_sql(w.server, "SELECT repo.node_delete(path) FROM repo.tree "
	                            "WHERE parent = (SELECT id FROM repo.tree WHERE path = '/')");
	test_postgres_sql(w.server, "SELECT repo.acl_delete('/'), repo.acl_delete(':repository')");
	test_postgres_sql(w.server, "SELECT repo.node_create('/a', 'sling:Folder')");
	make_service("s1");
	make_service("s2");
	make_service("x1");
}

/* name=value as JSON; "": none. */
static void restriction_json(const char *text, char *json, size_t room)
{
	const char *equals = strchr(text, '=');

	if (equals == NULL)
		snprintf(json, room, "{}");
	else
		snprintf(json, room, "{\"rep:%.*s\":[\"%s\"]}", (int)(equals - text), text,
		         equals + 1);
}

static void do_step(const char *step)
{
	char a[64] = "", b[64] = "", c[64] = "", d[64] = "", json[128];

	cr_assert_geq(sscanf(step, " %63s %63s %63s %63s", a, b, c, d), 2, "%s", step);
	restriction_json(d, json, sizeof(json));
	if (strcmp(a, "make") == 0)
		test_postgres_sql(w.server, "SELECT repo.node_create('%s', 'sling:Folder')", b);
	else if (strcmp(a, "move") == 0)
		test_postgres_sql(w.server,
		                  "UPDATE repo.tree SET path = '%s', name = substr('%s', 2) "
		                  "WHERE path = '%s'; SELECT repo.acl_raise()",
		                  c, c, b);
	else if (strcmp(a, "remake") == 0) {
		test_postgres_sql(w.server, "SELECT auth.principal_delete('%s')", b);
		make_service(b);
	} else if (a[strlen(a) - 1] == ':' && b[0] == '+')
		test_postgres_sql(w.server,
		                  "SELECT repo.own_ace_append(auth.principal_id('%.*s'), '%s', "
		                  "'{%s}', '%s')",
		                  (int)strlen(a) - 1, a, c, b + 1, json);
	else if (b[0] == '+' || b[0] == '-')
		test_postgres_sql(w.server,
		                  "SELECT repo.ace_append('%s', auth.principal_id('%s'), %s, "
		                  "'{%s}', '{}')",
		                  a, b + 1, b[0] == '+' ? "true" : "false", c);
	else
		cr_assert_fail("not understood: %s", step);
}

static struct principals *session_of(char *names)
{
	uint64_t      ids[8];
	unsigned      n = 0;
	char         *save;
	struct handle h = { .kind = HANDLE_SERVICE };

	for (char *name = strtok_r(names, ",", &save); name != NULL;
	     name = strtok_r(NULL, ",", &save)) {
		ids[n] = number("SELECT auth.principal_id('%s')", name) << 1;
		ids[n++] |= strcmp(name, "everyone") == 0;
	}
	h.n_principals = n;
	h.principals = (const uint8_t *)ids;
	return principals_ref_of(table, &h);
}

Test(list, own_rows)
{
	FILE    *f = fopen(rows_file(CONFORMANCE_DIR "/own.rows"), "re");
	char     line[1024];
	unsigned n_rows = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		struct principals *who;
		char *save, *id, *steps, *session, *question, *expected, *step, *more = NULL;

		if (line[0] == '#')
			continue;
		id = strtok_r(line, "\t", &save);
		steps = strtok_r(NULL, "\t", &save);
		session = strtok_r(NULL, "\t", &save);
		question = strtok_r(NULL, "\t", &save);
		expected = strtok_r(NULL, "\t", &save);
		cr_assert_not_null(expected, "%s", id);
		start_anew();
		for (step = strtok_r(steps, ";", &more); step != NULL;
		     step = strtok_r(NULL, ";", &more))
			do_step(step);
		settle();
		who = session_of(session);
		cr_assert_eq(question_allowed(resources_acl(w.resources), who, question),
		             strcmp(expected, "yes") == 0, "%s: %s", id, question);
		principals_unref(who);
		n_rows++;
	}
	cr_assert(n_rows >= rows_least(22), "only %u rows", n_rows);
	fclose(f);
}
