/* answer.h - what repo agrees to do for a gateway, and for whom. */
#pragma once
#include "blob.h"
#include "commit.h"
#include "events.h"
#include "namespace.h"
#include "resource.h"
#include "search.h"
#include "session.h"
#include "version.h"
#include <ev.h>
#include <sys/types.h>
#include <wire/handle.h>

struct answers;

/* Who finds the answers; all borrowed. */
struct answer_parts {
	struct resources *resources;
	struct sessions  *sessions;
	struct commits   *commits;
	struct blobs     *blobs;
	struct searches  *searches;
	struct events    *events;
	struct versions  *versions;
};

/* Listens from now on. keys: borrowed; read anew when a handle names one that is not among them. gateway: the only user let in besides our own. */
struct answers *answers_new(struct ev_loop *loop, int listener, uid_t gateway,
                            struct handle_keys *keys, const struct answer_parts *parts);
/* Refuses what comes from now on as BW_EGONE, without the parts; what waits is still answered. */
void answers_drain(struct answers *a);
void answers_free(
	struct answers *a); /* closes all connections; the parts have been freed, events not */
