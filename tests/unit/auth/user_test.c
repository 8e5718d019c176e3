/* Under test: auth/answer_user.c with the functions of migrations/0021_account.sql: who may change what
 * is said by the handle and by the account that it names, and by nothing else. A handle that is forged,
 * altered, foreign, expired, a service user's or a plain user's gets nothing. */
#define THROTTLE_LIMITS \
	{ \
		5, 100, 900, 60, 900 \
	}
#include "world.h"
#include <boardwalk/account.h>

#define CHANNEL "0123456789abcdef"

static struct gateway g;

/* One question about accounts, and how it ended. */
struct ask {
	struct wire_call call;
	unsigned         ended;
	int              err;
	bool             changed;
	char             text[4096];
};

static void on_ask_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct ask         *a = (struct ask *)call;
	struct wire_message m;

	a->ended++;
	a->err = err;
	if (f == NULL)
		return;
	cr_assert_eq(wire_message_get(f, &m), BW_OK);
	if (err != BW_OK && m.u->failed.text.len > 0)
		memcpy(a->text, m.u->failed.text.data, m.u->failed.text.len);
	else if (err == BW_OK && f->id == WIRE_ACCOUNT_CHANGED)
		a->changed = m.u->account_changed.changed;
	else if (err == BW_OK)
		memcpy(a->text, m.u->account_text.json.data, m.u->account_text.json.len);
}

static int send_ask(struct ask *a, enum wire_id id, const ProtobufCMessage *m)
{
	memset(a, 0, sizeof(*a));
	a->call.on_end = on_ask_end;
	cr_assert_eq(wire_call(g.chan, &a->call, id, 0xabc, m), BW_OK);
	while (a->ended == 0)
		ev_run(asker_loop, EVRUN_ONCE);
	return a->err;
}

struct authority {
	uint8_t bytes[HANDLE_MAX];
	size_t  n;
};

/* As auth mints them, for whom it would not mint one as well. */
static struct authority mint(enum handle_kind kind, uint64_t id, const char *channel,
                             int64_t left_us)
{
	uint64_t now_us = clock_boot_us(); /* the life of a handle is checked to the microsecond */
	uint64_t principals[] = { id << 1, ACCOUNT_ID_EVERYONE << 1 | 1 };
	struct handle    h = { .kind = kind,
		               .key_id = key.id,
		               .sequence = 1,
		               .user_id = id,
		               .issued_us = now_us,
		               .expires_us = now_us + (uint64_t)left_us,
		               .n_principals = 2 };
	struct authority a;

	memcpy(h.channel, channel, HANDLE_CHANNEL);
	a.n = handle_put(&h, principals, &key, a.bytes);
	return a;
}

static uint64_t id_of(const char *name)
{
	char    *text = test_postgres_value(w.db, "SELECT auth.principal_id('%s')", name);
	uint64_t id = strtoull(text, NULL, 10);

	free(text);
	return id;
}

static struct authority of(const char *name)
{
	uint64_t id = id_of(name);

	return mint(id == 1 ? HANDLE_ADMIN : HANDLE_USER, id, CHANNEL, HANDLE_LIFE_US);
}

static int change(const struct authority *who, enum bw_account_what what, const char *name,
                  const char *password, const char *old, const char *members, struct ask *a)
{
	Bw__Wire__AccountChange m = BW__WIRE__ACCOUNT_CHANGE__INIT;

	m.handle = (ProtobufCBinaryData){ who->n, (uint8_t *)who->bytes };
	m.what = what;
	m.name = bytes_of(bw_str(name));
	m.has_password = password != NULL;
	m.password = bytes_of(bw_str(password));
	m.has_old = old != NULL;
	m.old = bytes_of(bw_str(old));
	m.has_members = members != NULL;
	m.members = bytes_of(bw_str(members));
	m.address = bytes_of(bw_str("\x7f\1\1\1"));
	return send_ask(a, WIRE_ACCOUNT_CHANGE, &m.base);
}

static int look(const struct authority *who, enum bw_account_list which, const char *name,
                const char *after, struct ask *a)
{
	Bw__Wire__AccountRead m = BW__WIRE__ACCOUNT_READ__INIT;

	m.handle = (ProtobufCBinaryData){ who->n, (uint8_t *)who->bytes };
	m.what = which;
	m.has_name = name != NULL;
	m.name = bytes_of(bw_str(name));
	m.has_after = after != NULL;
	m.after = bytes_of(bw_str(after));
	m.max = 100;
	return send_ask(a, WIRE_ACCOUNT_READ, &m.base);
}

static void set_up(void)
{
	world_init(1, 8, OPS, MEM);
	test_postgres_sql(w.db, "SELECT auth.principal_create('ada', 'user');"
	                        "SELECT auth.principal_create('boss', 'user');"
	                        "SELECT auth.principal_create('administrators', 'group');"
	                        "SELECT auth.principal_create('staff', 'group');"
	                        "SELECT auth.principal_create('svc', 'service');"
	                        "SELECT auth.membership_add('administrators', 'boss')");
	set_password("ada", "secret");
	set_password("boss", "chief");
	wait_until_followed();
	gateway_init(&g, w.path, CHANNEL);
}

static void tear_down(void)
{
	gateway_done(&g);
	world_done();
}

TestSuite(user, .init = set_up, .fini = tear_down);

static void assert_nothing_changed(void)
{
	char *n = test_postgres_value(w.db, "SELECT count(*) FROM auth.principal WHERE id >= 100");

	cr_assert_str_eq(n, "5");
	free(n);
}

/* ---- who gets nothing ---- */

Test(user, a_plain_user_gets_nothing)
{
	struct authority ada = of("ada");
	struct ask       a;
	static const struct {
		enum bw_account_what what;
		const char          *name, *password, *old, *members;
	} rows[] = {
		{ BW_ACCOUNT_CREATE_USER, "eve", "x", NULL, NULL },
		{ BW_ACCOUNT_CREATE_GROUP, "eves", NULL, NULL, NULL },
		{ BW_ACCOUNT_PASSWORD, "boss", "x", NULL, NULL },
		{ BW_ACCOUNT_PASSWORD, "boss", "x", "chief", NULL },
		{ BW_ACCOUNT_PASSWORD, "ada", "x", NULL, NULL },
		{ BW_ACCOUNT_DISABLE, "boss", NULL, NULL, NULL },
		{ BW_ACCOUNT_ENABLE, "ada", NULL, NULL, NULL },
		{ BW_ACCOUNT_DELETE_USER, "ada", NULL, NULL, NULL },
		{ BW_ACCOUNT_DELETE_USER, "nobody", NULL, NULL, NULL },
		{ BW_ACCOUNT_DELETE_GROUP, "staff", NULL, NULL, NULL },
		{ BW_ACCOUNT_MEMBERS, "administrators", NULL, NULL, "+ada\n" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(change(&ada, rows[i].what, rows[i].name, rows[i].password, rows[i].old,
		                    rows[i].members, &a),
		             BW_EFORBIDDEN, "row %zu: %d", i, a.err);
	cr_assert_eq(look(&ada, BW_ACCOUNT_USERS, "boss", NULL, &a), BW_ENOTFOUND);
	cr_assert_eq(look(&ada, BW_ACCOUNT_USERS, NULL, NULL, &a), BW_ENOTFOUND);
	cr_assert_eq(look(&ada, BW_ACCOUNT_GROUPS, "staff", NULL, &a), BW_ENOTFOUND);
	assert_nothing_changed();
}

Test(user, handles_that_are_none)
{
	struct authority foreign = mint(HANDLE_ADMIN, 1, "another channel!", HANDLE_LIFE_US);
	struct authority expired = mint(HANDLE_ADMIN, 1, CHANNEL, 0);
	struct authority service = mint(HANDLE_SERVICE, 1, CHANNEL, HANDLE_LIFE_US);
	struct authority guest = mint(HANDLE_ANONYMOUS, 2, CHANNEL, HANDLE_LIFE_US);
	struct authority gone = mint(HANDLE_USER, 4711, CHANNEL, HANDLE_LIFE_US);
	struct ask       a;

	cr_assert_eq(change(&foreign, BW_ACCOUNT_CREATE_USER, "eve", "x", NULL, NULL, &a),
	             BW_EFOREIGN);
	cr_assert_eq(change(&expired, BW_ACCOUNT_CREATE_USER, "eve", "x", NULL, NULL, &a),
	             BW_EEXPIRED);
	cr_assert_eq(change(&service, BW_ACCOUNT_CREATE_USER, "eve", "x", NULL, NULL, &a),
	             BW_EFORBIDDEN);
	cr_assert_eq(change(&guest, BW_ACCOUNT_CREATE_USER, "eve", "x", NULL, NULL, &a),
	             BW_EFORBIDDEN);
	cr_assert_eq(change(&gone, BW_ACCOUNT_CREATE_USER, "eve", "x", NULL, NULL, &a),
	             BW_EFORBIDDEN);
	cr_assert_eq(look(&foreign, BW_ACCOUNT_USERS, NULL, NULL, &a), BW_EFOREIGN);
	cr_assert_eq(look(&expired, BW_ACCOUNT_USERS, NULL, NULL, &a), BW_EEXPIRED);
	cr_assert_eq(look(&service, BW_ACCOUNT_USERS, NULL, NULL, &a), BW_EFORBIDDEN);
	cr_assert_eq(look(&guest, BW_ACCOUNT_USERS, NULL, NULL, &a), BW_ENOTFOUND);
	assert_nothing_changed();
}

/* An administrator who is none any more, and one who is disabled, have handles for a minute. */
Test(user, what_the_account_is_now_counts)
{
	struct authority boss = of("boss");
	struct ask       a;

	cr_assert_eq(change(&boss, BW_ACCOUNT_CREATE_USER, "bob", NULL, NULL, NULL, &a), BW_OK);
	test_postgres_sql(w.db, "SELECT auth.principal_disable('boss', true)");
	cr_assert_eq(change(&boss, BW_ACCOUNT_CREATE_USER, "eve", NULL, NULL, NULL, &a),
	             BW_EFORBIDDEN);
	cr_assert_eq(look(&boss, BW_ACCOUNT_USERS, "boss", NULL, &a), BW_ENOTFOUND);
	test_postgres_sql(w.db, "SELECT auth.principal_disable('boss', false);"
	                        "SELECT auth.membership_remove('administrators', 'boss')");
	cr_assert_eq(change(&boss, BW_ACCOUNT_CREATE_USER, "eve", NULL, NULL, NULL, &a),
	             BW_EFORBIDDEN);
}

Test(user, a_forged_handle_ends_the_connection)
{
	struct authority admin = of("admin");
	struct ask       a;

	admin.bytes[40] ^= 1;
	change(&admin, BW_ACCOUNT_CREATE_USER, "eve", "x", NULL, NULL, &a);
	cr_assert_eq(a.err, BW_EGONE);
	cr_assert(g.closed);
	assert_nothing_changed();
}

Test(user, nonsense_ends_the_connection)
{
	struct authority admin = of("admin");
	struct ask       a;

	change(&admin, 9, "eve", NULL, NULL, NULL, &a);
	cr_assert_eq(a.err, BW_EGONE);
	cr_assert(g.closed);
}

/* ---- one's own password ---- */

Test(user, own_password)
{
	struct authority ada = of("ada");
	struct question  q;
	struct ask       a;

	cr_assert_eq(change(&ada, BW_ACCOUNT_PASSWORD, "ada", "new", "wrong", NULL, &a), BW_ELOGIN);
	cr_assert_eq(basic(&g, &q, "ada", "secret"), BW_OK);
	cr_assert_eq(change(&ada, BW_ACCOUNT_PASSWORD, "ada", "new", "secret", NULL, &a), BW_OK,
	             "%s", a.text);
	cr_assert_eq(basic(&g, &q, "ada", "new"), BW_OK);
	cr_assert_eq(basic(&g, &q, "ada", "secret"), BW_ELOGIN);
	cr_assert_eq(look(&ada, BW_ACCOUNT_USERS, "ada", NULL, &a), BW_OK);
	cr_assert_not_null(strstr(a.text, "\"disabled\" : false"), "%s", a.text);
}

/* Guessing it here is guessing it: the delays of logins hold. */
Test(user, old_passwords_are_throttled)
{
	struct authority ada = of("ada");
	struct question  q;
	struct ask       a;
	int              n = 0;

	while (n < 20 &&
	       change(&ada, BW_ACCOUNT_PASSWORD, "ada", "new", "wrong", NULL, &a) == BW_ELOGIN)
		n++;
	cr_assert_eq(a.err, BW_ETHROTTLED, "%d after %d", a.err, n);
	cr_assert_eq(change(&ada, BW_ACCOUNT_PASSWORD, "ada", "new", "secret", NULL, &a),
	             BW_ETHROTTLED);
	cr_assert_eq(basic(&g, &q, "ada", "new"), BW_ETHROTTLED, "and so do logins");
}

/* ---- administrators ---- */

Test(user, administrators)
{
	struct authority boss = of("boss");
	struct question  q;
	struct ask       a;

	cr_assert_eq(change(&boss, BW_ACCOUNT_CREATE_USER, "bob", "hello", NULL, NULL, &a), BW_OK,
	             "%s", a.text);
	cr_assert_eq(basic(&g, &q, "bob", "hello"), BW_OK);
	cr_assert_eq(change(&boss, BW_ACCOUNT_CREATE_GROUP, "team", NULL, NULL, "+bob\n+ada\n", &a),
	             BW_OK);
	cr_assert_eq(change(&boss, BW_ACCOUNT_MEMBERS, "team", NULL, NULL, "-ada\n+staff\n", &a),
	             BW_OK);
	cr_assert(a.changed);
	cr_assert_eq(change(&boss, BW_ACCOUNT_MEMBERS, "team", NULL, NULL, "-ada\n+staff\n", &a),
	             BW_OK);
	cr_assert_not(a.changed);
	cr_assert_eq(look(&boss, BW_ACCOUNT_GROUPS, "team", NULL, &a), BW_OK);
	cr_assert_not_null(strstr(a.text,
	                          "\"declaredMembers\" : [\"/system/userManager/user/bob\", "
	                          "\"/system/userManager/group/staff\"]"),
	                   "%s", a.text);
	cr_assert_eq(change(&boss, BW_ACCOUNT_PASSWORD, "bob", "other", NULL, NULL, &a), BW_OK);
	cr_assert_eq(basic(&g, &q, "bob", "other"), BW_OK);
	cr_assert_eq(change(&boss, BW_ACCOUNT_DISABLE, "bob", NULL, NULL, NULL, &a), BW_OK);
	cr_assert_eq(basic(&g, &q, "bob", "other"), BW_ELOGIN);
	cr_assert_eq(change(&boss, BW_ACCOUNT_ENABLE, "bob", NULL, NULL, NULL, &a), BW_OK);
	cr_assert_eq(basic(&g, &q, "bob", "other"), BW_OK);
	cr_assert_eq(change(&boss, BW_ACCOUNT_DELETE_USER, "bob", NULL, NULL, NULL, &a), BW_OK);
	cr_assert_eq(basic(&g, &q, "bob", "other"), BW_ELOGIN);
	cr_assert_eq(change(&boss, BW_ACCOUNT_DELETE_GROUP, "team", NULL, NULL, NULL, &a), BW_OK);
	assert_nothing_changed();
}

Test(user, rules)
{
	struct authority boss = of("boss");
	struct ask       a;
	static const struct {
		enum bw_account_what what;
		const char          *name, *password, *members;
		int                  err;
	} rows[] = {
		{ BW_ACCOUNT_CREATE_USER, "ada", NULL, NULL, BW_EEXIST },
		{ BW_ACCOUNT_CREATE_GROUP, "ada", NULL, NULL, BW_EEXIST },
		{ BW_ACCOUNT_CREATE_USER, "", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_CREATE_USER, "a:b", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_CREATE_USER, "a\tb", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_CREATE_USER, "bob", "", NULL, BW_ECONTENT },
		{ BW_ACCOUNT_PASSWORD, "ada", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_PASSWORD, "ada", "\xff", NULL, BW_ECONTENT },
		{ BW_ACCOUNT_PASSWORD, "anonymous", "x", NULL, BW_ECONTENT },
		{ BW_ACCOUNT_PASSWORD, "nobody", "x", NULL, BW_ENOTFOUND },
		{ BW_ACCOUNT_PASSWORD, "svc", "x", NULL, BW_ENOTFOUND },
		{ BW_ACCOUNT_PASSWORD, "staff", "x", NULL, BW_ENOTFOUND },
		{ BW_ACCOUNT_DISABLE, "admin", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_DISABLE, "anonymous", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_DELETE_USER, "admin", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_DELETE_USER, "anonymous", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_DELETE_USER, "staff", NULL, NULL, BW_ENOTFOUND },
		{ BW_ACCOUNT_DELETE_USER, "svc", NULL, NULL, BW_ENOTFOUND },
		{ BW_ACCOUNT_DELETE_GROUP, "everyone", NULL, NULL, BW_ECONTENT },
		{ BW_ACCOUNT_DELETE_GROUP, "ada", NULL, NULL, BW_ENOTFOUND },
		{ BW_ACCOUNT_MEMBERS, "everyone", NULL, "+ada\n", BW_ECONTENT },
		{ BW_ACCOUNT_MEMBERS, "staff", NULL, "+anonymous\n", BW_ECONTENT },
		{ BW_ACCOUNT_MEMBERS, "staff", NULL, "+everyone\n", BW_ECONTENT },
		{ BW_ACCOUNT_MEMBERS, "staff", NULL, "+staff\n", BW_ECYCLE },
		{ BW_ACCOUNT_MEMBERS, "staff", NULL, "+ada\n+nobody\n", BW_ENOTFOUND },
		{ BW_ACCOUNT_MEMBERS, "staff", NULL, "ada\n", BW_ECONTENT },
		{ BW_ACCOUNT_MEMBERS, "staff", NULL, "+ada", BW_ECONTENT },
		{ BW_ACCOUNT_MEMBERS, "ada", NULL, "+boss\n", BW_ENOTFOUND },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(change(&boss, rows[i].what, rows[i].name, rows[i].password, NULL,
		                    rows[i].members, &a),
		             rows[i].err, "row %zu: %d %s", i, a.err, a.text);
	/* All of a change or nothing: ada was named before nobody. */
	cr_assert_eq(look(&boss, BW_ACCOUNT_GROUPS, "staff", NULL, &a), BW_OK);
	cr_assert_not_null(strstr(a.text, "\"members\" : []"), "%s", a.text);
	cr_assert_eq(look(&boss, BW_ACCOUNT_USERS, "staff", NULL, &a), BW_ENOTFOUND);
	cr_assert_eq(look(&boss, BW_ACCOUNT_GROUPS, "ada", NULL, &a), BW_ENOTFOUND);
	assert_nothing_changed();
}

Test(user, lists_have_pages)
{
	struct authority boss = of("boss");
	struct ask       a;

	cr_assert_eq(look(&boss, BW_ACCOUNT_USERS, NULL, "anonymous", &a), BW_OK, "%d %s", a.err,
	             a.text);
	cr_assert_null(strstr(a.text, "\"ada\""), "%s", a.text);
	cr_assert_not_null(strstr(a.text, "\"boss\""), "%s", a.text);
	cr_assert_null(strstr(a.text, "argon2"));
	cr_assert_eq(look(&boss, BW_ACCOUNT_GROUPS, NULL, NULL, &a), BW_OK);
	cr_assert_not_null(strstr(a.text, "\"staff\""), "%s", a.text);
	cr_assert_eq(look(&boss, BW_ACCOUNT_USERS, NULL, "zzz", &a), BW_OK);
	cr_assert_str_eq(a.text, "{}");
}

/* ---- registering oneself ---- */

/* With the keys of a rotation: handles of the former one are good to their end. */
Test(user, self_registration)
{
	const struct handle_keys rotated = { .keys = { { 4, { 7 } }, key }, .n = 2 };
	struct authority         guest = mint(HANDLE_ANONYMOUS, 2, CHANNEL, HANDLE_LIFE_US);
	struct question          q;
	struct ask               a;

	answers_free(w.answers);
	gateway_done(&g);
	w.answers = answers_new(w.loop, w.listener, (uid_t)-1,
	                        &(struct answer_parts){ w.accounts, w.logins, w.remember, w.mapping,
	                                                &key, &configured, w.sessions, w.bearers,
	                                                w.throttle, w.pool, true, &rotated });
	gateway_init(&g, w.path, CHANNEL);
	cr_assert_eq(change(&guest, BW_ACCOUNT_CREATE_USER, "eve", "mine", NULL, NULL, &a), BW_OK,
	             "%s", a.text);
	cr_assert_eq(basic(&g, &q, "eve", "mine"), BW_OK);
	cr_assert_eq(q.handle.n_principals, 2, "himself and everyone");
	cr_assert_eq(change(&guest, BW_ACCOUNT_CREATE_GROUP, "eves", NULL, NULL, NULL, &a),
	             BW_EFORBIDDEN);
	cr_assert_eq(change(&guest, BW_ACCOUNT_PASSWORD, "ada", "x", NULL, NULL, &a),
	             BW_EFORBIDDEN);
	cr_assert_eq(change(&guest, BW_ACCOUNT_CREATE_USER, "ada", "x", NULL, NULL, &a), BW_EEXIST);
}
