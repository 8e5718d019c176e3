/* handle.h - the resolver handle: a request's authority over the repository, as bytes.
 *
 * Auth mints it, the gateway carries it, repo checks it. Fixed layout, little endian:
 *
 *    0  u8   version = 1
 *    1  u8   kind (enum handle_kind)
 *    2  u16  number of principals, at most 512
 *    4  u32  key id
 *    8  16   channel: the connection between gateway worker and repo it is good for
 *   24  u64  sequence number on that channel
 *   32  u64  user id (principal id of the user)
 *   40  u64  issued at, microseconds of CLOCK_BOOTTIME
 *   48  u64  expires at, the same clock
 *   56  u64  per principal: id << 1 | is_group
 *    .  32   BLAKE2b-256, keyed, over all of the above
 */
#pragma once
#include <base/key_file.h>
#include <boardwalk/err.h>
#include <boardwalk/types.h>

#define HANDLE_VERSION        1
#define HANDLE_CHANNEL        16u
#define HANDLE_MAC            32u
#define HANDLE_FIXED          56u
#define HANDLE_MAX_PRINCIPALS 512u
#define HANDLE_MAX            (HANDLE_FIXED + 8u * HANDLE_MAX_PRINCIPALS + HANDLE_MAC)
#define HANDLE_LIFE_US        60000000u

enum handle_kind { HANDLE_ANONYMOUS = 1, HANDLE_USER = 2, HANDLE_SERVICE = 3, HANDLE_ADMIN = 4 };

struct handle_key {
	uint32_t id;
	uint8_t  key[32];
};

struct handle {
	enum handle_kind kind;
	uint32_t         key_id;
	uint8_t          channel[HANDLE_CHANNEL];
	uint64_t         sequence, user_id, issued_us, expires_us;
	unsigned         n_principals;
	const uint8_t   *principals; /* u64 each, unaligned, inside the bytes it was read from */
};

/* Principal number i; *ret_group (may be NULL): it is a group. */
uint64_t handle_principal(const struct handle *h, unsigned i, bool *ret_group);

/* The sequence number in the bytes of a handle, for the gateway, which has no key to check them:
 * p has at least HANDLE_FIXED octets. */
uint64_t handle_sequence(const uint8_t *p);

/* Writes the handle with its MAC; returns its size. principals: h->n_principals values id << 1 |
 * is_group (h->principals is not looked at). out: HANDLE_MAX octets. */
size_t handle_put(const struct handle *h, const uint64_t *principals, const struct handle_key *key,
                  uint8_t *out);
/* Reads the layout and checks the MAC with the key of its id out of n keys, in constant time.
 * BW_EPROTO: not a handle, unknown key or wrong MAC: the caller closes the connection. Neither
 * expiry nor channel nor sequence is looked at here. */
int handle_get(const uint8_t *p, size_t n, const struct handle_key *keys, size_t n_keys,
               struct handle *ret);

/* ---- the file of keys (base/key_file.h), of two lines: the present one and the one before ---- */

#define HANDLE_KEYS 2u

struct handle_keys {
	struct handle_key keys[HANDLE_KEYS]; /* the first is the one to mint with */
	size_t            n;
	int64_t           until_s[HANDLE_KEYS]; /* second of 1970 at which it goes; 0: it stays */
	const char       *file;                 /* borrowed; NULL: they do not come from one */
	struct key_stamp  stamp;
};

/* 0, or -1 with a reason in err. */
int handle_keys_load(const char *file, struct handle_keys *ret, char *err, size_t err_size);
/* Drops keys whose time is over, and reads the file anew if it is another one by now; one that cannot be
 * read is logged and changes nothing. True: keys have changed. */
bool handle_keys_follow(struct handle_keys *k);
/* Whether the bytes of a handle name one of the keys. */
bool handle_keys_has(const struct handle_keys *k, const uint8_t *p, size_t n);
