/* Under test: auth/session.c and, before and behind it, all of auth against a real PostgreSQL. A session
 * token stands for its user until he logs out, his sessions are ended, or its time is over; it does not
 * matter which process made it, or what is in memory. */
#include "world.h"

static struct gateway  g;
static struct question q;
static char            token[SESSION_TOKEN_MAX];
static unsigned        token_s;
static bool            has_token, was_live;

static void set_up(void)
{
	world_init(2, 64, OPS, MEM);
	test_postgres_sql(w.db,
	                  "SELECT auth.principal_create(n, c) FROM (VALUES "
	                  "('ada', 'user'), ('a@b@c', 'user'), ('svc', 'service')) AS v(n, c)");
	set_password("ada", "pw:1");
	set_password("a@b@c", "pw:2");
	wait_until_followed();
	while (!sessions_are_up(w.sessions))
		ev_run(w.loop, EVRUN_ONCE);
	gateway_init(&g, w.path, "0123456789abcdef");
	cr_assert(g.open);
}

static void tear_down(void)
{
	gateway_done(&g);
	world_done();
}

TestSuite(session, .init = set_up, .fini = tear_down);

/* ---- asking ---- */

static void on_answer(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct question    *of = (struct question *)call;
	struct wire_message m;

	of->ended++;
	of->err = err;
	has_token = false;
	if (err != BW_OK)
		return;
	cr_assert_eq(wire_message_get(f, &m), BW_OK);
	if (f->id == WIRE_SESSION_ENDED) {
		was_live = m.u->session_ended.was_live;
		return;
	}
	memcpy(of->user, m.u->resolver_handle.user.data, m.u->resolver_handle.user.len);
	has_token = m.u->resolver_handle.has_token;
	if (has_token) {
		cr_assert_lt(m.u->resolver_handle.token.len, sizeof(token));
		memset(token, 0, sizeof(token));
		memcpy(token, m.u->resolver_handle.token.data, m.u->resolver_handle.token.len);
		token_s = m.u->resolver_handle.token_s;
	}
}

static int ask(enum wire_id id, const ProtobufCMessage *m)
{
	memset(&q, 0, sizeof(q));
	q.call.on_end = on_answer;
	cr_assert_eq(wire_call(g.chan, &q.call, id, 0xabc, m), BW_OK);
	wait_end(&q);
	return q.err;
}

static void log_in(const char *user, const char *password)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = bytes_of(bw_str(user));
	m.password = bytes_of(bw_str(password));
	m.want_session = true;
	cr_assert_eq(ask(WIRE_AUTHENTICATE_BASIC, &m.base), BW_OK);
	cr_assert(has_token);
}

static int use(const char *text)
{
	Bw__Wire__AuthenticateToken m = BW__WIRE__AUTHENTICATE_TOKEN__INIT;

	m.token = bytes_of(bw_str(text));
	return ask(WIRE_AUTHENTICATE_TOKEN, &m.base);
}

static bool log_out(const char *text)
{
	Bw__Wire__SessionEnd m = BW__WIRE__SESSION_END__INIT;

	m.token = bytes_of(bw_str(text));
	cr_assert_eq(ask(WIRE_SESSION_END, &m.base), BW_OK);
	return was_live;
}

/* Until the journal has brought it. */
static void wait_until_refused(const char *text)
{
	while (use(text) == BW_OK)
		ev_run(w.loop, EVRUN_ONCE);
	cr_assert_eq(q.err, BW_ELOGIN);
}

/* A token of ada's session as any node would have made it. */
static char *make(int64_t issued_ago_s, int64_t left_s, int64_t end_s)
{
	struct session_claims c;
	int64_t               now = (int64_t)(clock_real_us() / 1000000u);
	char *id = test_postgres_value(w.db, "SELECT id FROM auth.principal WHERE name = 'ada'");
	char *version = test_postgres_value(
		w.db, "SELECT session_version FROM auth.principal WHERE name = 'ada'");

	session_claims_begin(&c, BW_STR("ada"), strtoull(id, NULL, 10), strtoull(version, NULL, 10),
	                     &session_times, now);
	c.issued_s = now - issued_ago_s;
	c.expires_s = now + left_s;
	c.end_s = now + end_s;
	free(id);
	free(version);
	return session_token_make(&c, w.session_keys);
}

/* ---- what holds ---- */

Test(session, token_stands_for_its_user)
{
	char first[SESSION_TOKEN_MAX];

	log_in("ada", "pw:1");
	cr_assert_eq(token_s, 1800);
	strcpy(first, token);
	for (unsigned round = 0; round < 3; round++) {
		cr_assert_eq(use(first), BW_OK);
		cr_assert_str_eq(q.user, "ada");
		cr_assert_not(has_token, "there is no renewal yet");
		if (round == 1)
			sessions_forget(w.sessions); /* another process knows nothing */
	}
	log_in("a@b@c", "pw:2");
	cr_assert_str_neq(token, first);
	cr_assert_eq(use(token), BW_OK);
	cr_assert_str_eq(q.user, "a@b@c");
}

Test(session, no_token_without_being_asked)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;

	m.user = bytes_of(BW_STR("ada"));
	m.password = bytes_of(BW_STR("pw:1"));
	cr_assert_eq(ask(WIRE_AUTHENTICATE_BASIC, &m.base), BW_OK);
	cr_assert_not(has_token);
	cr_assert_eq(ask(WIRE_AUTHENTICATE_BASIC, &m.base), BW_OK, "from memory");
	cr_assert_not(has_token);
}

Test(session, renewal)
{
	char *rows[] = { make(1200, 720, 40000), make(900, 901, 40000), make(1700, 100, 100) };
	char  renewed[SESSION_TOKEN_MAX];

	cr_assert_eq(use(rows[0]), BW_OK);
	cr_assert(has_token && token_s == 1800);
	strcpy(renewed, token);
	cr_assert_eq(use(rows[0]), BW_OK, "the old one is good until its own end");
	cr_assert(has_token);
	cr_assert_eq(use(renewed), BW_OK);
	cr_assert_not(has_token);
	cr_assert_eq(use(rows[1]), BW_OK);
	cr_assert_not(has_token, "half of the time is enough");
	cr_assert_eq(use(rows[2]), BW_OK);
	cr_assert_not(has_token, "the session ends, whoever asks");

	cr_assert(log_out(rows[0]));
	cr_assert_eq(use(renewed), BW_ELOGIN, "it is the same session");
	for (unsigned i = 0; i < 3; i++)
		jws_free(rows[i]);
}

Test(session, its_time_is_over)
{
	char *rows[] = { make(1800, 0, 40000), make(1801, -1, 40000), make(100, 1700, 0) };

	for (unsigned i = 0; i < 3; i++) {
		cr_assert_eq(use(rows[i]), BW_ELOGIN, "row %u", i);
		cr_assert_not(log_out(rows[i]));
		jws_free(rows[i]);
	}
}

Test(session, is_logged_out)
{
	char first[SESSION_TOKEN_MAX];

	log_in("ada", "pw:1");
	strcpy(first, token);
	log_in("ada", "pw:1");
	cr_assert(log_out(first));
	cr_assert_eq(use(first), BW_ELOGIN);
	cr_assert_not(log_out(first), "twice");
	cr_assert_eq(use(token), BW_OK, "the other session of the user");
	sessions_forget(w.sessions);
	cr_assert_eq(use(first), BW_ELOGIN, "the database knows");
	cr_assert_not(log_out("a.b.c"));
	cr_assert_not(log_out(""));
}

Test(session, is_logged_out_elsewhere)
{
	struct session_claims c;
	const char           *why;
	char                  jti[SESSION_JTI + 1];

	log_in("ada", "pw:1");
	cr_assert_eq(use(token), BW_OK);
	cr_assert_eq(session_token_read(bw_str(token), w.session_keys,
	                                (int64_t)(clock_real_us() / 1000000u), &c, &why),
	             BW_OK);
	strcpy(jti, c.jti);
	test_postgres_sql(w.db,
	                  "SELECT auth.token_revoke(id, session_version, '%s', %lld) "
	                  "FROM auth.principal WHERE name = 'ada'",
	                  jti, (long long)c.end_s);
	wait_until_refused(token);
}

Test(session, ends_with_its_account)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ "SELECT auth.sessions_end('ada')", "SELECT 1" },
		{ "SELECT auth.principal_disable('ada', true)",
		  "SELECT auth.principal_disable('ada', false)" },
		{ "SELECT auth.principal_disable('ada', 'left us'::text)",
		  "SELECT auth.principal_disable('ada', false)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		log_in("ada", "pw:1");
		cr_assert_eq(use(token), BW_OK);
		test_postgres_sql(w.db, "%s", rows[i].before);
		wait_until_refused(token);
		cr_assert_not(log_out(token));
		test_postgres_sql(w.db, "%s", rows[i].after);
		test_postgres_sql(w.db, "NOTIFY boardwalk_auth");
		while (basic(&g, &q, "ada", "pw:1") != BW_OK)
			cr_assert_eq(q.err, BW_ELOGIN);
		cr_assert_eq(use(token), BW_ELOGIN, "row %zu: it does not come back", i);
	}
	log_in("ada", "pw:1");
	set_password("ada", "another");
	wait_until_refused(token);
}

Test(session, name_is_given_to_somebody_else)
{
	log_in("ada", "pw:1");
	test_postgres_sql(w.db, "SELECT auth.principal_delete('ada')");
	wait_until_refused(token);
	test_postgres_sql(w.db, "SELECT auth.principal_create('ada', 'user')");
	set_password("ada", "pw:1");
	while (basic(&g, &q, "ada", "pw:1") != BW_OK)
		cr_assert_eq(q.err, BW_ELOGIN);
	cr_assert_eq(use(token), BW_ELOGIN);
}

Test(session, nothing_else_is_a_token)
{
	char changed[SESSION_TOKEN_MAX];

	log_in("ada", "pw:1");
	for (size_t i = 0; token[i] != '\0'; i += 7) {
		strcpy(changed, token);
		changed[i] = changed[i] == 'A' ? 'B' : 'A';
		cr_assert_eq(use(changed), BW_ELOGIN, "octet %zu", i);
	}
	cr_assert_eq(use(""), BW_ELOGIN);
	cr_assert_eq(use("x@0abc@u"), BW_ELOGIN);
	cr_assert_eq(use("@@@"), BW_ELOGIN);
	cr_assert_eq(use("a.b.c.d"), BW_ELOGIN);
	memset(changed, 'A', sizeof(changed) - 1);
	changed[sizeof(changed) - 1] = '\0';
	cr_assert_eq(use(changed), BW_ELOGIN);
	cr_assert_eq(use(token), BW_OK);
	cr_assert_eq(anonymous(&g, &q), BW_OK);
}

Test(session, more_logouts_than_are_kept)
{
	char jti[32];

	log_in("ada", "pw:1");
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(jti, sizeof(jti), "id-%u", i);
		sessions_revoked(w.sessions, bw_str(jti));
	}
	cr_assert_eq(use(token), BW_OK);
	cr_assert(log_out(token));
	cr_assert_eq(use(token), BW_ELOGIN);
}

/* ---- keys ---- */

static void write_keys(const char *first, const char *second)
{
	char  fresh[80];
	FILE *f;

	snprintf(fresh, sizeof(fresh), "%s.new", w.session_key_file);
	f = fopen(fresh, "we");
	cr_assert_not_null(f);
	cr_assert_eq(fchmod(fileno(f), 0600), 0);
	fprintf(f, "%s%s", first, second);
	fclose(f);
	cr_assert_eq(rename(fresh, w.session_key_file), 0);
}

#define NEW_KEY "5 000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f\n"
#define OLD_KEY "4 2b00000000000000000000000000000000000000000000000000000000000000"

static void follow(void)
{
	if (session_keys_follow(w.session_keys))
		sessions_forget(w.sessions);
}

Test(session, keys_are_replaced)
{
	char old[SESSION_TOKEN_MAX];

	log_in("ada", "pw:1");
	strcpy(old, token);
	cr_assert_not(session_keys_follow(w.session_keys), "it is the same file");

	write_keys(NEW_KEY, OLD_KEY "\n");
	follow();
	log_in("ada", "pw:1");
	cr_assert_eq(use(old), BW_OK);
	cr_assert_eq(use(token), BW_OK);

	write_keys(NEW_KEY, OLD_KEY " 1000000000\n");
	follow();
	cr_assert_eq(use(old), BW_ELOGIN, "the key's time is over");
	cr_assert_eq(use(token), BW_OK);

	write_keys("nonsense\n", "");
	follow();
	cr_assert_eq(use(token), BW_OK, "the keys stay what they are");
	write_keys("6 2b00000000000000000000000000000000000000000000000000000000000000\n", "");
	follow();
	cr_assert_eq(use(old), BW_ELOGIN, "the same octets under another name are another key");
}
