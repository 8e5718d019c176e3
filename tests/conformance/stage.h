/* stage.h - what the things of a row need from where they stand: the in-process runner (world.c) or the
 * test bundle in a real gateway (bundle/rows.c) gives it. */
#pragma once
#include <boardwalk/boardwalk.h>

#define STAGE_CONTEXT "rows.control" /* the runner's own context, which no row touches */

/* The bundle of that name: "test" if a row names none. */
struct bw_bundle *stage_bundle(const char *name);
/* do=block: returns when the runner says "resume"; ms not 0: or after that time, in a real gateway. */
int stage_block(struct bw_req *req, unsigned ms);
/* Is this a request of the runner's own? What sees all requests lets it pass and takes no note of it. */
bool stage_is_own(const struct bw_req *req);
/* The row cannot be read. */
__attribute__((noreturn, format(printf, 1, 2))) void stage_fail(const char *format, ...);
