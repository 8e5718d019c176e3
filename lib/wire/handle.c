/* handle.c - writes and checks resolver handles, and loads the keys they are made with.
 *
 * Owns: nothing. Keys are their process's: auth mints with the first, repo checks with both.
 * Runs in: auth and repo, on the loop.
 * Fails with: BW_EPROTO for anything that is not a handle made with one of the keys; it does not
 * say which part was wrong. Tests: tests/unit/wire/handle_test.c, fuzz/handle_get. */
#include <wire/handle.h>
#include <base/clock.h>
#include <base/log.h>
#include <sodium.h>
#include <stdio.h>
#include <wire/octets.h>

_Static_assert(sizeof(((struct handle_key *)0)->key) == crypto_generichash_KEYBYTES, "key size");
_Static_assert(HANDLE_MAC == crypto_generichash_BYTES, "MAC size");

uint64_t handle_principal(const struct handle *h, unsigned i, bool *ret_group)
{
	uint64_t v = get_u64(h->principals + 8u * i);

	if (ret_group)
		*ret_group = v & 1;
	return v >> 1;
}

uint64_t handle_sequence(const uint8_t *p)
{
	return get_u64(p + 24);
}

size_t handle_put(const struct handle *h, const uint64_t *principals, const struct handle_key *key,
                  uint8_t *out)
{
	size_t n = HANDLE_FIXED + 8u * (size_t)h->n_principals;

	out[0] = HANDLE_VERSION;
	out[1] = (uint8_t)h->kind;
	put_u16(out + 2, (uint16_t)h->n_principals);
	put_u32(out + 4, key->id);
	memcpy(out + 8, h->channel, HANDLE_CHANNEL);
	put_u64(out + 24, h->sequence);
	put_u64(out + 32, h->user_id);
	put_u64(out + 40, h->issued_us);
	put_u64(out + 48, h->expires_us);
	for (unsigned i = 0; i < h->n_principals; i++)
		put_u64(out + HANDLE_FIXED + 8u * i, principals[i]);
	crypto_generichash(out + n, HANDLE_MAC, out, n, key->key, sizeof(key->key));
	return n + HANDLE_MAC;
}

/* The MAC first: no field but the key's id is believed before. */
static bool is_genuine(const uint8_t *p, size_t n, const struct handle_key *key)
{
	uint8_t mac[HANDLE_MAC];
	bool    equal;

	crypto_generichash(mac, sizeof(mac), p, n - HANDLE_MAC, key->key, sizeof(key->key));
	equal = sodium_memcmp(mac, p + n - HANDLE_MAC, HANDLE_MAC) == 0;
	sodium_memzero(mac, sizeof(mac)); /* of a forgery, it is what the forger wants to know */
	return equal;
}

static const struct handle_key *find_key(const struct handle_key *keys, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (keys[i].id == id)
			return &keys[i];
	return NULL;
}

int handle_get(const uint8_t *p, size_t n, const struct handle_key *keys, size_t n_keys,
               struct handle *ret)
{
	const struct handle_key *key;
	struct handle            h;

	if (n < HANDLE_FIXED + HANDLE_MAC || n > HANDLE_MAX || p[0] != HANDLE_VERSION)
		return BW_EPROTO;
	h.n_principals = get_u16(p + 2);
	if (h.n_principals > HANDLE_MAX_PRINCIPALS ||
	    n != HANDLE_FIXED + 8u * (size_t)h.n_principals + HANDLE_MAC)
		return BW_EPROTO;
	h.key_id = get_u32(p + 4);
	key = find_key(keys, n_keys, h.key_id);
	if (!key || !is_genuine(p, n, key))
		return BW_EPROTO;
	if (p[1] < HANDLE_ANONYMOUS || p[1] > HANDLE_ADMIN)
		return BW_EPROTO;
	h.kind = p[1];
	memcpy(h.channel, p + 8, HANDLE_CHANNEL);
	h.sequence = get_u64(p + 24);
	h.user_id = get_u64(p + 32);
	h.issued_us = get_u64(p + 40);
	h.expires_us = get_u64(p + 48);
	if (h.issued_us > h.expires_us || h.expires_us - h.issued_us > HANDLE_LIFE_US)
		return BW_EPROTO;
	h.principals = p + HANDLE_FIXED;
	*ret = h;
	return BW_OK;
}

/* ---- the key file ---- */

static int64_t now_s(void)
{
	return (int64_t)(clock_real_us() / 1000000u);
}

static int load(const char *file, struct handle_keys *ret, char *err, size_t err_size)
{
	struct key_line lines[KEY_LINES];
	int             n = key_file_load(file, HANDLE_KEYS, lines, &ret->stamp, err, err_size);

	for (int i = 0; i < n; i++) {
		ret->keys[i].id = lines[i].id;
		memcpy(ret->keys[i].key, lines[i].key, sizeof(ret->keys[i].key));
		ret->until_s[i] = lines[i].until;
	}
	ret->n = n > 0 ? (size_t)n : 0;
	ret->file = file;
	sodium_memzero(lines, sizeof(lines));
	return n > 0 ? 0 : -1;
}

/* True: one is gone. The order stays: the first is the one to mint with. */
static bool drop_old(struct handle_keys *k)
{
	size_t n = 0, was = k->n;

	for (size_t i = 0; i < was; i++) {
		if (k->until_s[i] != 0 && k->until_s[i] <= now_s())
			continue;
		k->until_s[n] = k->until_s[i];
		if (n < i)
			k->keys[n] = k->keys[i];
		n++;
	}
	if (n < was)
		sodium_memzero(&k->keys[n], (was - n) * sizeof(k->keys[0]));
	k->n = n;
	return n < was;
}

int handle_keys_load(const char *file, struct handle_keys *ret, char *err, size_t err_size)
{
	struct handle_keys keys = { .n = 0 };
	int                code = load(file, &keys, err, err_size);

	drop_old(&keys);
	if (code == 0 && keys.n == 0) {
		snprintf(err, err_size, "%s: the time of all its keys is over", file);
		code = -1;
	}
	if (code == 0)
		*ret = keys;
	sodium_memzero(&keys, sizeof(keys));
	return code;
}

bool handle_keys_follow(struct handle_keys *k)
{
	struct handle_keys fresh;
	char               err[512];

	if (k->file == NULL || !key_file_is_new(k->file, &k->stamp))
		return drop_old(k);
	if (handle_keys_load(k->file, &fresh, err, sizeof(err)) != 0) {
		log_error(0, "the keys stay what they are: %s", err);
		return drop_old(k);
	}
	*k = fresh;
	sodium_memzero(&fresh, sizeof(fresh));
	log_info(0, "handles are signed with key %lu from now on", (unsigned long)k->keys[0].id);
	return true;
}

bool handle_keys_has(const struct handle_keys *k, const uint8_t *p, size_t n)
{
	return n >= HANDLE_FIXED && find_key(k->keys, k->n, get_u32(p + 4)) != NULL;
}
