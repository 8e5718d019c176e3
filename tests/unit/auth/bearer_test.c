/* Under test: auth/bearer.c, issuer.c and, before and behind them, all of auth against a real PostgreSQL:
 * whom a good token speaks for, until when, and what becomes of bad ones. (What makes a token good:
 * tests/conformance/token.) */
#include <auth/jws.h>

static char  item[160], jwks[64] = "/tmp/bearer-test.XXXXXX";
static char *items[] = { item };

#define ISSUERS \
	{ \
		items, 1 \
	}
#define THROTTLE_LIMITS \
	{ \
		.failures = 5, .address_failures = 4, .window_s = 900, .delay_s = 60, \
		.max_delay_s = 900 \
	}
#include "world.h"
#include <sys/stat.h>

#define SECRET "0123456789abcdef0123456789abcdef"

static struct gateway  g;
static struct question q;
static char            text[JWS_MAX];

static const char *kid = "one";

/* A new file, as somebody who replaces it would make it. */
static void write_keys(const char *name, mode_t mode)
{
	char  fresh[80], k[64];
	FILE *f;

	snprintf(fresh, sizeof(fresh), "%s.new", jwks);
	sodium_bin2base64(k, sizeof(k), (const uint8_t *)SECRET, 32,
	                  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	f = fopen(fresh, "we");
	cr_assert_not_null(f);
	cr_assert_eq(fchmod(fileno(f), mode), 0);
	fprintf(f, "{\"keys\":[{\"kty\":\"oct\",\"alg\":\"HS256\",\"kid\":\"%s\",\"k\":\"%s\"}]}",
	        name, k);
	fclose(f);
	cr_assert_eq(rename(fresh, jwks), 0);
}

static void set_up(void)
{
	close(mkstemp(jwks));
	write_keys(kid, 0640);
	snprintf(item, sizeof(item), "https://idp.example audience=board keys=%s", jwks);
	world_init(2, 64, OPS, MEM);
	test_postgres_sql(w.db,
	                  "SELECT auth.principal_create(n, c) FROM (VALUES ('ada', 'user'), "
	                  "('bob', 'user'), ('svc', 'service'), ('grp', 'group')) AS v(n, c)");
	set_password("ada", "pw:1");
	wait_until_followed();
	gateway_init(&g, w.path, "0123456789abcdef");
	cr_assert(g.open);
}

static void tear_down(void)
{
	gateway_done(&g);
	world_done();
	unlink(jwks);
}

TestSuite(bearer, .init = set_up, .fini = tear_down);

/* A token of the issuer, made iat_ago seconds ago; version below 0: it says none. */
static const char *token_of(const char *user, int iat_ago, int version)
{
	struct jws_key signer = { bw_str(kid), JWS_HS256, BW_STR(SECRET), NULL };
	int64_t        now = (int64_t)(clock_real_us() / 1000000u);
	json_t *claims = json_pack("{s:s,s:s,s:s,s:I,s:I}", "iss", "https://idp.example", "aud",
	                           "board", "sub", user, "iat", (json_int_t)(now - iat_ago), "exp",
	                           (json_int_t)(now + 600));
	char   *token;

	if (version >= 0)
		json_object_set_new(claims, "ver", json_integer(version));
	token = jws_sign(claims, &signer);
	cr_assert_not_null(token);
	snprintf(text, sizeof(text), "%s", token);
	jws_free(token);
	json_decref(claims);
	return text;
}

static int use_from(const char *token, struct bw_str address)
{
	Bw__Wire__AuthenticateBearer m = BW__WIRE__AUTHENTICATE_BEARER__INIT;

	m.token = bytes_of(bw_str(token));
	m.address = bytes_of(address);
	send_question(&g, &q, WIRE_AUTHENTICATE_BEARER, &m.base);
	wait_end(&q);
	return q.err;
}

static int use(const char *token)
{
	return use_from(token, BW_STR(""));
}

static int version_of(const char *user)
{
	char *value = test_postgres_value(
		w.db, "SELECT session_version FROM auth.principal WHERE name = '%s'", user);
	int ret = atoi(value);

	free(value);
	return ret;
}

static void wait_until_refused(const char *token)
{
	while (use(token) == BW_OK)
		ev_run(w.loop, EVRUN_ONCE);
	cr_assert_eq(q.err, BW_ELOGIN);
}

Test(bearer, speaks_for_its_user)
{
	const char *token = token_of("bob", 0, -1);

	for (unsigned round = 0; round < 3; round++) {
		cr_assert_eq(use(token), BW_OK);
		cr_assert_str_eq(q.user, "bob");
		cr_assert_eq(q.handle.kind, HANDLE_USER);
		if (round == 1)
			bearers_forget(w.bearers);
	}
	cr_assert_eq(anonymous(&g, &q), BW_OK);
}

Test(bearer, nobody_else_is_spoken_for)
{
	static const char *const rows[] = { "nobody",   "svc",   "grp", "anonymous",
		                            "everyone", "admin", "Bob" };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(use(token_of(rows[i], 0, -1)), BW_ELOGIN, "%s", rows[i]);
		cr_assert_str_eq(q.text, "login refused");
	}
}

Test(bearer, ends_with_the_sessions_of_its_user)
{
	static const char *const ends[] = { "SELECT auth.sessions_end('bob')",
		                            "SELECT auth.principal_disable('bob', true)" };

	for (size_t i = 0; i < 2; i++) {
		cr_assert_eq(use(token_of("bob", 0, version_of("bob"))), BW_OK);
		test_postgres_sql(w.db, "%s", ends[i]);
		wait_until_refused(text);
		bearers_forget(w.bearers);
		cr_assert_eq(use(text), BW_ELOGIN);
	}
	test_postgres_sql(w.db, "SELECT auth.principal_disable('bob', false)");
	test_postgres_sql(w.db, "NOTIFY boardwalk_auth");
	token_of("bob", 0, version_of("bob"));
	while (use(text) != BW_OK)
		cr_assert_eq(q.err, BW_ELOGIN);
	cr_assert_eq(use(token_of("bob", 0, version_of("bob") - 1)), BW_ELOGIN);
	cr_assert_eq(use(token_of("bob", 0, version_of("bob") + 1)), BW_ELOGIN);
	cr_assert_eq(use(token_of("bob", 10, -1)), BW_ELOGIN, "issued before that");
	cr_assert_eq(use(token_of("bob", -30, -1)), BW_OK, "issued after that");
}

Test(bearer, bad_ones_count_for_their_address)
{
	struct bw_str here = BW_STR("\x7f\0\0\1"), there = BW_STR("\x7f\0\0\2");

	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(use_from("a.b.c", here), BW_ELOGIN, "number %u", i);
	cr_assert_eq(use_from("a.b.c", here), BW_ETHROTTLED);
	cr_assert_gt(q.retry_after, 0);
	cr_assert_eq(use_from("a.b.c", there), BW_ELOGIN);
	cr_assert_eq(use_from(token_of("bob", 0, -1), here), BW_OK, "a good one passes");
}

Test(bearer, keys_are_replaced)
{
	token_of("bob", 0, -1);
	cr_assert_eq(use(text), BW_OK);
	cr_assert_not(issuers_follow(w.issuers), "it is the same file");

	write_keys("two", 0666);
	cr_assert_not(issuers_follow(w.issuers), "anybody could have written that");
	cr_assert_eq(use(text), BW_OK, "the keys stay what they are");

	write_keys("two", 0600);
	cr_assert(issuers_follow(w.issuers));
	bearers_forget(w.bearers);
	cr_assert_eq(use(text), BW_ELOGIN);
	kid = "two";
	cr_assert_eq(use(token_of("bob", 0, -1)), BW_OK);
}
