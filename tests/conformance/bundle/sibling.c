/* sibling.c - a bundle that does nothing but exist: what a row says with bundle=NAME is registered for
 * it, by rows.so, which is loaded later. SIBLING is its name. */
#include "names.h"

#include <boardwalk/boardwalk.h>

static int start(struct bw_bundle *self)
{
	names_put(SIBLING, self);
	return BW_OK;
}

static void stop(struct bw_bundle *self)
{
	(void)self;
	names_put(SIBLING, NULL);
}

BW_BUNDLE_EMBEDDED(SIBLING, "1.0.0", start, stop);
