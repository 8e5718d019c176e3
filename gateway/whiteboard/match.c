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

/* n octets as a word, n < 8. */
static inline uint64_t load_few(const char *p, size_t n)
{
	uint64_t word = 0;

	for (size_t i = 0; i < n; i++)
		word |= (uint64_t)(unsigned char)p[i] << (8 * i);
	return word;
}

static inline uint64_t load_eight(const char *p)
{
	uint64_t word;

	memcpy(&word, p, 8);
	return le64toh(word);
}

/* The last n % 8 octets of a path. */
static inline uint64_t load_tail(const char *p, size_t n)
{
	size_t few = n % 8;

	if (few == 0 || n < 8)
		return load_few(p + n - few, few);
	return load_eight(p + n - 8) >> (8 * (8 - few));
}

/* The hash of the path up to and without octet n of this word; h: of the words before it. */
static inline uint64_t hash_part(uint64_t h, uint64_t word, unsigned n)
{
	return mix(h, word & ((UINT64_C(1) << (8 * n)) - 1));
}

static uint64_t hash_path(struct bw_str path)
{
	uint64_t h = SEED;

	for (size_t i = 0; i + 8 <= path.n; i += 8)
		h = mix(h, load_eight(path.p + i));
	return mix(h, load_tail(path.p, path.n));
}

/* The top bit of each octet that is a slash. */
static inline uint64_t find_slashes(uint64_t word)
{
	const uint64_t low = 0x7f7f7f7f7f7f7f7fu;
	uint64_t       x = word ^ 0x2f2f2f2f2f2f2f2fu;

	return ~(((x & low) + low) | x | low);
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

/* A Bloom filter of two bits in one word. */
static inline uint64_t bits_of(uint64_t h)
{
	return UINT64_C(1) << (h >> 58) | UINT64_C(1) << (h >> 52 & 63);
}

static inline bool may_hold(const struct match_keys *k, uint64_t h)
{
	uint64_t bits = bits_of(h);

	return (k->bits[(h >> 20) & k->bits_mask] & bits) == bits;
}

static inline const void *look(const struct match_keys *k, uint64_t h, const char *key, size_t n)
{
	if (!may_hold(k, h))
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
	uint32_t           n_slots, n_words;
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
	n_words = power_of_two(count / 2);
	slots = arena_zalloc(a, n_slots * sizeof(*slots));
	bits = arena_zalloc(a, n_words * sizeof(*bits));
	records = arena_alloc(a, octets + 8);
	for (size_t i = 0; i < n; i++) {
		struct bw_str  key = in[i].pattern->key;
		struct record *r = (void *)(records + at);
		uint64_t       h;
		uint32_t       slot;

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
		bits[(h >> 20) & (n_words - 1)] |= bits_of(h);
		at += record_size(key);
	}
	*k = (struct match_keys){ bits, slots, records, n_words - 1, n_slots - 1 };
}

void match_compile(struct match_table *t, struct arena *a, const struct match_input *in, size_t n)
{
	*t = (struct match_table){ .root = NULL };
	compile_keys(&t->exact, a, in, n, PATTERN_EXACT);
	compile_keys(&t->prefix, a, in, n, PATTERN_PREFIX);
	compile_keys(&t->extension, a, in, n, PATTERN_EXTENSION);
	for (size_t i = 0; i < n; i++) {
		const struct pattern *p = in[i].pattern;

		t->has_keys |= goes_in(p, PATTERN_EXACT) || goes_in(p, PATTERN_PREFIX) ||
		               goes_in(p, PATTERN_EXTENSION);
		if (p->kind == PATTERN_ROOT)
			t->root = in[i].value;
		else if (p->kind == PATTERN_DEFAULT)
			t->fallback = in[i].value;
		else if (p->kind == PATTERN_PREFIX && p->key.n == 0)
			t->everything = in[i].value;
		else if (p->kind == PATTERN_PREFIX && p->key.n > t->max_prefix)
			t->max_prefix = (uint32_t)p->key.n;
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

/* Up to 64 octets of a path: its words, the hash before each, and where the slashes are. Everything is
 * worked out before the first look into a table, so that the looks do not wait for each other. */
struct stretch {
	uint64_t word[8], hash[8];
	uint64_t slashes; /* one bit per octet */
};

static inline void add_word(struct stretch *s, unsigned i, uint64_t *h, uint64_t word)
{
	/* The multiplication gathers the eight top bits in the highest octet. */
	uint64_t bits = (find_slashes(word) >> 7) * 0x0102040810204080u >> 56;

	s->word[i] = word;
	s->hash[i] = *h;
	s->slashes |= bits << (8 * i);
	*h = mix(*h, word);
}

/* The longest prefix that ends before one of the slashes, or the one found before; at: offset of the
 * stretch. */
static inline const void *find_prefix(const struct match_table *t, const char *path, size_t at,
                                      const struct stretch *s, const void *prefix)
{
	for (uint64_t slashes = s->slashes; slashes; slashes &= slashes - 1) {
		unsigned    n = (unsigned)__builtin_ctzll(slashes);
		uint64_t    h = hash_part(s->hash[n / 8], s->word[n / 8], n % 8);
		const void *found = look(&t->prefix, h, path, at + n);

		prefix = found ? found : prefix;
	}
	return prefix;
}

const void *match_find(const struct match_table *t, struct bw_str path)
{
	const void    *prefix = t->everything, *found;
	uint64_t       h = SEED;
	size_t         i = 0;
	struct stretch s;

	if (path.n <= 1 && t->root)
		return t->root;
	if (!t->has_keys)
		return prefix ? prefix : t->fallback;
	for (; path.n - i >= 64; i += 64) {
		s.slashes = 0;
		for (unsigned k = 0; k < 8; k++)
			add_word(&s, k, &h, load_eight(path.p + i + 8 * k));
		if (i <= t->max_prefix)
			prefix = find_prefix(t, path.p, i, &s, prefix);
	}
	s.slashes = 0;
	for (unsigned k = 0; k < (path.n - i) / 8; k++)
		add_word(&s, k, &h, load_eight(path.p + i + 8 * k));
	add_word(&s, (unsigned)(path.n - i) / 8, &h, load_tail(path.p, path.n));
	found = look(&t->exact, h, path.p, path.n);
	if (!found)
		found = look(&t->prefix, h, path.p, path.n);
	if (!found && i <= t->max_prefix)
		prefix = find_prefix(t, path.p, i, &s, prefix);
	if (!found)
		found = prefix;
	if (!found && t->max_extension > 0)
		found = find_extension(t, path);
	return found ? found : t->fallback;
}
