/* value.h - copies of plain data (struct bw_value). A value's items and text lie in one run of
 * octets behind it:   items of a list | text, a NUL behind each string */
#pragma once
#include <boardwalk/value.h>

/* One of the four types, nothing absent in it. */
bool value_ok(const struct bw_value *v);
/* Octets that a copy needs beside the struct itself; 0 for a single number or boolean. */
size_t value_size(const struct bw_value *v);
/* *ret becomes the copy, with what it points to in mem: value_size octets, aligned for any type. */
void value_copy(const struct bw_value *v, struct bw_value *ret, void *mem);
/* The struct and all of it in one block: free() it. */
struct bw_value *value_dup(const struct bw_value *v);
