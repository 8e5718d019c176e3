/* Under test: migrations/0002_repo.sql. Bad input is refused with the named error and changes
 * nothing; lists are edited by the rules; the role boardwalk_repo can read and no more. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/postgres.h>
#include <string.h>

static struct test_postgres *p;

static void begin(void)
{
	p = test_postgres_new();
	test_postgres_sql(
		p,
		"SELECT auth.principal_create('u', 'user'), auth.principal_create('g', 'group')");
}

static void end(void)
{
	test_postgres_free(p);
}

TestSuite(sql, .init = begin, .fini = end);

static void expect(const char *sql, const char *value)
{
	char *text = test_postgres_value(p, "%s", sql);

	cr_assert_str_eq(text, value, "%s: %s, not %s", sql, text, value);
	free(text);
}

/* The number of everything that could have changed. */
static char *state(void)
{
	return test_postgres_value(
		p, "SELECT (SELECT count(*) FROM repo.tree) || ' ' || (SELECT sum(version) "
		   "FROM repo.content) || ' ' || (SELECT count(*) FROM repo.ace) || ' ' || "
		   "(SELECT count(*) FROM repo.journal)");
}

static void refused(const char *sql, const char *sqlstate)
{
	char got[6], *before = state(), *after;

	cr_assert(test_postgres_fails(p, got, "%s", sql), "%s is not refused", sql);
	cr_assert_str_eq(got, sqlstate, "%s: %s, not %s", sql, got, sqlstate);
	after = state();
	cr_assert_str_eq(before, after, "%s has changed something", sql);
	free(before);
	free(after);
}

Test(sql, nodes)
{
	static const struct {
		const char *path, *sqlstate;
	} bad[] = {
		{ "", "42602" },           { "a", "42602" },
		{ "/a/", "42602" },        { "/a//b", "42602" },
		{ "/a/.", "42602" },       { "/a/..", "42602" },
		{ "/a/b[1]", "42602" },    { "/a/b|c", "42602" },
		{ "/a/b*", "42602" },      { "/a/ b", "42602" },
		{ "/a/b ", "42602" },      { "/a/x:b", "42602" },
		{ "/a/jcr:", "42602" },    { "/a/jcr:a:b", "42602" },
		{ "/a/\t", "42602" },      { "/a/e\xcc\x81", "42602" },
		{ "/no/parent", "23503" }, { "/a/\xc2\x85", "42602" },
	};
	char sql[1024];

	expect("SELECT repo.node_create('/a', 'sling:Folder')", "t");
	expect("SELECT repo.node_create('/a', 'nt:unstructured')", "f");
	expect("SELECT primary_type FROM repo.tree WHERE path = '/a'", "sling:Folder");
	expect("SELECT repo.node_create('/a/jcr:content', 'oak:Resource')", "t");
	expect("SELECT repo.node_create('/a/\xc3\xa9 x.y', 'nt:file')", "t");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT repo.node_create('%s', 'sling:Folder')",
		         bad[i].path);
		refused(sql, bad[i].sqlstate);
	}
	refused("SELECT repo.node_create('/a/' || repeat('n', 256), 'sling:Folder')", "42602");
	refused("SELECT repo.node_create(repeat('/d', 65), 'sling:Folder')", "42602");
	refused("SELECT repo.node_create('/a' || repeat('/' || repeat('n', 200), 11), "
	        "'sling:Folder')",
	        "42602");
	refused("SELECT repo.node_create(NULL, 'sling:Folder')", "42602");
	refused("SELECT repo.node_create('/a/b', 'nt:base')", "22023");
	refused("SELECT repo.node_create('/a/b', 'nt:nothing')", "22023");
	refused("SELECT repo.node_create('/a/b', NULL)", "22023");
	/* Order of siblings: appended, with gaps. */
	test_postgres_sql(
		p,
		"SELECT repo.node_create('/a/' || i, 'sling:Folder') FROM generate_series(1, 3) i");
	expect("SELECT string_agg(name, ' ' ORDER BY position, id) FROM repo.tree WHERE path LIKE "
	       "'/a/_'",
	       "1 2 3");
	expect("SELECT bool_and(position % 1048576 = 0)::text FROM repo.tree", "true");
	/* Deleted with all below, and with its list; siblings whose names begin alike stay. */
	test_postgres_sql(
		p, "SELECT repo.node_create('/a/1/x', 'sling:Folder'), repo.node_create('/a/1.y', "
		   "'sling:Folder'), repo.node_create('/a/10', 'sling:Folder')");
	test_postgres_sql(p, "SELECT repo.ace_append('/a/1/x', 3, true, '{jcr:read}')");
	expect("SELECT repo.node_delete('/a/1')", "t");
	expect("SELECT repo.node_delete('/a/1')", "f");
	expect("SELECT count(*) FROM repo.tree WHERE path LIKE '/a/1%'", "2");
	expect("SELECT count(*) FROM repo.ace", "0");
	expect("SELECT count(*) FROM repo.content WHERE id NOT IN (SELECT id FROM repo.tree)", "0");
	test_postgres_sql(
		p, "SELECT repo.node_create('/a/1', 'sling:Folder'), repo.node_create('/a/1/x', "
		   "'sling:Folder')");
	expect("SELECT count(*) FROM repo.ace", "0");
	refused("SELECT repo.node_delete('/')", "22023");
	expect("SELECT string_agg(DISTINCT kind, ' ' ORDER BY kind) FROM repo.journal",
	       "ACL ADDED REMOVED");
}

Test(sql, properties)
{
	static const char *const bad[] = {
		"\"x\"",
		"{}",
		"{\"s\":\"a\",\"l\":1}",
		"{\"q\":\"x\"}",
		"{\"s\":1}",
		"{\"l\":\"1\"}",
		"{\"l\":1.5}",
		"{\"l\":1.0}",
		"{\"l\":9223372036854775808}",
		"{\"b\":\"true\"}",
		"{\"d\":1}",
		"{\"d\":\"1x\"}",
		"{\"d\":\"\"}",
		"{\"dec\":\"NaN\"}",
		"{\"date\":\"2026-11-30\"}",
		"{\"s\":[1]}",
		"{\"s\":[null]}",
		"{\"s\":null}",
		"{\"s\":{\"s\":\"x\"}}",
		"{\"l\":[1,\"2\"]}",
		"[]",
		"null",
	};
	static const char *const good[] = {
		"{\"s\":\"\"}",
		"{\"s\":[]}",
		"{\"l\":-9223372036854775808}",
		"{\"l\":[1,2]}",
		"{\"b\":false}",
		"{\"d\":\"-0.0\"}",
		"{\"d\":\"NaN\"}",
		"{\"d\":\"-Infinity\"}",
		"{\"d\":\"1e-7\"}",
		"{\"dec\":\"1.50\"}",
		"{\"date\":\"2026-11-30T16:20:05.123+01:00\"}",
		"{\"name\":\"jcr:x\"}",
		"{\"path\":\"/a\"}",
		"{\"ref\":\"x\"}",
		"{\"weak\":\"x\"}",
		"{\"uri\":\"x\"}",
	};
	char sql[512];

	test_postgres_sql(
		p, "SELECT repo.node_create('/a', 'sling:Folder'), repo.node_create('/a/kid', "
		   "'sling:Folder')");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT repo.property_set('/a', 'p', '%s')", bad[i]);
		refused(sql, "22023");
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(sql, sizeof(sql), "SELECT repo.property_set('/a', 'p', '%s')", good[i]);
		expect(sql, "t");
		expect(sql, "f");
	}
	refused("SELECT repo.property_set('/a', 'kid', '{\"s\":\"x\"}')", "23505");
	refused("SELECT repo.node_create('/a/p', 'sling:Folder')", "23505");
	refused("SELECT repo.property_set('/none', 'p', '{\"s\":\"x\"}')", "P0002");
	refused("SELECT repo.property_set('/a', 'a/b', '{\"s\":\"x\"}')", "42602");
	refused("SELECT repo.property_set('/a', 'jcr:primaryType', '{\"name\":\"nt:file\"}')",
	        "22023");
	refused("SELECT repo.property_set('/a', 'big', jsonb_build_object('s', repeat('x', "
	        "65537)))",
	        "54000");
	refused("SELECT repo.property_set('/a', 'big', jsonb_build_object('s', (SELECT "
	        "array_agg(repeat('x', 60000)) "
	        "FROM generate_series(1, 3))))",
	        "54000");
	expect("SELECT repo.property_remove('/a', 'p')", "t");
	expect("SELECT repo.property_remove('/a', 'p')", "f");
	refused("SELECT repo.property_remove('/none', 'p')", "P0002");
	/* The types stand in the tree as well. */
	expect("SELECT repo.property_set('/a', 'sling:resourceType', '{\"s\":\"t/one\"}')", "t");
	expect("SELECT repo.property_set('/a', 'sling:resourceSuperType', '{\"s\":\"t/two\"}')",
	       "t");
	expect("SELECT resource_type || ' ' || super_type FROM repo.tree WHERE path = '/a'",
	       "t/one t/two");
	refused("SELECT repo.property_set('/a', 'sling:resourceType', '{\"s\":[\"t\"]}')", "22023");
	refused("SELECT repo.property_set('/a', 'sling:resourceType', '{\"s\":\"\"}')", "22023");
	expect("SELECT repo.property_remove('/a', 'sling:resourceType')", "t");
	expect("SELECT resource_type IS NULL FROM repo.tree WHERE path = '/a'", "t");
}

/* The rows of list editing: what there was, what is added, what there is. Principals are u and
 * g. */
Test(sql, lists)
{
	static const struct {
		const char *before, *edit, *after;
	} rows[] = {
		{ "", "+u jcr:read", "+u rep:readNodes,rep:readProperties" },
		{ "+u jcr:read", "+u rep:readNodes", "+u rep:readNodes,rep:readProperties" },
		{ "+u rep:readNodes;+g jcr:read", "+u rep:readProperties",
		  "+u rep:readNodes,rep:readProperties;+g rep:readNodes,rep:readProperties" },
		{ "+u jcr:read", "-u jcr:read", "-u rep:readNodes,rep:readProperties" },
		{ "+u jcr:read,jcr:removeNode;+g rep:readNodes", "-u jcr:removeNode",
		  "+u rep:readNodes,rep:readProperties;+g rep:readNodes;-u jcr:removeNode" },
		{ "+u jcr:read", "-u rep:readNodes", "+u rep:readProperties;-u rep:readNodes" },
		{ "-u jcr:read", "+u jcr:read", "+u rep:readNodes,rep:readProperties" },
		{ "+u jcr:read", "+u jcr:all", "+u jcr:all" },
		{ "+u jcr:all", "+u jcr:read", "+u jcr:all" },
		{ "+u jcr:read", "-u jcr:all", "-u jcr:all" },
		{ "+g jcr:read", "+u rep:readNodes",
		  "+g rep:readNodes,rep:readProperties;+u rep:readNodes" },
	};

	test_postgres_sql(p, "CREATE FUNCTION list(edits text) RETURNS void LANGUAGE plpgsql AS $$ "
	                     "DECLARE e text; "
	                     "BEGIN FOREACH e IN ARRAY string_to_array(edits, ';') LOOP PERFORM "
	                     "repo.ace_append('/', "
	                     "(SELECT id FROM auth.principal_public WHERE name = substr(e, 2, 1)), "
	                     "left(e, 1) = '+', "
	                     "string_to_array(substr(e, 4), ',')); END LOOP; END $$");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		test_postgres_sql(p, "DELETE FROM repo.ace");
		test_postgres_sql(p, "SELECT list('%s')", rows[i].before);
		test_postgres_sql(p, "SELECT list('%s')", rows[i].edit);
		expect("SELECT string_agg(CASE WHEN allow THEN '+' ELSE '-' END || n.name || ' ' "
		       "|| "
		       "array_to_string(privileges, ','), ';' ORDER BY position) FROM repo.ace a "
		       "JOIN auth.principal_public n ON n.id = a.principal",
		       rows[i].after);
	}
	expect("SELECT repo.ace_append('/', 3, true, '{jcr:read}')", "t");
	expect("SELECT repo.ace_append('/', 3, true, '{rep:readNodes}')", "f");
	refused("SELECT repo.ace_append('/', 999, true, '{jcr:read}')", "23503");
	refused("SELECT repo.ace_append('/', 1, true, '{jcr:read}')", "22023");
	refused("SELECT repo.ace_append('/', 3, true, '{}')", "22023");
	refused("SELECT repo.ace_append('/', 3, true, NULL)", "22023");
	refused("SELECT repo.ace_append('/', 3, NULL, '{jcr:read}')", "22023");
	refused("SELECT repo.ace_append('/', 3, true, '{jcr:raed}')", "22023");
	refused("SELECT repo.ace_append('/', 3, true, '{jcr:namespaceManagement}')", "22023");
	refused("SELECT repo.ace_append('/none', 3, true, '{jcr:read}')", "P0002");
	expect("SELECT repo.ace_remove_all('/', 3)", "1");
	expect("SELECT repo.ace_remove_all('/', 3)", "0");
	refused("SELECT repo.ace_remove_all('/none', 3)", "P0002");
}

/* Which restrictions are taken, and that equal ones are one, whatever the order of their values. */
Test(sql, restrictions)
{
	static const struct {
		const char *json, *sqlstate;
	} bad[] = {
		{ "[]", "22023" },
		{ "{\"rep:none\":[\"a\"]}", "22023" },
		{ "{\"rep:ntNames\":\"a\"}", "22023" },
		{ "{\"rep:ntNames\":[1]}", "22023" },
		{ "{\"rep:ntNames\":[null]}", "22023" },
		{ "{\"rep:glob\":[]}", "22023" },
		{ "{\"rep:glob\":[\"/a\",\"/b\"]}", "22023" },
		{ "{\"rep:glob\":[\"*********************\"]}", "22023" },
		{ "{\"rep:globs\":[\"/a\",\"/*********************\"]}", "22023" },
		{ "{\"rep:subtrees\":[\"\"]}", "22023" },
	};
	char sql[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(sql, sizeof(sql),
		         "SELECT repo.ace_append('/', 3, true, '{jcr:read}', '%s')", bad[i].json);
		refused(sql, bad[i].sqlstate);
	}
	refused("SELECT repo.ace_append('/', 3, true, '{jcr:read}', NULL)", "22023");
	refused("SELECT repo.ace_append('/', 3, true, '{jcr:read}', "
	        "jsonb_build_object('rep:glob', ARRAY[repeat('a', 2049)]))",
	        "54000");
	refused("SELECT repo.ace_append('/', 3, true, '{jcr:read}', "
	        "jsonb_build_object('rep:ntNames', array_fill('a'::text, ARRAY[257])))",
	        "54000");
	expect("SELECT repo.ace_append('/', 3, true, '{jcr:read}', "
	       "'{\"rep:ntNames\":[\"b\",\"a\"]}')",
	       "t");
	expect("SELECT repo.ace_append('/', 3, true, '{jcr:read}', "
	       "'{\"rep:ntNames\":[\"a\",\"b\",\"a\"]}')",
	       "f");
	expect("SELECT repo.ace_append('/', 3, true, '{jcr:read}')", "t");
	expect("SELECT repo.ace_append('/', 3, false, '{jcr:read}', '{\"rep:glob\":[\"\"]}')", "t");
	expect("SELECT string_agg(allow || ' ' || restrictions, '; ' ORDER BY position) FROM "
	       "repo.ace",
	       "true {\"rep:ntNames\": [\"a\", \"b\"]}; true {}; false {\"rep:glob\": [\"\"]}");
	expect("SELECT repo.ace_remove('/', 3, true, '{jcr:read}', '{\"rep:ntNames\":[\"a\"]}')",
	       "f");
	expect("SELECT repo.ace_remove('/', 3, true, '{jcr:read}', "
	       "'{\"rep:ntNames\":[\"b\",\"a\"]}')",
	       "t");
	expect("SELECT count(*) FROM repo.ace", "2");
}

Test(sql, what_remains_of_all_is_every_leaf)
{
	test_postgres_sql(p, "SELECT repo.ace_append('/', 3, true, '{jcr:all}'), "
	                     "repo.ace_append('/', 3, false, '{jcr:read}')");
	expect("SELECT cardinality(privileges) FROM repo.ace WHERE allow", "15");
	expect("SELECT privileges && '{rep:readNodes,rep:readProperties,jcr:all}' FROM repo.ace "
	       "WHERE allow",
	       "f");
}

/* What the journals say of changes that only scripts make. */
Test(sql, news_of_types_lists_and_accounts)
{
	test_postgres_sql(p, "SELECT repo.node_create('/a', 'sling:Folder'), "
	                     "repo.node_create('/a/b', 'sling:Folder'), "
	                     "repo.ace_append('/a', p.id, true, '{jcr:read}'), "
	                     "repo.ace_append('/a', p.id, false, '{jcr:write}'), "
	                     "repo.ace_append('/a/b', p.id, true, '{jcr:read}'), "
	                     "auth.membership_add('g', 'u') "
	                     "FROM auth.principal p WHERE p.name = 'u'");
	test_postgres_sql(p, "DELETE FROM repo.journal; DELETE FROM auth.journal");
	test_postgres_sql(p, "SELECT repo.node_type_set('/a', 'nt:unstructured'), "
	                     "repo.mixin_add('/a', 'mix:referenceable'), "
	                     "repo.mixin_remove('/a', 'mix:referenceable')");
	test_postgres_sql(p, "SELECT auth.principal_disable('u', 'gone'::text), "
	                     "auth.principal_disable('u', 'away'::text), "
	                     "auth.principal_delete('u')");
	expect("SELECT string_agg(concat_ws(' ', kind, path, nullif(array_to_string(properties, "
	       "','), '')), '; '"
	       " ORDER BY seq) FROM repo.journal",
	       "CHANGED /a jcr:primaryType; CHANGED /a jcr:mixinTypes,jcr:uuid; "
	       "CHANGED /a jcr:mixinTypes; ACL /a; ACL /a/b");
	expect("SELECT string_agg(kind, ' ' ORDER BY seq) FROM auth.journal", "disabled deleted");
	expect("SELECT count(*) FROM repo.ace", "0");
	expect("SELECT count(*) FROM auth.membership", "0");
	refused("SELECT repo.node_type_set('/a', 'nt:base')", "22023");
	refused("SELECT repo.node_type_set('/none', 'nt:file')", "P0002");
	refused("SELECT repo.mixin_add('/none', 'mix:title')", "P0002");
	refused("SELECT repo.mixin_add('/a', 'nt:folder')", "22023");
	refused("SELECT repo.mixin_add('/a', NULL)", "22023");
	refused("SELECT repo.acl_delete('/none')", "P0002");
	refused("SELECT repo.ace_remove('/a', 3, true, '{}', '{}')", "22023");
	refused("SELECT repo.namespace_register('1x', 'x:y')", "42602");
	refused("SELECT repo.namespace_register('x', '')", "22023");
	refused("SELECT repo.namespace_register('x', NULL)", "23502");
	refused("SELECT auth.principal_delete('everyone')", "42809");
	refused("SELECT auth.membership_remove('u', 'g')", "P0002");
}

/* What is taken for plain is not looked at again: pieces of names and values, put together at random, of
 * which each that is plain passes the check that knows all rules (it raises), and many are. */
Test(sql, plain_is_less_than_what_the_rules_allow)
{
	test_postgres_sql(
		p, "%s",
		"CREATE FUNCTION made_of(n integer, pieces text[]) RETURNS text LANGUAGE sql"
		" VOLATILE AS $$ SELECT coalesce(string_agg(pieces[1 + (random()"
		" * (cardinality(pieces) - 1))::integer], ''), '') FROM"
		" generate_series(1, n) $$");
	test_postgres_sql(
		p, "%s",
		"DO $$ DECLARE found text; value jsonb; n integer := 0; BEGIN"
		" FOR i IN 1 .. 6000 LOOP"
		"  found := made_of(i % 7, ARRAY['a', 'Z', '0', '-', '_', '/', ':', '.', ' ', "
		"'jcr:',"
		"   'sling:', 'none:', '*', '[', '|', E'\\u00e9', E'e\\u0301', E'\\u0085', E'\n',"
		"   repeat('n', 90), repeat('/d', 30)]);"
		"  IF repo.name_plain(found) THEN PERFORM repo.name_check(found); n := n + 1; END "
		"IF;"
		"  IF repo.path_plain(found) THEN PERFORM repo.path_check(found); n := n + 1; END "
		"IF;"
		" END LOOP;"
		" IF n < 200 THEN RAISE EXCEPTION 'only % are plain', n; END IF; END $$");
	test_postgres_sql(
		p, "%s",
		"DO $$ DECLARE value jsonb; n integer := 0; BEGIN"
		" FOR value IN SELECT jsonb_build_object(tag, v) || more"
		"   FROM unnest('{s,l,b,d,date,name,bin,x}'::text[]) tag, unnest(ARRAY['\"t\"', "
		"'1',"
		"    '-0', '1.0', '1e3', '1e30', '-9223372036854775808', '9223372036854775807',"
		"    '9223372036854775808', '999999999999999999', 'true', 'null', '[]', '[1]', "
		"'{}',"
		"    '\"\"', to_json(repeat('t', 65536))::text, to_json(repeat('t', 65537))::text]"
		"    ::jsonb[]) v, unnest(ARRAY['{}', '{\"s\": \"t\"}', '{\"l\": 1}', '{\"x\": 1}']"
		"    ::jsonb[]) more"
		"  UNION ALL SELECT j FROM unnest(ARRAY['[\"s\"]', '\"s\"', '1', 'null', '{}']"
		"    ::jsonb[]) j LOOP"
		"  IF repo.value_plain(value) THEN PERFORM repo.value_check(value); n := n + 1; "
		"END IF;"
		" END LOOP;"
		" IF n < 20 THEN RAISE EXCEPTION 'only % are plain', n; END IF; END $$");
}

/* A type that leaves everything to whoever writes, and one that does not. */
Test(sql, types_that_need_no_look)
{
	expect("SELECT string_agg(name, ' ' ORDER BY name) FROM repo.node_type WHERE loose",
	       "nt:unstructured rep:root");
	expect("SELECT string_agg(name, ' ' ORDER BY name) FROM repo.node_type WHERE holds_all",
	       "nt:unstructured rep:root sling:Folder sling:Mapping sling:OrderedFolder");
}

Test(sql, rights_of_the_role)
{
	static const char *const denied[] = {
		"INSERT INTO repo.journal (kind, path) VALUES ('ADDED', '/x')",
		"DELETE FROM repo.journal",
		"UPDATE repo.content SET version = 0",
		"DELETE FROM repo.ace",
		"TRUNCATE repo.tree",
		"UPDATE repo.generation SET acl = 0",
		"SELECT repo.node_create('/x', 'sling:Folder')",
		"SELECT repo.node_delete('/x')",
		"SELECT repo.property_set('/', 'x', '{\"s\":\"x\"}')",
		"SELECT repo.property_remove('/', 'x')",
		"SELECT repo.ace_append('/', 3, true, '{jcr:all}')",
		"SELECT repo.ace_remove_all('/', 3)",
		"SELECT repo.ace_remove('/', 3, true, '{jcr:all}', '{}')",
		"SELECT repo.acl_delete('/')",
		"SELECT repo.ace_forget(3)",
		"SELECT repo.mixin_add('/', 'mix:title')",
		"SELECT repo.mixin_remove('/', 'mix:title')",
		"SELECT repo.node_type_set('/', 'nt:file')",
		"SELECT repo.namespace_register('x', 'x:y')",
		"SELECT repo.privilege_register('x', false, '{}')",
		"SELECT repo.journal_write('ACL', '/')",
		"SELECT repo.acl_raise()",
		"CREATE TABLE repo.mine (x int)",
		"CREATE TABLE public.mine (x int)",
		"SELECT * FROM auth.credential",
		"SELECT * FROM auth.membership",
		"SELECT auth.principal_delete('u')",
		"SELECT auth.principal_disable('u', 'x'::text)",
		"SELECT auth.membership_remove('g', 'u')",
	};
	char sqlstate[6];

	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		cr_assert(test_postgres_fails(p, sqlstate,
		                              "SET SESSION AUTHORIZATION boardwalk_repo; %s",
		                              denied[i]),
		          "%s", denied[i]);
		cr_assert_str_eq(sqlstate, "42501", "%s: %s", denied[i], sqlstate);
		test_postgres_sql(p, "RESET SESSION AUTHORIZATION");
	}
	test_postgres_sql(p, "SELECT repo.node_create('/old', 'sling:Folder'), "
	                     "repo.node_create('/new', 'sling:Folder');"
	                     "UPDATE repo.journal SET written = now() - interval '61 minutes' "
	                     "WHERE path = '/old'");
	test_postgres_sql(p, "SET SESSION AUTHORIZATION boardwalk_repo");
	expect("SELECT repo.journal_prune()", "1");
	expect("SELECT string_agg(path, ' ') FROM repo.journal", "/new");
	test_postgres_sql(p, "RESET SESSION AUTHORIZATION");
}
