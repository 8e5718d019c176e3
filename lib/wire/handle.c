/* handle.c - writes and checks resolver handles, and loads the keys they are made with.
 *
 * Owns: nothing. Keys are their process's: auth mints with the first, repo checks with both.
 * Runs in: auth and repo, on the loop (keys: at start-up).
 * Fails with: BW_EPROTO for anything that is not a handle made with one of the keys; it does not
 * say which part was wrong. Tests: tests/unit/wire/handle_test.c, fuzz/handle_get. */
#include <wire/handle.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
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

/* One line "id hex64" of n octets without its newline. */
static bool parse_key(const char *line, size_t n, struct handle_key *ret)
{
	uint64_t    id = 0;
	size_t      i = 0, n_key;
	const char *end;

	for (; i < n && line[i] >= '0' && line[i] <= '9' && id <= UINT32_MAX; i++)
		id = id * 10 + (uint64_t)(line[i] - '0');
	if (i == 0 || id > UINT32_MAX || i == n || line[i++] != ' ')
		return false;
	if (n - i != 2 * sizeof(ret->key) ||
	    sodium_hex2bin(ret->key, sizeof(ret->key), line + i, n - i, NULL, &n_key, &end) != 0 ||
	    n_key != sizeof(ret->key))
		return false;
	ret->id = (uint32_t)id;
	return true;
}

static int parse_keys(const char *text, size_t n, struct handle_key keys[2],
                      const char **ret_reason)
{
	int n_keys = 0;

	for (size_t at = 0; at < n;) {
		const char *nl = memchr(text + at, '\n', n - at);
		size_t      line = nl ? (size_t)(nl - text) - at : n - at;

		if (n_keys == 2) {
			*ret_reason = "more than two lines";
			return -1;
		}
		if (!parse_key(text + at, line, &keys[n_keys])) {
			*ret_reason = "a line is not \"id\" and 64 hexadecimal digits";
			return -1;
		}
		n_keys++;
		at += line + 1;
	}
	if (n_keys == 0)
		*ret_reason = "empty";
	else if (n_keys == 2 && keys[0].id == keys[1].id)
		*ret_reason = "both keys have the same id";
	else
		return n_keys;
	return -1;
}

/* A descriptor of a file that only its owner, and perhaps its group for reading, can get at. */
static int open_private(const char *file, char *err, size_t err_size)
{
	int         fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(err, err_size, "%s: %s", file, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		snprintf(err, err_size, "%s: not a regular file", file);
	} else if (st.st_mode & (S_IXUSR | S_IWGRP | S_IXGRP | S_IRWXO)) {
		snprintf(err, err_size,
		         "%s: mode %04o, which lets others at the keys; 0440 is right", file,
		         (unsigned)(st.st_mode & 07777));
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int handle_keys_load(const char *file, struct handle_key keys[2], char *err, size_t err_size)
{
	char        text[256]; /* two lines are at most 152 octets */
	const char *reason = NULL;
	size_t      n = 0;
	ssize_t     got = 1;
	int         n_keys = -1, fd = open_private(file, err, err_size);

	if (fd < 0)
		return -1;
	while (n < sizeof(text) && (got = read(fd, text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		reason = strerror(errno);
	else if (n == sizeof(text))
		reason = "too long";
	else
		n_keys = parse_keys(text, n, keys, &reason);
	close(fd);
	sodium_memzero(text, sizeof(text));
	if (n_keys < 0) {
		sodium_memzero(keys, 2 * sizeof(keys[0]));
		snprintf(err, err_size, "%s: %s", file, reason);
	}
	return n_keys;
}
