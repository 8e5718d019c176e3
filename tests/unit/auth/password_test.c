/* Under test: auth/password.c. argon2id off the loop: the right answer, in bounded number, with the
 * password gone afterwards, and the same work where there is nothing to verify against. */
#include <criterion/criterion.h>
#include "auth/password.c"

#define OPS 1
#define MEM 8192 /* the least argon2id takes: 20 us */

struct answer {
	unsigned n;
	bool     ok;
	char     verifier[crypto_pwhash_STRBYTES];
};

static struct ev_loop *loop;

static void set_up(void)
{
	cr_assert_geq(sodium_init(), 0);
	loop = ev_loop_new(EVFLAG_AUTO);
}

static void tear_down(void)
{
	ev_loop_destroy(loop);
}

TestSuite(password, .init = set_up, .fini = tear_down);

static void on_answer(void *arg, bool ok, const char *verifier)
{
	struct answer *a = arg;

	a->n++;
	a->ok = ok;
	snprintf(a->verifier, sizeof(a->verifier), "%s", verifier != NULL ? verifier : "");
}

static void run_until(const unsigned *n, unsigned wanted)
{
	while (*n < wanted)
		ev_run(loop, EVRUN_ONCE);
}

static void make(const char *password, char *verifier)
{
	cr_assert_eq(crypto_pwhash_str(verifier, password, strlen(password), OPS, MEM), 0);
}

Test(password, right_and_wrong)
{
	struct password_pool *pool = password_pool_new(loop, 2, 4, OPS, MEM);
	char                  verifier[crypto_pwhash_STRBYTES];
	struct answer         right = { 0 }, wrong = { 0 }, nothing = { 0 };

	make("secret", verifier);
	cr_assert_eq(password_verify(pool, verifier, BW_STR("secret"), on_answer, &right), BW_OK);
	cr_assert_eq(password_verify(pool, verifier, BW_STR("Secret"), on_answer, &wrong), BW_OK);
	cr_assert_eq(password_verify(pool, NULL, BW_STR("secret"), on_answer, &nothing), BW_OK);
	run_until(&right.n, 1);
	run_until(&wrong.n, 1);
	run_until(&nothing.n, 1);
	cr_assert(right.ok);
	cr_assert_not(wrong.ok);
	cr_assert_not(nothing.ok);
	cr_assert_eq(right.n + wrong.n + nothing.n, 3);
	password_pool_free(pool);
}

/* The dummy is verified like any other verifier of the present cost, and is never right, not even
 * with its own password. */
Test(password, dummy)
{
	struct password_pool *pool = password_pool_new(loop, 1, 1, OPS + 2, 2 * MEM);
	struct job            job = { .is_dummy = true, .n_password = 6, .password = "secret" };
	struct answer         a = { 0 };

	cr_assert(password_is_verifier(pool->dummy));
	cr_assert_eq(crypto_pwhash_str_needs_rehash(pool->dummy, OPS + 2, 2 * MEM), 0);
	make("secret", pool->dummy);
	cr_assert_eq(password_verify(pool, NULL, BW_STR("secret"), on_answer, &a), BW_OK);
	cr_assert_str_eq(pool->all[0].verifier, pool->dummy, "it goes the way of a real one");
	run_until(&a.n, 1);
	cr_assert_not(a.ok);

	strcpy(job.verifier, pool->dummy);
	job.ok = true;
	compute(pool, &job);
	cr_assert_not(job.ok);
	job = (struct job){ .n_password = 6, .password = "secret" };
	strcpy(job.verifier, pool->dummy);
	compute(pool, &job);
	cr_assert(job.ok, "without the mark the same computation says yes");
	password_pool_free(pool);
}

Test(password, queue_is_full)
{
	/* A cost at which the thread cannot be through before the queue has been filled. */
	struct password_pool *pool = password_pool_new(loop, 1, 3, 4, 32u << 20);
	struct answer         a = { 0 }, late = { 0 };

	for (unsigned i = 0; i < 4; i++)
		cr_assert_eq(password_verify(pool, NULL, BW_STR("x"), on_answer, &a), BW_OK);
	cr_assert_eq(password_verify(pool, NULL, BW_STR("x"), on_answer, &late), BW_EBUSY);
	cr_assert_eq(password_hash(pool, BW_STR("x"), on_answer, &late), BW_EBUSY);
	run_until(&a.n, 4);
	cr_assert_eq(late.n, 0);
	cr_assert_eq(password_verify(pool, NULL, BW_STR("x"), on_answer, &late), BW_OK);
	run_until(&late.n, 1);
	password_pool_free(pool);
}

Test(password, hash_only_when_idle)
{
	struct password_pool *pool = password_pool_new(loop, 1, 3, OPS, MEM);
	struct password_pool *dearer = password_pool_new(loop, 1, 3, OPS + 1, MEM);
	struct job            waiting = { 0 };
	struct answer         a = { 0 };

	cr_assert_eq(password_hash(pool, BW_STR("secret"), on_answer, &a), BW_OK);
	run_until(&a.n, 1);
	cr_assert(a.ok);
	cr_assert(password_is_verifier(a.verifier));
	cr_assert_eq(crypto_pwhash_str_verify(a.verifier, "secret", 6), 0);
	cr_assert_not(password_is_outdated(pool, a.verifier));
	cr_assert(password_is_outdated(dearer, a.verifier));

	pthread_mutex_lock(&pool->lock); /* no signal: the thread does not see it */
	STAILQ_INSERT_TAIL(&pool->todo, &waiting, next);
	pthread_mutex_unlock(&pool->lock);
	cr_assert_eq(password_hash(pool, BW_STR("secret"), on_answer, &a), BW_EBUSY);
	pthread_mutex_lock(&pool->lock);
	STAILQ_INIT(&pool->todo);
	pthread_mutex_unlock(&pool->lock);
	password_pool_free(pool);
	password_pool_free(dearer);
}

static struct password_pool *watched;

static bool holds_password(void)
{
	return memmem(watched->all, watched->n_jobs * sizeof(*watched->all), "horse", 5) != NULL;
}

static void on_wiped(void *arg, bool ok, const char *verifier)
{
	(void)verifier;
	cr_assert(ok);
	cr_assert_not(holds_password(), "the thread has wiped it when it had been used");
	++*(unsigned *)arg;
}

/* Once it has been used, no octet of a password is in the pool's memory. */
Test(password, wiped)
{
	struct password_pool *pool = password_pool_new(loop, 2, 6, OPS, MEM);
	char                  verifier[crypto_pwhash_STRBYTES];
	struct answer         a = { 0 };
	unsigned              ended = 0;

	watched = pool;
	make("correct horse battery", verifier);
	cr_assert_eq(
		password_verify(pool, verifier, BW_STR("correct horse battery"), on_wiped, &ended),
		BW_OK);
	run_until(&ended, 1);
	for (unsigned i = 0; i < 8; i++)
		cr_assert_eq(
			password_verify(pool, NULL, BW_STR("correct horse battery"), on_answer, &a),
			BW_OK);
	run_until(&a.n, 8);
	cr_assert_not(holds_password());
	password_pool_free(pool);
}

/* Each callback runs once, also of what was never computed. */
Test(password, end_while_busy)
{
	struct password_pool *pool = password_pool_new(loop, 1, 8, 2, 16u << 20);
	char                  verifier[crypto_pwhash_STRBYTES];
	struct answer         a[6] = { 0 };

	make("x", verifier);
	for (unsigned i = 0; i < 6; i++)
		cr_assert_eq(password_verify(pool, verifier, BW_STR("x"), on_answer, &a[i]), BW_OK);
	password_pool_free(pool);
	for (unsigned i = 0; i < 6; i++) {
		cr_assert_eq(a[i].n, 1, "number %u", i);
		cr_assert_not(a[i].ok);
	}
}

Test(password, is_verifier)
{
	static const struct {
		const char *text;
		bool        is;
	} rows[] = {
		{ "$argon2id$v=19$m=65536,t=2,p=1$c2FsdA$aGFzaA", true },
		{ "$argon2id$v=19$m=1048576,t=64,p=1$c2FsdA$aGFzaA", true },
		{ "$argon2id$v=19$m=1048577,t=2,p=1$c2FsdA$aGFzaA", false }, /* more than 1 GiB */
		{ "$argon2id$v=19$m=4294967295,t=2,p=1$c2FsdA$aGFzaA", false },
		{ "$argon2id$v=19$m=65536,t=65,p=1$c2FsdA$aGFzaA", false },
		{ "$argon2id$v=19$m=65536,t=2,p=4$c2FsdA$aGFzaA", false },
		{ "$argon2i$v=19$m=65536,t=2,p=1$c2FsdA$aGFzaA", false },
		{ "$argon2id$", false },
		{ "secret", false },
		{ "", false },
		{ "{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=", false },
	};
	char made[crypto_pwhash_STRBYTES];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(password_is_verifier(rows[i].text), rows[i].is, "%s", rows[i].text);
	make("secret", made);
	cr_assert(password_is_verifier(made));
}
