/* answer.h - what repo agrees to do for a gateway, and for whom. */
#pragma once
#include "commit.h"
#include "resource.h"
#include "search.h"
#include "session.h"
#include <ev.h>
#include <sys/types.h>
#include <wire/handle.h>

struct answers;

/* Listens from now on. keys: n of them, borrowed; so are those that answer. gateway: the only user let in
 * besides our own. */
struct answers *answers_new(struct ev_loop *loop, int listener, uid_t gateway,
                            const struct handle_key *keys, size_t n_keys, struct resources *r,
                            struct sessions *sessions, struct commits *commits,
                            struct searches *searches);
/* Refuses what comes from now on as BW_EGONE, without the others; what waits is still answered. */
void answers_drain(struct answers *a);
void answers_free(struct answers *a); /* closes all connections; r and the others have been freed */
