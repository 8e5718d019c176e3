/* The compiled pattern table. The hash needs no secret: its keys come from bundles, and a path that
 * collides with one costs a comparison and no more.
 *
 * Runs in: compile in the worker's thread; find anywhere. Tests: tests/unit/whiteboard/match_test.c
 * (against a slow reference), bench/match.c. */
#include "match.h"

#include <endian.h>

struct match_slot {
	uint32_t hash;   /* upper half */
	uint32_t record; /* offset / 8 + 1; 0: empty */
};

struct record {
	const void *value;
	uint32_t    n;
	char        key[];
};

#define SEED  0x243f6a8885a308d3u
#define PRIME 0x9e3779b97f4a7c15u

static inline uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * PRIME;
	return h ^ (h >> 32);
}

/* The next eight octets of a path; a slash stands in for its end, which ends the last segment as any
 * other slash does. */
static inline uint64_t load(const char *p, const char *end)
{
	uint64_t word = 0;
	size_t   n = (size_t)(end - p);

	if (n >= 8) {
		memcpy(&word, p, 8);
		return le64toh(word);
	}
	for (size_t i = 0; i < n; i++)
		word |= (uint64_t)(unsigned char)p[i] << (8 * i);
	return word | (uint64_t)'/' << (8 * n);
}

/* Hashes the segment at p and moves p to the slash or the end behind it. */
static inline uint64_t hash_segment(uint64_t h, const char **p, const char *end)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;

	for (;;) {
		uint64_t word = load(*p, end);
		uint64_t slashes = word ^ (ones * '/');
		unsigned n;

		slashes = (slashes - ones) & ~slashes & tops; /* the lowest set bit is exact */
		if (slashes == 0) {
			h = mix(h, word);
			*p += 8;
			continue;
		}
		n = (unsigned)__builtin_ctzll(slashes) / 8;
		*p += n;
		return mix(h, word & ((UINT64_C(1) << (8 * n)) - 1));
	}
}

static uint64_t hash_path(struct bw_str path)
{
	const char *p = path.p, *end = path.p + path.n;
	uint64_t    h = SEED;

	while (p < end) {
		p++; /* the slash before the segment */
		h = hash_segment(h, &p, end);
	}
	return h;
}

/* Extensions are hashed from their end, so that one walk back over a path finds all of them. */
static inline uint64_t hash_octet(uint64_t h, char c)
{
	return mix(h, (unsigned char)c);
}

static uint64_t hash_extension(struct bw_str ext)
{
	uint64_t h = SEED;

	for (size_t i = ext.n; i > 0; i--)
		h = hash_octet(h, ext.p[i - 1]);
	return h;
}

static inline uint32_t bit_of(uint64_t h)
{
	return (uint32_t)(h >> 16);
}

static inline const void *look(const struct match_keys *k, uint64_t h, const char *key, size_t n)
{
	uint32_t bit = bit_of(h) & k->bits_mask;

	if (!(k->bits[bit / 64] >> (bit % 64) & 1))
		return NULL;
	for (uint32_t i = (uint32_t)h & k->slots_mask; k->slots[i].record;
	     i = (i + 1) & k->slots_mask) {
		const struct record *r;

		if (k->slots[i].hash != (uint32_t)(h >> 32))
			continue;
		r = (const void *)(k->records + ((size_t)k->slots[i].record - 1) * 8);
		if (r->n == n && memcmp(r->key, key, n) == 0)
			return r->value;
	}
	return NULL;
}

/* ---- compile ---- */

static size_t record_size(struct bw_str key)
{
	return (sizeof(struct record) + key.n + 7) & ~(size_t)7;
}

static uint32_t power_of_two(size_t at_least)
{
	uint32_t n = 8;

	while (n < at_least)
		n *= 2;
	return n;
}

static bool goes_in(const struct pattern *p, enum pattern_kind kind)
{
	return p->kind == kind && p->key.n > 0; /* the empty prefix is kept apart */
}

static void compile_keys(struct match_keys *k, struct arena *a, const struct match_input *in,
                         size_t n, enum pattern_kind kind)
{
	size_t             count = 0, octets = 0, at = 0;
	uint32_t           n_slots, n_bits;
	struct match_slot *slots;
	uint64_t          *bits;
	uint8_t           *records;

	for (size_t i = 0; i < n; i++) {
		if (goes_in(in[i].pattern, kind)) {
			count++;
			octets += record_size(in[i].pattern->key);
		}
	}
	n_slots = power_of_two(2 * count);
	n_bits = power_of_two(count < 4 ? 64 : 16 * count);
	slots = arena_zalloc(a, n_slots * sizeof(*slots));
	bits = arena_zalloc(a, n_bits / 8);
	records = arena_alloc(a, octets + 8);
	for (size_t i = 0; i < n; i++) {
		struct bw_str  key = in[i].pattern->key;
		struct record *r = (void *)(records + at);
		uint64_t       h;
		uint32_t       slot, bit;

		if (!goes_in(in[i].pattern, kind))
			continue;
		r->value = in[i].value;
		r->n = (uint32_t)key.n;
		memcpy(r->key, key.p, key.n);
		h = kind == PATTERN_EXTENSION ? hash_extension(key) : hash_path(key);
		for (slot = (uint32_t)h & (n_slots - 1); slots[slot].record;
		     slot = (slot + 1) & (n_slots - 1))
			;
		slots[slot] = (struct match_slot){ (uint32_t)(h >> 32), (uint32_t)(at / 8) + 1 };
		bit = bit_of(h) & (n_bits - 1);
		bits[bit / 64] |= UINT64_C(1) << (bit % 64);
		at += record_size(key);
	}
	*k = (struct match_keys){ bits, slots, records, n_bits - 1, n_slots - 1 };
}

static uint32_t depth_of(struct bw_str key)
{
	uint32_t n = 0;

	for (size_t i = 0; i < key.n; i++)
		n += key.p[i] == '/';
	return n;
}

void match_compile(struct match_table *t, struct arena *a, const struct match_input *in, size_t n)
{
	*t = (struct match_table){ .root = NULL };
	compile_keys(&t->exact, a, in, n, PATTERN_EXACT);
	compile_keys(&t->prefix, a, in, n, PATTERN_PREFIX);
	compile_keys(&t->extension, a, in, n, PATTERN_EXTENSION);
	for (size_t i = 0; i < n; i++) {
		const struct pattern *p = in[i].pattern;

		if (p->kind == PATTERN_ROOT)
			t->root = in[i].value;
		else if (p->kind == PATTERN_DEFAULT)
			t->fallback = in[i].value;
		else if (p->kind == PATTERN_PREFIX && p->key.n == 0)
			t->everything = in[i].value;
		else if (p->kind == PATTERN_PREFIX && depth_of(p->key) > t->max_depth)
			t->max_depth = depth_of(p->key);
		else if (p->kind == PATTERN_EXTENSION && p->key.n > t->max_extension)
			t->max_extension = (uint32_t)p->key.n;
	}
}

/* ---- find ---- */

/* Walks back over the last segment, no further than the longest extension: the last hit is the
 * longest. */
static const void *find_extension(const struct match_table *t, struct bw_str path)
{
	const void *found = NULL;
	uint64_t    h = SEED;

	for (size_t i = path.n; i > 0 && path.n - i <= t->max_extension; i--) {
		char c = path.p[i - 1];

		if (c == '/')
			break;
		if (c == '.') {
			const void *value = look(&t->extension, h, path.p + i, path.n - i);

			found = value ? value : found;
		}
		h = hash_octet(h, c);
	}
	return found;
}

const void *match_find(const struct match_table *t, struct bw_str path)
{
	const char *p = path.p, *end = path.p + path.n;
	const void *prefix = t->everything, *found;
	uint64_t    h = SEED;
	uint32_t    depth = 0;

	if (path.n <= 1 && t->root)
		return t->root;
	while (p < end) {
		p++;
		h = hash_segment(h, &p, end);
		if (++depth <= t->max_depth) {
			found = look(&t->prefix, h, path.p, (size_t)(p - path.p));
			prefix = found ? found : prefix;
		}
	}
	found = look(&t->exact, h, path.p, path.n);
	if (!found)
		found = prefix;
	if (!found && t->max_extension > 0)
		found = find_extension(t, path);
	return found ? found : t->fallback;
}
