/* vars.h - what stands between braces in a row. */
#pragma once
#include <stddef.h>

/* Values by name; a later one replaces the one before. */
void        vars_set(const char *name, const char *value, size_t n);
const char *vars_get(const char *name); /* NULL: none */
void        vars_forget(void);
/* The text with every {...} replaced, heap; fatalx if one means nothing. */
char *vars_expand(const char *text);
