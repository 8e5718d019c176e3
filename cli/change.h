/* change.h - changes of what is installed: in the store, and in the gateway that runs from it. */
#pragma once
#include "bundle_file.h"
#include "instance.h"

/* One change, from the lock on the store to the last worker's word. */
enum change_action { CHANGE_INSTALL, CHANGE_UPDATE, CHANGE_START, CHANGE_STOP, CHANGE_UNINSTALL };

/* file: of INSTALL and UPDATE, then name is its own; else NULL. Waits for its turn. Says on stdout what
 * it did. False after a line on stderr; then nothing has changed, in the store and in every worker. */
bool change_run(const struct instance *instance, enum change_action action, const char *name,
                const struct bundle_file *file);

/* For `up`, before the gateway runs: removes what changes that were broken off have left. False after a
 * line on stderr if the store cannot be read. */
bool change_tidy(const struct instance *instance);
/* For `up`, before the gateway runs: takes the bundles (*.so) of a folder into the store, those that it
 * has not taken before. A file that is no bundle is passed over with a line on stderr. False if the
 * store cannot be written, or there is no file. */
bool change_seed(const struct instance *instance, const char *folder);
/* When the gateway has started with what the store says: asks what each bundle registers, and keeps it
 * for the time when that bundle does not run. False after a line on stderr. */
bool change_keep_footprints(const struct instance *instance);
