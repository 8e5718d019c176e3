/* crash_limits.h - what crashed this worker's predecessors is not run for a while: a pattern, a mounted
 * servlet or a preprocessor is answered 503, an error page gives way to the built-in one, a listener is not told. So one
 * request which crashes a servlet does not cost everybody else a worker each second. The time doubles
 * with every crash and ends, so that nobody can switch a page off for good. */
#pragma once
#include <stdbool.h>

struct bw_req;
struct shared_limit;
struct shared_worker;

void limits_init(const struct shared_worker *me);
/* Of scope and pattern, as fiber_subject has them; NULL, as nearly always: there is none. Good for
 * the process. */
const struct shared_limit *limits_find(const char *scope, const char *pattern);
/* Does it hold now? */
bool limits_hold(const struct shared_limit *l);
/* The same; true: the request has its 503. */
bool limits_answer(const struct shared_limit *l, struct bw_req *req);
