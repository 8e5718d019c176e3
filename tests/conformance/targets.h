/* targets.h - rows of canonicalisation (canonical.rows) asked of a server: a request each. */
#pragma once
#include "text.h"

/* Does the file hold such rows? Its first line says so: "# rows: canonical". */
bool targets_are(const char *first_line);
/* The set-up in which they are asked: everything matches, and a preprocessor and a filter stand in front. */
struct words targets_set_up(void);
/* From "number | target | path, or 400 | query | parameters" to a row of the whiteboard. */
struct target_row {
	char        *id, *request;
	struct words steps, items;
};
struct target_row targets_read(char *line);
