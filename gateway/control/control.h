/* control.h - the socket on which the operator speaks with a running gateway: a line of JSON each way.
 *
 *   > {"verb": "bundle.prepare", "action": "update", "name": "acme.hello", "generation": 7}
 *   < {"ok": true}
 *   > {"verb": "bundle.publish"}
 *   < {"ok": true}
 *   > {"verb": "route", "args": ["GET", "/hello"]}
 *   < {"worker": 0, "answer": {...}}           a line from each worker, which the parent does not read
 *   < {"worker": 1, "error": "..."}        or the parent's line for one that does not run
 *   < {"ok": true}
 *
 * The last line of an answer has "ok", and "error" if that is false. Who is neither root nor the operator
 * is not listened to. A line has at most 64 KiB and comes within 10 s; one request of a connection is
 * answered before its next one is read. */
#pragma once
#include "control/changes.h"

#include <poll.h>
#include <sys/types.h>

#define CONTROL_MAX_CLIENTS 16u

struct control;

/* listener: taken, -1 for none. owner: who may speak besides root. */
struct control *control_new(struct crew *crew, struct changes *changes, int listener, uid_t owner);
/* Hangs up, also in a worker after its fork; nobody is told, and no round is under way any more. */
void control_free(struct control *c);

/* What to wait for: at most CONTROL_MAX_CLIENTS + 1 entries. */
size_t control_poll(struct control *c, struct pollfd *fds);
/* What came of it; the same entries. */
void control_turn(struct control *c, const struct pollfd *fds, size_t n);
/* Hangs up on who is too slow; microseconds until the next could be, at most limit_us. */
uint64_t control_tend(struct control *c, uint64_t now_us, uint64_t limit_us);
