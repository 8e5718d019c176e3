/* program.h - what the main files of the processes have in common: their command line, the level of
 * their log, secrets from the environment. All of it is for the start: what does not fit ends the
 * process with a line on stderr. */
#pragma once
#include "log.h"
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct program_options {
	const char *config; /* --config FILE; NULL without */
	bool        check;  /* --check: look at the settings and end */
};

/* name: boardwalk-auth ...; print_settings writes the table for --help, which ends with 0; misuse ends
 * with 2. */
struct program_options program_options(int argc, char **argv, const char *name,
                                       void (*print_settings)(FILE *out));
/* error, warning, info or debug; setting: the key that a complaint names. */
enum log_level program_log_level(const char *setting, const char *level);
/* The environment variable, else the first line of the file that VARIABLE_FILE names, else otherwise.
 * Owned: free. */
char *program_secret(const char *variable, const char *otherwise);
/* The id of the user that may connect; (uid_t)-1, which is nobody, if there is none. */
uid_t program_peer(const char *user);
