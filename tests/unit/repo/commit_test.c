/* repo/commit.c, its pool, its judge and migrations' commit functions, over the wire against a real
 * PostgreSQL: what races, what is lost and what waits. What commits do is in
 * tests/conformance/commit. */
#include "changing.h"
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>

static struct world  w;
static struct client c;
static uint64_t      admin;

static void begin(void)
{
	world_begin(&w, 1 << 20);
	client_open(&w, &c);
	admin = client_login(&c, HANDLE_ADMIN, 1, NULL);
	cr_assert(eq(int, change(&c, admin, "create /t type=nt:unstructured"), BW_OK));
}

static void end(void)
{
	client_close(&c);
	world_end(&w);
}

static void assert_property(const char *path, const char *name, const char *expected)
{
	char *value = client_property(&c, admin, path, name);

	cr_assert(eq(str, value, (char *)expected), "%s of %s", name, path);
	free(value);
}

TestSuite(commit, .init = begin, .fini = end);

Test(commit, what_is_acknowledged_is_read)
{
	for (int i = 0; i < 50; i++) {
		char steps[80], value[16];

		snprintf(value, sizeof(value), "%d", i);
		snprintf(steps, sizeof(steps), "set /t p=%d", i);
		cr_assert(eq(int, change(&c, admin, steps), BW_OK));
		assert_property("/t", "p", value);
	}
}

/* ---- at the same time ---- */

Test(commit, of_those_that_change_one_property_at_once_one_succeeds)
{
	enum { N = 12 };
	struct changing s[N];
	struct call     calls[N];
	unsigned        committed = 0, refused = 0;

	cr_assert(eq(int, change(&c, admin, "set /t p=0"), BW_OK));
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < N; i++) {
			char steps[40];

			snprintf(steps, sizeof(steps), "set /t p=%d.%d", round, i);
			changing_init(&s[i], &c, admin, steps);
		}
		for (int i = 0; i < N; i++)
			changing_send(&s[i], &calls[i]);
		for (int i = 0; i < N; i++) {
			call_wait(&w, &calls[i]);
			committed += calls[i].err == BW_OK;
			refused += calls[i].err == BW_ECONFLICT;
			call_done(&calls[i]);
			changing_done(&s[i]);
		}
	}
	cr_assert(eq(uint, committed, 5));
	cr_assert(eq(uint, refused, 5 * (N - 1)));
}

static void assert_paths(void)
{
	char *bad = test_postgres_value(
		w.server, "SELECT t.path FROM repo.tree t JOIN repo.tree p ON p.id = t.parent"
			  " WHERE t.path <> rtrim(p.path, '/') || '/' || t.name");

	cr_assert(eq(str, bad, ""));
	free(bad);
}

/* A removal or a move of a subtree and additions below it, again and again: each ends in one of the
 * ways that its moment allows, and the tree is whole. */
Test(commit, subtrees_go_while_children_come)
{
	enum { N = 8 };
	struct changing s[N];
	struct call     calls[N];

	for (int round = 0; round < 12; round++) {
		change(&c, admin, "create /t/d; create /t/d/e");
		for (int i = 0; i < N; i++) {
			char steps[80];

			if (i == N / 2)
				snprintf(steps, sizeof(steps),
				         round % 2 == 0 ? "blind remove /t/d"
				                        : "blind move /t/d /t/x%d",
				         round);
			else
				snprintf(steps, sizeof(steps), "blind create /t/d/e/n%d", i);
			changing_init(&s[i], &c, admin, steps);
		}
		for (int i = 0; i < N; i++)
			changing_send(&s[i], &calls[i]);
		for (int i = 0; i < N; i++) {
			call_wait(&w, &calls[i]);
			cr_assert(calls[i].err == BW_OK ||
			                  (calls[i].err == BW_ENOTFOUND && i != N / 2),
			          "%d is told %d", i, calls[i].err);
			call_done(&calls[i]);
			changing_done(&s[i]);
		}
		assert_paths();
	}
}

Test(commit, many_changes_are_one_commit)
{
	struct changing s;
	struct buf      steps;
	unsigned        changed;

	buf_init(&steps);
	for (int i = 0; i < 1000; i++)
		buf_printf(&steps, "blind create /t/n%d p=%d;", i, i);
	buf_append(&steps, "", 1);
	changing_init(&s, &c, admin, (char *)buf_data(&steps));
	cr_assert(eq(int, changing_commit(&s, &changed, NULL), BW_OK));
	cr_assert(eq(uint, changed, 1000));
	changing_done(&s);
	buf_done(&steps);
	assert_property("/t/n999", "p", "999");
}

/* More than any other message may have: 60 values of 60,000 octets. */
Test(commit, a_large_list_is_one_commit_and_its_memory_goes)
{
	struct changing s;
	struct buf      steps;
	char           *text = malloc(60001);

	memset(text, 'x', 60000);
	text[60000] = '\0';
	buf_init(&steps);
	for (int i = 0; i < 60; i++)
		buf_printf(&steps, "blind create /t/n%d p=%s;", i, text);
	buf_append(&steps, "", 1);
	changing_init(&s, &c, admin, (char *)buf_data(&steps));
	cr_assert(gt(sz, buf_size(&s.list), (size_t)3500000));
	cr_assert(eq(int, changing_commit(&s, NULL, NULL), BW_OK));
	changing_done(&s);
	buf_done(&steps);
	assert_property("/t/n59", "p", text);
	free(text);
}

/* ---- what goes wrong ---- */

Test(commit, gateway_that_goes_leaves_a_commit_that_ends)
{
	struct client   other;
	struct changing s;
	struct call     call;
	char           *n;

	for (int i = 0; i < 10; i++) {
		client_open(&w, &other);
		changing_init(&s, &other, client_login(&other, HANDLE_ADMIN, 1, NULL),
		              "blind set /t a=1; blind set /t b=1; blind create /t/n");
		changing_send(&s, &call);
		wire_chan_flush(other.chan);
		for (int turn = 0; turn < i; turn++)
			world_turn(&w);
		client_close(&other);
		changing_done(&s);
		call_done(&call);
		world_until(&w, commits_waiting(w.commits) == 0);
		n = test_postgres_value(w.server,
		                        "SELECT count(*) FROM repo.tree t JOIN repo.content c"
		                        " USING (id) WHERE path = '/t/n' OR path = '/t' AND"
		                        " properties ?& '{a,b}'");
		cr_assert(strcmp(n, "0") == 0 || strcmp(n, "2") == 0, "half of it: %s", n);
		free(n);
		cr_assert(eq(int,
		             change(&c, admin, "blind unset /t a; blind unset /t b; remove /t/n"),
		             BW_OK));
	}
}

Test(commit, too_many_are_busy_and_the_others_end)
{
	enum { N = 1100 };
	static struct call calls[N];
	struct changing    s;
	unsigned           busy = 0, done = 0;

	changing_init(&s, &c, admin, "blind set /t p=1");
	test_postgres_pause(w.server, true);
	for (int i = 0; i < N; i++)
		changing_send(&s, &calls[i]);
	world_until(&w, calls[N - 1].ended);
	test_postgres_pause(w.server, false);
	for (int i = 0; i < N; i++) {
		call_wait(&w, &calls[i]);
		busy += calls[i].err == BW_EBUSY;
		done += calls[i].err == BW_OK;
		call_done(&calls[i]);
	}
	changing_done(&s);
	cr_assert(busy > 0 && done >= 1024 && busy + done == N, "%u busy, %u done", busy, done);
}

Test(commit, without_postgresql_it_is_gone_and_afterwards_it_works)
{
	test_postgres_kill(w.server);
	world_until(&w, !commits_are_up(w.commits));
	cr_assert(eq(int, change(&c, admin, "blind set /t p=1"), BW_EGONE));
	test_postgres_start(w.server);
	world_until(&w, commits_are_up(w.commits));
	cr_assert(eq(int, change(&c, admin, "blind set /t p=1"), BW_OK));
}

static void send_raw(struct client *to, uint64_t handle, const void *list, size_t n,
                     struct call *call)
{
	Bw__Wire__ResourceCommit m = BW__WIRE__RESOURCE_COMMIT__INIT;

	m.sequence = handle;
	m.changes = (ProtobufCBinaryData){ n, (uint8_t *)list };
	client_ask(to, call, WIRE_RESOURCE_COMMIT, &m.base);
}

Test(commit, malformed_list_ends_the_connection)
{
	struct client other;
	struct call   call;
	uint64_t      handle;

	client_open(&w, &other);
	handle = client_login(&other, HANDLE_ADMIN, 1, NULL);
	send_raw(&other, handle, "no list", 7, &call);
	call_wait(&w, &call);
	cr_assert(eq(int, call.err, BW_EGONE));
	world_until(&w, other.closed);
	client_close(&other);
	cr_assert(eq(int, change(&c, admin, "set /t p=1"), BW_OK));
}

Test(commit, handle_that_is_not_open_changes_nothing)
{
	struct changing s;

	changing_init(&s, &c, admin + 1, "blind set /t p=1");
	cr_assert(eq(int, changing_commit(&s, NULL, NULL), BW_ECLOSED));
	changing_done(&s);
	assert_property("/t", "p", "?");
}

/* ---- limits ---- */

Test(commit, subtree_that_is_too_large_stays)
{
	struct changing s;
	char            text[256];

	test_postgres_sql(w.server, "CREATE OR REPLACE FUNCTION repo.subtree_max() RETURNS bigint"
	                            " LANGUAGE sql IMMUTABLE AS 'SELECT 3::bigint'");
	cr_assert(eq(int,
	             change(&c, admin, "create /t/d; create /t/d/1; create /t/d/2; create /t/d/3"),
	             BW_OK));
	changing_init(&s, &c, admin, "remove /t/d");
	cr_assert(eq(int, changing_commit(&s, NULL, text), BW_ECONTENTSIZE));
	cr_assert(strstr(text, "/t/d: more than 3 nodes at once") != NULL, "%s", text);
	changing_done(&s);
	cr_assert(eq(int, change(&c, admin, "move /t/d /t/e"), BW_ECONTENTSIZE));
	cr_assert(eq(int, change(&c, admin, "remove /t/d/3"), BW_OK));
	cr_assert(eq(int, change(&c, admin, "move /t/d /t/e"), BW_OK));
}

Test(commit, properties_that_are_too_large_change_nothing)
{
	struct buf steps;

	buf_init(&steps);
	buf_printf(&steps, "set /t q=1; set /t p=");
	memset(buf_reserve(&steps, 70000), 'x', 70000);
	buf_commit(&steps, 70000);
	buf_append(&steps, "", 1);
	cr_assert(eq(int, change(&c, admin, (char *)buf_data(&steps)), BW_ECONTENTSIZE));
	buf_done(&steps);
	assert_property("/t", "q", "?");
}

/* ---- order ---- */

/* A gap is halved until it is used up; then the folder's children are placed anew, and readers that
 * remember the old places are not misled. */
Test(commit, full_gap_is_spread)
{
	struct call         call;
	struct wire_message m;
	struct record       r;
	char                steps[80];
	size_t              at = 0;

	cr_assert(eq(int, change(&c, admin, "create /t/a; create /t/z"), BW_OK));
	for (int i = 0; i < 30; i++) {
		snprintf(steps, sizeof(steps), "create /t/n%02d; blind order /t/n%02d z", i, i);
		cr_assert(eq(int, change(&c, admin, steps), BW_OK));
		client_children(&c, &call, admin, BW_STR("/t"), BW_STR("a"), 256);
		call_wait(&w, &call);
		call_done(&call);
	}
	client_children(&c, &call, admin, BW_STR("/t"), BW_STR("a"), 256);
	call_wait(&w, &call);
	cr_assert(eq(int,
	             wire_message_get(&(struct wire_frame){ .id = WIRE_RESOURCE_PAGE,
	                                                    .length = (uint32_t)call.n,
	                                                    .payload = call.answer },
	                              &m),
	             BW_OK));
	cr_assert(eq(uint, m.u->resource_page.count, 31));
	for (int i = 0; i < 31; i++) {
		char name[8];

		snprintf(name, sizeof(name), i < 30 ? "n%02d" : "z", i);
		cr_assert(eq(int,
		             record_get(m.u->resource_page.records.data + at,
		                        m.u->resource_page.records.len - at, &r),
		             BW_OK));
		cr_assert(bw_str_eq(r.name, bw_str(name)), "%s is not %s", r.name.p, name);
		at += r.size;
	}
	call_done(&call);
}

/* ---- what an answer vouches for ---- */

Test(commit, super_type_is_in_force_at_the_answer)
{
	struct call   call;
	struct record r;

	cr_assert(eq(int,
	             change(&c, admin, "create /apps; create /apps/x; set /t sling:resourceType=x"),
	             BW_OK));
	for (int i = 0; i < 10; i++) {
		char steps[80], type[16];

		snprintf(type, sizeof(type), "super%d", i);
		snprintf(steps, sizeof(steps), "set /apps/x sling:resourceSuperType=%s", type);
		cr_assert(eq(int, change(&c, admin, steps), BW_OK));
		cr_assert(eq(int, client_read(&c, admin, "/t", &call, &r), BW_OK));
		cr_assert(bw_str_eq(record_chain(&r, 0), bw_str(type)), "%s is not %s",
		          record_chain(&r, 0).p, type);
		call_done(&call);
	}
	cr_assert(eq(int, change(&c, admin, "remove /apps/x"), BW_OK));
	cr_assert(eq(int, client_read(&c, admin, "/t", &call, &r), BW_OK));
	cr_assert(record_chain(&r, 0).p == NULL || strncmp(record_chain(&r, 0).p, "super", 5) != 0);
	call_done(&call);
}

/* A list is found by its node's path: after a move it counts at the new one, at the answer. */
Test(commit, lists_move_with_their_nodes)
{
	uint64_t ada;

	test_postgres_sql(w.server, "INSERT INTO auth.principal (id, name, class)"
	                            " VALUES (100, 'ada', 'user')");
	cr_assert(eq(int, change(&c, admin, "create /t/a; create /t/a/b p=1"), BW_OK));
	test_postgres_sql(w.server, "SELECT repo.ace_append('/t/a', 100, true, '{jcr:read}')");
	ada = client_login(&c, HANDLE_USER, 100, NULL);
	for (int i = 0; i < 5; i++) {
		const char *from = i % 2 == 0 ? "/t/a/b" : "/t/c/b",
			   *to = i % 2 == 0 ? "/t/c/b" : "/t/a/b";
		char *seen, *gone;

		cr_assert(eq(int,
		             change(&c, admin, i % 2 == 0 ? "move /t/a /t/c" : "move /t/c /t/a"),
		             BW_OK));
		seen = client_property(&c, ada, to, "p");
		gone = client_property(&c, ada, from, "p");
		cr_assert(eq(str, seen, "1"));
		cr_assert(eq(str, gone, "?"));
		free(seen);
		free(gone);
	}
}

/* The text of a name never ends a statement, a string, or repo. */
Test(commit, names_are_only_names)
{
	static const char *const names[] = { "a'b", "a\"b", "a\\b",  "{a}",      "a,b",
		                             "$1",  "%s",   "a%20b", "\xc3\xa4", "a%EF%BF%BFb" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char steps[80], path[40];

		snprintf(steps, sizeof(steps), "create /t/%s %s=%s", names[i], names[i], names[i]);
		cr_assert(eq(int, change(&c, admin, steps), BW_OK), "%s", names[i]);
		snprintf(path, sizeof(path), "/t/%s", names[i]);
		if (strchr(names[i], '%') == NULL)
			assert_property(path, names[i], names[i]);
	}
}
