/* Starts, watches and ends one process under test. See process.h. */
#include "process.h"
#include <base/unix_socket.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static FILE *open_file(const char *path, const char *mode)
{
	FILE *f = fopen(path, mode);

	cr_assert_not_null(f, "%s", path);
	return f;
}

static void path_of(const struct test_process *p, char *path, const char *name)
{
	snprintf(path, TEST_PROCESS_PATH, "%s/%s", p->dir, name);
}

static void write_key(const char *path, const char *begin)
{
	const struct passwd *nobody = getpwnam("nobody");
	FILE                *f = open_file(path, "we");

	fprintf(f, "%s%062d\n", begin, 0);
	fclose(f);
	cr_assert_eq(chmod(path, 0400), 0);
	if (geteuid() == 0)
		cr_assert_eq(chown(path, nobody->pw_uid, nobody->pw_gid), 0);
}

void test_process_init(struct test_process *p, const char *section, const char *binary)
{
	*p = (struct test_process){ .section = section, .binary = binary };
	snprintf(p->dir, sizeof(p->dir), "/tmp/%s-test.XXXXXX", section);
	cr_assert_not_null(mkdtemp(p->dir));
	cr_assert_eq(chmod(p->dir, 0711), 0);
	path_of(p, p->conf, "boardwalk.yaml");
	path_of(p, p->key_file, "handle.key");
	path_of(p, p->session_key_file, "session.key");
	path_of(p, p->socket, "process.sock");
	path_of(p, p->log, "log");
	write_key(p->key_file, "3 2a");
	write_key(p->session_key_file, "4 2b");
}

void test_process_done(struct test_process *p)
{
	unlink(p->conf);
	unlink(p->key_file);
	unlink(p->session_key_file);
	unlink(p->socket);
	unlink(p->log);
	rmdir(p->dir);
}

void test_process_configure(const struct test_process *p, const char *conninfo, const char *more)
{
	FILE *f = open_file(p->conf, "we");

	fprintf(f,
	        "%s:\n  user: nobody\n  gateway_user: %s\n  socket: %s\n  key_file: %s\n"
	        "  database: \"%s\"\n%s",
	        p->section, getpwuid(geteuid())->pw_name, p->socket, p->key_file, conninfo, more);
	if (strcmp(p->section, "auth") == 0)
		fprintf(f, "  session_key_file: %s\n", p->session_key_file);
	fclose(f);
}

void test_process_start(struct test_process *p, const char *option)
{
	p->pid = fork();
	cr_assert_geq(p->pid, 0);
	if (p->pid == 0) {
		int fd = open(p->log, O_WRONLY | O_CREAT | O_APPEND, 0600);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(fd, STDOUT_FILENO);
		dup2(fd, STDERR_FILENO);
		execl(p->binary, p->binary, "--config", p->conf, option, NULL);
		_exit(127);
	}
}

void test_process_wait_until_it_listens(const struct test_process *p)
{
	int fd;

	while ((fd = unix_connect(p->socket)) < 0)
		cr_assert_eq(waitpid(p->pid, NULL, WNOHANG), 0, "it has ended");
	close(fd);
}

int test_process_end(struct test_process *p)
{
	int status;

	cr_assert_eq(waitpid(p->pid, &status, 0), p->pid);
	cr_assert(WIFEXITED(status), "it was killed by signal %d", WTERMSIG(status));
	p->pid = 0;
	return WEXITSTATUS(status);
}

void test_process_kill(struct test_process *p)
{
	cr_assert_eq(kill(p->pid, SIGKILL), 0);
	cr_assert_eq(waitpid(p->pid, NULL, 0), p->pid);
	p->pid = 0;
}

bool test_process_has_logged(const struct test_process *p, const char *text)
{
	static char log[1u << 16];
	FILE       *f = fopen(p->log, "re");
	size_t      n = f != NULL ? fread(log, 1, sizeof(log) - 1, f) : 0;

	if (f != NULL)
		fclose(f);
	log[n] = '\0';
	return strstr(log, text) != NULL;
}

void test_process_assert_confined(const struct test_process *p)
{
	char        path[64], line[256];
	unsigned    seen = 0;
	FILE       *f;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)p->pid);
	f = open_file(path, "re");
	while (fgets(line, sizeof(line), f) != NULL) {
		unsigned long value;

		if (sscanf(line, "NoNewPrivs: %lu", &value) == 1)
			seen += value == 1;
		if (sscanf(line, "Seccomp: %lu", &value) == 1)
			seen += value == 2;
		if (geteuid() == 0 && sscanf(line, "Uid: %lu", &value) == 1)
			cr_assert_eq(value, getpwnam("nobody")->pw_uid);
	}
	fclose(f);
	cr_assert_eq(seen, 2);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
	cr_assert_eq(stat(path, &st), 0);
#ifdef BOARDWALK_SANITIZED
	cr_assert_neq(st.st_uid, 0, "LeakSanitizer looks into it");
#else
	cr_assert_eq(st.st_uid, 0, "undumpable");
#endif
}
