/* refusals.h - a bundle that cannot be started in one worker is refused in all of them.
 *
 *   a successor cannot start it --> that worker is replaced, a few times --> refused, everywhere
 *
 * A worker that starts says so with its "up", and is replaced before it has accepted from anybody, with the
 * waits of parent.c; the others accept in its place. At the gateway's own start nobody has had the bundle
 * started yet, and one failure is enough. So are three crashes of workers that start it (inventory.c,
 * crashes.c). */
#pragma once
#include "control/changes.h"

struct refusals;

struct refusals_hooks {
	/* Ends a worker that cannot be told. */
	void (*abort_worker)(void *arg, uint32_t worker, const char *why);
	void *arg;
};

struct refusals *refusals_new(struct crew *crew, struct changes *changes,
                              const struct refusals_hooks *hooks);
void             refusals_free(struct refusals *r);
/* Who else has started what this worker could not. */
enum refusals_others {
	REFUSALS_NOBODY,      /* ever */
	REFUSALS_PREDECESSOR, /* but nobody does now: clients wait */
	REFUSALS_OTHERS,
};
/* What a worker could not start, as triples of words: name, generation (0: of the settings), reason. True:
 * it may serve as it is. */
bool refusals_hear(struct refusals *r, const char *words, size_t n, enum refusals_others others);
/* Tells all workers of what is refused now. */
void refusals_tend(struct refusals *r);
