/* Under test: repo/journal.c, with fetch.c: how news reach the cache. Nothing older is shown after
 * something newer, nobody is judged by entries older than the node, and 300 ms bound the rest. */
#include "world.h"
#include <base/clock.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ADMIN = 1, EVERYONE = 3 };

static struct world  w;
static struct client c;
static uint64_t      as_admin;

static void begin(void)
{
	world_begin(&w, 64u << 20);
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, ADMIN, NULL);
	test_postgres_sql(w.server, "SELECT repo.node_create('/m', 'nt:unstructured'), "
	                            "repo.node_create('/n', 'nt:unstructured')");
	test_postgres_sql(w.server, "SELECT repo.property_set('/m', 'v', '{\"s\":\"0\"}')");
	client_settle(&c, as_admin);
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

static void set(const char *path, unsigned value)
{
	test_postgres_sql(w.server, "SELECT repo.property_set('%s', 'v', '{\"s\":\"%u\"}')", path,
	                  value);
}

static bool shows(const char *path, const char *value)
{
	char *text = client_property(&c, as_admin, path, "v");
	bool  same = strcmp(text, value) == 0;

	free(text);
	return same;
}

/* How long until the value is seen. */
static uint64_t seen_after_us(const char *path, const char *value)
{
	uint64_t began = clock_mono_us();

	while (!shows(path, value)) {
		world_turn(&w);
		cr_assert(clock_mono_us() - began < 5000000, "%s never becomes %s", path, value);
	}
	return clock_mono_us() - began;
}

/* A second session of the owner. */
static PGconn *session(void)
{
	PGconn *s = PQconnectdb(test_postgres_conninfo(w.server, "postgres"));

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

Test(journal, news_come_by_poll_and_faster_by_bell)
{
	unsigned late = 0; /* one of ten may have waited for a core or the disk */
	uint64_t slowest = 0, us;
	char     value[16];

	begin();
	cr_assert(shows("/m", "0"));
	for (unsigned i = 1; i <= 10; i++) { /* nobody rings */
		snprintf(value, sizeof(value), "%u", i);
		set("/m", i);
		us = seen_after_us("/m", value);
		late += us >= 300000;
		slowest = us > slowest ? us : slowest;
	}
	cr_assert(late <= 1, "%u of 10 late, the slowest after %llu us", late,
	          (unsigned long long)slowest);
	for (unsigned i = 11; i <= 20; i++) {
		snprintf(value, sizeof(value), "%u", i);
		set("/m", i);
		test_postgres_sql(w.server, "NOTIFY boardwalk_repo");
		us = seen_after_us("/m", value);
		slowest = i == 11 || us < slowest ? us : slowest; /* the fastest, here */
	}
	cr_assert(slowest < 100000, "a bell takes at least %llu us", (unsigned long long)slowest);
	end();
}

/* Numbers are drawn before the commit: the older number may become visible last. */
Test(journal, order_of_commits_does_not_matter)
{
	PGconn *late, *idle;

	begin();
	late = session();
	idle = session();
	in(idle, "BEGIN; SELECT pg_current_xact_id()"); /* holds the server's xmin throughout */
	cr_assert(shows("/m", "0") && shows("/n", "?"));
	in(late, "BEGIN; SELECT repo.property_set('/m', 'v', '{\"s\":\"late\"}')");
	set("/n", 1);
	seen_after_us("/n", "1");
	cr_assert(shows("/m", "0"));
	in(late, "COMMIT");
	cr_assert(seen_after_us("/m", "late") < 300000);
	in(late, "BEGIN; SELECT repo.property_set('/m', 'v', '{\"s\":\"never\"}')");
	in(late, "ROLLBACK");
	set("/n", 2);
	seen_after_us("/n", "2");
	cr_assert(shows("/m", "late"));
	PQfinish(late);
	PQfinish(idle);
	end();
}

/* Rows that were read before an invalidation and arrive after it: whoever asked before it may see
 * them, who asked after it does not, and they are not kept. */
Test(journal, fill_race)
{
	struct call              early, late;
	struct resources_figures figures;
	char                     stored[64];

	begin();
	/* A read of a row of content now takes 0.5 s, after its snapshot was taken. */
	test_postgres_sql(
		w.server,
		"ALTER TABLE repo.content ENABLE ROW LEVEL SECURITY; CREATE POLICY slow ON "
		"repo.content USING (id <> (SELECT id FROM repo.tree WHERE path = '/n') OR "
		"pg_sleep(0.5)::text IS NOT NULL)");
	set("/n", 1);
	client_settle(&c, as_admin);
	client_get(&c, &early, NULL, 0, as_admin, BW_STR("/n"));
	for (unsigned i = 0; i < 8; i++)
		world_turn(&w);
	cr_assert(!early.ended, "the read should be asleep");
	set("/n", 2);
	test_postgres_sql(w.server, "SELECT repo.property_set('/m', 'v', '{\"s\":\"rung\"}')");
	test_postgres_sql(w.server, "NOTIFY boardwalk_repo");
	/* On the journal's connection, which is not asleep: the news of /n have come with it. */
	for (unsigned i = 0; i < 6; i++)
		world_turn(&w);
	cr_assert(!early.ended, "the news should come first");
	client_get(&c, &late, NULL, 0, as_admin, BW_STR("/n"));
	call_wait(&w, &early);
	call_wait(&w, &late);
	cr_assert(early.err == BW_OK && late.err == BW_OK);
	snprintf(stored, sizeof(stored), "early ends in %c, late in %c", early.answer[early.n - 2],
	         late.answer[late.n - 2]);
	cr_assert_str_eq(stored, "early ends in 1, late in 2");
	call_done(&early);
	call_done(&late);
	resources_figures(w.resources, &figures);
	cr_assert_eq(figures.stale, 1);
	cr_assert(shows("/n", "2"));
	end();
}

/* A node and the entry that hides it come in one commit. While repo cannot learn of the entry, the
 * node is not shown either. */
Test(journal, no_node_without_its_entries)
{
	PGconn     *writer, *blocker;
	uint64_t    alice, as_alice;
	char       *id;
	struct call call;

	begin();
	id = test_postgres_value(w.server, "SELECT auth.principal_create('alice', 'user')");
	alice = strtoull(id, NULL, 10);
	free(id);
	test_postgres_sql(w.server, "SELECT repo.ace_append('/', 3, true, '{jcr:read}')");
	client_settle(&c, as_admin);
	as_alice = client_login(&c, HANDLE_USER, alice, (uint64_t[]){ EVERYONE, 0 });
	writer = session();
	blocker = session();
	in(writer, "BEGIN; SELECT repo.node_create('/sec', 'nt:unstructured'), "
	           "repo.ace_append('/sec', 3, false, '{jcr:read}')");
	/* Gets the lock when the writer commits, and then keeps every reader of the journal out. */
	in(blocker, "BEGIN; SET LOCAL lock_timeout = 0");
	cr_assert(PQsendQuery(blocker, "LOCK TABLE repo.journal IN ACCESS EXCLUSIVE MODE"));
	world_until(&w, ({
		char *n = test_postgres_value(w.server,
		                              "SELECT count(*) FROM pg_locks WHERE NOT granted AND "
		                              "relation = 'repo.journal'::regclass");
		bool  waits = strcmp(n, "0") != 0;
		free(n);
		waits;
	}));
	in(writer, "COMMIT");
	PQclear(PQgetResult(blocker));
	for (PGresult *r; (r = PQgetResult(blocker)) != NULL;)
		PQclear(r);
	for (unsigned i = 0; i < 20; i++) /* until a reading of the journal hangs */
		world_turn(&w);
	client_get(&c, &call, NULL, 0, as_alice, BW_STR("/sec"));
	for (unsigned i = 0; i < 10; i++)
		world_turn(&w);
	cr_assert(!call.ended, "answered with %d by entries that are too old", call.err);
	in(blocker, "ROLLBACK");
	call_wait(&w, &call);
	cr_assert_eq(call.err, BW_ENOTFOUND);
	call_done(&call);
	PQfinish(writer);
	PQfinish(blocker);
	end();
}

Test(journal, a_taken_away_entry_is_felt)
{
	uint64_t as_anyone, began;

	begin();
	test_postgres_sql(w.server, "SELECT repo.ace_append('/m', 3, true, '{jcr:read}')");
	client_settle(&c, as_admin);
	as_anyone = client_login(&c, HANDLE_ANONYMOUS, 2, (uint64_t[]){ EVERYONE, 0 });
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned allowed = 0; allowed < 2; allowed++) {
			char *text;

			test_postgres_sql(
				w.server,
				allowed ? "SELECT repo.ace_append('/m', 3, true, '{jcr:read}')"
					: "SELECT repo.ace_remove_all('/m', 3)");
			began = clock_mono_us();
			for (bool as_expected = false; !as_expected;) {
				world_turn(&w);
				text = client_property(&c, as_anyone, "/m", "v");
				as_expected = (strcmp(text, "?") != 0) == allowed;
				free(text);
				cr_assert(clock_mono_us() - began < 300000,
				          "not felt after 300 ms");
			}
		}
	}
	end();
}

Test(journal, never_an_older_value_after_a_newer)
{
	PGconn  *writer;
	unsigned last = 0;

	begin();
	set("/m", 0);
	writer = session();
	for (unsigned i = 1; i <= 1000; i++) {
		char     sql[128], *text;
		unsigned value;

		snprintf(sql, sizeof(sql), "SELECT repo.property_set('/m', 'v', '{\"s\":\"%u\"}')",
		         i);
		cr_assert(PQsendQuery(writer, sql));
		do {
			text = client_property(&c, as_admin, "/m", "v");
			value = (unsigned)strtoul(text, NULL, 10);
			free(text);
			cr_assert(value >= last && value <= i, "%u after %u", value, last);
			last = value;
			PQconsumeInput(writer);
		} while (PQisBusy(writer));
		for (PGresult *r; (r = PQgetResult(writer)) != NULL;)
			PQclear(r);
		if (i % 16 == 0)
			in(writer, "NOTIFY boardwalk_repo");
	}
	seen_after_us("/m", "1000");
	PQfinish(writer);
	end();
}

/* More than one reading takes: what stands behind the end must not be missed. */
Test(journal, too_many_news_forget_everything)
{
	begin();
	cr_assert(shows("/m", "0") && shows("/n", "?"));
	test_postgres_sql(w.server, "SELECT repo.property_set('/m', 'v', '{\"s\":\"early\"}'); "
	                            "INSERT INTO repo.journal (kind, path) SELECT 'CHANGED', '/m' "
	                            "FROM generate_series(1, 21000); "
	                            "SELECT repo.property_set('/n', 'v', '{\"s\":\"last\"}')");
	cr_assert(seen_after_us("/n", "last") < 1000000);
	cr_assert(shows("/m", "early"));
	set("/n", 5);
	cr_assert(seen_after_us("/n", "5") < 300000);
	end();
}

Test(journal, server_killed_and_back)
{
	begin();
	cr_assert(shows("/m", "0"));
	for (unsigned round = 1; round <= 3; round++) {
		char        value[16];
		struct call call;
		unsigned    before = w.times_current;
		uint64_t    began;

		snprintf(value, sizeof(value), "%u", round);
		client_get(&c, &call, NULL, 0, as_admin, BW_STR("/not/read/yet"));
		test_postgres_kill(w.server);
		call_wait(&w, &call);
		cr_assert(call.err == BW_EGONE || call.err == BW_ENOTFOUND, "%d", call.err);
		call_done(&call);
		world_until(&w, ({
			client_get(&c, &call, NULL, 0, as_admin, BW_STR("/m"));
			call_wait(&w, &call);
			call_done(&call);
			call.err == BW_EGONE; /* though it is in the cache */
		}));
		test_postgres_start(w.server);
		set("/m", round);
		began = clock_mono_us();
		world_until(&w, w.times_current > before);
		cr_assert(clock_mono_us() - began < 2000000, "back after the longest back-off");
		seen_after_us("/m", value);
	}
	end();
}

/* A server that does not answer, though the connection stands: other nodes may be writing to it. */
Test(journal, silent_server)
{
	struct call call = { .err = BW_OK };
	uint64_t    began;

	begin();
	cr_assert(shows("/m", "0"));
	test_postgres_pause(w.server, true);
	began = clock_mono_us();
	while (call.err == BW_OK) {
		world_turn(&w);
		client_get(&c, &call, NULL, 0, as_admin, BW_STR("/m"));
		call_wait(&w, &call);
		call_done(&call);
		cr_assert(clock_mono_us() - began < 4000000, "still answered after 4 s");
	}
	cr_assert_eq(call.err, BW_EGONE);
	test_postgres_pause(w.server, false);
	seen_after_us("/m", "0");
	set("/m", 1);
	seen_after_us("/m", "1");
	cr_assert_eq(w.times_current, 1, "the connection stood");
	end();
}

/* We were stopped: what is in the cache may be out of date by as long, whoever asks first. */
Test(journal, stopped_for_a_while)
{
	struct call call;
	uint64_t    began;

	begin();
	cr_assert(shows("/m", "0"));
	world_turn(&w);
	set("/m", 1);
	began = clock_mono_us();
	while (clock_mono_us() - began < 2500000) /* the loop does not run */
		usleep(100000);
	client_get(&c, &call, NULL, 0, as_admin, BW_STR("/m"));
	call_wait(&w, &call);
	cr_assert(call.err == BW_EGONE || (call.err == BW_OK && call.answer[call.n - 2] == '1'),
	          "an answer from before: %d", call.err);
	call_done(&call);
	seen_after_us("/m", "1");
	end();
}

/* Lets repo's backends go, those that listen or all. */
static void terminate(const char *which)
{
	test_postgres_sql(w.server,
	                  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = "
	                  "'boardwalk_repo' AND %s",
	                  which);
}

/* Only the connection that listens is lost, again and again: the journal is followed over the other
 * one, and nothing of what is in the cache is refused meanwhile. */
Test(journal, listener_lost)
{
	char     value[16], which[256], *others;
	uint64_t us, slowest = 0;

	begin();
	cr_assert(shows("/m", "0"));
	others = test_postgres_value(
		w.server, "SELECT array_agg(pid) FROM pg_stat_activity WHERE usename = "
			  "'boardwalk_repo' AND query NOT LIKE '%%pg_current_snapshot%%'");
	snprintf(which, sizeof(which), "pid <> ALL ('%s')", others);
	free(others);
	for (unsigned i = 1; i <= 20; i++) {
		terminate(which);
		cr_assert(shows("/n", "?"));
		snprintf(value, sizeof(value), "%u", i);
		set("/m", i);
		us = seen_after_us("/m", value);
		slowest = us > slowest ? us : slowest;
	}
	cr_assert_lt(slowest, 300000, "%llu us", (unsigned long long)slowest);
	cr_assert_eq(w.times_current, 1);
	set("/m", 21);
	test_postgres_sql(w.server, "NOTIFY boardwalk_repo");
	seen_after_us("/m", "21");
	end();
}

/* Then nobody knows whether the server was the same throughout. */
Test(journal, all_connections_lost)
{
	unsigned before;

	begin();
	cr_assert(shows("/m", "0"));
	before = w.times_current;
	terminate("true");
	set("/m", 1);
	world_until(&w, w.times_current == before + 1);
	seen_after_us("/m", "1");
	end();
}

/* All nodes hear of it, at most every 10 ms. */
Test(journal, rings)
{
	PGconn  *ear;
	unsigned heard = 0;
	double   until;

	begin();
	ear = session();
	in(ear, "LISTEN boardwalk_repo");
	until = ev_time() + 0.2;
	while (ev_time() < until) {
		PGnotify *n;

		journal_ring(w.journal);
		ev_run(w.loop, EVRUN_NOWAIT);
		PQconsumeInput(ear);
		while ((n = PQnotifies(ear)) != NULL) {
			heard++;
			PQfreemem(n);
		}
	}
	cr_assert(heard >= 2 && heard <= 22, "%u bells in 0.2 s", heard);
	PQfinish(ear);
	end();
}
