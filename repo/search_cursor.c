/* search_cursor.c - where a page ended, as text that means nothing to whoever carries it.
 *
 * base64url without padding of
 *    u8 version, u64 issued (hours since 1970), u64 before, u32 total, u8 relation,
 *    u8 keys, per key: u8 present, u32 n, octets
 * and 16 octets of a keyed BLAKE2b over these, the question and who asks: the total and the keys are of
 * what he may read, so nobody else's. What may be read is decided anew for each page all the same. Two
 * answers of one hour that have the same items have the same cursors, so that they compare equal.
 * Owns: nothing. Runs in: repo's loop. Fails with: BW_ESYNTAX.
 * Tests: tests/unit/repo/search_test.c, tests/conformance/query. */
#include "search_impl.h"
#include <sodium.h>
#include <stdlib.h>
#include <time.h>
#include <wire/octets.h>

#define VERSION  2u
#define MAC      16u
#define FIXED    23u
#define LIFE_H   24u
#define HOUR_S   3600u
#define MAX_TEXT 32768u /* a key has at most 512 characters, a path 2,048 octets */
#define BASE64   sodium_base64_VARIANT_URLSAFE_NO_PADDING

static void mac_of(const struct job *job, const void *octets, size_t n, uint8_t mac[MAC])
{
	crypto_generichash_state state;
	uint8_t                  size[8], user[8];
	size_t                   n_key = strlen(job->key);

	if (n_key > crypto_generichash_KEYBYTES_MAX)
		n_key = crypto_generichash_KEYBYTES_MAX;
	put_u64(size, n);
	put_u64(user, principals_user(job->who));
	crypto_generichash_init(&state, (const uint8_t *)job->key, n_key, MAC);
	crypto_generichash_update(&state, size, sizeof(size));
	crypto_generichash_update(&state, user, sizeof(user));
	crypto_generichash_update(&state, octets, n);
	crypto_generichash_update(&state, (const uint8_t *)job->plan.question.p,
	                          job->plan.question.n);
	crypto_generichash_final(&state, mac, MAC);
}

struct bw_str search_cursor_put(struct job *job, const struct search_state *state)
{
	struct buf    out;
	uint8_t      *p;
	char         *text = NULL;
	size_t        n;
	struct bw_str ret = BW_ABSENT;

	buf_init(&out);
	p = buf_reserve(&out, FIXED);
	p[0] = VERSION;
	put_u64(p + 1, (uint64_t)time(NULL) / HOUR_S);
	put_u64(p + 9, state->before);
	put_u32(p + 17, state->total);
	p[21] = (uint8_t)state->relation;
	p[22] = (uint8_t)state->place.n;
	buf_commit(&out, FIXED);
	for (unsigned i = 0; i < state->place.n; i++) {
		struct bw_str k = state->place.keys[i];

		p = buf_reserve(&out, 5 + k.n);
		p[0] = k.p != NULL;
		put_u32(p + 1, (uint32_t)k.n);
		if (k.n > 0)
			memcpy(p + 5, k.p, k.n);
		buf_commit(&out, 5 + k.n);
	}
	n = buf_size(&out);
	p = buf_reserve(&out, MAC);
	mac_of(job, buf_data(&out), n, p);
	buf_commit(&out, MAC);
	n = sodium_base64_ENCODED_LEN(buf_size(&out), BASE64);
	if (n <= MAX_TEXT) {
		text = arena_alloc(&job->arena, n);
		sodium_bin2base64(text, n, buf_data(&out), buf_size(&out), BASE64);
		ret = bw_str(text);
	}
	buf_done(&out);
	return ret;
}

/* The keys behind the fixed part. A MAC of ours is over them: what does not fit is somebody's else. */
static int read_keys(const uint8_t *p, size_t n, struct query_place *ret)
{
	struct query_place place = { .n = p[22] };
	size_t             at = FIXED;

	if (place.n > QUERY_MAX_KEYS)
		return BW_ESYNTAX;
	for (unsigned i = 0; i < place.n; i++) {
		size_t size;

		if (n - at < 5)
			return BW_ESYNTAX;
		size = get_u32(p + at + 1);
		if (n - at - 5 < size)
			return BW_ESYNTAX;
		if (p[at])
			place.keys[i] = (struct bw_str){ (const char *)p + at + 5, size };
		at += 5 + size;
	}
	*ret = place;
	return at == n ? BW_OK : BW_ESYNTAX;
}

int search_cursor_get(struct job *job, struct search_state *ret)
{
	struct bw_str text = job->plan.cursor;
	uint8_t      *p, mac[MAC];
	size_t        n;
	uint64_t      now = (uint64_t)time(NULL) / HOUR_S, issued;
	int           err;

	if (text.n == 0 || text.n > MAX_TEXT)
		return BW_ESYNTAX;
	p = arena_alloc(&job->arena, text.n);
	if (sodium_base642bin(p, text.n, text.p, text.n, NULL, &n, NULL, BASE64) != 0 ||
	    n < FIXED + MAC || p[0] != VERSION)
		return BW_ESYNTAX;
	n -= MAC;
	mac_of(job, p, n, mac);
	issued = get_u64(p + 1);
	if (sodium_memcmp(mac, p + n, MAC) != 0 || issued > now + 1 || now > issued + LIFE_H ||
	    p[21] > SEARCH_AT_LEAST)
		return BW_ESYNTAX;
	ret->before = get_u64(p + 9);
	ret->total = get_u32(p + 17);
	ret->relation = p[21];
	err = read_keys(p, n, &ret->place);
	/* NUL-terminated copies, for they become parameters. */
	for (unsigned i = 0; err == BW_OK && i < ret->place.n; i++)
		if (ret->place.keys[i].p != NULL)
			ret->place.keys[i].p =
				arena_dup(&job->arena, ret->place.keys[i].p, ret->place.keys[i].n);
	return err;
}
