/* up.c - the command `up`: in the foreground, or with --detach in the background.
 *
 * Detached, a child of ours becomes the supervisor in a session of its own. Its standard output is a
 * pipe to us until it is ready; its standard error is ours until it has its folders, and then
 * DATA/boardwalk.log, where the children's output goes as well. A NUL is the last thing it sends when
 * all went well, so that the pipe's end alone is not taken for success.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1. Tests: tests/system/setup_test.c. */
#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor.h"

static void move_errors_to_log(const struct supervisor *s)
{
	char *file = xasprintf("%s/boardwalk.log", s->instance.data);
	int   log = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);

	if (log < 0 || dup2(log, STDERR_FILENO) < 0)
		fatal("%s", file);
	close(log);
	free(file);
	printf("log: %s/boardwalk.log\n", s->instance.data);
	fflush(stdout);
}

static void release_terminal(const struct supervisor *s)
{
	(void)s;
	if (putchar('\0') == EOF || fflush(stdout) != 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		fatal("leaving the terminal");
}

__attribute__((noreturn)) static void become_supervisor(struct cli *cli, int pipe)
{
	static const struct supervisor_hooks hooks = { move_errors_to_log, release_terminal };
	int                                  null = open("/dev/null", O_RDWR | O_CLOEXEC), code;

	setsid();
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(pipe, STDOUT_FILENO) < 0)
		fatal("detaching");
	close(pipe);
	code = supervisor_run(cli, &hooks);
	settings_done(cli);
	free(cli->repoinit);
	exit(code);
}

/* What the supervisor prints goes on to our own output. */
static int wait_for_ready(int pipe)
{
	char    text[1024];
	bool    ready = false;
	ssize_t n;

	while ((n = read(pipe, text, sizeof(text))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0) {
			ready = text[n - 1] == '\0';
			fwrite(text, 1, (size_t)(ready ? n - 1 : n), stdout);
			fflush(stdout);
		}
	if (!ready)
		complain("it did not start");
	return ready ? CLI_OK : CLI_FAILED;
}

static int detach(struct cli *cli)
{
	int   ends[2], code;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) != 0)
		fatal("pipe");
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fatal("fork");
	if (pid == 0) {
		close(ends[0]);
		become_supervisor(cli, ends[1]);
	}
	close(ends[1]);
	code = wait_for_ready(ends[0]);
	close(ends[0]);
	return code;
}

int up_main(struct cli *cli)
{
	static const struct supervisor_hooks none = { NULL, NULL };

	return cli->detach ? detach(cli) : supervisor_run(cli, &none);
}
