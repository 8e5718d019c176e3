/* mint.h - makes resolver handles (wire/handle.h). */
#pragma once
#include <wire/handle.h>

/* What is kept per gateway worker. */
struct mint_channel {
	uint8_t channel
		[HANDLE_CHANNEL]; /* its connection to repo, the only place its handles are good */
	uint64_t sequence;        /* of the next one */
};

/* Who a handle speaks for. principals: id << 1 | is_group, the user first. */
struct mint_identity {
	enum handle_kind kind;
	uint64_t         user_id;
	unsigned         n_principals;
	const uint64_t  *principals;
};

/* now_us: CLOCK_BOOTTIME. Numbers begin there, so they stay above those of a former auth process
 * that served the same channel. */
void mint_channel_init(struct mint_channel *c, const uint8_t channel[HANDLE_CHANNEL],
                       uint64_t now_us);
/* Writes a handle good for HANDLE_LIFE_US into out (HANDLE_MAX octets); returns its size. */
size_t mint_handle(struct mint_channel *c, const struct handle_key *key,
                   const struct mint_identity *who, uint64_t now_us, uint8_t *out);
/* Writes up to count handles one behind the other, as many as fit into room octets but at least one
 * (HANDLE_MAX octets are enough for that); returns how many and sets *ret_size to that of each. */
unsigned mint_handles(struct mint_channel *c, const struct handle_key *key,
                      const struct mint_identity *who, uint64_t now_us, unsigned count,
                      uint8_t *out, size_t room, size_t *ret_size);
/* The principal set {anonymous, everyone}; lives for ever. */
const struct mint_identity *mint_anonymous(void);
