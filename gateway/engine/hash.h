/* hash.h - the engine's hash of short strings. Not for keys that an attacker may choose to store: the
 * mount table holds the bundles' paths, and the selection cache forgets on a collision. */
#pragma once
#include <boardwalk/types.h>

static inline uint64_t hash_mix(uint64_t h, uint64_t v)
{
	__uint128_t product = (__uint128_t)(h ^ v) * 0x9fb21c651e98df25u;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_load64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t hash_load32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Goes on from h; the length counts, so that ("ab", "c") is not ("a", "bc"). The last load of a
 * string overlaps the one before it: no loop over single octets. */
static inline uint64_t hash_str(uint64_t h, struct bw_str s)
{
	const char *p = s.p;
	size_t      n = s.n;

	h = hash_mix(h, 0xa0761d6478bd642fu + n);
	if (n >= 8) {
		for (; n > 8; p += 8, n -= 8)
			h = hash_mix(h, hash_load64(p));
		return hash_mix(h, hash_load64(p + n - 8));
	}
	if (n >= 4)
		return hash_mix(h, hash_load32(p) << 32 | hash_load32(p + n - 4));
	if (n > 0)
		return hash_mix(h, (uint64_t)(uint8_t)p[0] << 16 |
		                           (uint64_t)(uint8_t)p[n / 2] << 8 | (uint8_t)p[n - 1]);
	return h;
}
