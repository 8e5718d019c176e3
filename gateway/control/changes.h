/* changes.h - the bundles that are installed, and how that changes in all workers at once or in none.
 *
 *   IDLE --prepare--> TRYING (one worker) -> PREPARING (the others) -> PREPARED --publish--> PUBLISHING -> IDLE
 *                        |                       |                        |
 *                        +--- a failure ---------+------ drop ------------+--> IDLE
 *
 * Between PREPARED and publish the asker replaces the state of the store: that is the moment at which
 * the change is made. So an asker that is gone, or silent, is answered for by the store: what it says is
 * published, what it does not say is dropped; and whatever starts afterwards starts with what it says.
 * Until it is decided no worker is started. */
#pragma once
#include "control/crew.h"
#include "control/inventory.h"

struct changes;

struct changes_hooks {
	/* Ends a worker that does not answer; its successor gets the list as it then is. */
	void (*abort_worker)(void *arg, uint32_t worker, const char *why);
	void *arg;
};

/* Once per order; reason: NULL if all is well, borrowed for the call. */
typedef void (*changes_cb)(void *asker, const char *reason);

/* folder: of the store, borrowed; NULL or empty: none, and nothing can be changed. */
struct changes *changes_new(struct crew *crew, const char *folder,
                            const struct changes_hooks *hooks);
void            changes_free(struct changes *c);
/* What is installed, with what is published by now. */
struct inventory *changes_inventory(struct changes *c);

/* NULL: cb follows. Otherwise why it cannot even be tried; static text. */
const char *changes_prepare(struct changes *c, enum bundle_action action, const char *name,
                            uint64_t generation, changes_cb cb, void *asker);
/* What this asker has prepared. */
const char *changes_publish(struct changes *c, changes_cb cb, void *asker);
const char *changes_drop(struct changes *c, void *asker);
/* cb is not called any more for this asker. */
void changes_asker_left(struct changes *c, void *asker);

bool changes_hold_starts(const struct changes *c);
bool changes_is_idle(const struct changes *c);
/* Microseconds until something is due, at most limit_us. */
uint64_t changes_tend(struct changes *c, uint64_t now_us, uint64_t limit_us);
