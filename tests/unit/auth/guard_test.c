/* Under test: auth/throttle.c, lock.c, answer_act.c and migrations/0016_login.sql together with a real
 * PostgreSQL: delays outlive the process, places are learned, who may act as whom is believed at once. */
#define THROTTLE_LIMITS \
	{ \
		5, 100, 900, 60, 900 \
	}
#include "world.h"

#define HOME      ((struct bw_str)BW_STR("\xc0\x00\x02\x01"))
#define ELSEWHERE ((struct bw_str)BW_STR("\xcb\x00\x71\x01"))

static struct gateway  g;
static struct question q;

static void set_up(void)
{
	world_init(2, 64, OPS, MEM);
	test_postgres_sql(w.db, "SELECT auth.principal_create(n, 'user') FROM unnest("
	                        "ARRAY['ada', 'bob', 'deputy', 'boss']) n;"
	                        "SELECT auth.principal_create('svc', 'service');"
	                        "SELECT auth.principal_create('team', 'group');"
	                        "SELECT auth.principal_create('administrators', 'group');"
	                        "SELECT auth.membership_add('administrators', 'boss')");
	set_password("ada", "ada's");
	set_password("bob", "bob's");
	set_password("deputy", "deputy's");
	set_password("boss", "boss's");
	wait_until_followed();
	gateway_init(&g, w.path, "0123456789abcdef");
}

static void tear_down(void)
{
	gateway_done(&g);
	world_done();
}

TestSuite(guard, .init = set_up, .fini = tear_down);

static int from(struct bw_str place, const char *user, const char *password)
{
	return login_from(&g, &q, place, user, password, NULL);
}

static void fail(struct bw_str place, const char *user, unsigned n)
{
	char password[16];

	for (unsigned i = 0; i < n; i++) {
		snprintf(password, sizeof(password), "guess %u", i);
		cr_assert_eq(from(place, user, password), BW_ELOGIN);
		cr_assert_str_eq(q.text, "login refused");
	}
}

/* Until that returns what is wanted: what PostgreSQL was told takes effect within 300 ms. */
#define eventually(question, wanted) \
	while ((question) != (wanted)) \
	ev_run(w.loop, EVRUN_NOWAIT)

Test(guard, the_sixth_is_told_to_wait)
{
	static const char *const users[] = { "ada", "nobody", "svc", "team", "anonymous" };

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++) {
		fail(ELSEWHERE, users[i], 5);
		cr_assert_eq(from(HOME, users[i], "ada's"), BW_ETHROTTLED, "%s", users[i]);
		cr_assert(q.retry_after > 30 && q.retry_after <= 60);
		cr_assert_str_eq(q.text, "too many failed logins");
	}
}

static void on_count(void *arg, int err, const struct pg_rows *rows)
{
	cr_assert_eq(err, BW_OK);
	*(int64_t *)arg = pg_int(rows, 0, 0);
}

static int64_t number(const char *sql)
{
	int64_t n = -1;

	cr_assert_eq(pg_query_text(accounts_pg(w.accounts), sql, 0, NULL, on_count, &n), BW_OK);
	while (n < 0)
		ev_run(w.loop, EVRUN_ONCE);
	return n;
}

/* As after a restart: what this process counted is forgotten, what it wrote is read. */
static void restart(void)
{
	static const struct throttle_limits limits = THROTTLE_LIMITS;

	gateway_done(&g);
	answers_free(w.answers);
	logins_free(w.logins);
	throttle_free(w.throttle);
	remember_free(w.remember);
	w.remember = remember_new(300);
	w.throttle = throttle_new(&limits, locks_keep, &w.locks);
	w.locks.throttle = w.throttle;
	w.logins = logins_new(w.accounts, w.remember, w.throttle, w.pool);
	locks_load(&w.locks);
	w.answers = answers_new(w.loop, w.listener, (uid_t)-1,
	                        &(struct answer_parts){ w.accounts, w.logins, w.remember, w.mapping,
	                                                &key, &configured, w.sessions, w.bearers,
	                                                w.throttle, w.pool, false, NULL });
	gateway_init(&g, w.path, "0123456789abcdef");
	number("SELECT 1"); /* behind the delays */
}

Test(guard, a_restart_ends_no_delay)
{
	fail(ELSEWHERE, "ada", 5);
	fail(ELSEWHERE, "nobody", 5);
	fail(ELSEWHERE, "bob", 4);
	cr_assert_eq(number("SELECT count(*) FROM auth.login_lock WHERE failures = 5"), 2,
	             "and a failure without a delay writes nothing");
	restart();
	cr_assert_eq(from(ELSEWHERE, "ada", "ada's"), BW_ETHROTTLED);
	cr_assert_eq(from(ELSEWHERE, "nobody", "x"), BW_ETHROTTLED);
	cr_assert_eq(from(ELSEWHERE, "bob", "bob's"), BW_OK);
	test_postgres_sql(w.db, "UPDATE auth.login_lock SET until = now() - interval '1 minute'");
	restart();
	cr_assert_eq(from(ELSEWHERE, "ada", "x"), BW_ELOGIN, "one is tested");
	cr_assert_eq(from(ELSEWHERE, "ada", "ada's"), BW_ETHROTTLED);
	cr_assert_gt(q.retry_after, 90, "and doubles the wait");
}

Test(guard, success_ends_what_was_kept)
{
	fail(ELSEWHERE, "ada", 5);
	cr_assert_eq(number("SELECT count(*) FROM auth.login_lock"), 1);
	test_postgres_sql(w.db, "UPDATE auth.login_lock SET until = now()");
	restart();
	cr_assert_eq(from(ELSEWHERE, "ada", "ada's"), BW_OK);
	cr_assert_eq(number("SELECT count(*) FROM auth.login_lock"), 0);
}

Test(guard, a_place_is_learned)
{
	cr_assert_eq(from(HOME, "ada", "ada's"), BW_OK);
	while (number("SELECT count(*) FROM auth.login_place WHERE place = '\\xc0000201'") != 1)
		;
	restart(); /* nothing is remembered in memory */
	fail(ELSEWHERE, "ada", 5);
	cr_assert_eq(from(ELSEWHERE, "ada", "ada's"), BW_ETHROTTLED);
	eventually(from(HOME, "ada", "ada's"), BW_OK);
	cr_assert_eq(from(ELSEWHERE, "ada", "wrong"), BW_ETHROTTLED);
	cr_assert_eq(from(ELSEWHERE, "ada", "ada's"), BW_OK, "remembered credentials pass");
}

Test(guard, of_places_the_newest_eight_are_kept)
{
	struct bw_str place;
	char          octets[4] = "\xc0\x00\x02\x00";

	place = (struct bw_str){ octets, 4 };
	for (unsigned i = 0; i < 12; i++) {
		octets[3] = (char)i;
		restart();
		cr_assert_eq(from(place, "ada", "ada's"), BW_OK);
	}
	cr_assert_eq(number("SELECT count(*) FROM auth.login_place"), 8);
	cr_assert_eq(number("SELECT count(*) FROM auth.login_place WHERE place = '\\xc0000200'"),
	             0);
	test_postgres_sql(w.db, "SELECT auth.principal_delete('ada')");
	cr_assert_eq(number("SELECT count(*) FROM auth.login_place"), 0);
}

/* ---- acting as another ---- */

static int as(const char *user, const char *password, const char *sudo)
{
	return login_from(&g, &q, HOME, user, password, sudo);
}

Test(guard, acts_as_whom_the_list_allows)
{
	cr_assert_eq(as("ada", "ada's", "bob"), BW_ELOGIN);
	cr_assert_str_eq(q.text, "login refused");
	test_postgres_sql(w.db, "SELECT auth.impersonator_add('bob', 'ada')");
	eventually(as("ada", "ada's", "bob"), BW_OK);
	cr_assert_str_eq(q.user, "bob");
	cr_assert_str_eq(q.impersonator, "ada");
	cr_assert_eq(q.handle.user_id,
	             (uint64_t)number("SELECT id FROM auth.principal WHERE name = 'bob'"));
	cr_assert_eq(as("bob", "bob's", "ada"), BW_ELOGIN, "not the other way round");
	cr_assert_eq(as("ada", "bob's", "bob"), BW_ELOGIN, "with his own password");
	test_postgres_sql(w.db, "SELECT auth.impersonator_remove('bob', 'ada')");
	eventually(as("ada", "ada's", "bob"), BW_ELOGIN);
}

Test(guard, acts_as_himself)
{
	cr_assert_eq(as("ada", "ada's", "ada"), BW_OK);
	cr_assert_str_eq(q.user, "ada");
	cr_assert_str_eq(q.impersonator, "", "he is nobody else");
}

Test(guard, administrators_act_as_anyone_and_nobody_as_them)
{
	test_postgres_sql(w.db, "SELECT auth.impersonator_add('boss', 'ada');"
	                        "SELECT auth.impersonator_add('admin', 'ada')");
	cr_assert_eq(as("boss", "boss's", "bob"), BW_OK);
	cr_assert_str_eq(q.user, "bob");
	cr_assert_eq(as("deputy", "deputy's", "bob"), BW_OK, "named in the settings");
	eventually(number("SELECT count(*) FROM auth.impersonator"), 2);
	cr_assert_eq(as("deputy", "deputy's", "boss"), BW_ELOGIN);
	cr_assert_eq(as("ada", "ada's", "boss"), BW_ELOGIN);
	cr_assert_eq(as("ada", "ada's", "admin"), BW_ELOGIN);
	cr_assert_eq(as("boss", "boss's", "admin"), BW_OK);
	cr_assert_eq(as("boss", "boss's", "svc"), BW_ELOGIN);
	cr_assert_eq(as("boss", "boss's", "team"), BW_ELOGIN);
	cr_assert_eq(as("boss", "boss's", "anonymous"), BW_ELOGIN);
	cr_assert_eq(as("boss", "boss's", "nobody"), BW_ELOGIN);
	cr_assert_eq(as("boss", "boss's", "bob\n"), BW_ELOGIN);
}

/* A group cannot be put into the list; put there behind the function's back it gives nobody the right. */
Test(guard, groups_give_no_right)
{
	test_postgres_sql(w.db, "SELECT auth.membership_add('team', 'ada');"
	                        "INSERT INTO auth.impersonator SELECT t.id, g.id"
	                        " FROM auth.principal t, auth.principal g"
	                        " WHERE t.name = 'bob' AND g.name = 'team'");
	cr_assert_eq(as("ada", "ada's", "bob"), BW_ELOGIN);
}

Test(guard, a_disabled_one_is_not_acted_as)
{
	cr_assert_eq(as("boss", "boss's", "bob"), BW_OK);
	test_postgres_sql(w.db, "SELECT auth.principal_disable('bob', true)");
	eventually(as("boss", "boss's", "bob"), BW_ELOGIN);
}
