/* Under test: auth/login.c and password.c: how long a refusal takes tells nothing about the account. CPU
 * time of the whole process is compared, loop and hashing threads, so that a busy machine does not matter; in
 * alternating pairs, so that neither does its clock. */
#include "world.h"
#include <time.h>

#define PAIRS  101u
#define ROUNDS 5u
#define MEM_TIME \
	(1u << 20) /* about a millisecond: what tells one account from another is in microseconds */

static struct gateway  g;
static struct question q;

static void set_up(void)
{
	char verifier[crypto_pwhash_STRBYTES];

	world_init(1, 64, OPS, MEM_TIME);
	cr_assert_eq(crypto_pwhash_str(verifier, "x", 1, OPS, MEM_TIME), 0);
	test_postgres_sql(w.db, "SELECT auth.principal_create(n, 'user') FROM unnest("
	                        "ARRAY['ada', 'dis', 'new']) n;"
	                        "SELECT auth.principal_create('svc', 'service');"
	                        "SELECT auth.principal_create('team', 'group')");
	test_postgres_sql(w.db, "SELECT auth.password_set('ada', '%s')", verifier);
	test_postgres_sql(w.db, "SELECT auth.password_set('dis', '%s')", verifier);
	test_postgres_sql(w.db, "SELECT auth.principal_disable('dis', true)");
	wait_until_followed();
	gateway_init(&g, w.path, "0123456789abcdef");
}

static void tear_down(void)
{
	gateway_done(&g);
	world_done();
}

TestSuite(time, .init = set_up, .fini = tear_down);

static uint64_t cost_us(const char *user, const char *password)
{
	uint64_t before = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);

	cr_assert_eq(basic(&g, &q, user, password), BW_ELOGIN, "%s", user);
	cr_assert_str_eq(q.text, "login refused");
	return clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - before;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t *list)
{
	qsort(list, PAIRS, sizeof(*list), compare);
	return list[PAIRS / 2];
}

struct login {
	const char *user, *password;
};

static bool costs_the_same(const struct login *other, uint64_t ret_us[2])
{
	static const struct login wrong = { "ada", "wrong" };
	uint64_t                  us[2][PAIRS];

	for (unsigned k = 0; k < PAIRS; k++)
		for (unsigned i = 0; i < 2; i++) {
			unsigned            which = (k + i) % 2; /* each comes first as often */
			const struct login *l = which == 0 ? &wrong : other;

			us[which][k] = cost_us(l->user, l->password);
		}
	ret_us[0] = median(us[0]);
	ret_us[1] = median(us[1]);
	return ret_us[1] * 10 >= ret_us[0] * 9 && ret_us[1] * 10 <= ret_us[0] * 11;
}

/* The disabled one with its right password too. What others do to the caches is in CPU time as well, so a
 * pair may be measured again; a difference that is there would be there each time. */
Test(time, refusals_cost_the_same)
{
	static const struct login rows[] = {
		{ "nobody", "x" },    { "dis", "x" },  { "dis", "wrong" }, { "svc", "x" },
		{ "anonymous", "x" }, { "team", "x" }, { "new", "x" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned rounds = 0;
		uint64_t us[2];

		cost_us(rows[i].user, rows[i].password); /* its account is read once */
		while (!costs_the_same(&rows[i], us) && ++rounds < ROUNDS)
			continue;
		cr_expect_lt(rounds, ROUNDS, "%s:%s: %llu us, ada: %llu us", rows[i].user,
		             rows[i].password, (unsigned long long)us[1],
		             (unsigned long long)us[0]);
	}
}

/* A wrong password is not refused before it has been tested: that would be cheap, and fail here. */
Test(time, a_refusal_costs_an_argon2id)
{
	char     verifier[crypto_pwhash_STRBYTES];
	uint64_t hash[PAIRS], nobody[PAIRS];

	for (unsigned k = 0; k < PAIRS; k++) {
		uint64_t before = clock_read_us(CLOCK_PROCESS_CPUTIME_ID);

		cr_assert_eq(crypto_pwhash_str(verifier, "x", 1, OPS, MEM_TIME), 0);
		hash[k] = clock_read_us(CLOCK_PROCESS_CPUTIME_ID) - before;
		nobody[k] = cost_us("nobody", "x");
	}
	cr_expect_geq(median(nobody) * 10, median(hash) * 9);
}

/* Who is logged in does not wait behind those who guess: with a queue of them before the one thread, the
 * answer is there before more than a few of them have theirs. */
Test(time, what_is_remembered_waits_for_no_hash)
{
	static struct question wrong[60];
	struct question        good;
	unsigned               ended = 0;

	cr_assert_eq(basic(&g, &good, "ada", "x"), BW_OK);
	for (unsigned i = 0; i < 60; i++) {
		char name[16];

		snprintf(name, sizeof(name), "nobody %u", i);
		send_basic(&g, &wrong[i], name, "x");
	}
	cr_assert_eq(basic(&g, &good, "ada", "x"), BW_OK);
	for (unsigned i = 0; i < 60; i++)
		ended += wrong[i].ended;
	cr_expect_lt(ended, 10);
	for (unsigned i = 0; i < 60; i++) {
		wait_end(&wrong[i]);
		cr_assert_eq(wrong[i].err, BW_ELOGIN, "%u: %d", i, wrong[i].err);
	}
}
