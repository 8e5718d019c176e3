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

/* Reads a key file: at most two lines "id hex64", mode 0600 or 0640 or 0440 or 0400. Returns the
 * number of keys, or -1 with a reason in err. The first line is the one to mint with. */
int handle_keys_load(const char *file, struct handle_key keys[2], char *err, size_t err_size);
