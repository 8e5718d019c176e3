/* crashes.h - the parent's memory of what bundles did to its workers. */
#pragma once
#include "bundles.h"

struct shared_worker;

/* A worker has died: whose fault was it? Call before its successor is started; clears what the dead
 * one left. True: a bundle's, outside of a request. Then *ret_generation is that bundle's (0: it
 * came with the settings, and its crashes are counted here), and how (of n octets), which says how
 * the worker ended, becomes "crashed in init". */
bool crashes_note(struct shared_worker *w, uint32_t index, uint64_t *ret_generation, char *how,
                  size_t n);
/* The same for one of the settings that a worker could not start when it started itself: at that many
 * tries it is refused. True: it is, so that this worker may serve without it. */
bool crashes_fail(const char *name, const char *why, unsigned tries);
/* One that is refused, and there may be workers that do not know; false: none is. Borrowed. */
bool crashes_untold(const char **ret_name, const char **ret_reason);
void crashes_told(const char *name);
/* What a worker that starts now is told: what is installed, and those of the settings that crashed
 * too often, as refused. Owned: crashes_list_done, which leaves the strings alone. */
struct bundle_list crashes_list(const struct bundle_list *installed);
void               crashes_list_done(struct bundle_list *list);
void               crashes_done(void);
