/* worker.h - one worker process of the gateway, between gateway.c, which forks it, and its parts. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

struct bundle_list;
struct gateway_settings;
struct shared;

struct worker {
	const struct gateway_settings *settings;
	struct shared                 *shared;
	uint32_t                       index;      /* in shared */
	const int                     *public_fds; /* of all workers */
	int                            management_fd;
	int                            orders_fd; /* taken; the parent's orders (control/obey.h) */
	const struct bundle_list      *bundles; /* that are installed, besides the settings' own */
	uid_t                          owner;   /* of bundles, besides root and ourselves */
	pid_t                          parent;
};

/* Everything the worker does, in the child after the fork. Returns its exit status. */
int worker_run(const struct worker *w);
