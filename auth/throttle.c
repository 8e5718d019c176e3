/* throttle.c - counts failed logins, and makes those who fail wait.
 *
 *     failures   1  2  3  4  5     6     7        ...    (five are free)
 *     then wait  -  -  -  -  1 s   2 s   4 s  ... 15 min; nothing is tested meanwhile
 *
 * A failure is forgotten when nobody has failed for 15 minutes. What is refused for want of time counts
 * for nothing, so that knocking does not prolong a delay. Three counters bear on a login:
 *
 *     the account      reset by a success; also for names that do not exist, so that they tell nothing
 *     the address      not reset by a success: it may be one of the attacker's own
 *     the place        the account at an address that it was logged into from before. Such a login is
 *                      judged by this counter alone, so that strangers, who drive the account's and,
 *                      behind a shared address, the address's up, never shut the owner out
 *
 * A failure counts for all that apply. Passwords that are being tested count as failures of the account
 * until it is known better: otherwise a hundred guesses sent at once would all be tested. Not so for an
 * address, behind which may be an office in the morning: it overshoots by what the pool holds at most.
 *
 *      hash of the key              8 ways
 *     +------------+      +-----+-----+-----+-----+-----+-----+-----+-----+
 *     |  set 4711  | ---> | key, last, until, failures, testing | ...     |
 *     +------------+      +-----+-----+-----+-----+-----+-----+-----+-----+
 *
 * The tables cannot grow, and what is in them cannot be pushed out at will. The hash is keyed, so nobody
 * can aim at a set; a full set loses what has the fewest failures. To push a delayed account out one
 * would have to fill all sets with 65,536 others of five failures each, and each failure costs an
 * argon2id: at 30 of them a second three hours, in which all of it is forgotten twelve times. Addresses
 * can be counted up at less cost, by bad tokens, but who has 65,536 of them is not bound by theirs.
 *
 * Owns: the tables (6 MiB, touched as they fill) and the hash's key. Runs in: the loop. Cannot fail; logs
 * nothing. Tests: tests/unit/auth/throttle_test.c, tests/system/guard_test.c. */
#include "throttle.h"
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SETS     8192u
#define WAYS     8u
#define KEY      crypto_shorthash_siphashx24_BYTES
#define MAX_USER 255u

struct counter {
	uint8_t  key[KEY];
	uint64_t last_us;           /* failure */
	uint64_t until_us;          /* nothing is tested; 0: no delay has begun yet */
	uint32_t failures, testing; /* both 0: free */
};

enum kind { ACCOUNT, ADDRESS, PLACE, N_KINDS };

struct throttle {
	struct throttle_limits limits;
	throttle_lock_cb       on_lock;
	void                  *arg;
	struct counter (*sets[N_KINDS])[WAYS];
	uint8_t secret[crypto_shorthash_siphashx24_KEYBYTES];
};

static uint64_t us(unsigned seconds)
{
	return (uint64_t)seconds * 1000000u;
}

/* ---- the tables ---- */

static void key_of(const struct throttle *t, enum kind kind, const struct throttle_who *who,
                   uint8_t key[KEY])
{
	uint8_t text[MAX_USER + 1 + sizeof(who->place.octets)];
	size_t  n = 0;

	if (kind != ADDRESS && who->user.n <= MAX_USER) {
		memcpy(text, who->user.p, who->user.n);
		n = who->user.n;
	}
	text[n++] = '\0'; /* no name has one */
	if (kind != ACCOUNT) {
		memcpy(text + n, who->place.octets, who->place.n);
		n += who->place.n;
	}
	crypto_shorthash_siphashx24(key, text, n, t->secret);
}

static bool is_forgotten(const struct throttle *t, const struct counter *c, uint64_t now_us)
{
	uint64_t quiet_since = c->until_us > c->last_us ? c->until_us : c->last_us;

	return c->testing == 0 &&
	       (c->failures == 0 || now_us >= quiet_since + us(t->limits.window_s));
}

static struct counter *set_of(struct throttle *t, enum kind kind, const uint8_t *key)
{
	return t->sets[kind][(key[0] | (unsigned)key[1] << 8) % SETS];
}

/* NULL: it has not failed, as far as anybody remembers. */
static struct counter *find(struct throttle *t, enum kind kind, const struct throttle_who *who,
                            uint64_t now_us)
{
	uint8_t         key[KEY];
	struct counter *set;

	key_of(t, kind, who, key);
	set = set_of(t, kind, key);
	for (unsigned i = 0; i < WAYS; i++)
		if (memcmp(set[i].key, key, KEY) == 0)
			return is_forgotten(t, &set[i], now_us) ? NULL : &set[i];
	return NULL;
}

static bool is_lesser(const struct counter *a, const struct counter *b)
{
	uint32_t of_a = a->failures + a->testing, of_b = b->failures + b->testing;

	return of_a != of_b ? of_a < of_b : a->last_us < b->last_us;
}

static struct counter *find_or_make(struct throttle *t, enum kind kind,
                                    const struct throttle_who *who, uint64_t now_us)
{
	struct counter *c = find(t, kind, who, now_us), *set, *best = NULL;
	uint8_t         key[KEY];

	if (c != NULL)
		return c;
	key_of(t, kind, who, key);
	set = set_of(t, kind, key);
	for (unsigned i = 0; i < WAYS; i++) {
		/* Its own, forgotten one comes first: a key stands in a set once. */
		if (memcmp(set[i].key, key, KEY) == 0) {
			best = &set[i];
			break;
		}
		if (is_forgotten(t, &set[i], now_us))
			set[i] = (struct counter){ 0 };
		if (best == NULL || is_lesser(&set[i], best))
			best = &set[i];
	}
	*best = (struct counter){ 0 };
	memcpy(best->key, key, KEY);
	return best;
}

/* ---- one counter ---- */

static unsigned seconds_until(uint64_t until_us, uint64_t now_us)
{
	return (unsigned)((until_us - now_us + 999999u) / 1000000u);
}

/* Beyond the free ones it is one at a time. */
static unsigned wait_of(const struct counter *c, unsigned free_failures, uint64_t now_us)
{
	if (c == NULL)
		return 0;
	if (now_us < c->until_us)
		return seconds_until(c->until_us, now_us);
	if (c->failures >= free_failures)
		return c->testing > 0 ? 1 : 0;
	return c->failures + c->testing >= free_failures ? 1 : 0;
}

static unsigned delay_of(const struct throttle *t, uint32_t failures, unsigned free_failures)
{
	uint64_t delay = t->limits.delay_s;

	for (; failures > free_failures && delay < t->limits.max_delay_s; failures--)
		delay *= 2;
	return delay < t->limits.max_delay_s ? (unsigned)delay : t->limits.max_delay_s;
}

/* The seconds of a delay that begins with it; 0: none. */
static unsigned count(const struct throttle *t, struct counter *c, unsigned free_failures,
                      uint64_t now_us)
{
	unsigned delay;

	c->failures++;
	c->last_us = now_us;
	if (c->failures < free_failures)
		return 0;
	delay = delay_of(t, c->failures, free_failures);
	c->until_us = now_us + us(delay);
	return delay;
}

static void stop_testing(struct throttle *t, enum kind kind, const struct throttle_who *who,
                         uint64_t now_us)
{
	struct counter *c = find(t, kind, who, now_us);

	if (c != NULL && c->testing > 0) /* else it was pushed out meanwhile */
		c->testing--;
}

/* ---- a login ---- */

static bool is_place(const struct throttle_who *who)
{
	return who->is_known && who->place.n > 0;
}

unsigned throttle_begin(struct throttle *t, const struct throttle_who *who, uint64_t now_us)
{
	unsigned  free_failures = t->limits.failures, wait, address_wait = 0;
	enum kind judge = is_place(who) ? PLACE : ACCOUNT;

	if (free_failures == 0)
		return 0;
	wait = wait_of(find(t, judge, who, now_us), free_failures, now_us);
	if (judge == ACCOUNT)
		address_wait = throttle_place_wait(t, &who->place, now_us);
	if (wait > 0 || address_wait > 0)
		return wait > address_wait ? wait : address_wait;
	find_or_make(t, judge, who, now_us)->testing++;
	return 0;
}

static unsigned count_failure(struct throttle *t, const struct throttle_who *who, uint64_t now_us)
{
	struct counter *account = find_or_make(t, ACCOUNT, who, now_us);
	unsigned        delay = 0;

	/* Failures at a known place go on counting for the account, but do not make its delay longer
	 * while it has one: the owner's own mistakes are not what it is for. */
	if (now_us >= account->until_us)
		delay = count(t, account, t->limits.failures, now_us);
	if (delay > 0 && t->on_lock != NULL)
		t->on_lock(t->arg, who->user, account->failures, delay);
	if (is_place(who))
		count(t, find_or_make(t, PLACE, who, now_us), t->limits.failures, now_us);
	throttle_place_failed(t, &who->place, now_us);
	return delay;
}

static void forget(struct throttle *t, enum kind kind, const struct throttle_who *who,
                   uint64_t now_us)
{
	struct counter *c = find(t, kind, who, now_us);

	if (c == NULL)
		return;
	if (kind == ACCOUNT && c->until_us != 0 && t->on_lock != NULL)
		t->on_lock(t->arg, who->user, 0, 0);
	c->failures = 0;
	c->until_us = 0;
}

/* A success at a known place leaves a delay of the account alone: it is not the owner's, and each of
 * the owner's logins would otherwise give those who guess five more free guesses. */
static void count_success(struct throttle *t, const struct throttle_who *who, uint64_t now_us)
{
	struct counter *account = find(t, ACCOUNT, who, now_us);

	if (is_place(who))
		forget(t, PLACE, who, now_us);
	if (!is_place(who) || account == NULL || now_us >= account->until_us)
		forget(t, ACCOUNT, who, now_us);
}

unsigned throttle_end(struct throttle *t, const struct throttle_who *who,
                      enum throttle_outcome outcome, uint64_t now_us)
{
	if (t->limits.failures == 0)
		return 0;
	stop_testing(t, is_place(who) ? PLACE : ACCOUNT, who, now_us);
	if (outcome == THROTTLE_WRONG)
		return count_failure(t, who, now_us);
	if (outcome == THROTTLE_RIGHT)
		count_success(t, who, now_us);
	return 0;
}

/* ---- an address ---- */

unsigned throttle_place_wait(struct throttle *t, const struct place *place, uint64_t now_us)
{
	struct throttle_who who = { .place = *place };
	struct counter     *c;

	if (t->limits.address_failures == 0 || place->n == 0)
		return 0;
	c = find(t, ADDRESS, &who, now_us);
	return c != NULL && now_us < c->until_us ? seconds_until(c->until_us, now_us) : 0;
}

/* What was under way when the delay began does not make it longer. */
void throttle_place_failed(struct throttle *t, const struct place *place, uint64_t now_us)
{
	struct throttle_who who = { .place = *place };
	struct counter     *c;

	if (t->limits.address_failures == 0 || place->n == 0)
		return;
	c = find_or_make(t, ADDRESS, &who, now_us);
	if (now_us >= c->until_us)
		count(t, c, t->limits.address_failures, now_us);
}

/* ---- life ---- */

void throttle_restore(struct throttle *t, struct bw_str user, unsigned failures, int64_t wait_s,
                      uint64_t now_us)
{
	struct throttle_who who = { .user = user };
	struct counter     *c;

	if (t->limits.failures == 0 || failures == 0)
		return;
	if (wait_s > (int64_t)t->limits.max_delay_s)
		wait_s = (int64_t)t->limits.max_delay_s;
	c = find_or_make(t, ACCOUNT, &who, now_us);
	if (c->failures >= failures)
		return; /* this process knows more */
	c->failures = failures;
	c->last_us = now_us;
	c->until_us = wait_s > 0 ? now_us + us((unsigned)wait_s) : now_us;
}

struct throttle *throttle_new(const struct throttle_limits *limits, throttle_lock_cb on_lock,
                              void *arg)
{
	struct throttle *t = xcalloc(1, sizeof(*t));

	t->limits = *limits;
	t->on_lock = on_lock;
	t->arg = arg;
	randombytes_buf(t->secret, sizeof(t->secret));
	for (unsigned i = 0; i < N_KINDS; i++) {
		t->sets[i] = mmap(NULL, SETS * sizeof(*t->sets[i]), PROT_READ | PROT_WRITE,
		                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (t->sets[i] == MAP_FAILED)
			fatal("failed logins");
	}
	return t;
}

void throttle_free(struct throttle *t)
{
	if (t == NULL)
		return;
	for (unsigned i = 0; i < N_KINDS; i++)
		munmap(t->sets[i], SETS * sizeof(*t->sets[i]));
	sodium_memzero(t->secret, sizeof(t->secret));
	free(t);
}
