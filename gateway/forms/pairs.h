/* pairs.h - a list of names and values that grows in an arena. */
#pragma once
#include <base/arena.h>
#include <boardwalk/types.h>

struct pairs {
	struct bw_pair *items;
	size_t          n, cap;
};

static inline void pairs_add(struct arena *a, struct pairs *to, struct bw_str name,
                             struct bw_str value)
{
	if (to->n == to->cap) {
		size_t          cap = to->cap > 0 ? 2 * to->cap : 8;
		struct bw_pair *grown = arena_alloc(a, cap * sizeof(*grown));

		if (to->n > 0)
			memcpy(grown, to->items, to->n * sizeof(*grown));
		to->items = grown;
		to->cap = cap;
	}
	to->items[to->n++] = (struct bw_pair){ name, value };
}

/* The value of the first one of that name, absent if there is none. */
static inline struct bw_str pairs_find(const struct pairs *in, struct bw_str name)
{
	for (size_t i = 0; i < in->n; i++)
		if (bw_str_eq(in->items[i].name, name))
			return in->items[i].value;
	return BW_ABSENT;
}
