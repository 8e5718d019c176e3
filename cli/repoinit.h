/* repoinit.h - executes a repoinit script. */
#pragma once
#include "cli.h"
#include "database.h"

/* Parses the whole text, then executes it in one transaction under an advisory lock, three times at
 * most if the server says that it may succeed when tried again. name: what messages call the script.
 * Each change is a line on stdout unless quiet, then the number of them. False after a line
 * NAME:LINE:COLUMN: ... on stderr; then nothing has changed. Afterwards the bells are rung. */
bool repoinit_run(struct database *db, const struct cli_settings *settings, const char *name,
                  const char *text, size_t n, bool quiet);
/* Tells auth's and repo's processes that there is news in their journals. */
bool repoinit_ring(struct database *db);
