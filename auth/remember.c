/* remember.c - the table of verified credentials: 65,536 entries in sets of eight, the set chosen by
 * the key's first octets. Keys are keyed hashes, so nobody outside can aim at a set.
 *
 *      key[0..1] & 8191           8 ways of one cache line each
 *     +------------+      +-----+-----+-----+-----+-----+-----+-----+-----+
 *     |  set 4711  | ---> | key, account, verifier, until | ...           |
 *     +------------+      +-----+-----+-----+-----+-----+-----+-----+-----+
 *
 * A full set loses the entry that would end first. Nothing is removed when an account changes: an
 * entry names the verifier it was made with, and the account's present one is compared each time.
 * The key comparison need not be constant-time: who can choose credentials cannot choose their hash.
 * Owns: the table (4 MiB, touched as it fills) and its key, both wiped at the end.
 * Runs in: the loop. Logs nothing. Tests: tests/unit/auth/remember_test.c. */
#include "remember.h"
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SETS 8192u
#define WAYS 8u

struct entry {
	uint8_t  key[REMEMBER_KEY];
	uint64_t account, verifier, until_us; /* until_us 0: free */
	uint64_t unused;                      /* fills the cache line */
};
_Static_assert(sizeof(struct entry) == 64, "an entry is one cache line");

struct remember {
	struct entry (*sets)[WAYS];
	uint64_t life_us;
	uint8_t  secret[crypto_generichash_KEYBYTES];
};

struct remember *remember_new(uint64_t seconds)
{
	struct remember *r = xcalloc(1, sizeof(*r));

	r->life_us = seconds * 1000000u;
	randombytes_buf(r->secret, sizeof(r->secret));
	r->sets = mmap(NULL, SETS * sizeof(*r->sets), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->sets == MAP_FAILED)
		fatal("remembered credentials");
	return r;
}

void remember_free(struct remember *r)
{
	if (r == NULL)
		return;
	munmap(r->sets, SETS * sizeof(*r->sets));
	sodium_memzero(r->secret, sizeof(r->secret));
	free(r);
}

void remember_key(const struct remember *r, struct bw_str user, struct bw_str password,
                  uint8_t key[REMEMBER_KEY])
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, r->secret, sizeof(r->secret), REMEMBER_KEY);
	crypto_generichash_update(&state, (const uint8_t *)user.p, user.n);
	crypto_generichash_update(&state, (const uint8_t *)"", 1); /* the NUL between them */
	crypto_generichash_update(&state, (const uint8_t *)password.p, password.n);
	crypto_generichash_final(&state, key, REMEMBER_KEY);
	sodium_memzero(&state, sizeof(state));
}

static struct entry *set_of(const struct remember *r, const uint8_t *key)
{
	return r->sets[(key[0] | (unsigned)key[1] << 8) % SETS];
}

static struct entry *entry_of(const struct remember *r, const uint8_t *key)
{
	struct entry *set = set_of(r, key);

	for (unsigned i = 0; i < WAYS; i++)
		if (set[i].until_us != 0 && memcmp(set[i].key, key, REMEMBER_KEY) == 0)
			return &set[i];
	return NULL;
}

bool remember_find(struct remember *r, const uint8_t key[REMEMBER_KEY], uint64_t account,
                   uint64_t verifier, uint64_t now_us)
{
	struct entry *e = entry_of(r, key);

	if (e == NULL)
		return false;
	if (e->account == account && e->verifier == verifier && now_us < e->until_us)
		return true;
	sodium_memzero(e, sizeof(*e));
	return false;
}

void remember_put(struct remember *r, const uint8_t key[REMEMBER_KEY], uint64_t account,
                  uint64_t verifier, uint64_t now_us)
{
	struct entry *set = set_of(r, key), *e = entry_of(r, key);

	if (r->life_us == 0)
		return;
	for (unsigned i = 0; e == NULL && i < WAYS; i++)
		if (set[i].until_us <= now_us)
			e = &set[i];
	if (e == NULL) {
		e = &set[0];
		for (unsigned i = 1; i < WAYS; i++)
			if (set[i].until_us < e->until_us)
				e = &set[i];
	}
	memcpy(e->key, key, REMEMBER_KEY);
	e->account = account;
	e->verifier = verifier;
	e->until_us = now_us + r->life_us;
}
