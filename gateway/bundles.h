/* bundles.h - loading shared objects, the host table, and what a bundle is to the gateway. */
#pragma once
#include <boardwalk/bundle.h>

struct registry;
struct conf_list;

struct bw_bundle {
	struct bw_bundle *next;
	uint32_t          id;
	const char       *name, *version; /* heap; the name is checked to be a symbolic name */
	char             *file;
	void             *library; /* dlopen; NULL: built in */
	const struct bw_bundle_descriptor *descriptor;
	const char                        *failure; /* why it is refused; NULL: started */
};

/* Loads and starts files in order. A bundle that cannot be used (missing, not ours, wrong ABI, group
 * or world writable, start fails) is refused with a logged reason; the rest goes on. */
void bundles_load(struct registry *r, const struct conf_list *files);
void bundles_stop(void);
/* A bundle that is part of the gateway (the engine). */
struct bw_bundle *bundles_builtin(const char *name);
/* host.c: the registry that bundles register in; bundles_load does this. */
void bundles_use(struct registry *r);
/* The host table given to every bundle. */
const struct bw_host *bundles_host(void);
