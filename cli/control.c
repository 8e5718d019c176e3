/* control.c - the commands `stop`, `status` and `conf`.
 *
 * The lock on the data folder names the supervisor; a pidfd makes sure that the process that is
 * signalled and waited for is that one.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1 after a line on stderr.
 * Tests: tests/system/setup_test.c. */
#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instance.h"
#include "program.h"

#define STOP_LIMIT_MS 60000

static bool find_running(struct instance *ret, const struct cli_settings *settings)
{
	if (!instance_find(ret, settings))
		return false;
	if (ret->supervisor != 0)
		return true;
	complain("nothing runs on %s", ret->data);
	instance_done(ret);
	return false;
}

static bool end_process(pid_t pid)
{
	struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int           n = -1;

	if (ended.fd < 0)
		return errno == ESRCH || complain_errno("process %ld", (long)pid);
	if (syscall(SYS_pidfd_send_signal, ended.fd, SIGTERM, NULL, 0) != 0 && errno != ESRCH)
		complain_errno("process %ld", (long)pid);
	else {
		do
			n = poll(&ended, 1, STOP_LIMIT_MS);
		while (n < 0 && errno == EINTR);
		if (n == 0)
			complain("process %ld still runs after %d s", (long)pid,
			         STOP_LIMIT_MS / 1000);
	}
	close(ended.fd);
	return n == 1;
}

int stop_main(struct cli *cli)
{
	struct instance instance;
	bool            done;

	if (!find_running(&instance, &cli->settings))
		return CLI_FAILED;
	done = end_process(instance.supervisor);
	instance_done(&instance);
	return done ? CLI_OK : CLI_FAILED;
}

int status_main(struct cli *cli)
{
	struct instance instance;
	char           *file, *text;
	size_t          size = 0;
	bool            ready = false;

	if (!find_running(&instance, &cli->settings))
		return CLI_FAILED;
	file = xasprintf("%s/status", instance.run);
	text = read_file(file, 4096, &size);
	if (text != NULL) {
		fputs(text, stdout);
		ready = size >= 7 && strcmp(text + size - 7, "\nready\n") == 0;
	}
	free(text);
	free(file);
	instance_done(&instance);
	return ready ? CLI_OK : CLI_FAILED;
}

/* In the child: the program's --help into the pipe. */
__attribute__((noreturn)) static void run_help(const char *program, int pipe)
{
	if (dup2(pipe, STDOUT_FILENO) >= 0)
		execl(program, program, "--help", (char *)NULL);
	complain_errno("%s", program);
	_exit(CLI_FAILED);
}

/* The section's table, which is the help without the lines above it. */
static void print_section(const char *section, FILE *in)
{
	char  *line = NULL;
	size_t room = 0, n = strlen(section);
	bool   inside = false;

	while (getline(&line, &room, in) > 0) {
		inside = inside || (strncmp(line, section, n) == 0 && line[n] == ':');
		if (inside)
			fputs(line, stdout);
	}
	putchar('\n');
	free(line);
}

static bool print_settings_of(const char *folder, const char *section)
{
	char *program = xasprintf("%s/boardwalk-%s", folder, section);
	int   ends[2], status = -1;
	FILE *in;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		fatal("pipe");
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_help(program, ends[1]);
	close(ends[1]);
	in = fdopen(ends[0], "r");
	if (in == NULL)
		fatal("pipe");
	print_section(section, in);
	fclose(in);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	free(program);
	return status == 0;
}

/* The other programs know their own tables; ours is the last. */
int conf_main(struct cli *cli)
{
	static const char *const sections[] = { "gateway", "auth", "repo" };
	char                    *folder = program_folder(&cli->settings);
	bool                     done = folder != NULL;

	if (!done)
		complain_errno("%s", cli->settings.bin);
	printf("# Every setting with its default and meaning, printed by `boardwalk conf`. One "
	       "file serves all\n"
	       "# processes; what it does not say is as here, and the variables named go above "
	       "it.\n\n");
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections) && done; i++)
		done = print_settings_of(folder, sections[i]);
	if (done)
		conf_print(cli_keys, cli_n_keys, stdout);
	free(folder);
	return done ? CLI_OK : CLI_FAILED;
}
