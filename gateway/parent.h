/* parent.h - the process above the workers: starts them, watches them, replaces them. */
#pragma once

struct gateway_settings;
struct listeners;
struct shared;

/* Returns when all workers have ended after SIGTERM or SIGINT: the exit status. In a worker, it does
 * not return. */
int parent_run(const struct gateway_settings *s, const struct listeners *l, struct shared *shared);
