/* confinement_test.c - what the running processes have given up. Proves: each runs as its own user,
 * without rights, new privileges, core dumps or anybody who could attach to it, under a filter that
 * refuses what no servlet may call and ends who starts another program. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/http.h>
#include <support/instance.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const            one_worker[] = { "BOARDWALK_GATEWAY_WORKERS=1", NULL };
static struct test_instance_options options = { .environment = one_worker, .bundle = "test" };

struct process {
	const char *name, *user; /* user: whose, if root has started it all */
	pid_t       pid;
	uid_t       uid;
};

static void find_processes(const struct test_instance *i, struct process ret[4])
{
	static const struct process all[4] = {
		{ .name = "gateway", .user = "boardwalk-gateway" },
		{ .name = "worker", .user = "boardwalk-gateway" },
		{ .name = "auth", .user = "boardwalk-auth" },
		{ .name = "repo", .user = "boardwalk-repo" },
	};

	for (int n = 0; n < 4; n++) {
		ret[n] = all[n];
		if (n == 1)
			test_instance_workers(i, &ret[n].pid, 1);
		else
			ret[n].pid = test_instance_pid(i, all[n].name);
		cr_assert(gt(int, ret[n].pid, 0), "%s", ret[n].name);
	}
}

#ifndef BOARDWALK_SANITIZED /* LeakSanitizer must be able to trace them */
/* In a child that has become the process's user: 0 if it can neither be attached to nor read. */
static int try_to_attach(const struct process *p)
{
	char path[64];

	if (setgid(p->uid) != 0 || setuid(p->uid) != 0)
		return 1;
	if (kill(p->pid, 0) != 0)
		return 2; /* its own user may do that: so this is its user */
	if (ptrace(PTRACE_ATTACH, p->pid, NULL, NULL) == 0 || errno != EPERM)
		return 3;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
	if (open(path, O_RDONLY | O_CLOEXEC) >= 0)
		return 4;
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)p->pid);
	return open(path, O_RDONLY | O_CLOEXEC) >= 0 ? 5 : 0;
}

static void expect_closed(const struct process *p)
{
	int         status = -1;
	char        path[64];
	struct stat st;
	pid_t       pid;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)p->pid);
	cr_assert(eq(int, stat(path, &st), 0));
	cr_expect(eq(uint, st.st_uid, 0), "%s can be dumped", p->name);
	if (geteuid() != 0)
		return;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(try_to_attach(p));
	cr_assert(eq(int, waitpid(pid, &status, 0), pid));
	cr_expect(eq(int, status, 0), "%s: its user gets in", p->name);
}
#endif

static void expect_no_core(const struct process *p)
{
	char  path[64], line[256];
	bool  none = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/limits", (int)p->pid);
	f = fopen(path, "re");
	cr_assert(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		char soft[32], hard[32];

		if (sscanf(line, "Max core file size %31s %31s", soft, hard) == 2)
			none = strcmp(soft, "0") == 0 && strcmp(hard, "0") == 0;
	}
	fclose(f);
	cr_expect(none, "%s writes core dumps", p->name);
}

static void expect_status(pid_t pid, const char *name, const char *field, const char *value)
{
	const char *is = test_process_status(pid, field);

	cr_expect(strcmp(is, value) == 0, "%s: %s is %s", name, field, is);
}

Test(confinement, of_every_process)
{
	static const char *const no_rights[] = { "CapInh", "CapPrm", "CapEff", "CapAmb" };
	struct test_instance     i;
	struct process           all[4];

	test_instance_start(&i, &options);
	find_processes(&i, all);
	for (int n = 0; n < 4; n++) {
		struct process *p = &all[n];

		expect_status(p->pid, p->name, "Seccomp", "2");
		expect_status(p->pid, p->name, "NoNewPrivs", "1");
		expect_no_core(p);
		p->uid = (uid_t)strtoul(test_process_status(p->pid, "Uid"), NULL, 10);
		for (size_t c = 0; c < sizeof(no_rights) / sizeof(*no_rights); c++)
			expect_status(p->pid, p->name, no_rights[c], "0000000000000000");
		if (geteuid() == 0) {
			const struct passwd *pw = getpwnam(p->user);

			cr_assert(pw != NULL, "%s", p->user);
			cr_expect(eq(uint, p->uid, pw->pw_uid), "%s", p->name);
			expect_status(p->pid, p->name, "Groups", "");
		}
#ifndef BOARDWALK_SANITIZED
		expect_closed(p);
#endif
	}
	test_instance_stop(&i);
}

/* The sanitizers need several of these calls themselves. */
#ifndef BOARDWALK_SANITIZED
Test(confinement, of_what_a_servlet_calls)
{
	struct test_instance i;
	struct http_response r;
	unsigned             n = 0;
	bool has_landlock = syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 1; /* its version */

	test_instance_start(&i, &options);
	http_ask_once(i.port, "GET", "/t/forbidden", NULL, &r);
	cr_assert(eq(int, r.status, 200));
	for (char *line = strtok(r.body, "\n"); line != NULL; line = strtok(NULL, "\n"), n++) {
		/* Calls are filtered, files by Landlock. */
		const char *error = strstr(line, "elsewhere") != NULL ? " EACCES" : " EPERM";
		size_t      length = strlen(line), tail = strlen(error);

		if (!has_landlock && strstr(line, "elsewhere") != NULL)
			continue;
		cr_expect(length > tail && strcmp(line + length - tail, error) == 0, "%s", line);
	}
	cr_expect(ge(uint, n, 13));
	http_response_done(&r);
	test_instance_stop(&i);
}
#endif

Test(confinement, of_who_starts_another_program)
{
	struct test_instance i;
	struct http_response r;
	pid_t                before = 0, after = 0;
	unsigned long long   limit;

	test_instance_start(&i, &options);
	cr_assert(eq(sz, test_instance_workers(&i, &before, 1), 1));
	http_ask_once(i.port, "GET", "/t/execute", NULL, &r);
	cr_expect(eq(int, r.status, 0));
	http_response_done(&r);
	http_ask_once(i.port, "GET", "/test/hello", NULL,
	              &r); /* waits in the socket for the successor */
	cr_expect(eq(int, r.status, 200));
	http_response_done(&r);
	cr_expect(eq(sz, test_instance_workers(&i, &after, 1), 1));
	cr_expect(ne(int, before, after));
	for (limit = test_now_ms() + 5000; !test_instance_logged(&i, "ended by signal SYS");)
		cr_assert(lt(u64, test_now_ms(), limit), "the log does not tell");
	test_instance_stop(&i);
}
