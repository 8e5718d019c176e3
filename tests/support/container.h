/* container.h - runs a service of docker-compose.yml where there is no Docker: as its user, with its
 * environment, in a mount namespace that holds the system's programs, ours, and the service's volumes
 * and secrets alone, and in the network namespace of its network.
 *
 * Needs root. Whatever cannot be done ends the test. */
#pragma once
#include "compose.h"

/* All containers of one test: what they share on disk, and their networks. */
struct container_world {
	char                  root[64]; /* below /tmp: image, volumes, secrets, log */
	const struct compose *compose;
	struct {
		const char *name;
		int         fd; /* its network namespace */
	} networks[COMPOSE_MAX];
	unsigned n_networks;
};

/* Makes volumes with the owners that the Dockerfile gives their folders, secrets by docker/make-secrets
 * and our files by docker/install. */
void container_world_init(struct container_world *world, const struct compose *compose);
void container_world_done(struct container_world *world);
/* A process in the service's place; command NULL: the service's own. Its output goes to root/log. */
pid_t container_start(const struct container_world *world, const struct compose_service *service,
                      const char *const *command);
/* The same for a function; the exit code is what it returns. */
pid_t container_call(const struct container_world *world, const struct compose_service *service,
                     int (*fn)(void *arg), void                                        *arg);
/* Runs fn in a network alone, with this process's rights and files. */
pid_t container_call_in_network(const struct container_world *world, const char *network,
                                int (*fn)(void *arg), void                      *arg);
/* Waits for its end; the exit code, 128 + signal if it was killed. */
int container_wait(pid_t pid);
