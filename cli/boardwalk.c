/* boardwalk.c - the operator's program: short commands, and `up`, the local supervisor.
 *
 * It holds the operator's rights: it may change the database's structure, run repoinit and set
 * passwords, which nothing that faces the network can do. It reads nothing that came from the
 * network. One table of commands, one of options; what a command does is in its own file.
 *
 * Owns: nothing. Runs in: one process per call. Fails with: exit code 1 (failed) or 2 (called
 * wrongly). Tests: tests/unit/cli, tests/system/setup_test.c. */
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
	OPTION_HELP,
	N_OPTIONS
};

#define INSTANCE (1u << OPTION_CONFIG | 1u << OPTION_DATA | 1u << OPTION_RUN | 1u << OPTION_HELP)
#define EVERY    (((1u << N_OPTIONS) - 1) & ~(1u << OPTION_JSON))

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
	{ "user", "add|passwd NAME", "add a user; set a password (asked for, or standard input)",
	  user_main, INSTANCE, 2, 2 },
	{ "bundle", "VERB [FILE|NAME|DIR]...",
	  "install, update, uninstall, start, stop; list; watch a folder", bundle_main,
	  INSTANCE | 1u << OPTION_JSON, 1, INT_MAX },
	{ "ctl", "VERB [ARGUMENT]...",
	  "what the workers know: whiteboard; route METHOD PATH, and why", ctl_main,
	  INSTANCE | 1u << OPTION_JSON, 1, 8 },
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
	};

	if (id == OPTION_DETACH)
		cli->detach = true;
	else if (id == OPTION_JSON)
		cli->json = true;
	else if (id == OPTION_REPOINIT) {
		cli->repoinit =
			xrealloc(cli->repoinit, (cli->n_repoinit + 1) * sizeof(*cli->repoinit));
		cli->repoinit[cli->n_repoinit++] = value;
	} else
		*fields[id] = value;
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
	while ((id = getopt_long(argc, argv, "", table, NULL)) != -1) {
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
	cli->operands = argv + optind;
	cli->n_operands = argc - optind;
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
	return code;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	log_init("boardwalk", LOG_LEVEL_INFO);
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
