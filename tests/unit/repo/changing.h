/* changing.h - lists of changes in words, for tests; and the session that they are decided in.
 *
 * Steps, separated by ';' (values: text; l:5, d:1.5, b:true, date:.., dec:, name:, path:, ref:, weak:,
 * uri:, bin: (an upload) with a type; [a,b] and l:[1,2] lists; %41 any octet):
 *
 *    create /a/n [type=T] [mixin=M].. [p=v]..     remove /a/n
 *    move /a /b/c         copy /a /b/c            order /a/n [SIBLING]
 *    set /a p=v           unset /a p              type /a T
 *    mixin+ /a M          mixin- /a M
 *    ace+ /a +WHO privilege,.. [rep:glob=v] [rep:ntNames=[a,b]].. (-WHO: denies)
 *    ace- the same        acl- /a [WHO]
 *    checkin /a           checkout /a             restore /a NAME [removing]
 *    label+ /a LABEL VERSION [moving]             label- /a LABEL
 *    version- /a VERSION
 *    blind STEP: what the step is about has not been read before
 */
#pragma once
#include "world.h"
#include <wire/changes.h>

/* A session: what it has read is what its changes are decided upon. */
struct changing {
	struct client *client;
	uint64_t       handle;
	struct buf     list;
	unsigned       n;
};

/* Reads what the steps are about, and makes the list. Free with changing_done. */
void changing_init(struct changing *s, struct client *c, uint64_t handle, const char *steps);
void changing_done(struct changing *s);
/* Sends it; the answer comes in call. */
void changing_send(struct changing *s, struct call *call);
/* Sends it and waits: BW_OK or the error. *ret_changed and text (256 octets; of FAILED) may be NULL. */
int changing_commit(struct changing *s, unsigned *ret_changed, char *text);
/* All in one. */
int change(struct client *c, uint64_t handle, const char *steps);

/* What FAILED said, into text; "" if it was no FAILED. */
void call_text(const struct call *call, char text[256]);
