/* inspected.h - items about what the whiteboard shows of itself: its records and its routes. */
#pragma once
#include <stdbool.h>

/* Is it one of these items? */
bool inspected_is(const char *item);
/* NULL, or what was got instead. */
char *inspected_check(const char *item);
