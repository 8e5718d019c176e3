/* cli.h - what the commands share: one call of the program, its settings, how it speaks.
 *
 * Exit codes: 0 done, 1 failed (one line on stderr says why), 2 called wrongly. Read boardwalk.c
 * for the list of commands, then instance.h. */
#pragma once
#include <base/conf.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* The section `boardwalk` of the configuration; the table is in settings.c. */
struct cli_settings {
	char            *data, *run;          /* folders; empty: worked out by instance.c */
	char            *bin, *bundles;       /* of the processes; of shared objects to load */
	char            *postgresql;          /* folder of the server's programs; empty: found */
	char            *listen, *management; /* what `up` gives the gateway */
	char            *user, *gateway_user, *auth_user, *repo_user;
	char            *admin_password_file; /* of `prepare`, for an account that never had one */
	struct conf_list repoinit; /* scripts run at each start, after the built-in one */
	uint64_t         argon2_ops, argon2_mem; /* of passwords set here */
};

extern const struct conf_key cli_keys[];
extern const size_t          cli_n_keys;
extern const char *const     cli_sections[];

/* One call: options, then operands. Strings are argv's. */
struct cli {
	const char         *config, *data, *run, *bin, *bundles, *first_path;
	const char         *port;
	const char        **repoinit; /* --repoinit FILE, as often as wanted */
	unsigned            n_repoinit;
	const char        **groups; /* --group NAME, as often as wanted */
	unsigned            n_groups;
	const char         *reason; /* NULL: none */
	bool                detach, json, service, overwrite;
	bool                handle_keys, session_keys; /* of `keys`; neither: both */
	char              **operands;
	int                 n_operands;
	struct cli_settings settings; /* with the options above them */
};

int up_main(struct cli *cli);
int stop_main(struct cli *cli);
int status_main(struct cli *cli);
int migrate_main(struct cli *cli);
int prepare_main(struct cli *cli);
int probe_main(struct cli *cli);
int repoinit_main(struct cli *cli);
int import_main(struct cli *cli);
int export_main(struct cli *cli);
int user_main(struct cli *cli);
int group_main(struct cli *cli);
int keys_main(struct cli *cli);
int conf_main(struct cli *cli);
int bundle_main(struct cli *cli);
int ctl_main(struct cli *cli);

/* Default, file, environment, then the options. False after a line on stderr. */
bool settings_load(struct cli *cli);
void settings_done(struct cli *cli);

/* "boardwalk: ..." on stderr. Always false, so that a caller can return it. */
__attribute__((format(printf, 1, 2))) bool complain(const char *format, ...);
/* The same with the text of errno. */
__attribute__((format(printf, 1, 2))) bool complain_errno(const char *format, ...);
/* A whole file of at most max octets, "-" for standard input; owned: free. NULL after a line. */
char *read_file(const char *file, size_t max, size_t *ret_size);
