/* names.h - which servlet of a context is meant by a name (OSGi 140.4; named dispatchers). */
#pragma once
#include <base/arena.h>
#include <boardwalk/types.h>

struct snapshot_servlet;

/* A hash table of power-of-two size, at most half full; slots are NULL or servlets. */
struct names {
	const struct snapshot_servlet **slots; /* NULL: no servlet has a name */
	size_t                          mask;
};

/* servlets: those with a name of their own, the best first: of one name only the first is entered. */
void names_compile(struct names *t, struct arena *a, const struct snapshot_servlet *const *servlets,
                   size_t n);
/* NULL: nobody has that name. */
const struct snapshot_servlet *names_find(const struct names *t, struct bw_str name);
