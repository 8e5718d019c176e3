/* remember.h - credentials that were verified a short time ago, so that a client which sends its
 * password with every request does not cost an argon2 each time. Only here, never in the gateway. */
#pragma once
#include <boardwalk/types.h>

#define REMEMBER_KEY 32u

struct remember;

/* seconds: how long an entry is good; 0: nothing is remembered. Never NULL. */
struct remember *remember_new(uint64_t seconds);
void             remember_free(struct remember *r); /* wipes; NULL is fine */
/* The name of (user, password) in here: a keyed hash that tells nothing without this process's
 * random key. Also what equal logins in flight are recognised by. user has no NUL. */
void remember_key(const struct remember *r, struct bw_str user, struct bw_str password,
                  uint8_t key[REMEMBER_KEY]);
/* True if this key was verified for that account against that very verifier (account.h's number of
 * it) and the time is not over. One that does not fit any more is forgotten at once. */
bool remember_find(struct remember *r, const uint8_t key[REMEMBER_KEY], uint64_t account,
                   uint64_t verifier, uint64_t now_us);
void remember_put(struct remember *r, const uint8_t key[REMEMBER_KEY], uint64_t account,
                  uint64_t verifier, uint64_t now_us);
