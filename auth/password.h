/* password.h - argon2id on a small pool of threads: it takes 60 ms and 64 MiB by design, so it never
 * runs in the loop and never more often at once than there are threads. */
#pragma once
#include <boardwalk/err.h>
#include <boardwalk/types.h>
#include <ev.h>

struct password_pool;

/* On the loop, once. A verification: ok tells whether the password fits. A hash: ok with the new
 * verifier, borrowed for the call. */
typedef void (*password_cb)(void *arg, bool ok, const char *verifier);

/* ops, mem: argon2id's cost for new verifiers and for the dummy. Starts the threads, so it comes
 * before the system call filter. */
struct password_pool *password_pool_new(struct ev_loop *loop, unsigned threads, unsigned queue,
                                        uint64_t ops, uint64_t mem);
/* Waits for what is being computed; callbacks not yet run are run now, not ok. NULL is fine. */
void password_pool_free(struct password_pool *pool);

/* Verifies on the pool; BW_EBUSY: the queue is full, cb will not run. The password is copied and
 * wiped when it has been used. verifier NULL: there is nothing to verify against, which takes the
 * same time (a hash of the present cost is verified) and is never ok. */
int password_verify(struct password_pool *pool, const char *verifier, struct bw_str password,
                    password_cb cb, void *arg);
/* A verifier of the present cost for that password, if nobody is waiting: else BW_EBUSY. */
int password_hash(struct password_pool *pool, struct bw_str password, password_cb cb, void *arg);
/* The verifier was made with another cost than the pool's. */
bool password_is_outdated(const struct password_pool *pool, const char *verifier);
/* An argon2id string whose cost can be afforded: verifying reads the cost from the string. */
bool password_is_verifier(const char *text);
