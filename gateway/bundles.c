/* Bundles: loaded once, at the start of a worker, in the order of the settings.
 *
 * A shared object's constructors run inside dlopen, before any check of its descriptor, so the file
 * itself is checked first: a regular file that only root or we could have written. Loading is
 * RTLD_NOW, since a missing symbol must be found here and not in a request, and RTLD_LOCAL. What was
 * started stays mapped to the end of the process: its strings and functions may be anywhere.
 *
 * Owns: the list of bundles, refused ones with their reason. Runs in: the worker's thread, before it
 * serves and after it has served. Logs: each bundle, started or refused.
 * Tests: tests/unit/whiteboard/bundles_test.c. */
#include "bundles.h"

#include "whiteboard/helper.h"
#include "whiteboard/registry.h"

#include <base/conf.h>
#include <base/fatal.h>
#include <base/log.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct bw_bundle *bundles; /* the last one first */
static uint32_t          last_id;
static struct registry  *registry;

static struct bw_bundle *bundle_new(const char *file)
{
	struct bw_bundle *b = xcalloc(1, sizeof(*b));

	b->id = ++last_id;
	b->file = file ? xstrdup(file) : NULL;
	b->next = bundles;
	bundles = b;
	return b;
}

/* One or more tokens of letters, digits, '_' and '-' joined by dots, as OSGi's symbolic names. */
static bool is_symbolic_name(const char *name)
{
	bool in_token = false;

	for (; *name; name++) {
		if (*name == '.' && in_token)
			in_token = false;
		else if ((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
		         (*name >= '0' && *name <= '9') || *name == '_' || *name == '-')
			in_token = true;
		else
			return false;
	}
	return in_token;
}

/* NULL, or why the file may not be loaded. */
static const char *check_file(const char *file)
{
	struct stat st;

	if (stat(file, &st) != 0)
		return "cannot be read";
	if (!S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return "belongs to another user";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "can be written by others";
	return NULL;
}

/* NULL, or why the descriptor does not fit. */
static const char *check_descriptor(const struct bw_bundle_descriptor *d)
{
	if (!d)
		return "exports no boardwalk_bundle";
	if (d->magic != BW_BUNDLE_MAGIC)
		return "has no bundle descriptor";
	if (d->abi_major != BW_ABI_MAJOR)
		return "is built for another major version of the ABI";
	if (d->abi_minor > BW_ABI_MINOR)
		return "is built for a newer minor version of the ABI";
	if (d->size <
	    offsetof(struct bw_bundle_descriptor, embedded)) /* minor version 0 ends there */
		return "has a descriptor that is too short";
	if (!d->symbolic_name || !is_symbolic_name(d->symbolic_name))
		return "has no valid symbolic name";
	if (!d->version || !d->start)
		return "has no version or no start";
	if (d->size >= sizeof(*d) && !embedded_is_sorted(d->embedded))
		return "has embedded files that are not in the order of their names";
	for (const struct bw_bundle *b = bundles; b; b = b->next)
		if (b->name && !b->failure && strcmp(b->name, d->symbolic_name) == 0)
			return "has the symbolic name of another bundle";
	return NULL;
}

/* NULL, or why it is refused. */
static const char *start(struct bw_bundle *b)
{
	const struct bw_bundle_descriptor *d;
	const char                        *reason = check_file(b->file);
	int                                err;

	if (reason)
		return reason;
	b->library = dlopen(b->file, RTLD_NOW | RTLD_LOCAL);
	if (!b->library) {
		log_error(0, "%s", dlerror());
		return "cannot be loaded";
	}
	d = dlsym(b->library, "boardwalk_bundle");
	reason = check_descriptor(d);
	if (reason)
		return reason;
	b->descriptor = d;
	b->name = xstrdup(d->symbolic_name);
	b->version = xstrdup(d->version);
	err = d->start(bundles_host(), b);
	if (err == BW_OK)
		return NULL;
	registry_unregister_bundle(registry, b);
	log_error(0, "bundle %s: its start returned %d", b->name, err);
	return "failed to start";
}

void bundles_load(struct registry *r, const struct conf_list *files)
{
	registry = r;
	bundles_use(r);
	for (size_t i = 0; i < files->n; i++) {
		struct bw_bundle *b = bundle_new(files->items[i]);

		b->failure = start(b);
		if (b->failure)
			log_error(0, "bundle %s is refused: it %s", b->file, b->failure);
		else
			log_info(0, "bundle %s %s is started, from %s", b->name, b->version,
			         b->file);
	}
}

void bundles_stop(void)
{
	for (struct bw_bundle *b = bundles; b; b = b->next) {
		if (!b->descriptor || b->failure)
			continue;
		if (b->descriptor->stop)
			b->descriptor->stop(b);
		registry_unregister_bundle(registry, b);
		b->failure = "is stopped";
	}
}

struct bw_bundle *bundles_builtin(const char *name)
{
	struct bw_bundle *b;

	for (b = bundles; b; b = b->next)
		if (!b->file && strcmp(b->name, name) == 0)
			return b;
	b = bundle_new(NULL);
	b->name = xstrdup(name);
	b->version = BOARDWALK_VERSION;
	return b;
}
