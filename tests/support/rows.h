/* rows.h - where a test that runs rows finds them: its own file, or the one ./dev conformance names. */
#pragma once
#include <stdlib.h>

static inline const char *rows_file(const char *own)
{
	const char *other = getenv("BOARDWALK_ROWS");

	return other != NULL ? other : own;
}

/* How many rows must have run: so many of our own, at least one of another file. */
static inline unsigned rows_least(unsigned own)
{
	return getenv("BOARDWALK_ROWS") != NULL ? 1 : own;
}
