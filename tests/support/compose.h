/* compose.h - docker-compose.yml as a test reads it: the keys this project uses, and no others. A key
 * that is not known here ends the test, so that nothing in the file is passed over in silence. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#define COMPOSE_MAX 16 /* of anything */

struct compose_mount {
	const char *source; /* a volume's name; of a tmpfs its options, "" for none */
	const char *target;
	bool        read_only;
};

struct compose_depends {
	const char *service, *condition;
};

struct compose_service {
	const char            *name, *network;
	uid_t                  uid;
	gid_t                  gid;
	bool                   read_only, no_capabilities, no_new_privileges, has_init;
	const char            *command[COMPOSE_MAX];     /* NULL-terminated, like the next two */
	const char            *environment[COMPOSE_MAX]; /* "NAME=value" */
	const char            *health[COMPOSE_MAX];      /* without CMD; empty: none */
	const char            *secrets[COMPOSE_MAX];     /* names, NULL-terminated */
	struct compose_mount   volumes[COMPOSE_MAX], tmpfs[COMPOSE_MAX]; /* target NULL: the end */
	struct compose_depends depends[COMPOSE_MAX];                     /* service NULL: the end */
};

struct compose {
	struct compose_service services[COMPOSE_MAX];
	unsigned               n;
};

/* Reads the file; whatever is wrong ends the test. Lives until the process ends. */
const struct compose         *compose_read(const char *file);
const struct compose_service *compose_find(const struct compose *compose, const char *name);
