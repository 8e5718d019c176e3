/* parent.h - the process above the workers: starts them, watches them, replaces them. */
#pragma once
#include <sys/types.h>

struct gateway_settings;
struct listeners;
struct shared;

/* Returns when all workers have ended after SIGTERM or SIGINT: the exit status. In a worker, it does
 * not return. owner: who may speak on the control socket besides root. */
int parent_run(const struct gateway_settings *s, const struct listeners *l, struct shared *shared,
               uid_t owner);
