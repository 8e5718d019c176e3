/* Under test: repo/search*.c, over the wire, against a PostgreSQL: what a search owes to commits before it, and
 * to other questions beside it; cursors. What is found is search_rows_test.c's. */
#include "changing.h"
#include "searching.h"
#include <stdio.h>
#include <stdlib.h>

enum { ADMIN = 1, ANONYMOUS = 2, EVERYONE = 3 };

static struct world  w;
static struct client c;
static uint64_t      as_admin, as_alice, as_anonymous; /* open handles */

static uint64_t id_of(const char *sql)
{
	char    *text = test_postgres_value(w.server, "%s", sql);
	uint64_t id = strtoull(text, NULL, 10);

	free(text);
	return id;
}

static void begin(void)
{
	uint64_t alice, staff;

	world_begin(&w, 64u << 20);
	alice = id_of("SELECT auth.principal_create('alice', 'user')");
	staff = id_of("SELECT auth.principal_create('staff', 'group')");
	client_open(&w, &c);
	as_admin = client_login(&c, HANDLE_ADMIN, ADMIN, NULL);
	as_alice = client_login(&c, HANDLE_USER, alice, (uint64_t[]){ staff, EVERYONE, 0 });
	as_anonymous = client_login(&c, HANDLE_USER, ANONYMOUS, (uint64_t[]){ EVERYONE, 0 });
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

TestSuite(search, .init = begin, .fini = end);

/* Searches that are slow on purpose are late soon. */
static void begin_impatient(void)
{
	world_search_timeout_ms = 3000;
	begin();
}

TestSuite(search_late, .init = begin_impatient, .fini = end);

/* ---- what was written before ---- */

static void finds(uint64_t sequence, const char *question, const char *expected)
{
	struct answer a;
	char         *got;

	search_ask(&c, sequence, question, BW_ABSENT, 0, &a);
	cr_assert_eq(a.err, BW_OK, "%s: %d", question, a.err);
	got = answer_paths(&a);
	cr_assert_str_eq(got, expected, "%s: %s, not %s", question, got, expected);
	free(got);
	answer_done(&a);
}

/* Nothing waits for the journal here. */
Test(search, a_commit_is_found_at_its_acknowledgement)
{
	cr_assert_eq(change(&c, as_admin,
	                    "create /f; create /f/x title=Plum "
	                    "sling:resourceType=demo/page; create /apps; "
	                    "create /apps/demo; create /apps/demo/page"),
	             BW_OK);
	finds(as_admin, "q=plum", "/f/x");
	finds(as_admin, "path=/f&type=demo/base", "-");
	cr_assert_eq(change(&c, as_admin, "set /apps/demo/page sling:resourceSuperType=demo/base"),
	             BW_OK);
	finds(as_admin, "path=/f&type=demo/base", "/f/x");
	cr_assert_eq(change(&c, as_admin, "set /apps/demo/page sling:resourceSuperType=demo/root"),
	             BW_OK);
	finds(as_admin, "path=/f&type=demo/base", "-");
	finds(as_admin, "path=/f&type=demo/root", "/f/x");
	cr_assert_eq(change(&c, as_admin, "move /f/x /f/y; set /f/y title=Peach"), BW_OK);
	finds(as_admin, "q=plum or peach", "/f/y");
	cr_assert_eq(change(&c, as_admin, "remove /f"), BW_OK);
	finds(as_admin, "q=plum or peach", "-");
}

/* The types of a resource, as a read tells them: those of the super type from its commit on. */
Test(search, a_read_knows_the_super_type_at_its_acknowledgement)
{
	cr_assert_eq(change(&c, as_admin,
	                    "create /f sling:resourceType=demo/page; create /apps; "
	                    "create /apps/demo; create /apps/demo/page"),
	             BW_OK);
	for (int i = 0; i < 20; i++) {
		struct call   call;
		struct record r;
		char          steps[96], wanted[16];

		snprintf(wanted, sizeof(wanted), "demo/t%d", i);
		snprintf(steps, sizeof(steps), "set /apps/demo/page sling:resourceSuperType=%s",
		         wanted);
		cr_assert_eq(change(&c, as_admin, steps), BW_OK);
		cr_assert_eq(client_read(&c, as_admin, "/f", &call, &r), BW_OK);
		cr_assert(r.n_chain >= 1 && bw_str_eq(record_chain(&r, 0), bw_str(wanted)));
		call_done(&call);
	}
}

/* An entry that hides, written by somebody else a moment ago, of which the journal has not told. */
Test(search, entries_are_as_new_as_the_content)
{
	test_postgres_sql(w.server, "SELECT repo.node_create('/e', 'nt:unstructured'),"
	                            " repo.property_set('/e', 'title', '{\"s\":\"Quince\"}'),"
	                            " repo.ace_append('/e', 3, true, '{jcr:read}', '{}')");
	finds(as_alice, "q=quince", "/e");
	for (int i = 0; i < 10; i++) {
		test_postgres_sql(w.server,
		                  "SELECT repo.ace_append('/e', 3, %s, '{jcr:read}', '{}')",
		                  i % 2 == 0 ? "false" : "true");
		finds(as_alice, "q=quince", i % 2 == 0 ? "-" : "/e");
	}
}

/* ---- beside others ---- */

static void make_slow(bool slow)
{
	test_postgres_sql(w.server,
	                  "CREATE OR REPLACE FUNCTION repo.query_node_types(type text)"
	                  " RETURNS text[] LANGUAGE sql STABLE AS $$ SELECT '{nt:base}'::text[]"
	                  " FROM pg_sleep(%d) $$",
	                  slow ? 60 : 0);
}

/* Does not wait for the answer. */
static void begin_search(struct client *client, uint64_t sequence, struct call *call)
{
	Bw__Wire__Search m = BW__WIRE__SEARCH__INIT;
	struct buf       terms;

	buf_init(&terms);
	search_put(&terms, &(struct search_term){ .kind = SEARCH_PATH, .value = BW_STR("/") });
	m.sequence = sequence;
	m.terms = (ProtobufCBinaryData){ buf_size(&terms), buf_data(&terms) };
	client_ask(client, call, WIRE_SEARCH, &m.base);
	buf_done(&terms);
}

/* Three for two connections: all are refused in time, and reads pass them by. */
Test(search_late, one_that_is_late_is_refused_and_holds_up_nobody)
{
	struct call calls[3];
	double      begun = ev_time();
	char       *seen;

	make_slow(true);
	for (int i = 0; i < 3; i++)
		begin_search(&c, as_admin, &calls[i]);
	seen = client_property(&c, as_admin, "/", "none");
	cr_assert(ev_time() - begun < 2.5, "a read waited for a search");
	free(seen);
	for (int i = 0; i < 3; i++) {
		call_wait(&w, &calls[i]);
		cr_assert_eq(calls[i].err, BW_EBUSY, "%d", calls[i].err);
		call_done(&calls[i]);
	}
	make_slow(false);
	world_until(&w, searches_waiting(w.searches) == 0); /* the connections are free again */
	finds(as_admin, "path=/&depth=self", "/");
}

Test(search_late, more_than_may_wait_are_refused_at_once)
{
	static struct call calls[80];
	unsigned           refused = 0;
	double             begun = ev_time();

	make_slow(true);
	for (int i = 0; i < 80; i++)
		begin_search(&c, as_admin, &calls[i]);
	call_wait(&w, &calls[79]);
	cr_assert_eq(calls[79].err, BW_EBUSY);
	cr_assert(ev_time() - begun < 2.5, "the last one waited");
	for (int i = 0; i < 80; i++) {
		call_wait(&w, &calls[i]);
		refused += calls[i].err == BW_EBUSY;
		call_done(&calls[i]);
	}
	cr_assert_eq(refused, 80);
}

/* Whoever asked is gone, at two moments: while it runs, and while it waits for a connection. */
Test(search_late, the_asker_goes)
{
	struct client other;
	struct call   calls[4];
	uint64_t      as_other;

	client_open(&w, &other);
	as_other = client_login(&other, HANDLE_ADMIN, ADMIN, NULL);
	make_slow(true);
	for (int i = 0; i < 4; i++)
		begin_search(&other, as_other, &calls[i]);
	world_turn(&w);
	world_turn(&w);
	client_close(&other);
	for (int i = 0; i < 4; i++)
		call_done(&calls[i]);
	make_slow(false);
	world_until(&w, searches_waiting(w.searches) == 0);
	finds(as_admin, "path=/&depth=self", "/");
}

/* PostgreSQL dies below a search: it is told, and later ones find what is there. */
Test(search_late, postgresql_dies)
{
	struct call   call;
	struct answer a;
	bool          good = false;

	make_slow(true);
	begin_search(&c, as_admin, &call);
	world_turn(&w);
	world_turn(&w);
	test_postgres_kill(w.server);
	call_wait(&w, &call);
	cr_assert(call.err == BW_EGONE || call.err == BW_EBUSY, "%d", call.err);
	call_done(&call);
	test_postgres_start(w.server);
	make_slow(false);
	for (int i = 0; i < 200 && !good; i++) {
		search_ask(&c, as_admin, "path=/&depth=self", BW_ABSENT, 0, &a);
		good = a.err == BW_OK && a.page.n_items == 1;
		answer_done(&a);
		world_turn(&w);
	}
	cr_assert(good, "searches do not come back");
}

/* A cursor is worth something for its own question alone, and not when a bit of it is another. */
Test(search, cursors)
{
	struct answer first, other;
	char          broken[4096];

	test_postgres_sql(w.server, "SELECT repo.node_create(p, 'nt:unstructured') FROM "
	                            "unnest('{/k,/k/a,/k/b,/k/c}'::text[]) p");
	search_ask(&c, as_admin, "path=/k", BW_ABSENT, 1, &first);
	cr_assert_not_null(first.page.next.p);
	search_ask(&c, as_admin, "path=/k/a", first.page.next, 1, &other);
	cr_assert_not_null(other.page.error.p, "another question");
	answer_done(&other);
	for (size_t i = 0; i < first.page.next.n; i++) {
		snprintf(broken, sizeof(broken), "%s", first.page.next.p);
		broken[i] = broken[i] == 'A' ? 'B' : 'A';
		search_ask(&c, as_admin, "path=/k", bw_str(broken), 1, &other);
		cr_assert_not_null(other.page.error.p, "octet %zu", i);
		answer_done(&other);
	}
	search_ask(&c, as_admin, "path=/k", first.page.next, 2, &other);
	cr_assert_eq(other.page.n_items, 2);
	cr_assert_not_null(other.page.previous.p);
	answer_done(&other);
	test_postgres_sql(w.server, "SELECT repo.ace_append('/k', 3, true, '{jcr:read}', '{}')");
	search_ask(&c, as_alice, "path=/k", first.page.next, 2, &other);
	cr_assert_not_null(other.page.error.p, "somebody else's");
	answer_done(&other);
	answer_done(&first);
}

/* 128 KiB of text: what is beyond a vector's limits is not found, and the write is not refused. */
Test(search, much_text)
{
	test_postgres_sql(
		w.server,
		"SELECT repo.node_create('/big', 'nt:unstructured'),"
		" repo.property_set('/big', 'text', jsonb_build_object('s', jsonb_build_array("
		"'start ' || string_agg(md5(i::text), ' ' ORDER BY i))))"
		" FROM generate_series(1, 1900) i");
	test_postgres_sql(w.server,
	                  "SELECT repo.property_set('/big', 'more', jsonb_build_object('s',"
	                  " jsonb_build_array(repeat('x', 60000))))");
	finds(as_admin, "q=start", "/big");
}
