/* Under test: repo/events.c and journal.c against a real PostgreSQL: what workers that subscribed
 * are told, in which order, and when only a RESYNC. The rows of tests/conformance/events say what a
 * change becomes; here is what they do not reach. */
#include "world.h"
#include <base/clock.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/event.h>

#define ALL \
	(1u << EVENT_ADDED | 1u << EVENT_CHANGED | 1u << EVENT_REMOVED | EVENT_INTEREST_EXTERNAL)
#define MAX_TEXT (2u << 20)

static struct world  w;
static struct client c;
static uint64_t      as_admin;

static void subscribe(struct client *client, unsigned n, const char *const *patterns,
                      unsigned interests)
{
	Bw__Wire__EventSubscribe m = BW__WIRE__EVENT_SUBSCRIBE__INIT;
	struct buf               list;

	buf_init(&list);
	for (unsigned i = 0; i < n; i++)
		event_put_pattern(&list, interests, bw_str(patterns[i]));
	m.count = n;
	m.patterns = (ProtobufCBinaryData){ buf_size(&list), buf_data(&list) };
	cr_assert_eq(wire_send(client->chan, WIRE_EVENT_SUBSCRIBE, 1, &m.base), BW_OK);
	client->dirty = true;
	buf_done(&list);
}

static void watch(struct client *client, struct call *call, unsigned max)
{
	Bw__Wire__EventWatch m = BW__WIRE__EVENT_WATCH__INIT;

	m.max = max;
	client_ask(client, call, WIRE_EVENT_WATCH, &m.base);
}

static void begin(void)
{
	world_begin(&w, 64u << 20);
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	test_postgres_sql(w.server, "SELECT repo.node_create('/a', 'nt:unstructured')");
	client_settle(&c, as_admin);
	subscribe(&c, 1, (const char *const[]){ "/a" }, ALL);
	client_settle(&c, as_admin); /* so that the subscription has come */
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

static void tell_event(char *text, const struct event *e)
{
	static const char *const kinds[] = { "?", "ADDED", "CHANGED", "REMOVED", "RESYNC" };
	const uint8_t           *names = e->names;
	size_t                   n = strlen(text);

	n += (size_t)snprintf(text + n, MAX_TEXT - n, "%s%s %.*s", n > 0 ? " " : "", kinds[e->kind],
	                      (int)e->path.n, e->path.p);
	for (unsigned i = 0; i < e->n_names; i++)
		n += (size_t)snprintf(text + n, MAX_TEXT - n, "%c%s", i == 0 ? '(' : ',',
		                      event_next_name(&names).p);
	if (e->n_names > 0)
		n += (size_t)snprintf(text + n, MAX_TEXT - n, ")");
	if (e->from.n > 0)
		n += (size_t)snprintf(text + n, MAX_TEXT - n, "<%s", e->from.p);
	if (e->user.n > 0)
		n += (size_t)snprintf(text + n, MAX_TEXT - n, " by %s", e->user.p);
	snprintf(text + n, MAX_TEXT - n, "%s%s", e->flags & EVENT_EXTERNAL ? " ext" : "",
	         e->flags & EVENT_LAST ? ";" : "");
}

/* What an answer holds, as text; its number of events. */
static unsigned take(struct call *call, char *text)
{
	struct wire_frame   f = { .id = WIRE_EVENTS };
	struct wire_message m;
	struct event        e;
	size_t              at = 0;
	unsigned            n;

	cr_assert_eq(call->err, BW_OK);
	f.length = (uint32_t)call->n;
	f.payload = call->answer;
	cr_assert_eq(wire_message_get(&f, &m), BW_OK);
	for (n = 0; n < m.u->events.count; n++) {
		cr_assert_eq(
			event_get(m.u->events.events.data + at, m.u->events.events.len - at, &e),
			BW_OK);
		at += e.size;
		tell_event(text, &e);
	}
	cr_assert_eq(at, m.u->events.events.len);
	call_done(call);
	return n;
}

/* All events up to that of the marker /a/end, without it. */
static char *told(struct client *client)
{
	static char text[MAX_TEXT];
	struct call call;
	char       *end;

	test_postgres_sql(w.server, "SELECT repo.node_create('/a/end', 'nt:unstructured')");
	text[0] = '\0';
	do {
		watch(client, &call, 4096);
		call_wait(&w, &call);
		take(&call, text);
		cr_assert(strlen(text) < MAX_TEXT - 1024);
	} while ((end = strstr(text, "ADDED /a/end")) == NULL);
	*(end > text ? end - 1 : end) = '\0';
	test_postgres_sql(w.server, "SELECT repo.node_delete('/a/end')");
	watch(client, &call, 4096);
	call_wait(&w, &call);
	call_done(&call);
	return text;
}

static void told_resync(struct client *client)
{
	static char text[MAX_TEXT];
	struct call call;

	watch(client, &call, 4096);
	call_wait(&w, &call);
	text[0] = '\0';
	take(&call, text);
	cr_assert_str_eq(text, "RESYNC ;");
}

static PGconn *session(const char *database)
{
	char    info[512];
	PGconn *s;

	snprintf(info, sizeof(info), "%s dbname=%s", test_postgres_conninfo(w.server, "postgres"),
	         database);
	s = PQconnectdb(info);
	cr_assert_eq(PQstatus(s), CONNECTION_OK, "%s", PQerrorMessage(s));
	return s;
}

static void in(PGconn *s, const char *sql)
{
	PGresult *r = PQexec(s, sql);

	cr_assert(PQresultStatus(r) == PGRES_COMMAND_OK || PQresultStatus(r) == PGRES_TUPLES_OK,
	          "%s: %s", sql, PQerrorMessage(s));
	PQclear(r);
}

Test(events, who_and_where)
{
	begin();
	test_postgres_sql(w.server, "SELECT set_config('boardwalk.principal', 'alice', true), "
	                            "set_config('boardwalk.node', 'here', true), "
	                            "repo.node_create('/a/x', 'nt:unstructured'), "
	                            "repo.property_set('/a', 'p', '{\"l\":1}')");
	test_postgres_sql(w.server, "SELECT set_config('boardwalk.node', 'there', true), "
	                            "repo.property_set('/a', 'p', '{\"l\":2}')");
	cr_assert_str_eq(told(&c),
	                 "CHANGED /a(p) by alice ADDED /a/x by alice; CHANGED /a(p) ext;");
	end();
}

/* The later row of two that change one path is the later commit's, whichever began first. */
Test(events, order_of_commits)
{
	PGconn *first, *second;

	begin();
	test_postgres_sql(w.server, "SELECT repo.node_create('/a/f', 'nt:unstructured'), "
	                            "repo.node_create('/a/s', 'nt:unstructured')");
	told(&c);
	first = session("boardwalk");
	second = session("boardwalk");
	in(first, "BEGIN; SELECT repo.property_set('/a/f', 'p', '{\"l\":1}')");
	in(second, "BEGIN; SELECT repo.property_set('/a/s', 'p', '{\"l\":1}')");
	in(second, "SELECT repo.property_set('/a', 'second', '{\"l\":1}'); COMMIT");
	in(first, "SELECT repo.property_set('/a', 'first', '{\"l\":1}'); COMMIT");
	cr_assert_str_eq(told(&c), "CHANGED /a(second) ext CHANGED /a/s(p) ext; "
	                           "CHANGED /a(first) ext CHANGED /a/f(p) ext;");
	PQfinish(first);
	PQfinish(second);
	end();
}

/* Two transactions are held open, one of them in another database: none of the thousand later
 * commits waits for them, neither its event nor the cache, and what they bring comes when they
 * commit. */
Test(events, held_commits_delay_nobody)
{
	PGconn     *here, *elsewhere, *writer;
	struct call call;
	static char text[MAX_TEXT];
	uint64_t    began, waited = 0, slowest = 0;
	char       *held;
	unsigned    n = 0;

	begin();
	test_postgres_sql(w.server, "CREATE DATABASE elsewhere");
	here = session("boardwalk");
	elsewhere = session("elsewhere");
	writer = session("boardwalk");
	in(elsewhere, "BEGIN; SELECT pg_current_xact_id()");
	in(here, "SELECT repo.node_create('/a/held', 'nt:unstructured')");
	told(&c);
	held = client_property(&c, as_admin, "/a/held", "p"); /* into the cache */
	cr_assert_str_eq(held, "?");
	free(held);
	in(here, "BEGIN; SELECT repo.property_set('/a/held', 'p', '{\"l\":1}')");
	began = clock_mono_us();
	for (unsigned i = 0; i < 1000; i++) {
		char sql[128], *value;

		snprintf(sql, sizeof(sql), "SELECT repo.property_set('/a', 'p', '{\"l\":%u}')", i);
		in(writer, sql);
		if (i % 10 != 9)
			continue;
		in(writer, "NOTIFY boardwalk_repo");
		waited = clock_mono_us();
		while (n < i + 1) {
			text[0] = '\0';
			watch(&c, &call, 4096);
			call_wait(&w, &call);
			n += take(&call, text);
			cr_assert_null(strstr(text, "/a/held"), "%s", text);
			cr_assert_null(strstr(text, "RESYNC"), "%s", text);
		}
		waited = clock_mono_us() - waited;
		snprintf(sql, sizeof(sql), "%u", i); /* what is told the cache has heard of */
		value = client_property(&c, as_admin, "/a", "p");
		cr_assert_str_eq(value, sql);
		free(value);
		slowest = waited > slowest ? waited : slowest;
	}
	cr_assert_eq(n, 1000);
	cr_assert_lt(slowest, 300000, "a commit was told after %llu us",
	             (unsigned long long)slowest);
	world_until(&w, clock_mono_us() - began > 10000000);
	in(here, "COMMIT");
	in(elsewhere, "COMMIT");
	cr_assert_str_eq(told(&c), "CHANGED /a/held(p) ext;");
	held = client_property(&c, as_admin, "/a/held", "p");
	cr_assert_str_eq(held, "1");
	free(held);
	PQfinish(here);
	PQfinish(elsewhere);
	PQfinish(writer);
	end();
}

/* Who does not ask gets one RESYNC, and then what came after it. */
Test(events, overflow)
{
	char *text;

	begin();
	for (unsigned i = 0; i < 3; i++) {
		test_postgres_sql(
			w.server,
			"SELECT repo.property_set('/a', repeat('n', 200) || i, '{\"l\":%u}') "
			"FROM generate_series(1, 60) i; "
			"SELECT repo.node_create('/a/' || repeat('x', 240) || i, 'nt:folder'), "
			"repo.node_delete('/a/' || repeat('x', 240) || i) "
			"FROM generate_series(1, 3000) i",
			i);
	}
	text = told(&c);
	cr_assert_eq(strncmp(text, "RESYNC ", 7), 0, "%.80s", text);
	cr_assert_null(strstr(text + 7, "RESYNC"));
	end();
}

/* More than one reading takes, and a lost server: nobody can say what has changed. */
Test(events, resync_of_all)
{
	struct client other;
	struct call   call;
	static char   text[MAX_TEXT];

	begin();
	client_open(&w, &other); /* has not subscribed, so it is told nothing */
	watch(&other, &call, 1);
	test_postgres_sql(w.server, "INSERT INTO repo.journal (kind, path) SELECT 'CHANGED', '/a' "
	                            "FROM generate_series(1, 21000)");
	told_resync(&c);
	test_postgres_kill(w.server);
	world_until(&w, ({ /* all of it has ended */
			   struct call read;
			   client_get(&c, &read, NULL, 0, as_admin, BW_STR("/a"));
			   call_wait(&w, &read);
			   call_done(&read);
			   read.err == BW_EGONE;
	}));
	test_postgres_start(w.server);
	told_resync(&c);
	cr_assert_not(call.ended);
	/* With its first pattern it hears of what comes then. */
	subscribe(&other, 1, (const char *const[]){ "glob:/a/*" }, ALL);
	client_login(&other, HANDLE_ADMIN, 1, NULL); /* one connection: it has come */
	test_postgres_sql(w.server, "SELECT repo.node_create('/a/y', 'nt:unstructured')");
	call_wait(&w, &call);
	cr_assert_eq(take(&call, text), 1);
	cr_assert_str_eq(text, "ADDED /a/y ext;");
	client_close(&other);
	end();
}

/* One answer holds no more than was asked for, and the next one goes on there. */
Test(events, as_many_as_asked_for)
{
	struct call call;
	static char text[MAX_TEXT];

	begin();
	test_postgres_sql(w.server, "SELECT repo.node_create('/a/' || i, 'nt:unstructured') "
	                            "FROM generate_series(1, 5) i");
	watch(&c, &call, 2);
	call_wait(&w, &call);
	cr_assert_eq(take(&call, text), 2);
	watch(&c, &call, 2);
	call_wait(&w, &call);
	cr_assert_eq(take(&call, text), 2);
	watch(&c, &call, 2);
	call_wait(&w, &call);
	cr_assert_eq(take(&call, text), 1);
	cr_assert_str_eq(text, "ADDED /a/1 ext ADDED /a/2 ext ADDED /a/3 ext ADDED /a/4 ext "
	                       "ADDED /a/5 ext;");
	end();
}

/* A gateway is not believed: each of these ends its connection. */
Test(events, nonsense)
{
	for (unsigned round = 0; round < 5; round++) {
		Bw__Wire__EventSubscribe m = BW__WIRE__EVENT_SUBSCRIBE__INIT;
		struct client            bad;
		struct call              call[2] = { { .err = BW_OK } };

		if (round == 0)
			begin();
		client_open(&w, &bad);
		m.patterns =
			(ProtobufCBinaryData){ round == 1 ? 7 : 0, (uint8_t *)"\7\1\0\0\0a\0" };
		if (round < 2) { /* says one and has none; is relative */
			m.count = 1;
			cr_assert_eq(wire_send(bad.chan, WIRE_EVENT_SUBSCRIBE, 1, &m.base), BW_OK);
			bad.dirty = true;
		} else if (round < 4) {
			watch(&bad, &call[0], round == 2 ? 0 : 4097);
		} else {
			watch(&bad, &call[0], 1);
			watch(&bad, &call[1], 1);
		}
		world_until(&w, bad.closed);
		client_close(&bad);
	}
	end();
}
