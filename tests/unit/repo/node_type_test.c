/* Under test: migrations/0008_node_type.sql, where two sessions meet, and what no row can show: who
 * comes second waits and is judged by what the first has made. The rules themselves are rows:
 * tests/conformance/model. */
#include <base/clock.h>
#include <criterion/criterion.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/postgres.h>

static struct test_postgres *p;
static PGconn               *first, *second;

static PGconn *session(void)
{
	PGconn *s = PQconnectdb(test_postgres_conninfo(p, "postgres"));

	cr_assert_eq(PQstatus(s), CONNECTION_OK);
	return s;
}

static void in(PGconn *s, const char *sql)
{
	PGresult *r = PQexec(s, sql);

	cr_assert(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK,
	          "%s: %s", sql, PQerrorMessage(s));
	PQclear(r);
}

static void begin(void)
{
	p = test_postgres_new();
	first = session();
	second = session();
	in(first, "SELECT repo.node_create('/a', 'nt:unstructured'), "
	          "repo.node_create('/b', 'nt:unstructured')");
}

static void end(void)
{
	PQfinish(second);
	PQfinish(first);
	test_postgres_free(p);
}

TestSuite(node_type, .init = begin, .fini = end);

/* Sends, and returns when the session waits for a lock of the other one. */
static void sent_and_waits(PGconn *s, const char *sql)
{
	uint64_t began = clock_mono_us();
	bool     waits = false;

	cr_assert(PQsendQuery(s, sql));
	while (!waits) {
		char *count = test_postgres_value(p, "SELECT cardinality(pg_blocking_pids(%d))",
		                                  PQbackendPID(s));

		waits = strcmp(count, "0") != 0;
		free(count);
		cr_assert(clock_mono_us() - began < 10000000, "%s waits for nobody", sql);
	}
}

/* How what was sent ended: an SQLSTATE, "" for well. */
static void expect_end(PGconn *s, const char *sqlstate)
{
	PGresult *r, *last = NULL;

	while ((r = PQgetResult(s)) != NULL) {
		PQclear(last);
		last = r;
	}
	if (*sqlstate == '\0')
		cr_assert(PQresultStatus(last) == PGRES_TUPLES_OK, "%s", PQerrorMessage(s));
	else
		cr_assert_str_eq(PQresultErrorField(last, PG_DIAG_SQLSTATE), sqlstate);
	PQclear(last);
}

static void expect(const char *sql, const char *value)
{
	char *text = test_postgres_value(p, "%s", sql);

	cr_assert_str_eq(text, value, "%s: %s, not %s", sql, text, value);
	free(text);
}

#define CHECK "SELECT repo.node_check(ARRAY (SELECT id FROM repo.tree WHERE path <> '/'))"

Test(node_type, an_identifier_is_had_by_one_of_two_who_come_at_once)
{
	in(first, "SELECT repo.property_set('/a', 'jcr:uuid', '{\"s\":\"same\"}'), "
	          "repo.property_set('/b', 'jcr:uuid', '{\"s\":\"same\"}')");
	in(first, "BEGIN; SELECT repo.mixin_add('/a', 'mix:referenceable'); "
	          "SELECT repo.node_check(ARRAY (SELECT id FROM repo.tree WHERE path = '/a'))");
	in(second, "BEGIN; SELECT repo.mixin_add('/b', 'mix:referenceable')");
	sent_and_waits(
		second,
		"SELECT repo.node_check(ARRAY (SELECT id FROM repo.tree WHERE path = '/b'))");
	in(first, "COMMIT");
	expect_end(second, "23505");
	in(second, "ROLLBACK");
	expect("SELECT t.path FROM repo.identifier i JOIN repo.tree t ON t.id = i.node", "/a");
}

Test(node_type, an_identifier_goes_with_its_node_and_is_free_again)
{
	in(first, "BEGIN; SELECT repo.mixin_add('/a', 'mix:referenceable'); " CHECK "; COMMIT");
	expect("SELECT count(*) FROM repo.identifier", "1");
	in(first, "SELECT repo.node_delete('/a')");
	expect("SELECT count(*) FROM repo.identifier", "0");
}

#define LONG(name, type) \
	"SELECT repo.node_types_register('[{\"name\":\"" name \
	"\",\"supers\":[],\"abstract\":false,\"mixin\":false,\"orderable\":false," \
	"\"primary_item\":null,\"children\":[],\"properties\":[{\"name\":\"x\",\"type\":\"" type \
	"\",\"multiple\":false,\"mandatory\":false,\"auto\":false,\"protected\":false," \
	"\"default\":[],\"constraints\":[],\"opv\":\"COPY\"}]}]')"

/* Judged by the old definition, committed behind the new one: it would be broken from then on. */
Test(node_type, a_definition_waits_for_whoever_was_judged_by_the_old_one)
{
	in(first, LONG("t", "s"));
	in(first,
	   "BEGIN; SELECT repo.node_create('/c', 't', '{}', '{\"x\":{\"s\":\"1\"}}'); " CHECK);
	sent_and_waits(second, LONG("t", "l"));
	in(first, "COMMIT");
	expect_end(second, "23514");
	expect("SELECT declared -> 'properties' -> 0 ->> 'type' FROM repo.node_type WHERE name = "
	       "'t'",
	       "s");
}

/* A new type bears on nobody, so that a script with one does not stop the site. */
Test(node_type, a_new_type_waits_for_nobody)
{
	in(first, "BEGIN; SELECT repo.node_create('/c', 'sling:Folder'); " CHECK);
	in(second, LONG("t", "l"));
	in(first, "COMMIT");
	expect("SELECT count(*) FROM repo.node_type WHERE name = 't'", "1");
}

Test(node_type, a_child_is_judged_by_the_type_its_parent_has_come_to_meanwhile)
{
	in(first, "BEGIN; SELECT repo.node_type_set('/a', 'nt:folder'); " CHECK);
	sent_and_waits(second,
	               "BEGIN; SELECT repo.node_create('/a/k', 'nt:unstructured', '{}', '{}'); "
	               "SELECT repo.node_check(ARRAY (SELECT id FROM repo.tree WHERE path "
	               "= '/a/k'))");
	in(first, "COMMIT");
	expect_end(second, "23514");
	in(second, "ROLLBACK");
	expect("SELECT count(*) FROM repo.tree WHERE path = '/a/k'", "0");
}

/* The function that every commit ends with looks nodes up by their ids. What a session
 * has read is counted in itself at first, so the other one reads nothing else. */
static void expect_that_a_check_reads_little(const char *path)
{
	static const char read[] =
		"SELECT sum(seq_tup_read + idx_tup_fetch) < 200 FROM pg_stat_xact_user_tables "
		"WHERE relid IN ('repo.tree'::regclass, 'repo.content'::regclass)";
	char      check[160];
	PGresult *r;

	snprintf(check, sizeof(check),
	         "SELECT repo.node_check(ARRAY (SELECT id FROM repo.tree WHERE path = '%s'))",
	         path);
	in(second, "BEGIN");
	in(second, check);
	r = PQexec(second, read);
	cr_assert_str_eq(PQgetvalue(r, 0, 0), "t");
	PQclear(r);
	in(second, "ROLLBACK");
}

Test(node_type, the_check_of_one_node_reads_one_node)
{
	in(first,
	   "SELECT repo.node_create('/a/' || i, 'sling:Folder') FROM generate_series(1, 2000) i");
	in(first, "ANALYZE");
	expect_that_a_check_reads_little("/a/1000");
}

/* With repo's settings; a plan stays for as long as nobody makes statistics. */
Test(node_type, so_it_does_when_its_plan_was_made_while_the_tree_was_small)
{
	in(second, "SET enable_seqscan = off");
	in(second, "SET enable_bitmapscan = off");
	expect_that_a_check_reads_little("/a");
	in(first, "INSERT INTO repo.tree (parent, name, path, position, primary_type) "
	          "SELECT t.id, i::text, '/a/' || i, i, 'sling:Folder' "
	          "FROM repo.tree t, generate_series(1, 2000) i WHERE t.path = '/a'");
	expect_that_a_check_reads_little("/a/1000");
}
