/* mint.c - makes resolver handles, each for one connection, one request, 60 seconds.
 * Owns: nothing; the key is auth's. Runs in: the loop. Cannot fail. Tests:
 * tests/unit/auth/mint_test.c. */
#include "mint.h"
#include "account.h"

_Static_assert(ACCOUNT_MAX_PRINCIPALS == HANDLE_MAX_PRINCIPALS, "an account fits into a handle");

void mint_channel_init(struct mint_channel *c, const uint8_t channel[HANDLE_CHANNEL],
                       uint64_t now_us)
{
	memcpy(c->channel, channel, HANDLE_CHANNEL);
	c->sequence = now_us;
}

size_t mint_handle(struct mint_channel *c, const struct handle_key *key,
                   const struct mint_identity *who, uint64_t now_us, uint8_t *out)
{
	struct handle h = {
		.kind = who->kind,
		.key_id = key->id,
		.sequence = c->sequence++,
		.user_id = who->user_id,
		.issued_us = now_us,
		.expires_us = now_us + HANDLE_LIFE_US,
		.n_principals = who->n_principals,
	};

	memcpy(h.channel, c->channel, HANDLE_CHANNEL);
	return handle_put(&h, who->principals, key, out);
}

unsigned mint_handles(struct mint_channel *c, const struct handle_key *key,
                      const struct mint_identity *who, uint64_t now_us, unsigned count,
                      uint8_t *out, size_t room, size_t *ret_size)
{
	size_t   size = mint_handle(c, key, who, now_us, out);
	unsigned n = 1;

	for (; n < count && (n + 1) * size <= room; n++)
		mint_handle(c, key, who, now_us, out + n * size);
	*ret_size = size;
	return n;
}

const struct mint_identity *mint_anonymous(void)
{
	static const uint64_t principals[] = {
		ACCOUNT_ID_ANONYMOUS << 1,
		ACCOUNT_ID_EVERYONE << 1 | 1,
	};
	static const struct mint_identity anonymous = {
		.kind = HANDLE_ANONYMOUS,
		.user_id = ACCOUNT_ID_ANONYMOUS,
		.n_principals = 2,
		.principals = principals,
	};

	return &anonymous;
}
