/* pages.h - error pages: which servlet answers for a status or for an error name (OSGi 140.4.2). */
#pragma once
#include "snapshot.h"

/* What one page can lose at most: its codes, two wildcards, its names. More are not listed. */
#define PAGES_MAX_LOST 256

/* Everything that r wants to be the page of, as text. Returns how many. */
size_t pages_list(const struct reading *r, struct arena *a, struct bw_str items[PAGES_MAX_LOST]);
/* Would r be the page of anything that is still free in c? */
bool pages_wins(const struct snapshot_context *c, const struct reading *r);
/* Enters a page for what is free; *lost gets what is not, as text. Returns how many those are. */
size_t pages_take(struct snapshot_context *c, const struct snapshot_servlet *page, struct arena *a,
                  struct bw_str lost[PAGES_MAX_LOST]);

/* The page of a status; NULL. */
const struct snapshot_servlet *pages_for_status(const struct snapshot_context *c, int status);
/* The page of an error name or of its nearest parent; NULL. */
const struct snapshot_servlet *pages_for_name(const struct snapshot_context *c, struct bw_str name);
