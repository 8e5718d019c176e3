/* symbolic.h - symbolic names, as OSGi has them: one or more tokens of letters, digits, '_' and '-',
 * joined by single dots (OSGi core 1.3.2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define SYMBOLIC_NAME_MAX 100u /* octets of a bundle's name, which becomes part of file names */

bool symbolic_ok(const char *p, size_t n);
/* The same, of at most SYMBOLIC_NAME_MAX octets. */
bool symbolic_name_ok(const char *name);
