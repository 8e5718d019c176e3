/* run.h - how an answering process runs and ends: until SIGTERM or SIGINT, then on until what is under
 * way has ended; a second signal ends it at once. */
#pragma once
#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

struct wire_run_ops {
	/* The first signal: take nothing new. False: nobody was served yet, there is nothing to wait for. */
	bool (*drain)(void *arg);
	/* What is still under way; looked at in each turn of the loop while stopping. */
	size_t (*under_way)(const void *arg);
};

/* Returns when the process is to end. loop must be the default loop (signals). */
void wire_run(struct ev_loop *loop, const struct wire_run_ops *ops, void *arg);
