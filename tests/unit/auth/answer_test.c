/* Under test: auth/answer.c and, behind it, all of auth against a real PostgreSQL. Who asks gets a
 * handle that says who he is and no more, or one and the same refusal. */
#include "world.h"

#define CHANNEL "0123456789abcdef"

static struct gateway  g;
static struct question q;

static void set_up(void)
{
	world_init(2, 64, OPS, MEM);
	test_postgres_sql(
		w.db,
		"SELECT auth.principal_create(n, c) FROM (VALUES ('reader', 'user'), ('off', "
		"'user'), "
		"('bare', 'user'), ('svc', 'service'), ('svc-off', 'service'), ('inner', 'group'), "
		"('outer', 'group'), ('outermost', 'group'), ('strangers', 'group')) AS v(n, c);"
		"SELECT auth.membership_add('inner', 'reader');"
		"SELECT auth.membership_add('outer', 'inner');"
		"SELECT auth.membership_add('outermost', 'outer');"
		"SELECT auth.membership_add('inner', 'svc');"
		"SELECT auth.principal_disable('svc-off', true)");
	set_password("admin", "admin's");
	set_password("reader", "reader's");
	set_password("off", "off's");
	test_postgres_sql(w.db, "SELECT auth.principal_disable('off', true)");
	wait_until_followed();
	gateway_init(&g, w.path, CHANNEL);
	cr_assert(g.open);
}

static void tear_down(void)
{
	gateway_done(&g);
	world_done();
}

TestSuite(answer, .init = set_up, .fini = tear_down);

static uint64_t id_of(const char *name)
{
	char *text =
		test_postgres_value(w.db, "SELECT id FROM auth.principal WHERE name = '%s'", name);
	uint64_t id = strtoull(text, NULL, 10);

	free(text);
	cr_assert_neq(id, 0);
	return id;
}

/* Exactly these, in any order; groups are those that begin with '+'. */
static void assert_principals(const char *const *names, unsigned n)
{
	cr_assert_eq(q.handle.n_principals, n);
	for (unsigned i = 0; i < n; i++) {
		bool     is_group = names[i][0] == '+', found = false, got_group;
		uint64_t id = id_of(names[i] + is_group);

		for (unsigned k = 0; k < n; k++)
			if (handle_principal(&q.handle, k, &got_group) == id &&
			    got_group == is_group)
				found = true;
		cr_assert(found, "%s", names[i]);
	}
}

Test(answer, users)
{
	uint64_t before = clock_boot_us(), first;

	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK);
	cr_assert_str_eq(q.user, "reader");
	cr_assert_eq(q.handle.kind, HANDLE_USER);
	cr_assert_eq(q.handle.user_id, id_of("reader"));
	assert_principals(
		(const char *const[]){ "reader", "+inner", "+outer", "+outermost", "+everyone" },
		5);
	cr_assert_arr_eq(q.handle.channel, CHANNEL, HANDLE_CHANNEL);
	cr_assert_geq(q.handle.issued_us, before);
	cr_assert_leq(q.handle.issued_us, clock_boot_us());
	first = q.handle.sequence;

	cr_assert_eq(basic(&g, &q, "admin", "admin's"), BW_OK);
	cr_assert_eq(q.handle.kind, HANDLE_ADMIN);
	cr_assert_eq(q.handle.user_id, 1);
	assert_principals((const char *const[]){ "admin", "+everyone" }, 2);
	cr_assert_eq(q.handle.sequence, first + 1);

	cr_assert_eq(anonymous(&g, &q), BW_OK);
	cr_assert_str_eq(q.user, "anonymous");
	cr_assert_eq(q.handle.kind, HANDLE_ANONYMOUS);
	assert_principals((const char *const[]){ "anonymous", "+everyone" }, 2);
	cr_assert_eq(q.handle.sequence, first + 2);
}

Test(answer, refused_logins_look_alike)
{
	static char long_name[300], long_password[1100];
	const struct {
		const char *user, *password;
	} rows[] = {
		{ "reader", "wrong" },
		{ "reader", "Reader's" },
		{ "reader", "" },
		{ "reader", long_password },
		{ "reader", "\xff" },
		{ "Reader", "reader's" },
		{ "nobody", "reader's" },
		{ "off", "off's" },
		{ "bare", "x" },
		{ "svc", "x" },
		{ "inner", "x" },
		{ "everyone", "x" },
		{ "anonymous", "x" },
		{ "anonymous", "" },
		{ "", "x" },
		{ "rea\nder", "reader's" },
		{ long_name, "x" },
		{ "reader' OR true --", "x" },
	};

	memset(long_name, 'n', sizeof(long_name) - 1);
	memset(long_password, 'p', sizeof(long_password) - 1);
	for (unsigned round = 0; round < 2; round++) /* the second from memory */
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			cr_assert_eq(basic(&g, &q, rows[i].user, rows[i].password), BW_ELOGIN,
			             "row %zu", i);
			cr_assert_str_eq(q.text, "login refused", "row %zu", i);
			cr_assert_eq(q.retry_after, 0, "row %zu", i);
		}
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK);
}

/* Waits for an answer or for the end of the connection. */
static int login_with(const char *user, const char *password, struct bw_str address,
                      const char *sudo)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = bytes_of(bw_str(user));
	m.password = bytes_of(bw_str(password));
	m.address = bytes_of(address);
	m.has_sudo = sudo != NULL;
	m.sudo = bytes_of(bw_str(sudo ? sudo : ""));
	send_question(&g, &q, WIRE_AUTHENTICATE_BASIC, &m.base);
	while (q.ended == 0)
		ev_run(asker_loop, EVRUN_ONCE);
	return q.err;
}

Test(answer, nobody_acts_as_another)
{
	static const char *const others[] = { "admin", "nobody", "", "rea\nder" };

	cr_assert_eq(login_with("reader", "reader's", BW_STR("\x7f\0\0\1"), "reader"), BW_OK);
	cr_assert_str_eq(q.user, "reader");
	for (unsigned round = 0; round < 2; round++) /* the second from memory */
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
			cr_assert_eq(login_with("reader", "reader's", BW_STR(""), others[i]),
			             BW_ELOGIN, "row %zu", i);
			cr_assert_str_eq(q.text, "login refused");
		}
}

Test(answer, wrong_size_of_an_address_costs_the_connection)
{
	cr_assert_eq(login_with("reader", "reader's", BW_STR("0123456789abcdef"), NULL), BW_OK);
	cr_assert_eq(login_with("reader", "reader's", BW_STR("12345"), NULL), BW_EGONE);
	cr_assert(g.closed);
}

Test(answer, services)
{
	static const struct {
		const char *bundle, *subservice;
		int         err;
	} rows[] = {
		{ "demo", NULL, BW_OK },        { "demo", "anything", BW_OK },
		{ "other", "only", BW_OK },     { "other", NULL, BW_ELOGIN }, /* no mapping */
		{ "unknown", NULL, BW_ELOGIN }, { "", NULL, BW_ELOGIN },
		{ "demo", "off", BW_ELOGIN },  /* disabled: SLING-7144 */
		{ "demo", "user", BW_ELOGIN }, /* a user is no service user */
		{ "demo", "none", BW_ELOGIN }, /* does not exist */
	};

	for (unsigned round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			cr_assert_eq(service(&g, &q, rows[i].bundle, rows[i].subservice),
			             rows[i].err, "row %zu", i);
			if (rows[i].err != BW_OK) {
				cr_assert_str_eq(q.text, "login refused");
				continue;
			}
			cr_assert_str_eq(q.user, "svc");
			cr_assert_eq(q.handle.kind, HANDLE_SERVICE);
			assert_principals((const char *const[]){ "svc", "+inner", "+outer",
			                                         "+outermost", "+everyone" },
			                  5);
		}
	test_postgres_sql(w.db, "SELECT auth.principal_disable('svc', true)");
	while (service(&g, &q, "demo", NULL) == BW_OK)
		;
	cr_assert_eq(q.err, BW_ELOGIN);
}

/* Rows that the functions would not have written: reading ends all the same. */
Test(answer, cycle_of_groups)
{
	test_postgres_sql(w.db, "INSERT INTO auth.membership (member, grp) "
	                        "SELECT a.id, b.id FROM auth.principal a, auth.principal b "
	                        "WHERE a.name = 'outermost' AND b.name = 'inner'");
	accounts_drop_all(w.accounts);
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK);
	assert_principals(
		(const char *const[]){ "reader", "+inner", "+outer", "+outermost", "+everyone" },
		5);
}

/* Neither groups nor everyone, and nobody but enabled service users. */
Test(answer, lists_of_principals)
{
	static const char *const refused[] = { "user", "off", "none" };

	test_postgres_sql(w.db, "SELECT auth.principal_create('svc-two', 'service')");
	while (service(&g, &q, "list", NULL) != BW_OK) /* until the name is news */
		cr_assert_eq(q.err, BW_ELOGIN);
	for (unsigned round = 0; round < 2; round++) {
		cr_assert_eq(service(&g, &q, "list", "anything"), BW_OK);
		cr_assert_str_eq(q.user, "svc");
		cr_assert_eq(q.handle.kind, HANDLE_SERVICE);
		assert_principals((const char *const[]){ "svc", "svc-two" }, 2);
		accounts_drop_all(w.accounts);
		for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
			cr_assert_eq(service(&g, &q, "list", refused[i]), BW_ELOGIN, "%s",
			             refused[i]);
			cr_assert_str_eq(q.text, "login refused");
		}
	}
	cr_assert_eq(service_count(&g, &q, "list", NULL, WIRE_HANDLES), BW_OK);
	cr_assert_eq(q.count, WIRE_HANDLES);
	test_postgres_sql(w.db, "SELECT auth.principal_disable('svc-two', true)");
	while (service(&g, &q, "list", NULL) == BW_OK)
		;
	cr_assert_eq(q.err, BW_ELOGIN);
}

Test(answer, too_many_groups)
{
	char sqlstate[6];

	test_postgres_sql(
		w.db,
		"SELECT auth.principal_create('g' || i, 'group') FROM generate_series(1, 508) i;"
		"SELECT auth.membership_add('g' || i, 'reader') FROM generate_series(1, 507) i");
	accounts_drop_all(w.accounts);
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK); /* with its own three, 510 */
	cr_assert_eq(q.handle.n_principals, 512);
	/* He himself is not let into one more; by way of a group of his he gets there. */
	cr_assert(test_postgres_fails(w.db, sqlstate,
	                              "SELECT auth.membership_add('g508', 'reader')"));
	cr_assert_str_eq(sqlstate, "54000");
	test_postgres_sql(w.db, "SELECT auth.membership_add('g508', 'inner')");
	accounts_drop_all(w.accounts);
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_ELOGIN);
	cr_assert_eq(basic(&g, &q, "admin", "admin's"), BW_OK);
}

Test(answer, several_handles)
{
	static const unsigned counts[] = { 1, 2, 31, WIRE_HANDLES };
	uint64_t              next = 0;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		cr_assert_eq(anonymous_count(&g, &q, counts[i]), BW_OK);
		cr_assert_eq(q.count, counts[i]);
		cr_assert(i == 0 || q.handle.sequence == next);
		cr_assert_eq(q.handle.kind, HANDLE_ANONYMOUS);
		cr_assert_eq(service_count(&g, &q, "demo", NULL, counts[i]), BW_OK);
		cr_assert_eq(q.count,
		             counts[i]); /* the first time after a look into the database */
		cr_assert_str_eq(q.user, "svc");
		next = q.last + 1;
	}
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK);
	cr_assert(q.count == 1 && q.handle.sequence == next);
}

Test(answer, wrong_number_of_handles_costs_the_connection)
{
	static const unsigned counts[] = { 0, WIRE_HANDLES + 1, UINT32_MAX };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		cr_assert_eq(anonymous_count(&g, &q, counts[i]), BW_EGONE);
		cr_assert(g.closed);
		gateway_done(&g);
		gateway_init(&g, w.path, CHANNEL);
		cr_assert_eq(service_count(&g, &q, "demo", NULL, counts[i]), BW_EGONE);
		cr_assert(g.closed);
		gateway_done(&g);
		gateway_init(&g, w.path, CHANNEL);
	}
	cr_assert_eq(anonymous(&g, &q), BW_OK);
}

Test(answer, fewer_handles_if_they_are_large)
{
	test_postgres_sql(
		w.db,
		"SELECT auth.principal_create('g' || i, 'group') FROM generate_series(1, 507) i;"
		"SELECT auth.membership_add('g' || i, 'svc') FROM generate_series(1, 46) i");
	accounts_drop_all(w.accounts);
	cr_assert_eq(service_count(&g, &q, "demo", NULL, WIRE_HANDLES), BW_OK);
	cr_assert(q.handle.n_principals == 51 && q.count == 32); /* just fits */
	test_postgres_sql(w.db, "SELECT auth.membership_add('g47', 'svc')");
	accounts_drop_all(w.accounts);
	cr_assert_eq(service_count(&g, &q, "demo", NULL, WIRE_HANDLES), BW_OK);
	cr_assert(q.handle.n_principals == 52 && q.count == 31);
	test_postgres_sql(w.db, "SELECT auth.membership_add('g' || i, 'svc') "
	                        "FROM generate_series(48, 507) i");
	accounts_drop_all(w.accounts);
	cr_assert_eq(service_count(&g, &q, "demo", NULL, WIRE_HANDLES), BW_OK);
	cr_assert(q.handle.n_principals == 512 && q.count == 3);
}

Test(answer, normalised)
{
	test_postgres_sql(w.db, "SELECT auth.principal_create(U&'Zo\\00eb', 'user')");
	set_password("Zo\xc3\xab", "caf\xc3\xa9");
	while (basic(&g, &q, "Zoe\xcc\x88", "cafe\xcc\x81") != BW_OK) /* until the name is news */
		cr_assert_eq(q.err, BW_ELOGIN);
	cr_assert_str_eq(q.user, "Zo\xc3\xab");
	cr_assert_eq(basic(&g, &q, "Zo\xc3\xab", "caf\xc3\xa9"), BW_OK);
}

Test(answer, many_at_once)
{
	static struct question many[300];

	for (unsigned i = 0; i < 300; i++)
		send_basic(&g, &many[i], i % 3 ? "reader" : "admin",
		           i % 3 == 2 ? "wrong"
		           : i % 3    ? "reader's"
		                      : "admin's");
	for (unsigned i = 0; i < 300; i++) {
		wait_end(&many[i]);
		cr_assert_eq(many[i].err, i % 3 == 2 ? BW_ELOGIN : BW_OK);
	}
}

Test(answer, gone_while_it_waits)
{
	struct gateway  other;
	struct question lost;

	gateway_init(&other, w.path, "fedcba9876543210");
	send_basic(&other, &lost, "reader", "reader's");
	wire_chan_flush(other.chan);
	gateway_done(&other);
	cr_assert(lost.ended == 1 && lost.err == BW_EGONE);
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK);
	while (logins_in_flight(w.logins) > 0)
		ev_run(w.loop, EVRUN_ONCE);
}

Test(answer, hello_without_a_channel)
{
	struct gateway other;

	gateway_init(&other, w.path, "");
	while (!other.closed)
		ev_run(w.loop, EVRUN_ONCE);
	gateway_done(&other);
	gateway_init(&other, w.path, "15 octets are 15");
	gateway_done(&other);
	cr_assert_eq(anonymous(&g, &q), BW_OK);
}

Test(answer, draining)
{
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK);
	answers_drain(w.answers);
	cr_assert_eq(basic(&g, &q, "reader", "reader's"), BW_OK);
	cr_assert_eq(basic(&g, &q, "admin", "admin's"), BW_EBUSY);
	cr_assert_eq(q.retry_after, 1);
}
