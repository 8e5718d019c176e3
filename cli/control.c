/* control.c - the commands `stop`, `status` and `conf`.
 *
 * The lock on the data folder names the supervisor; a pidfd makes sure that the process that is
 * signalled and waited for is that one.
 *
 * Owns: nothing. Runs in: the command. Fails with: exit code 1 after a line on stderr.
 * Tests: tests/system/setup_test.c. */
#include <base/fatal.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "instance.h"

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
			complain("process %ld still runs after %d s", (long)pid, STOP_LIMIT_MS / 1000);
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

/* The other programs print their own tables; ours is the last. */
int conf_main(struct cli *cli)
{
	static const char *const others[] = { "gateway", "auth", "repo" };
	char                     own[4096], *slash;
	ssize_t                  n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0) {
		complain_errno("/proc/self/exe");
		return CLI_FAILED;
	}
	own[n] = '\0';
	slash = strrchr(own, '/');
	*slash = '\0';
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		char *program = xasprintf("%s/boardwalk-%s", cli->bin != NULL ? cli->bin : own, others[i]);
		int   status = -1;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			execl(program, program, "--help", (char *)NULL);
			complain_errno("%s", program);
			_exit(CLI_FAILED);
		}
		while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		free(program);
		if (status != 0)
			return CLI_FAILED;
	}
	conf_print(cli_keys, cli_n_keys, stdout);
	return CLI_OK;
}
