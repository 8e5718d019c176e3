/* The names of a context's servlets, for named dispatchers. Only names that were given count, not those
 * made from the bundle and the service id.
 *
 * Runs in: the worker's thread. Tests: tests/unit/whiteboard/names_test.c, tests/conformance (E, K). */
#include "names.h"

#include "snapshot.h"

static size_t hash_name(struct bw_str name)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < name.n; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3u;
	return (size_t)(h ^ h >> 32);
}

/* The slot that has the name, or the free one where it belongs. */
static const struct snapshot_servlet **find_slot(const struct names *t, struct bw_str name)
{
	size_t i = hash_name(name) & t->mask;

	while (t->slots[i] && !bw_str_eq(t->slots[i]->name, name))
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

void names_compile(struct names *t, struct arena *a, const struct snapshot_servlet *const *servlets,
                   size_t n)
{
	size_t slots = 2;

	if (n == 0)
		return;
	while (slots < 2 * n)
		slots *= 2;
	t->slots = arena_zalloc(a, slots * sizeof(*t->slots));
	t->mask = slots - 1;
	for (size_t i = 0; i < n; i++) {
		const struct snapshot_servlet **slot = find_slot(t, servlets[i]->name);

		if (!*slot)
			*slot = servlets[i];
	}
}

const struct snapshot_servlet *names_find(const struct names *t, struct bw_str name)
{
	return t->slots && name.p ? *find_slot(t, name) : NULL;
}
