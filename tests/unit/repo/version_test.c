/* repo/version.c and migrations/0014_version.sql over the wire against a real PostgreSQL: histories and
 * what a node was, for those who may read it; what versions hold; what is told of a restore. What
 * checking in and restoring do is in tests/conformance/commit. */
#include "changing.h"
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>

#define ADA 100

static struct world  w;
static struct client c;
static uint64_t      admin;

static void begin(void)
{
	world_begin(&w, 1 << 20);
	test_postgres_sql(w.server,
	                  "INSERT INTO auth.principal (id, name, class) VALUES (%d, 'ada', 'user')",
	                  ADA);
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	cr_assert(eq(
		int,
		change(&c, admin, "create /t type=nt:unstructured mixin=mix:versionable p=1 q=x"),
		BW_OK));
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

TestSuite(version, .init = begin, .fini = end);

static void do_all(const char *const *steps, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cr_assert(eq(int, change(&c, admin, steps[i]), BW_OK), "%s", steps[i]);
}

#define DO(...) \
	do_all((const char *const[]){ __VA_ARGS__ }, \
	       sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

static void assert_sql(const char *sql, const char *expected)
{
	char *value = test_postgres_value(w.server, "%s", sql);

	cr_assert(eq(str, value, (char *)expected), "%s", sql);
	free(value);
}

static void put_texts(struct buf *out, const struct record *r, const char *name)
{
	struct record_prop prop;

	cr_assert(record_prop(r, bw_str(name), &prop), "%s", name);
	for (unsigned i = 0; i < prop.n; i++)
		buf_printf(out, "%s%s", i > 0 ? "," : "", record_value(r, &prop, i).p);
}

/* "1.0<jcr:rootVersion>1.1 label,label* ...", and + if there are more; the error of a refusal. Heap. */
static char *list(uint64_t who, const char *path, const char *after, unsigned max)
{
	Bw__Wire__VersionList m = BW__WIRE__VERSION_LIST__INIT;
	struct wire_frame     f = { .id = WIRE_RESOURCE_PAGE };
	struct wire_message   answer;
	struct record         r;
	struct record_prop    base;
	struct call           call;
	struct buf            out;
	size_t                at = 0;
	char                 *text;

	m.sequence = who;
	m.path = (ProtobufCBinaryData){ strlen(path), (uint8_t *)path };
	m.has_after = after != NULL;
	m.after = (ProtobufCBinaryData){ after != NULL ? strlen(after) : 0, (uint8_t *)after };
	m.max = max;
	client_ask(&c, &call, WIRE_VERSION_LIST, &m.base);
	call_wait(&w, &call);
	buf_init(&out);
	if (call.err != BW_OK) {
		buf_printf(&out, "%d", call.err);
		goto out;
	}
	f.length = (uint32_t)call.n;
	f.payload = call.answer;
	cr_assert(eq(int, wire_message_get(&f, &answer), BW_OK));
	for (unsigned i = 0; i < answer.u->resource_page.count; i++) {
		ProtobufCBinaryData records = answer.u->resource_page.records;

		cr_assert(eq(int, record_get(records.data + at, records.len - at, &r), BW_OK));
		at += r.size;
		buf_printf(&out, "%s%s<", i > 0 ? " " : "", r.name.p);
		put_texts(&out, &r, "jcr:predecessors");
		buf_printf(&out, ">");
		put_texts(&out, &r, "jcr:successors");
		buf_printf(&out, "|");
		put_texts(&out, &r, "labels");
		if (record_prop(&r, BW_STR("base"), &base) &&
		    bw_str_eq(record_value(&r, &base, 0), BW_STR("true")))
			buf_printf(&out, "*");
	}
	if (answer.u->resource_page.more)
		buf_printf(&out, " +");
out:
	buf_append(&out, "", 1);
	text = strdup((char *)buf_data(&out));
	buf_done(&out);
	call_done(&call);
	return text;
}

static void assert_list(uint64_t who, const char *after, unsigned max, const char *expected)
{
	char *text = list(who, "/t", after, max);

	cr_assert(eq(str, text, (char *)expected));
	free(text);
}

/* The property of /t in a version; "-": it is not there; the error of a refusal. Heap. */
static char *frozen(uint64_t who, const char *version, const char *name)
{
	Bw__Wire__VersionGet m = BW__WIRE__VERSION_GET__INIT;
	struct wire_frame    f = { .id = WIRE_RESOURCE_FOUND };
	struct wire_message  answer;
	struct record        r;
	struct record_prop   prop;
	struct call          call;
	char                *text;

	m.sequence = who;
	m.path = (ProtobufCBinaryData){ 2, (uint8_t *)"/t" };
	m.version = (ProtobufCBinaryData){ strlen(version), (uint8_t *)version };
	client_ask(&c, &call, WIRE_VERSION_GET, &m.base);
	call_wait(&w, &call);
	if (call.err != BW_OK) {
		cr_assert(asprintf(&text, "%d", call.err) > 0);
	} else {
		ProtobufCBinaryData record;

		f.length = (uint32_t)call.n;
		f.payload = call.answer;
		cr_assert(eq(int, wire_message_get(&f, &answer), BW_OK));
		record = answer.u->resource_found.record;
		cr_assert(eq(int, record_get(record.data, record.len, &r), BW_OK));
		cr_assert(eq(str, (char *)r.path.p, "/t"));
		text = strdup(record_prop(&r, bw_str(name), &prop) ? record_value(&r, &prop, 0).p
		                                                   : "-");
	}
	call_done(&call);
	return text;
}

static void assert_frozen(uint64_t who, const char *version, const char *name, const char *expected)
{
	char *text = frozen(who, version, name);

	cr_assert(eq(str, text, (char *)expected), "%s of %s", name, version);
	free(text);
}

#define NOT_FOUND "-5"

/* ---- reading ---- */

Test(version, a_history_is_listed_in_pages)
{
	assert_list(admin, NULL, 64, "jcr:rootVersion<>|*");
	DO("checkin /t", "checkout /t", "set /t p=2", "checkin /t", "label+ /t b 1.0",
	   "label+ /t a 1.0", "restore /t 1.0", "checkout /t", "checkin /t");
	assert_list(
		admin, NULL, 64,
		"jcr:rootVersion<>1.0| 1.0<jcr:rootVersion>1.1,1.0.0|a,b 1.1<1.0>| 1.0.0<1.0>|*");
	assert_list(admin, NULL, 2, "jcr:rootVersion<>1.0| 1.0<jcr:rootVersion>1.1,1.0.0|a,b +");
	assert_list(admin, "1.0", 2, "1.1<1.0>| 1.0.0<1.0>|*");
	assert_list(admin, "jcr:rootVersion", 1, "1.0<jcr:rootVersion>1.1,1.0.0|a,b +");
	assert_list(admin, "1.0.0", 64, "");
	assert_list(admin, "9.9", 64, "");
}

Test(version, a_node_without_a_history_has_an_empty_one)
{
	char *text;

	DO("create /u");
	text = list(admin, "/u", NULL, 64);
	cr_assert(eq(str, text, ""));
	free(text);
	text = list(admin, "/nowhere", NULL, 64);
	cr_assert(eq(str, text, NOT_FOUND));
	free(text);
}

Test(version, a_version_shows_what_the_node_was)
{
	DO("checkin /t", "label+ /t good 1.0", "checkout /t", "set /t p=2", "unset /t q");
	assert_frozen(admin, "1.0", "p", "1");
	assert_frozen(admin, "good", "q", "x");
	assert_frozen(admin, "1.0", "jcr:mixinTypes", "mix:versionable");
	assert_frozen(admin, "1.0", "jcr:isCheckedOut", "-");
	assert_frozen(admin, "1.1", "p", NOT_FOUND);
	assert_frozen(admin, "jcr:rootVersion", "p", NOT_FOUND);
}

/* Entries count from the moment that they are committed. */
Test(version, who_may_not_read_the_node_may_not_read_its_history)
{
	uint64_t ada = client_login(&c, HANDLE_USER, ADA, NULL);

	DO("checkin /t");
	assert_list(ada, NULL, 64, NOT_FOUND);
	assert_frozen(ada, "1.0", "p", NOT_FOUND);
	DO("ace+ /t +ada jcr:read rep:itemNames=[p]");
	assert_list(ada, NULL, 64, NOT_FOUND);
	DO("ace+ /t +ada rep:readNodes", "ace+ /t +ada rep:readProperties rep:itemNames=[p]");
	assert_list(ada, NULL, 64, "jcr:rootVersion<>1.0| 1.0<jcr:rootVersion>|*");
	assert_frozen(ada, "1.0", "p", "1");
	assert_frozen(ada, "1.0", "q", "-");
	test_postgres_sql(w.server, "SELECT repo.ace_append('/t', %d, false, '{jcr:read}')", ADA);
	assert_list(ada, NULL, 64, NOT_FOUND);
}

Test(version, text_that_is_none_is_not_found)
{
	DO("checkin /t");
	assert_frozen(admin, "\xff", "p", NOT_FOUND);
}

Test(version, who_asks_for_too_many_is_hung_up_on)
{
	Bw__Wire__VersionList m = BW__WIRE__VERSION_LIST__INIT;
	struct call           call;

	m.sequence = admin;
	m.path = (ProtobufCBinaryData){ 2, (uint8_t *)"/t" };
	m.max = 65;
	client_ask(&c, &call, WIRE_VERSION_LIST, &m.base);
	world_until(&w, c.closed);
	call_done(&call);
}

/* ---- what is held ---- */

Test(version, the_history_comes_back_with_the_identifier)
{
	char *uuid;

	DO("checkin /t", "checkout /t", "set /t p=2");
	uuid = client_property(&c, admin, "/t", "jcr:uuid");
	DO("remove /t", "create /t type=nt:unstructured p=3");
	/* As an import does it. */
	test_postgres_sql(w.server,
	                  "UPDATE repo.content c SET properties = c.properties || "
	                  "'{\"jcr:uuid\":{\"s\":\"%s\"}}' FROM repo.tree t "
	                  "WHERE t.path = '/t' AND t.id = c.id",
	                  uuid);
	free(uuid);
	DO("mixin+ /t mix:versionable");
	assert_list(admin, NULL, 64, "jcr:rootVersion<>1.0| 1.0<jcr:rootVersion>|*");
	DO("restore /t 1.0");
	assert_frozen(admin, "1.0", "p", "1");
	assert_sql("SELECT properties -> 'p' ->> 's' FROM repo.content JOIN repo.tree USING (id) "
	           "WHERE path = '/t'",
	           "1");
}

Test(version, a_binary_in_a_version_is_not_swept)
{
	test_postgres_sql(
		w.server,
		"INSERT INTO repo.blob (hash, length, unused) VALUES (sha256(''), 0, now());"
		"SELECT repo.property_set('/t', 'data', jsonb_build_object('bin', "
		"encode(sha256(''), 'hex') || ' 0'))");
	client_settle(&c, admin);
	DO("checkin /t", "checkout /t", "unset /t data");
	test_postgres_sql(w.server, "UPDATE repo.blob SET unused = now() - interval '2 hours'");
	assert_sql("SELECT repo.blob_sweep(100)", "0");
	assert_sql("SELECT count(*) FROM repo.blob", "1");
	DO("restore /t 1.0", "checkout /t", "unset /t data", "remove /t");
	test_postgres_sql(w.server, "UPDATE repo.blob SET unused = now() - interval '2 hours'");
	assert_sql("SELECT repo.blob_sweep(100)", "0");
	assert_sql("SELECT count(*) FROM repo.blob", "1");
}

/* Nothing but the version held it, and of two versions the last one. */
Test(version, a_binary_of_versions_that_are_removed_is_swept)
{
	test_postgres_sql(
		w.server,
		"INSERT INTO repo.blob (hash, length, unused) VALUES (sha256(''), 0, now());"
		"SELECT repo.property_set('/t', 'data', jsonb_build_object('bin', "
		"encode(sha256(''), 'hex') || ' 0'))");
	client_settle(&c, admin);
	DO("checkin /t", "checkout /t", "checkin /t", "checkout /t", "unset /t data", "checkin /t",
	   "version- /t 1.0");
	test_postgres_sql(w.server, "UPDATE repo.blob SET unused = now() - interval '2 hours'");
	assert_sql("SELECT repo.blob_sweep(100)", "0");
	DO("version- /t 1.1");
	assert_sql("SELECT count(*) FROM repo.blob WHERE unused > now() - interval '1 hour'", "1");
	test_postgres_sql(w.server, "UPDATE repo.blob SET unused = now() - interval '2 hours'");
	assert_sql("SELECT repo.blob_sweep(100)", "1");
	assert_sql("SELECT count(*) FROM repo.blob", "0");
	assert_list(admin, NULL, 64, "jcr:rootVersion<>1.2| 1.2<jcr:rootVersion>|*");
	assert_sql("SELECT count(*) FROM repo.version_node z LEFT JOIN repo.version v "
	           "ON v.id = z.version WHERE v.id IS NULL",
	           "0");
}

Test(version, a_restore_keeps_the_lists_of_what_stays)
{
	DO("create /t/n", "ace+ /t/n +ada jcr:read", "checkin /t", "checkout /t", "set /t/n p=2",
	   "restore /t 1.0");
	assert_sql("SELECT count(*) FROM repo.ace a JOIN repo.tree t ON t.id = a.node "
	           "WHERE t.path = '/t/n'",
	           "1");
}

/* ---- what is told, and to whom ---- */

/* All that other nodes forget and listeners hear. */
Test(version, the_journal_tells_what_a_restore_does)
{
	DO("create /t/a p=1", "create /t/b", "checkin /t", "checkout /t", "set /t p=2",
	   "set /t/a p=2", "remove /t/b", "create /t/c");
	test_postgres_sql(w.server, "DELETE FROM repo.journal");
	DO("restore /t 1.0");
	assert_sql("SELECT string_agg(kind || ' ' || path, ', ' ORDER BY seq) FROM repo.journal",
	           "REMOVED /t/c, CHANGED /t, CHANGED /t/a, ADDED /t/b");
	assert_sql("SELECT string_agg(DISTINCT principal || ' ' || node, ',') FROM repo.journal",
	           "admin here");
}

/* A change that came from elsewhere: only the journal brings it here. */
Test(version, another_node_sees_a_restore)
{
	char *value;

	DO("checkin /t", "checkout /t", "set /t p=2");
	value = client_property(&c, admin, "/t", "p");
	cr_assert(eq(str, value, "2"));
	free(value);
	test_postgres_sql(
		w.server,
		"BEGIN; SELECT repo.commit_apply('[{\"kind\": \"restore\", \"path\": \"/t\","
		" \"name\": \"1.0\", \"version\": 0, \"removing\": false}]', 1, 'there');"
		"SELECT repo.commit_finish('{}', '[]'); COMMIT");
	client_settle(&c, admin);
	value = client_property(&c, admin, "/t", "p");
	cr_assert(eq(str, value, "1"));
	free(value);
	value = client_property(&c, admin, "/t", "jcr:isCheckedOut");
	cr_assert(eq(str, value, "false"));
	free(value);
}

/* Everybody who writes is refused, not commits alone. */
Test(version, the_owner_s_tools_do_not_write_below_it_either)
{
	char state[6];

	DO("create /t/n", "checkin /t");
	cr_assert(test_postgres_fails(w.server, state,
	                              "SELECT repo.node_create('/t/x', 'nt:unstructured')"));
	cr_assert(eq(str, state, "55000"));
	cr_assert(test_postgres_fails(w.server, state, "SELECT repo.node_delete('/t/n')"));
	cr_assert(eq(str, state, "55000"));
	cr_assert(test_postgres_fails(w.server, state,
	                              "SELECT repo.property_set('/t/n', 'p', '{\"s\":\"1\"}')"));
	cr_assert(eq(str, state, "55000"));
}

/* Many who write and one who checks in and out: no version is of half a commit. */
Test(version, a_version_is_never_half_a_commit)
{
	struct changing writes[20], turns[20];
	struct call     calls[20], answers[20];

	for (int i = 0; i < 20; i++) {
		char steps[80];

		snprintf(steps, sizeof(steps), "blind set /t p=%d; blind set /t q=%d", i, i);
		changing_init(&writes[i], &c, admin, steps);
		changing_init(&turns[i], &c, admin, "blind checkin /t; blind checkout /t");
	}
	DO("set /t p=0; set /t q=0");
	for (int i = 0; i < 20; i++) {
		changing_send(&writes[i], &calls[i]);
		changing_send(&turns[i], &answers[i]);
	}
	for (int i = 0; i < 20; i++) {
		call_wait(&w, &calls[i]);
		call_wait(&w, &answers[i]);
		cr_assert(eq(int, calls[i].err, BW_OK));
		cr_assert(eq(int, answers[i].err, BW_OK));
		call_done(&calls[i]);
		call_done(&answers[i]);
		changing_done(&writes[i]);
		changing_done(&turns[i]);
	}
	assert_sql("SELECT count(*) || ' ' || count(*) FILTER (WHERE properties -> 'p' IS DISTINCT "
	           "FROM "
	           "properties -> 'q') FROM repo.version_node",
	           "20 0");
}
