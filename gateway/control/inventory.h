/* inventory.h - what is installed, as the parent's memory has it: what the store says, and what workers
 * made of it. */
#pragma once
#include "bundle/bundles.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INVENTORY_FAILURES 16u

struct inventory_item {
	char    *name;
	uint64_t generation;
	bool     stopped;
	char    *refused; /* why it is not given to workers any more; NULL: it is */
	unsigned crashes; /* of workers that were in its start or init, and starts that failed */
	uint64_t crashed_us;
	bool     untold; /* refused, and there may be workers that do not know */
};

/* A change that was not made, until one of the same name is. */
struct inventory_failure {
	char    *name, *reason; /* name NULL: free */
	uint64_t generation;
	uint64_t at_us; /* the oldest one makes room */
};

struct inventory {
	const char *folder;     /* of the store, borrowed; NULL: none */
	char       *remembered; /* bundle/remember.h, as a worker said last; NULL: none did */
	struct inventory_item   *items;
	size_t                   n;
	struct inventory_failure failures[INVENTORY_FAILURES];
};

/* A state that cannot be read is fatal: who starts without bundles that should be there would answer 404
 * for them. */
void inventory_read(struct inventory *v, const char *folder);
void inventory_done(struct inventory *v);

struct inventory_item *inventory_find(const struct inventory *v, const char *name);
/* A change has been made. */
void inventory_apply(struct inventory *v, enum bundle_action action, const char *name,
                     uint64_t generation);
/* One was not; reason is copied. */
void inventory_fail(struct inventory *v, const char *name, uint64_t generation, const char *reason);
/* A worker has ended in that bundle's start or init. The third time it is refused. */
void inventory_crash(struct inventory *v, uint64_t generation, const char *how);
/* A worker could not start it when it started itself; why is the end of "it ...". At that many tries it is
 * refused. True: it is, or is not installed any more, so that this worker may serve without it. */
bool inventory_fail_start(struct inventory *v, uint64_t generation, const char *why,
                          unsigned tries);
/* One that is untold; NULL: none is. */
struct inventory_item *inventory_untold(const struct inventory *v);

/* What a worker says of the settings' bundles: bundle/remember.h. */
void inventory_remember(struct inventory *v, const char *text);
/* For a worker that is forked now; names are borrowed, the rest is freed by inventory_rows_free. */
struct bundle_list inventory_rows(const struct inventory *v);
void               inventory_rows_free(struct bundle_list *l);

struct json_t;
/* {"installed": [...], "failed": [...]}, a new reference. */
struct json_t *inventory_describe(const struct inventory *v);
