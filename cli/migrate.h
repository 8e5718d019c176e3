/* migrate.h - brings a database to the version of this program. */
#pragma once
#include "database.h"

/* Makes the two roles and runs the missing migrations, each in its own transaction, under an
 * advisory lock: two starters at once take turns. Says on stdout what it did. False after a line on
 * stderr; what was migrated before the failure stays. A newer database is refused. */
bool migrate_run(struct database *db);
