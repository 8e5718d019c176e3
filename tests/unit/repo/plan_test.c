/* Under test: the plans of commits, which connections keep (lib/pg/connect.c), and the statistics that
 * they are made by, and end with (migrations/0019_statistics.sql, repo/commit_pool.c): what a change
 * looks at does not grow with the tree, though its first plans were made when the database was new. Pages
 * are counted, not rows: an index that is read from end to end for one row has given one row. */
#include "changing.h"
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/postgres.h>

/* repo.tree has 1,300 pages then. */
#define GROWN     60000
#define MAX_PAGES 600

static struct test_postgres *p;
static PGconn               *conn;

static char *ask(const char *sql)
{
	PGresult *r = PQexec(conn, sql);
	char     *value;

	cr_assert(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK,
	          "%s: %s", sql, PQerrorMessage(conn));
	value = strdup(PQntuples(r) > 0 ? PQgetvalue(r, 0, 0) : "");
	PQclear(r);
	return value;
}

static void run(const char *sql)
{
	free(ask(sql));
}

/* Nobody makes statistics behind our back, and with them other plans. */
static void begin(void)
{
	p = test_postgres_new();
	test_postgres_sql(p, "BEGIN");
	test_postgres_sql(p, "ALTER TABLE repo.tree SET (autovacuum_enabled = off)");
	test_postgres_sql(p, "ALTER TABLE repo.content SET (autovacuum_enabled = off)");
	test_postgres_sql(p, "COMMIT");
	conn = PQconnectdb(test_postgres_conninfo(p, "postgres"));
	cr_assert_eq(PQstatus(conn), CONNECTION_OK);
	run("SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan");
	run("SELECT repo.node_create('/a', 'nt:unstructured')");
}

static void end(void)
{
	PQfinish(conn);
	test_postgres_free(p);
}

TestSuite(plan, .init = begin, .fini = end);

/* A page that is found in memory counts too. */
static long pages(void)
{
	char *text, *rest;
	long  n;

	run("SELECT pg_stat_force_next_flush()");
	text = ask("SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0)"
	           "  + coalesce(idx_blks_read, 0)) FROM pg_statio_user_tables"
	           " WHERE schemaname = 'repo'");
	n = strtol(text, &rest, 10);
	cr_assert(*text != '\0' && *rest == '\0', "%s", text);
	free(text);
	return n;
}

/* One commit, as repo makes it; how many pages it has looked at. */
static long commit(const char *change)
{
	char sql[1024], *outcome;
	long before = pages();

	run("BEGIN");
	snprintf(sql, sizeof(sql),
	         "SELECT outcome FROM repo.commit_apply('[{%s}]'::jsonb, 1, 'x', false)"
	         " ORDER BY n DESC LIMIT 1",
	         change);
	outcome = ask(sql);
	cr_assert(strcmp(outcome, "done") == 0 || strcmp(outcome, "copied") == 0, "%s: %s", change,
	          outcome);
	free(outcome);
	run("SELECT repo.commit_finish('{}', '[]')");
	run("COMMIT");
	return pages() - before;
}

#define AT(n, name) "\"path\": \"/a/" n name "\", \"version\": 0"

/* Each on nodes of its own, so that each round finds what the one before did. */
#define ROUND(n) \
	{ \
		"\"kind\": \"create\", \"name\": \"nt:unstructured\", \"mixins\": [], " \
		"\"properties\": {\"x\": {\"s\": \"text\"}, \"y\": {\"l\": 1}}, " AT(n, "one"), \
			"\"kind\": \"create\", \"name\": null, \"mixins\": " \
			"[\"mix:versionable\"], " \
			"\"properties\": {}, " AT(n, "two"), \
			"\"kind\": \"create\", \"name\": \"sling:Folder\", \"mixins\": [], " \
			"\"properties\": {}, " AT(n, "three"), \
			"\"kind\": \"set\", \"name\": \"x\", \"value\": {\"s\": \"other text\"}, " \
			"\"base\": {\"s\": \"text\"}, " AT(n, "one"), \
			"\"kind\": \"set\", \"name\": \"z\", \"value\": {\"l\": 1}, " AT(n, \
		                                                                         "one"), \
			"\"kind\": \"unset\", \"name\": \"z\", " AT(n, "one"), \
			"\"kind\": \"order\", \"name\": \"" n "one\", " AT(n, "two"), \
			"\"kind\": \"mixin+\", \"name\": \"mix:title\", " AT(n, "one"), \
			"\"kind\": \"mixin-\", \"name\": \"mix:title\", " AT(n, "one"), \
			"\"kind\": \"type\", \"name\": \"sling:OrderedFolder\", \"base\": " \
			"null, " AT(n, "three"), \
			"\"kind\": \"checkin\", \"name\": null, " AT(n, "two"), \
			"\"kind\": \"checkout\", \"name\": null, " AT(n, "two"), \
			"\"kind\": \"restore\", \"name\": \"1.0\", \"removing\": false, " AT( \
				n, "two"), \
			"\"kind\": \"label+\", \"name\": \"l\", \"of\": \"1.0\", \"removing\": " \
			"false, " AT(n, "two"), \
			"\"kind\": \"ace+\", \"name\": \"everyone\", \"allow\": true, " \
			"\"privileges\": [\"jcr:read\"], \"restrictions\": {}, " AT(n, "one"), \
			"\"kind\": \"acl-\", \"name\": null, " AT(n, "one"), \
			"\"kind\": \"copy\", \"name\": \"/a/" n "copy\", " AT(n, "one"), \
			"\"kind\": \"move\", \"name\": \"/a/" n "moved\", " AT(n, "copy"), \
			"\"kind\": \"remove\", \"name\": null, " AT(n, "moved"), \
	}

Test(plan, what_a_change_looks_at_does_not_grow_with_the_tree)
{
	static const char *const small[] = ROUND("small"), *const first[] = ROUND("first"),
				 *const second[] = ROUND("second");
	char                            grow[512];

	for (size_t i = 0; i < sizeof(small) / sizeof(*small); i++)
		(void)commit(small[i]);
	snprintf(grow, sizeof(grow),
	         "WITH t AS (INSERT INTO repo.tree (parent, name, path, position, primary_type)"
	         " SELECT t.id, i::text, '/a/' || i, i, 'nt:unstructured'"
	         " FROM repo.tree t, generate_series(1, %d) i WHERE t.path = '/a' RETURNING id)"
	         " INSERT INTO repo.content (id) SELECT id FROM t",
	         GROWN);
	test_postgres_sql(p, "%s", grow);
	test_postgres_sql(p, "SELECT repo.statistics_follow()");
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		(void)commit(first[i]); /* who makes a plan looks around more than who follows it */
	for (size_t i = 0; i < sizeof(second) / sizeof(*second); i++) {
		long n = commit(second[i]);

		cr_expect_lt(n, MAX_PAGES, "%ld pages: %s", n, second[i]);
	}
}

/* ---- repo ---- */

static void expect_pages(struct world *w, const char *compares)
{
	char *text = test_postgres_value(
		w->server, "SELECT relpages %s FROM pg_class WHERE oid = 'repo.tree'::regclass",
		compares);

	cr_expect_str_eq(text, "t");
	free(text);
}

static bool has_statistics(struct world *w)
{
	char *text = test_postgres_value(w->server, "SELECT count(*) FROM pg_statistic"
	                                            " WHERE starelid = 'repo.tree'::regclass");
	bool  has = strcmp(text, "0") != 0;

	free(text);
	return has;
}

Test(statistics, are_made_when_the_content_has_grown)
{
	enum { TOGETHER = 40, COMMITS = 25 };
	struct world  w;
	struct client c;
	uint64_t      admin;

	world_begin(&w, 1 << 20);
	test_postgres_sql(w.server, "ALTER TABLE repo.tree SET (autovacuum_enabled = off)");
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	cr_assert_eq(change(&c, admin, "create /t type=nt:unstructured"), BW_OK);
	expect_pages(&w, "< 3");
	cr_assert_not(has_statistics(&w));
	for (int i = 0; i < COMMITS; i++) {
		char   steps[TOGETHER * 64];
		size_t at = 0;

		for (int k = 0; k < TOGETHER; k++)
			at += (size_t)snprintf(steps + at, sizeof(steps) - at,
			                       "create /t/a%d-%d type=nt:unstructured;", i, k);
		steps[at - 1] = '\0';
		cr_assert_eq(change(&c, admin, steps), BW_OK);
	}
	for (int i = 0; i < 100; i++)
		cr_assert_eq(change(&c, admin, i % 2 ? "set /t p=1" : "set /t p=2"), BW_OK);
	world_until(&w, has_statistics(&w));
	expect_pages(&w, "> 10");
	client_close(&c);
	world_end(&w);
}
