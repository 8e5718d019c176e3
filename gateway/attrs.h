/* attrs.h - named values, in the order in which they were first set: the attributes of a context. */
#pragma once
#include "value.h"

struct attrs_entry {
	struct attrs_entry *next;
	struct bw_value    *value; /* heap */
	size_t              n;
	char                name[]; /* with a NUL */
};

struct attrs {
	struct attrs_entry *first; /* NULL: none */
};

/* Borrowed until the next change; NULL. */
const struct bw_value *attrs_find(const struct attrs *a, const char *name);
/* The name of number i, absent past the last. Borrowed until the next change. */
struct bw_str attrs_name(const struct attrs *a, size_t i);
/* Copies. An absent value (NULL, or type 0) removes. *ret_old: what was there, NULL if nothing;
 * owned: free(). */
void attrs_set(struct attrs *a, const char *name, const struct bw_value *value,
               struct bw_value **ret_old);
void attrs_done(struct attrs *a);
