/* The worker's side of the mark that names a bundle at work.
 *
 * Owns: nothing; the mark is in shared memory. Runs in: the worker's thread. Fails with: nothing.
 * Tests: tests/unit/gateway/crashes_test.c, tests/unit/whiteboard/bundles_test.c. */
#include "mark.h"

#include "bundles.h"
#include "shared.h"

#include <stdio.h>

static struct shared_mark *shared;
static struct mark         current;

const char *mark_phase_text(uint32_t phase)
{
	static const char *const texts[] = { "nothing",        "its constructors", "start",
		                             "init",           "destroy",          "stop",
		                             "its destructors" };

	return texts[phase < sizeof(texts) / sizeof(texts[0]) ? phase : 0];
}

void mark_init(struct shared_worker *me)
{
	shared = me ? &me->mark : NULL;
	current = (struct mark){ NULL, MARK_NONE };
}

static void put(struct mark m)
{
	current = m;
	if (!shared)
		return;
	/* A death between the two stores blames nobody rather than somebody else. */
	atomic_store(&shared->phase, MARK_NONE);
	if (!m.bundle)
		return;
	shared->generation = m.bundle->generation;
	snprintf(shared->bundle, sizeof(shared->bundle), "%s",
	         m.bundle->name ? m.bundle->name : m.bundle->file);
	atomic_store(&shared->phase, m.phase);
}

struct mark mark_begin(const struct bw_bundle *b, enum mark_phase phase)
{
	struct mark before = current;

	put((struct mark){ b, phase });
	return before;
}

void mark_end(struct mark before)
{
	put(before);
}
