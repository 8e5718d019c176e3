/* Under test: repo/session.c, repo/session_rows.c and migrations/0003_session.sql, over the wire
 * against a real PostgreSQL. What is acknowledged stays; changes of one session come one after the
 * other; what ends is told of once; reading writes nothing; and nobody can ask for what he cannot
 * name. */
#include "world.h"
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/session.h>

static struct world  w;
static struct client c, d; /* two workers */

static void begin(void)
{
	world_begin(&w, 1u << 20);
	client_open(&w, &c);
	client_open(&w, &d);
}

static void end(void)
{
	client_close(&c);
	client_close(&d);
	world_end(&w);
}

TestSuite(session, .init = begin, .fini = end);

/* ---- questions ---- */

static struct call           last;
static struct wire_message   answer; /* of last */
static struct session_record records[8];
static unsigned              n_records;

/* A name for a client, instead of its cookie. */
static ProtobufCBinaryData id_of(const char *client)
{
	static uint8_t hashes[4][SESSION_HASH_SIZE];
	static int     turn;
	uint8_t       *hash = hashes[turn++ % 4];

	session_id_hash(bw_str(client), hash);
	return (ProtobufCBinaryData){ SESSION_HASH_SIZE, hash };
}

static ProtobufCBinaryData text_of(const char *text)
{
	return (ProtobufCBinaryData){ strlen(text), (uint8_t *)text };
}

static void read_records(void)
{
	const uint8_t *p = answer.u->session_data.sessions.data;
	size_t         left = answer.u->session_data.sessions.len;

	n_records = answer.u->session_data.count;
	cr_assert_leq(n_records, 8);
	for (unsigned i = 0; i < n_records; i++) {
		cr_assert_eq(session_record_get(p, left, &records[i]), BW_OK);
		left -= (size_t)(records[i].end - p);
		p = records[i].end;
	}
	cr_assert_eq(left, 0);
}

/* Asks and waits; the error. The answer stands until the next one. */
static int ask(struct client *from, enum wire_id id, const ProtobufCMessage *m)
{
	struct wire_frame f;

	call_done(&last);
	client_ask(from, &last, id, m);
	call_wait(&w, &last);
	n_records = 0;
	if (last.err != BW_OK)
		return last.err;
	f = (struct wire_frame){ .id = wire_row(id)->answer,
		                 .length = (uint32_t)last.n,
		                 .payload = last.answer };
	cr_assert_eq(wire_message_get(&f, &answer), BW_OK);
	if (f.id == WIRE_SESSION_DATA)
		read_records();
	return BW_OK;
}

static int load(const char *client, const char *context)
{
	Bw__Wire__SessionLoad m = BW__WIRE__SESSION_LOAD__INIT;

	m.id = id_of(client);
	m.context = text_of(context);
	return ask(&c, WIRE_SESSION_LOAD, &m.base);
}

static int create(const char *client, const char *context, bool join, int max_inactive)
{
	Bw__Wire__SessionCreate m = BW__WIRE__SESSION_CREATE__INIT;

	m.id = id_of(client);
	m.context = text_of(context);
	m.join = join;
	m.max_inactive = max_inactive;
	return ask(&c, WIRE_SESSION_CREATE, &m.base);
}

/* value NULL: remove. */
static int set(const char *client, const char *context, const char *name, const char *value)
{
	Bw__Wire__SessionSet m = BW__WIRE__SESSION_SET__INIT;

	m.id = id_of(client);
	m.context = text_of(context);
	m.name = text_of(name);
	m.has_kind = m.has_value = value != NULL;
	m.kind = SESSION_STRING;
	if (value != NULL)
		m.value = text_of(value);
	return ask(&c, WIRE_SESSION_SET, &m.base);
}

static int add(struct client *from, const char *client, const char *name, int64_t delta)
{
	Bw__Wire__SessionAdd m = BW__WIRE__SESSION_ADD__INIT;

	m.id = id_of(client);
	m.context = text_of("shop");
	m.name = text_of(name);
	m.delta = (uint64_t)delta;
	return ask(from, WIRE_SESSION_ADD, &m.base);
}

static int timeout(const char *client, const char *context, int seconds)
{
	Bw__Wire__SessionTimeout m = BW__WIRE__SESSION_TIMEOUT__INIT;

	m.id = id_of(client);
	m.context = text_of(context);
	m.max_inactive = seconds;
	return ask(&c, WIRE_SESSION_TIMEOUT, &m.base);
}

static int invalidate(const char *client, const char *context)
{
	Bw__Wire__SessionInvalidate m = BW__WIRE__SESSION_INVALIDATE__INIT;

	m.id = id_of(client);
	m.context = text_of(context);
	return ask(&c, WIRE_SESSION_INVALIDATE, &m.base);
}

static int change_id(const char *client, const char *new_client)
{
	Bw__Wire__SessionChangeId m = BW__WIRE__SESSION_CHANGE_ID__INIT;

	m.id = id_of(client);
	m.new_id = id_of(new_client);
	return ask(&c, WIRE_SESSION_CHANGE_ID, &m.base);
}

static void release(const char *client, const char *context, uint64_t lease)
{
	Bw__Wire__SessionRelease m = BW__WIRE__SESSION_RELEASE__INIT;

	m.id = id_of(client);
	m.context = text_of(context);
	m.lease = lease;
	cr_assert_eq(wire_send(c.chan, WIRE_SESSION_RELEASE, 1, &m.base), BW_OK);
}

static void watch(struct client *from, struct call *call)
{
	Bw__Wire__SessionWatch m = BW__WIRE__SESSION_WATCH__INIT;

	m.max = SESSION_BATCH;
	client_ask(from, call, WIRE_SESSION_WATCH, &m.base);
}

/* The text of an attribute of a record; "?" if it is not there. Borrowed from the answer. */
static const char *value_of(const struct session_record *r, const char *name)
{
	const uint8_t       *at = r->values;
	struct session_value v;

	while (session_record_next(r, &at, &v))
		if (bw_str_eq(v.name, bw_str(name)))
			return v.value.p;
	return "?";
}

static void expect(const char *sql, const char *value)
{
	char *text = test_postgres_value(w.server, "%s", sql);

	cr_assert_str_eq(text, value, "%s: %s, not %s", sql, text, value);
	free(text);
}

static const char *old_value(void)
{
	return answer.u->session_changed.has_value ? (char *)answer.u->session_changed.value.data
	                                           : "none";
}

static bool old_is(const char *text)
{
	return strncmp(old_value(), text, strlen(text)) == 0;
}

/* ---- one session ---- */

Test(session, is_made_kept_changed_and_ended)
{
	cr_assert_eq(load("ada", "shop"), BW_OK);
	cr_assert_eq(n_records, 0);
	cr_assert_eq(create("ada", "shop", false, 1800), BW_OK);
	cr_assert(n_records == 1 && records[0].what == SESSION_NEW && records[0].n_values == 0);
	cr_assert(records[0].max_inactive == 1800 && records[0].lease_us == 0);
	cr_assert_eq(set("ada", "shop", "cart", "tea"), BW_OK);
	cr_assert(old_is("none"));
	cr_assert_eq(set("ada", "shop", "cart", "coffee"), BW_OK);
	cr_assert(old_is("tea") && answer.u->session_changed.kind == SESSION_STRING);
	cr_assert_eq(set("ada", "shop", "a\xc3\xa9", ""), BW_OK);
	cr_assert_eq(load("ada", "shop"), BW_OK);
	cr_assert(n_records == 1 && records[0].what == SESSION_OWN && records[0].n_values == 2);
	cr_assert_str_eq(value_of(&records[0], "cart"), "coffee");
	cr_assert_str_eq(value_of(&records[0], "a\xc3\xa9"), "");
	cr_assert_eq(set("ada", "shop", "cart", NULL), BW_OK);
	cr_assert(old_is("coffee"));
	cr_assert_eq(set("ada", "shop", "cart", NULL), BW_OK);
	cr_assert(old_is("none"));
	cr_assert_eq(set("ada", "shop", "last", "words"), BW_OK);
	cr_assert_eq(invalidate("ada", "shop"), BW_OK);
	cr_assert(n_records == 1 && records[0].what == SESSION_ENDED && records[0].n_values == 2);
	cr_assert_str_eq(value_of(&records[0], "last"), "words");
	cr_assert_eq(invalidate("ada", "shop"), BW_OK);
	cr_assert_eq(n_records, 0, "it is told of once");
	cr_assert_eq(set("ada", "shop", "x", "y"), BW_ESTATE);
	cr_assert_eq(add(&c, "ada", "x", 1), BW_ESTATE);
	cr_assert_eq(timeout("ada", "shop", 5), BW_ESTATE);
	expect("SELECT count(*) FROM repo.session_value", "0");
}

/* Only a hash is stored, and every kind of value comes back as it went. */
Test(session, the_id_is_nowhere_and_values_are_octets)
{
	static const struct {
		enum session_kind kind;
		struct bw_str     value;
	} rows[] = {
		{ SESSION_STRING, BW_STR("\0\\x41\n\xff") },
		{ SESSION_LONG, BW_STR("\200\0\0\0\0\0\0\0") },
		{ SESSION_BOOLEANS, BW_STR("\0\1") },
		{ SESSION_STRINGS, BW_STR("\1\0\0\0\0") },
	};

	create("a secret id", "shop", false, 1800);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		Bw__Wire__SessionSet m = BW__WIRE__SESSION_SET__INIT;
		struct session_value v;
		const uint8_t       *at;

		m.id = id_of("a secret id");
		m.context = text_of("shop");
		m.name = text_of("v");
		m.has_kind = m.has_value = true;
		m.kind = rows[i].kind;
		m.value = (ProtobufCBinaryData){ rows[i].value.n, (uint8_t *)rows[i].value.p };
		cr_assert_eq(ask(&c, WIRE_SESSION_SET, &m.base), BW_OK);
		cr_assert_eq(load("a secret id", "shop"), BW_OK);
		at = records[0].values;
		cr_assert(session_record_next(&records[0], &at, &v));
		cr_assert(v.kind == rows[i].kind && bw_str_eq(v.value, rows[i].value), "row %zu",
		          i);
	}
	expect("SELECT count(*) FROM repo.session s WHERE s::text LIKE '%secret%' OR "
	       "position('secret'::bytea in id) > 0",
	       "0");
}

Test(session, limits)
{
	static char large[SESSION_MAX_VALUE + 1];
	char        name[16];

	memset(large, 'x', sizeof(large) - 1);
	create("ada", "shop", false, 1800);
	large[65536 - 16 - 1] = '\0';
	cr_assert_eq(set("ada", "shop", "v", large), BW_OK, "64 KiB with its name");
	cr_assert_eq(set("ada", "shop", "w", ""), BW_ETOOBIG);
	large[65536 - 16 - 1] = 'x';
	large[65536 - 16] = '\0';
	cr_assert_eq(set("ada", "shop", "v", large), BW_ETOOBIG);
	expect("SELECT octet_length(value) FROM repo.session_value", "65519");
	cr_assert_eq(set("ada", "shop", "v", "small"), BW_OK);
	for (int i = 0; i < 255; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		cr_assert_eq(set("ada", "shop", name, "x"), BW_OK);
	}
	cr_assert_eq(set("ada", "shop", "one more", "x"), BW_ETOOBIG);
	cr_assert_eq(add(&c, "ada", "one more", 1), BW_ETOOBIG);
	cr_assert_eq(set("ada", "shop", "v", "other"), BW_OK);
	cr_assert_eq(set("ada", "shop", "v", NULL), BW_OK);
	cr_assert_eq(add(&c, "ada", "one more", 1), BW_OK);
	expect("SELECT n_values || ' ' || octets = count(*) || ' ' || sum(16 + octet_length(name) "
	       "+ "
	       "octet_length(value)) FROM repo.session s JOIN repo.session_value ON session = "
	       "number "
	       "GROUP BY number",
	       "t");
}

/* ---- the counter ---- */

static int64_t old_long(void)
{
	uint64_t v;

	if (!answer.u->session_changed.has_value)
		return 0;
	memcpy(&v, answer.u->session_changed.value.data, sizeof(v));
	return (int64_t)be64toh(v);
}

Test(session, adding)
{
	create("ada", "shop", false, 1800);
	cr_assert_eq(add(&c, "ada", "n", 5), BW_OK);
	cr_assert(!answer.u->session_changed.has_kind);
	cr_assert_eq(add(&c, "ada", "n", -7), BW_OK);
	cr_assert_eq(old_long(), 5);
	cr_assert_eq(add(&c, "ada", "n", INT64_MIN + 2), BW_OK);
	cr_assert_eq(old_long(), -2);
	cr_assert_eq(add(&c, "ada", "n", -1), BW_EINVAL, "the sum does not fit");
	cr_assert_eq(add(&c, "ada", "n", INT64_MAX), BW_OK);
	cr_assert_eq(old_long(), INT64_MIN);
	cr_assert_eq(add(&c, "ada", "n", 0), BW_OK);
	cr_assert_eq(old_long(), -1);
	set("ada", "shop", "t", "12345678");
	cr_assert_eq(add(&c, "ada", "t", 1), BW_EINVAL, "a text is no number");
	cr_assert_eq(load("ada", "shop"), BW_OK);
	cr_assert_str_eq(value_of(&records[0], "t"), "12345678");
}

/* Two workers, each 1000 times, all at once. */
Test(session, adding_loses_nothing)
{
	static struct call   calls[2000];
	Bw__Wire__SessionAdd m = BW__WIRE__SESSION_ADD__INIT;

	create("ada", "shop", false, 1800);
	m.context = text_of("shop");
	m.name = text_of("n");
	m.delta = 1;
	for (unsigned i = 0; i < 2000; i++) {
		m.id = id_of("ada");
		client_ask(i % 2 ? &c : &d, &calls[i], WIRE_SESSION_ADD, &m.base);
		world_turn(&w);
	}
	for (unsigned i = 0; i < 2000; i++) {
		call_wait(&w, &calls[i]);
		cr_assert_eq(calls[i].err, BW_OK);
		call_done(&calls[i]);
	}
	cr_assert_eq(add(&c, "ada", "n", 0), BW_OK);
	cr_assert_eq(old_long(), 2000);
}

/* ---- contexts ---- */

Test(session, contexts_share_an_id)
{
	cr_assert_eq(create("ada", "forum", true, 1800), BW_OK);
	cr_assert_eq(n_records, 0, "there is nothing to join");
	create("ada", "shop", false, 1800);
	set("ada", "shop", "v", "of the shop");
	cr_assert_eq(create("ada", "forum", true, 60), BW_OK);
	cr_assert(n_records == 1 && records[0].what == SESSION_NEW);
	set("ada", "forum", "v", "of the forum");
	cr_assert_eq(create("ada", "forum", true, 1800), BW_OK);
	cr_assert(records[0].what == SESSION_OWN && records[0].max_inactive == 60,
	          "another request was first");
	load("ada", "shop");
	cr_assert_eq(n_records, 2);
	for (unsigned i = 0; i < 2; i++) {
		bool own = bw_str_eq(records[i].context, BW_STR("shop"));

		cr_assert_eq(records[i].what, own ? SESSION_OWN : SESSION_OTHER);
		cr_assert_str_eq(value_of(&records[i], "v"), own ? "of the shop" : "?");
	}
	load("ada", "elsewhere");
	cr_assert(n_records == 2 && records[0].what == SESSION_OTHER);

	cr_assert_eq(change_id("ada", "eve"), BW_OK);
	cr_assert(n_records == 2 && records[0].what == SESSION_OTHER);
	load("ada", "shop");
	cr_assert_eq(n_records, 0, "the old id is dead");
	load("eve", "forum");
	cr_assert_str_eq(value_of(&records[records[0].what == SESSION_OTHER], "v"), "of the forum");
	cr_assert_eq(change_id("ada", "bob"), BW_OK);
	cr_assert_eq(n_records, 0);

	invalidate("eve", "shop");
	cr_assert(n_records == 2 && records[0].what == SESSION_ENDED);
	cr_assert(records[1].what == SESSION_OTHER, "the forum's lives on");
	invalidate("eve", "forum");
	cr_assert(n_records == 1 && records[0].what == SESSION_ENDED);
}

/* ---- time ---- */

Test(session, expiry_in_seconds)
{
	static const char *const rows[] = { "1 false 1",    "59 false 59",
		                            "60 false 120", "1800 false 1860",
		                            "1 true 60",    "59 true 60",
		                            "60 true 120",  "2147483647 true 2147483707" };
	char                     sql[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(
			sql, sizeof(sql),
			"WITH r AS (SELECT string_to_array('%s', ' ') a) SELECT extract(epoch FROM "
			"repo.session_expires(to_timestamp(0), a[1]::integer, a[2]::boolean)) = "
			"a[3]::numeric FROM r",
			rows[i]);
		expect(sql, "t");
	}
	expect("SELECT coalesce(repo.session_expires(now(), 0, true), "
	       "repo.session_expires(now(), -1, false)) IS NULL",
	       "t");
}

static void make_old(const char *context, const char *what, const char *interval)
{
	test_postgres_sql(w.server,
	                  "UPDATE repo.session SET %s = now() - interval '%s' WHERE context = '%s'",
	                  what, interval, context);
}

/* A request to one context ends another one's session whose time is over, once. */
Test(session, ended_are_told_of_once)
{
	create("ada", "shop", false, 1);
	create("ada", "forum", true, 100);
	set("ada", "shop", "v", "1");
	make_old("shop", "expires", "1 ms");
	load("ada", "forum");
	cr_assert_eq(n_records, 2);
	for (unsigned i = 0; i < 2; i++) {
		bool shop = bw_str_eq(records[i].context, BW_STR("shop"));

		cr_assert_eq(records[i].what, shop ? SESSION_ENDED : SESSION_OWN);
		cr_assert_str_eq(value_of(&records[i], "v"), shop ? "1" : "?");
	}
	load("ada", "shop");
	cr_assert(n_records == 1 && records[0].what == SESSION_OTHER);
	/* Not revived with what it held. */
	create("ada", "wiki", true, 100);
	set("ada", "wiki", "v", "old");
	make_old("wiki", "expires", "1 ms");
	cr_assert_eq(create("ada", "wiki", true, 100), BW_OK);
	cr_assert(n_records == 2 && records[0].what == SESSION_ENDED);
	cr_assert_str_eq(value_of(&records[0], "v"), "old");
	cr_assert(records[1].what == SESSION_NEW && records[1].n_values == 0);
	/* An id under which all has ended is as good as unknown. */
	make_old("wiki", "expires", "1 ms");
	make_old("forum", "expires", "1 ms");
	cr_assert_eq(create("ada", "shop", true, 1800), BW_OK);
	cr_assert_eq(n_records, 0);
	cr_assert_eq(change_id("ada", "eve"), BW_OK);
	cr_assert_eq(n_records, 0);
}

Test(session, never)
{
	create("ada", "shop", false, 0);
	create("bob", "shop", false, -1);
	expect("SELECT count(*) FROM repo.session WHERE expires IS NULL", "2");
	cr_assert_eq(timeout("bob", "shop", 1800), BW_OK);
	cr_assert_eq(timeout("ada", "shop", 1800), BW_OK);
	cr_assert_eq(timeout("ada", "shop", 0), BW_OK);
	expect("SELECT count(*) FROM repo.session WHERE expires IS NULL", "1");
	make_old("shop", "accessed", "10 years");
	load("ada", "shop");
	cr_assert(n_records == 1 && records[0].what == SESSION_OWN);
}

/* An access is written when the one before it is older than a minute; it shows the one before. */
Test(session, access_is_written_once_a_minute)
{
	create("ada", "shop", false, 1800);
	make_old("shop", "accessed", "59 s");
	load("ada", "shop");
	expect("SELECT accessed < now() - interval '58 s' FROM repo.session", "t");
	make_old("shop", "accessed", "61 s");
	make_old("shop", "expires", "-1 s");
	load("ada", "shop");
	expect("SELECT accessed > now() - interval '30 s' AND expires > now() + interval '1830 s' "
	       "FROM repo.session",
	       "t");
	cr_assert_lt(records[0].accessed_us + 55000000, records[0].created_us + 30000000);
}

/* A thousand reads: no transaction number is drawn, nothing is logged. */
Test(session, reading_does_not_commit)
{
	static const char state[] = "SELECT pg_snapshot_xmax(pg_current_snapshot()) || ' ' || "
				    "pg_current_wal_insert_lsn()";
	char             *before, *after;

	create("ada", "shop", false, 1800);
	create("ada", "forum", true, 1800);
	set("ada", "shop", "v", "1");
	test_postgres_sql(w.server, "CHECKPOINT");
	load("ada", "shop"); /* sets hint bits */
	before = test_postgres_value(w.server, state);
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert_eq(load("ada", i % 3 ? "shop" : "elsewhere"), BW_OK);
		cr_assert_eq(n_records, 2);
	}
	after = test_postgres_value(w.server, state);
	cr_assert_str_eq(before, after, "%s, then %s", before, after);
	free(before);
	free(after);
}

/* Until what was sent before is done: writes stand in one line. */
static void settle(void)
{
	cr_assert_eq(invalidate("nobody", "shop"), BW_OK);
}

/* A session of a few seconds does not end under the request that uses it. */
Test(session, short_lived)
{
	static const char left[] =
		"SELECT round(extract(epoch FROM expires - now())) FROM repo.session";
	uint64_t lease;

	create("ada", "shop", false, 5);
	lease = records[0].lease_us;
	cr_assert_neq(lease, 0);
	expect(left, "60");
	release("ada", "shop", lease - 1); /* of a request that is not the last one */
	settle();
	expect(left, "60");
	release("ada", "shop", lease);
	settle();
	expect(left, "5");
	load("ada", "shop");
	cr_assert_gt(records[0].lease_us, lease, "the next request, at once");
	expect(left, "60");
	lease = records[0].lease_us;
	cr_assert_eq(timeout("ada", "shop", 2), BW_OK);
	cr_assert_gt(answer.u->session_changed.lease, lease);
	release("ada", "shop", answer.u->session_changed.lease);
	cr_assert_eq(timeout("ada", "shop", 60), BW_OK);
	cr_assert_eq(answer.u->session_changed.lease, 0);
	expect(left, "120");
}

/* ---- the sweep ---- */

static unsigned count_of(struct call *call)
{
	struct wire_frame f = { .id = WIRE_SESSION_DATA,
		                .length = (uint32_t)call->n,
		                .payload = call->answer };

	cr_assert_eq(wire_message_get(&f, &answer), BW_OK);
	return answer.u->session_data.count;
}

/* A hundred end while nobody asks: each is told of to one of two workers. */
Test(session, swept_to_one_worker)
{
	static struct call of_c, of_d; /* one of them ends with its connection */
	unsigned           told = 0;
	char               client[16];

	for (unsigned i = 0; i < 100; i++) {
		snprintf(client, sizeof(client), "client %u", i);
		create(client, "shop", false, 1800);
		set(client, "shop", "v", client);
	}
	create("ada", "shop", false, 1800);
	test_postgres_sql(w.server,
	                  "UPDATE repo.session SET expires = now() - interval '1 s' WHERE EXISTS "
	                  "(SELECT FROM repo.session_value WHERE session = number)");
	watch(&c, &of_c);
	watch(&d, &of_d);
	for (unsigned turn = 0; told < 100; turn++) {
		struct client *from = turn % 2 ? &d : &c;
		struct call   *call = turn % 2 ? &of_d : &of_c;

		call_wait(&w, call);
		cr_assert_eq(call->err, BW_OK);
		cr_assert(count_of(call) > 0 && count_of(call) <= SESSION_BATCH);
		told += count_of(call);
		call_done(call);
		if (told < 100)
			watch(from, call);
	}
	cr_assert_eq(told, 100);
	expect("SELECT count(*) FROM repo.session", "1");
	load("client 7", "shop");
	cr_assert_eq(n_records, 0);
}

/* ---- what is refused ---- */

/* The connection is closed, and nothing has changed. */
Test(session, malformed_questions_end_the_connection)
{
	static const char state[] =
		"SELECT coalesce(string_agg(s::text, ' '), '') FROM repo.session s";
	char *before, *after;

	create("ada", "shop", false, 1800);
	before = test_postgres_value(w.server, state);
	for (unsigned row = 0; row < 9; row++) {
		struct client          evil;
		struct call            call;
		Bw__Wire__SessionSet   m = BW__WIRE__SESSION_SET__INIT;
		Bw__Wire__SessionWatch watch_m = BW__WIRE__SESSION_WATCH__INIT;
		bool                   is_watch = row >= 7;

		client_open(&w, &evil);
		m.id = id_of("ada");
		m.context = text_of("shop");
		m.name = text_of("v");
		m.has_kind = m.has_value = true;
		m.kind = SESSION_LONG;
		m.value = text_of("12345678");
		watch_m.max = row == 7 ? 0 : SESSION_BATCH + 1;
		if (row == 0)
			m.id.len--;
		else if (row == 1)
			m.context = text_of("");
		else if (row == 2)
			m.context = text_of("\xff");
		else if (row == 3)
			m.name = (ProtobufCBinaryData){ 2, (uint8_t *)"a" }; /* a NUL */
		else if (row == 4)
			m.has_kind = false;
		else if (row == 5)
			m.kind = 9;
		else if (row == 6)
			m.value = text_of("1234567");
		client_ask(&evil, &call, is_watch ? WIRE_SESSION_WATCH : WIRE_SESSION_SET,
		           is_watch ? &watch_m.base : &m.base);
		call_wait(&w, &call);
		cr_assert_eq(call.err, BW_EGONE, "row %u", row);
		cr_assert(evil.closed, "row %u", row);
		client_close(&evil);
	}
	after = test_postgres_value(w.server, state);
	cr_assert_str_eq(before, after);
	free(before);
	free(after);
}

Test(session, the_role_can_do_no_more)
{
	static const char *const denied[] = {
		"INSERT INTO repo.session (id, context, max_inactive) VALUES ('', 'x', 1)",
		"UPDATE repo.session SET expires = NULL",
		"DELETE FROM repo.session_value",
		"SELECT repo.session_end('{1}')",
		"SELECT repo.session_rows('own', '{1}')",
	};
	char sqlstate[6];

	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++) {
		cr_assert(test_postgres_fails(w.server, sqlstate,
		                              "SET SESSION AUTHORIZATION boardwalk_repo; %s",
		                              denied[i]),
		          "%s", denied[i]);
		cr_assert_str_eq(sqlstate, "42501", "%s: %s", denied[i], sqlstate);
		test_postgres_sql(w.server, "RESET SESSION AUTHORIZATION");
	}
}

/* ---- PostgreSQL dies ---- */

Test(session, acknowledged_survives_a_crash_of_postgresql)
{
	int err;

	create("ada", "shop", false, 1800);
	cr_assert_eq(set("ada", "shop", "v", "kept"), BW_OK);
	test_postgres_kill(w.server);
	do
		err = load("ada", "shop");
	while (err == BW_OK); /* until the loss is noticed */
	cr_assert_eq(err, BW_EGONE);
	cr_assert_eq(set("ada", "shop", "v", "lost"), BW_EGONE);
	test_postgres_start(w.server);
	do
		world_turn(&w);
	while ((err = load("ada", "shop")) == BW_EGONE);
	cr_assert_eq(err, BW_OK);
	cr_assert_str_eq(value_of(&records[0], "v"), "kept");
}

/* Who asks has gone when the answer comes. */
Test(session, a_worker_goes_while_its_question_waits)
{
	static struct call calls[2];
	struct client      gone;

	create("ada", "shop", false, 1800);
	client_open(&w, &gone);
	watch(&gone, &calls[0]);
	test_postgres_pause(w.server, true);
	{
		Bw__Wire__SessionAdd m = BW__WIRE__SESSION_ADD__INIT;

		m.id = id_of("ada");
		m.context = text_of("shop");
		m.name = text_of("n");
		m.delta = 1;
		client_ask(&gone, &calls[1], WIRE_SESSION_ADD, &m.base);
	}
	for (int i = 0; i < 5; i++)
		world_turn(&w);
	client_close(&gone);
	cr_assert(calls[0].err == BW_EGONE && calls[1].err == BW_EGONE);
	for (int i = 0; i < 5; i++)
		world_turn(&w);
	test_postgres_pause(w.server, false);
	cr_assert_eq(add(&c, "ada", "n", 0), BW_OK);
	cr_assert_eq(old_long(), 1, "what it asked for is done");
}
