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
#include "bundles.h"
#include "control/crew.h"

struct changes;

struct changes_hooks {
	/* Ends a worker that does not answer; its successor gets the list as it then is. */
	void (*abort_worker)(void *arg, uint32_t worker, const char *why);
	void *arg;
};

/* Once per order; reason: NULL if all is well, borrowed for the call. */
typedef void (*changes_cb)(void *asker, const char *reason);

/* folder: of the store, borrowed; NULL or empty: none, and nothing can be changed. A state that cannot
 * be read is fatal: who starts without bundles that should be there would answer 404 for them. */
struct changes *changes_new(struct crew *crew, const char *folder,
                            const struct changes_hooks *hooks);
void            changes_free(struct changes *c);

/* NULL: cb follows. Otherwise why it cannot even be tried; static text. */
const char *changes_prepare(struct changes *c, enum bundle_action action, const char *name,
                            uint64_t generation, changes_cb cb, void *asker);
/* What this asker has prepared. */
const char *changes_publish(struct changes *c, changes_cb cb, void *asker);
const char *changes_drop(struct changes *c, void *asker);
/* cb is not called any more for this asker. */
void changes_asker_left(struct changes *c, void *asker);

bool changes_hold_starts(const struct changes *c);
/* generation: which bundle's code the worker was in when it ended (shared.h); 0: none. */
void changes_worker_ended(struct changes *c, uint64_t generation, const char *how);
/* For a worker that is forked now; heap, freed by changes_list_free. */
struct bundle_list changes_list(const struct changes *c);
void               changes_list_free(struct bundle_list *l);
/* Microseconds until something is due, at most limit_us. */
uint64_t changes_tend(struct changes *c, uint64_t now_us, uint64_t limit_us);

struct json_t;
/* An array: name, generation, state, and what is known of failures. A new reference. */
struct json_t *changes_describe(const struct changes *c);
