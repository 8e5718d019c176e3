/* The table of the test's bundles. Runs in: a worker's thread. */
#include "names.h"

#include <stddef.h>
#include <string.h>

#define MAX_NAMES 8

static struct {
	const char       *name; /* static */
	struct bw_bundle *bundle;
} names[MAX_NAMES];

void names_put(const char *name, struct bw_bundle *bundle)
{
	size_t i = 0;

	while (i < MAX_NAMES - 1 && names[i].name && strcmp(names[i].name, name) != 0)
		i++;
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
