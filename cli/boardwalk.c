/* boardwalk.c - the operator's program: short commands, and `up`, the local supervisor.
 *
 * It holds the operator's rights: it may change the database's structure, run repoinit and set
 * passwords, which nothing that faces the network can do. It reads nothing that came from the
 * network. One table of commands, one of options; what a command does is in its own file.
 *
 * Owns: nothing. Runs in: one process per call. Fails with: exit code 1 (failed) or 2 (called
 * wrongly). Tests: tests/unit/cli, tests/system/setup_test.c. */
#include "actor.h"
#include "cli.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/fatal.h>
#include <base/log.h>

enum option_id {
	OPTION_CONFIG,
	OPTION_DATA,
	OPTION_RUN,
	OPTION_BIN,
	OPTION_BUNDLES,
	OPTION_PORT,
	OPTION_REPOINIT,
	OPTION_FIRST_PATH,
	OPTION_DETACH,
	OPTION_JSON,
	OPTION_GROUP,
	OPTION_SERVICE,
	OPTION_REASON,
	OPTION_OVERWRITE,
	OPTION_HANDLE,
	OPTION_SESSION,
	OPTION_HELP,
	N_OPTIONS
};

#define INSTANCE (1u << OPTION_CONFIG | 1u << OPTION_DATA | 1u << OPTION_RUN | 1u << OPTION_HELP)
#define ACCOUNT  (1u << OPTION_JSON | 1u << OPTION_GROUP)
#define USER     (ACCOUNT | 1u << OPTION_SERVICE | 1u << OPTION_REASON)
#define KEYS     (1u << OPTION_HANDLE | 1u << OPTION_SESSION)
#define EVERY    (((1u << N_OPTIONS) - 1) & ~USER & ~KEYS & ~(1u << OPTION_OVERWRITE))

static const struct option_row {
	const char *name, *value, *help; /* value NULL: a switch */
} option_rows[N_OPTIONS] = {
	[OPTION_CONFIG] = { "config", "FILE", "configuration of all processes" },
	[OPTION_DATA] = { "data", "DIR", "data folder of the instance" },
	[OPTION_RUN] = { "run", "DIR", "folder of its sockets, if not the usual one" },
	[OPTION_BIN] = { "bin", "DIR", "where the other programs are, if not beside this one" },
	[OPTION_BUNDLES] = { "bundles", "DIR", "install the bundles (*.so) in this folder" },
	[OPTION_PORT] = { "port", "P", "listen on 127.0.0.1:P, management on P+1" },
	[OPTION_REPOINIT] = { "repoinit", "FILE", "run this script at the start; may be repeated" },
	[OPTION_FIRST_PATH] = { "first-path", "PATH", "the path that the first curl names" },
	[OPTION_DETACH] = { "detach", NULL, "return when ready and go on in the background" },
	[OPTION_JSON] = { "json", NULL, "print JSON" },
	[OPTION_GROUP] = { "group", "GROUP", "who is added belongs to it; may be repeated" },
	[OPTION_SERVICE] = { "service", NULL, "add a service user, who has no password" },
	[OPTION_REASON] = { "reason", "TEXT", "why it is disabled, for the list" },
	[OPTION_OVERWRITE] = { "overwrite", NULL, "what is there gets the file's values" },
	[OPTION_HANDLE] = { "handle", NULL, "the key of the resolver handles alone" },
	[OPTION_SESSION] = { "session", NULL, "the key of the session tokens alone" },
	[OPTION_HELP] = { "help", NULL, "print this" },
};

static const struct command {
	const char *name, *operands, *help;
	int (*run)(struct cli *cli);
	unsigned options;
	int      min_operands, max_operands;
} commands[] = {
	{ "up", "", "start everything here and keep it running", up_main, EVERY, 0, 0 },
	{ "stop", "", "end the instance that `up` started", stop_main, INSTANCE, 0, 0 },
	{ "status", "", "print its processes; 0 if it is ready", status_main, INSTANCE, 0, 0 },
	{ "migrate", "", "bring the database to this version", migrate_main, INSTANCE, 0, 0 },
	{ "prepare", "", "migrate, run the start's scripts, give admin a first password",
	  prepare_main, INSTANCE | 1u << OPTION_REPOINIT, 0, 0 },
	{ "probe", "ADDRESS", "0 if HOST:PORT is ready, or somebody listens on the socket",
	  probe_main, 1u << OPTION_HELP, 1, 1 },
	{ "repoinit", "FILE|-", "run a repoinit script, whole or not at all", repoinit_main,
	  INSTANCE, 1, 1 },
	{ "import", "PATH FILE.json|-",
	  "make the node at PATH, and all below it, what the file says", import_main,
	  INSTANCE | 1u << OPTION_OVERWRITE, 2, 2 },
	{ "export", "PATH FILE.json|-", "write the node at PATH, and all below it, into a file",
	  export_main, INSTANCE, 2, 2 },
	{ "user", "VERB [NAME] [+-GROUP]...",
	  "add, passwd (asked for, or standard input), disable, enable, logout, remove; groups; "
	  "impersonators; list",
	  user_main, INSTANCE | USER, 1, INT_MAX },
	{ "group", "VERB [NAME] [+-MEMBER]...", "add, remove; members; list", group_main,
	  INSTANCE | ACCOUNT, 1, INT_MAX },
	{ "bundle", "VERB [FILE|NAME|DIR]...",
	  "install, update, uninstall, start, stop; list; watch a folder", bundle_main,
	  INSTANCE | 1u << OPTION_JSON, 1, INT_MAX },
	{ "ctl", "VERB [ARGUMENT]...",
	  "what the workers know: whiteboard; route METHOD PATH, and why", ctl_main,
	  INSTANCE | 1u << OPTION_JSON, 1, 8 },
	{ "keys", "VERB", "rotate: sign with new keys from now on", keys_main, INSTANCE | KEYS, 1,
	  1 },
	{ "conf", "", "print the commented example of the configuration", conf_main,
	  1u << OPTION_BIN | 1u << OPTION_HELP, 0, 0 },
};

static void print_usage(FILE *out)
{
	fputs("usage: boardwalk COMMAND [OPTION...] [OPERAND...]\n\ncommands:\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		fprintf(out, "  %-8s %-24s %s\n", commands[i].name, commands[i].operands,
		        commands[i].help);
	fputs("\n`boardwalk COMMAND --help` lists the options of a command.\n", out);
}

static void print_command(const struct command *command, FILE *out)
{
	fprintf(out, "usage: boardwalk %s [OPTION...] %s\n\n%s\n\noptions:\n", command->name,
	        command->operands, command->help);
	for (unsigned i = 0; i < N_OPTIONS; i++)
		if (command->options >> i & 1)
			fprintf(out, "  --%s %-*s %s\n", option_rows[i].name,
			        16 - (int)strlen(option_rows[i].name),
			        option_rows[i].value ? option_rows[i].value : "",
			        option_rows[i].help);
}

static void append(const char ***list, unsigned *n, const char *value)
{
	*list = xrealloc(*list, (*n + 1) * sizeof(**list));
	(*list)[(*n)++] = value;
}

static void set_option(struct cli *cli, enum option_id id, const char *value)
{
	const char **fields[N_OPTIONS] = {
		[OPTION_CONFIG] = &cli->config,
		[OPTION_DATA] = &cli->data,
		[OPTION_RUN] = &cli->run,
		[OPTION_BIN] = &cli->bin,
		[OPTION_BUNDLES] = &cli->bundles,
		[OPTION_PORT] = &cli->port,
		[OPTION_FIRST_PATH] = &cli->first_path,
		[OPTION_REASON] = &cli->reason,
	};

	if (id == OPTION_DETACH)
		cli->detach = true;
	else if (id == OPTION_JSON)
		cli->json = true;
	else if (id == OPTION_OVERWRITE)
		cli->overwrite = true;
	else if (id == OPTION_HANDLE)
		cli->handle_keys = true;
	else if (id == OPTION_SESSION)
		cli->session_keys = true;
	else if (id == OPTION_SERVICE)
		cli->service = true;
	else if (id == OPTION_REPOINIT)
		append(&cli->repoinit, &cli->n_repoinit, value);
	else if (id == OPTION_GROUP)
		append(&cli->groups, &cli->n_groups, value);
	else
		*fields[id] = value;
}

/* The next option. Operands in front of it are moved to the beginning of argv: there are no short
 * options, so a word like -staff is one of them, which getopt cannot be told. Behind -- all are. */
static int next_option(struct cli *cli, int argc, char **argv, const struct option *table)
{
	while (optind < argc && strncmp(argv[optind], "--", 2) != 0)
		cli->operands[cli->n_operands++] = argv[optind++];
	if (optind < argc && argv[optind][2] != '\0')
		return getopt_long(argc, argv, "+", table, NULL);
	for (optind++; optind < argc; optind++)
		cli->operands[cli->n_operands++] = argv[optind];
	return -1;
}

/* CLI_OK: go on. Otherwise everything has been said; *ret_help: it was --help. */
static int parse_options(struct cli *cli, const struct command *command, int argc, char **argv,
                         bool *ret_help)
{
	struct option table[N_OPTIONS + 1] = { 0 };
	unsigned      n = 0;
	int           id;

	for (int i = 0; i < N_OPTIONS; i++)
		if (command->options >> i & 1)
			table[n++] = (struct option){ option_rows[i].name,
				                      option_rows[i].value ? required_argument
				                                           : no_argument,
				                      NULL, i + 256 };
	cli->operands = argv + 1;
	while ((id = next_option(cli, argc, argv, table)) != -1) {
		if (id == '?') {
			print_command(command, stderr);
			return CLI_USAGE;
		}
		if (id - 256 == OPTION_HELP) {
			print_command(command, stdout);
			*ret_help = true;
			return CLI_OK;
		}
		set_option(cli, (enum option_id)(id - 256), optarg);
	}
	if (cli->n_operands < command->min_operands || cli->n_operands > command->max_operands) {
		print_command(command, stderr);
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct cli cli = { 0 };
	bool       help = false;
	int        code = parse_options(&cli, command, argc, argv, &help);

	if (code == CLI_OK && !help)
		code = settings_load(&cli) ? command->run(&cli) : CLI_FAILED;
	settings_done(&cli);
	free(cli.repoinit);
	free(cli.groups);
	return code;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	log_init("boardwalk", LOG_LEVEL_INFO);
	actor_init();
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return run_command(&commands[i], argc - 1, argv + 1);
	if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0) {
		print_usage(stdout);
		return CLI_OK;
	}
	if (*name != '\0')
		complain("there is no command '%s'", name);
	print_usage(stderr);
	return CLI_USAGE;
}
