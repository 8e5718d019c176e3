/* Shared objects.
 *
 * Constructors run inside dlopen, before any check of the descriptor, so the file itself is checked
 * first: a regular file that only root, the operator or we could have written. Loading is RTLD_NOW,
 * since a missing symbol must be found here and not in a request, and RTLD_LOCAL.
 *
 * glibc hands out what is mapped already for a path that it knows and for an inode that it knows,
 * and dlclose leaves in place what is marked NODELETE, has unique symbols, or has destructors of
 * threads pending. RTLD_NOLOAD tells both.
 *
 * Owns: nothing; the handle is in struct bw_bundle. Runs in: the loop's stack; runs constructors
 * and destructors of the bundle. Tests:
 * tests/unit/whiteboard/bundles_test.c. */
#include "library.h"

#include "bundles.h"
#include "mark.h"
#include "whiteboard/helper.h"

#include <base/fatal.h>
#include <base/symbolic.h>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

static uid_t trusted; /* root, until bundles_trust */

void bundles_trust(uid_t owner)
{
	trusted = owner;
}

/* NULL, or why the file may not be loaded. */
static const char *check_file(const char *file)
{
	struct stat st;

	if (stat(file, &st) != 0)
		return "cannot be read";
	if (!S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_uid != 0 && st.st_uid != trusted && st.st_uid != geteuid())
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
	if (!d->symbolic_name || !symbolic_name_ok(d->symbolic_name))
		return "has no valid symbolic name";
	if (!d->version || !d->start)
		return "has no version or no start";
	if (d->size >= sizeof(*d) && !embedded_is_sorted(d->embedded))
		return "has embedded files that are not in the order of their names";
	return NULL;
}

static bool is_mapped(const char *file)
{
	void *there = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (there)
		dlclose(there);
	return there != NULL;
}

const char *library_open(struct bw_bundle *b)
{
	const char *reason = check_file(b->file);
	struct mark before;

	if (reason)
		return reason;
	if (is_mapped(b->file))
		return "is mapped already, and a generation needs a file of its own";
	before = mark_begin(b, MARK_LOAD);
	b->library = dlopen(b->file, RTLD_NOW | RTLD_LOCAL);
	mark_end(before);
	if (!b->library) {
		b->failure = xasprintf("cannot be loaded: %s", dlerror());
		return b->failure;
	}
	b->descriptor = dlsym(b->library, "boardwalk_bundle");
	return check_descriptor(b->descriptor);
}

bool library_close(struct bw_bundle *b)
{
	struct mark before;

	if (!b->library)
		return true;
	before = mark_begin(b, MARK_UNLOAD);
	dlclose(b->library);
	mark_end(before);
	b->library = NULL;
	b->descriptor = NULL;
	return !is_mapped(b->file);
}
