/* instance.h - one Boardwalk on this machine: its data folder, its run folder, its lock, and who may
 * do what to its database.
 *
 *   DATA/supervisor.pid    "PID RUN"; locked by the supervisor as long as it lives
 *   DATA/postgresql/       the private cluster        DATA/keys/handle.key, session.key
 *   DATA/admin-password    of the first start         DATA/spool/  large request bodies
 *   DATA/bundles/          what is installed (lib/store)
 *   RUN/pg, RUN/auth, RUN/repo, RUN/gateway   sockets  RUN/status   the processes, for `status`
 *
 * RUN has a short path, since a socket's path has at most 107 octets and DATA may be deeper. */
#pragma once
#include "cli.h"

#include <sys/types.h>

struct instance {
	const struct cli_settings *settings;   /* borrowed */
	char                      *data, *run; /* absolute; owned, like all strings here */
	char *owner_conninfo;                  /* DATABASE_URL, or the private cluster's socket */
	char *auth_conninfo, *repo_conninfo;   /* what one process each is given */
	bool  private_cluster;                 /* no DATABASE_URL */
	bool  separated;                       /* we are root: each process has its own user */
	int   lock;                            /* descriptor; -1: not held */
	pid_t supervisor;                      /* who holds it, 0: nobody (instance_find) */
};

/* The instance of an existing data folder, for the short commands. With a foreign server no folder
 * is needed. False after a line on stderr; *ret is then done already. */
bool instance_find(struct instance *ret, const struct cli_settings *settings);
/* Its data folder alone, whether anything runs on it or not. */
void instance_find_data(struct instance *ret, const struct cli_settings *settings);
/* One whose gateway runs, wherever its database is: of `up` by the lock, else where --run says. Without
 * a way to the database owner_conninfo is NULL. */
bool instance_find_gateway(struct instance *ret, const struct cli_settings *settings);
/* The same for `up`: makes the folders with their owners and takes the lock. */
bool instance_make(struct instance *ret, const struct cli_settings *settings);
/* For the end of `up`, when nobody uses the sockets any more: removes the run folder. */
void instance_clear_run(const struct instance *instance);
void instance_done(struct instance *instance);
/* Root becomes the owner of the private cluster, for good: it lets nobody else in. */
bool instance_become_owner(const struct instance *instance);
/* Ids of a user by name; the caller's own if the processes are not separated. */
bool instance_user(const struct instance *instance, const char *name, uid_t *ret_uid,
                   gid_t *ret_gid);

/* The value of a variable or of the file that NAME_FILE names; NULL if neither is set. Owned. */
bool secret_variable(const char *name, char **ret_value);
