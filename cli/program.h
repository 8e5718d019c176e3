/* program.h - command lines and environments of the supervisor's children. */
#pragma once
#include "child.h"
#include "instance.h"

/* What a child is started with. Owned: program_done. */
struct program {
	char **arguments, **environment; /* NULL-terminated */
};

/* section: "gateway", "auth" or "repo". A child gets the operator's file, the operator's variables of
 * its own section, and above both what the supervisor decides: sockets, users, key, database. Nobody
 * gets another one's connection string. False after a line on stderr. */
bool program_make(struct program *ret, const struct cli *cli, const struct instance *instance,
                  const char *section);
/* PostgreSQL; notify: the datagram socket on which it says that it is ready. */
void program_make_cluster(struct program *ret, const struct instance *instance, const char *server,
                          const char *notify);
void program_done(struct program *program);
/* The folder of the other programs: --bin, or where this one is. Owned; NULL with errno. */
char *program_folder(const struct cli_settings *settings);
