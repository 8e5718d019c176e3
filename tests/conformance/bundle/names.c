/* The table of the test's bundles. Runs in: a worker's thread. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 8

static struct {
	const char       *name; /* static */
	struct bw_bundle *bundle;
} names[MAX_NAMES];
static void (*on_stop)(struct bw_bundle *bundle);

void names_on_stop(void (*cb)(struct bw_bundle *bundle))
{
	on_stop = cb;
}

/* The entry of that name, or a free one; MAX_NAMES if there is none. */
static size_t find(const char *name)
{
	size_t free_one = MAX_NAMES;

	for (size_t i = 0; i < MAX_NAMES; i++) {
		if (names[i].name && strcmp(names[i].name, name) == 0)
			return i;
		if (!names[i].name && free_one == MAX_NAMES)
			free_one = i;
	}
	return free_one;
}

void names_put(const char *name, struct bw_bundle *bundle)
{
	size_t i = find(name);

	if (i == MAX_NAMES)
		abort();
	if (!bundle && on_stop && names[i].bundle)
		on_stop(names[i].bundle);
	names[i].name = bundle ? name : NULL;
	names[i].bundle = bundle;
}

struct bw_bundle *names_get(const char *name)
{
	for (size_t i = 0; i < MAX_NAMES; i++)
		if (names[i].name && strcmp(names[i].name, name) == 0)
			return names[i].bundle;
	return NULL;
}
