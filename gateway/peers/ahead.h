/* ahead.h - resolver handles of the guest and of service users, fetched before a request needs them:
 * for identities in constant use the way to auth falls away. A user's are never fetched ahead. */
#pragma once
#include <boardwalk/bundle.h>

#define AHEAD_MAX 32u /* handles kept per identity */

/* On a request's fiber: gives r (RESOLVER_ANONYMOUS or RESOLVER_SERVICE) a handle, the oldest there
 * is, or parks until auth has sent one. BW_ELOGIN, BW_EBUSY, BW_EGONE as from auth; BW_EGONE, BW_ETIME
 * if the request is over. */
int ahead_take(struct bw_resolver *r);
/* A peer's connection is gone: so is what was fetched for it. */
void ahead_drop(void);
/* At the end of the worker, when nothing is in flight any more. */
void ahead_done(void);
