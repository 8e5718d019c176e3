/* checked.c - a table of checked tokens: 65,536 entries in sets of eight, as remember.c has it for
 * passwords. Half a hash names a token: nobody can look for two that share it, for it is keyed.
 *
 * Owns: the table (4 MiB, touched as it fills) and its key. Runs in: the loop. Logs nothing.
 * Tests: tests/unit/auth/checked_test.c. */
#include "checked.h"
#include <base/fatal.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/mman.h>

#define SETS 8192u
#define WAYS 8u

struct slot {
	uint8_t              key[CHECKED_KEY];
	struct checked_entry entry;
	uint64_t             epoch;  /* 0: free */
	uint64_t             unused; /* fills the cache line */
};
_Static_assert(sizeof(struct slot) == 64, "a slot is one cache line");

struct checked {
	uint64_t epoch;
	struct slot (*sets)[WAYS];
	uint8_t secret[crypto_generichash_KEYBYTES];
};

struct checked *checked_new(void)
{
	struct checked *c = xcalloc(1, sizeof(*c));

	c->epoch = 1;
	randombytes_buf(c->secret, sizeof(c->secret));
	c->sets = mmap(NULL, SETS * sizeof(*c->sets), PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->sets == MAP_FAILED)
		fatal("checked tokens");
	return c;
}

void checked_free(struct checked *c)
{
	if (c == NULL)
		return;
	munmap(c->sets, SETS * sizeof(*c->sets));
	sodium_memzero(c->secret, sizeof(c->secret));
	free(c);
}

void checked_key(const struct checked *c, struct bw_str token, uint8_t key[CHECKED_KEY])
{
	crypto_generichash(key, CHECKED_KEY, (const uint8_t *)token.p, token.n, c->secret,
	                   sizeof(c->secret));
}

static struct slot *set_of(const struct checked *c, const uint8_t *key)
{
	return c->sets[(key[0] | (unsigned)key[1] << 8) % SETS];
}

static bool is_live(const struct checked *c, const struct slot *s, int64_t now_s)
{
	return s->epoch == c->epoch && s->entry.until_s >= now_s;
}

const struct checked_entry *checked_find(const struct checked *c, const uint8_t key[CHECKED_KEY],
                                         int64_t now_s)
{
	const struct slot *set = set_of(c, key);

	for (unsigned i = 0; i < WAYS; i++)
		if (memcmp(set[i].key, key, CHECKED_KEY) == 0 && is_live(c, &set[i], now_s))
			return &set[i].entry;
	return NULL;
}

/* The token's own place, else one that is worth nothing, else the one that ends first. */
static struct slot *place_for(const struct checked *c, const uint8_t *key, int64_t now_s)
{
	struct slot *set = set_of(c, key), *ret = NULL;

	for (unsigned i = 0; i < WAYS; i++) {
		if (memcmp(set[i].key, key, CHECKED_KEY) == 0)
			return &set[i];
		if (ret == NULL ||
		    (is_live(c, ret, now_s) &&
		     (!is_live(c, &set[i], now_s) || set[i].entry.until_s < ret->entry.until_s)))
			ret = &set[i];
	}
	return ret;
}

void checked_put(struct checked *c, const uint8_t key[CHECKED_KEY], const struct checked_entry *e,
                 uint64_t epoch, int64_t now_s)
{
	struct slot *s = place_for(c, key, now_s);

	memcpy(s->key, key, CHECKED_KEY);
	s->entry = *e;
	s->epoch = epoch;
}

void checked_forget(struct checked *c)
{
	c->epoch++;
}

uint64_t checked_epoch(const struct checked *c)
{
	return c->epoch;
}
