/* lib/base/sandbox.c: each case in a child of its own, which reports by exit code. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <base/clock.h>
#include <base/sandbox.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sched.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "child.h"

#define N(array) (sizeof(array) / sizeof(*(array)))

static char text[8192];

static void check_child(void (*run)(void *arg), void *arg, int expected)
{
	int end = run_child(run, arg, text, sizeof(text));

	cr_assert(eq(int, end, expected), "%s", text);
}

/* ---- the filter ---- */

static const char *const nothing[] = { NULL };

#define FAILS_WITH(error, call) (errno = 0, (call) < 0 && errno == (error))

/* What reaches for something new, each by EPERM; clone3 by ENOSYS. */
static void try_forbidden(void *arg)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	(void)arg;
	sandbox_filter(nothing, NULL);
	child_assert(FAILS_WITH(EPERM, socket(AF_UNIX, SOCK_STREAM, 0)));
	child_assert(FAILS_WITH(EPERM, bind(0, NULL, 0)));
	child_assert(FAILS_WITH(EPERM, connect(0, NULL, 0)));
	child_assert(FAILS_WITH(EPERM, listen(0, 1)));
	child_assert(FAILS_WITH(EPERM, execl("/bin/true", "true", NULL)));
	child_assert(FAILS_WITH(EPERM, setuid(getuid())));
	child_assert(FAILS_WITH(EPERM, chroot("/")));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_bpf, 0, NULL, 0)));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_io_uring_setup, 1, NULL)));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)));
	child_assert(FAILS_WITH(ENOSYS, syscall(SYS_clone3, &args, sizeof(args))));
#ifndef BOARDWALK_SANITIZED /* the sanitizers need these */
	child_assert(FAILS_WITH(EPERM, open("/dev/null", O_RDONLY)));
	child_assert(FAILS_WITH(EPERM, openat(AT_FDCWD, "/dev/null", O_RDONLY)));
	child_assert(FAILS_WITH(EPERM, unlink("/nowhere")));
	child_assert(FAILS_WITH(EPERM, fork()));
	child_assert(FAILS_WITH(EPERM, kill(getpid(), 0)));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_tgkill, getpid() + 1, getpid() + 1, 0)));
	child_assert(FAILS_WITH(EPERM, ptrace(PTRACE_TRACEME, 0, NULL, NULL)));
	child_assert(FAILS_WITH(EPERM, prctl(PR_SET_DUMPABLE, 1)));
	child_assert(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	                     MAP_FAILED &&
	             errno == EPERM);
#endif
}

static void *end_at_once(void *arg)
{
	return arg;
}

/* What works on things the process has. */
static void try_basic(void *arg)
{
	int             pair[2], octet = 0;
	struct timespec ms = { .tv_nsec = 1000000 };
	pthread_t       thread;
	char           *p;

	(void)arg;
	child_assert(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	sandbox_filter(nothing, NULL);
	child_assert(write(pair[0], "x", 1) == 1 && read(pair[1], &octet, 1) == 1);
	child_assert(send(pair[0], "y", 1, 0) == 1 && recv(pair[1], &octet, 1, 0) == 1);
	child_assert(shutdown(pair[0], SHUT_RDWR) == 0 && close(pair[1]) == 0);
	child_assert(pthread_create(&thread, NULL, end_at_once, NULL) == 0);
	child_assert(pthread_join(thread, NULL) == 0);
	p = malloc(10 << 20);
	child_assert(p != NULL);
	memset(p, 1, 10 << 20);
	free(p);
	child_assert(nanosleep(&ms, NULL) == 0 && clock_gettime(CLOCK_BOOTTIME, &ms) == 0);
	child_assert(signal(SIGUSR1, SIG_IGN) != SIG_ERR && raise(SIGUSR1) == 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	child_assert(p != MAP_FAILED && mprotect(p, 4096, PROT_READ) == 0 && munmap(p, 4096) == 0);
}

/* A process of its own, not a fork: LeakSanitizer looks for the threads of the program that was
 * started. The constructor takes the place of main. */
static void start_anew(void *arg)
{
	setenv("SANDBOX_TEST", arg, 1);
	setenv("ASAN_OPTIONS", "log_path=stderr", 1); /* the report is for this test alone */
	execl("/proc/self/exe", "sandbox_test", NULL);
}

__attribute__((constructor)) static void end_under_filter(void)
{
	const char *what = getenv("SANDBOX_TEST");

	if (what == NULL)
		return;
	sandbox_become("nobody");
	sandbox_harden();
	try_basic(NULL);
	if (strcmp(what, "leak") == 0)
		memset(malloc(77), 0, 77);
	exit(0); /* through the handlers of libc and of the sanitizers */
}

static void try_named(void *arg)
{
	/* vm86 is not of this architecture */
	static const char *const allow[] = { "openat", "clone", "wait4", "mmap", "vm86", NULL };
	int                      status;
	pid_t                    pid;

	(void)arg;
	sandbox_filter(allow, NULL);
	child_assert(openat(AT_FDCWD, "/dev/null", O_RDONLY) >= 0);
	pid = fork();
	if (pid == 0)
		_exit(3);
	child_assert(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	child_assert(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	             MAP_FAILED);
}

static void call_a_killer(void *arg)
{
	static const char *const kill_calls[] = { "execve", "execveat", NULL };

	sandbox_filter(nothing, kill_calls);
	if (arg != NULL)
		execl("/bin/true", "true", NULL);
}

/* All is as before but for what is named, and the child that inherits it can add its own. */
static void forbid(void *arg)
{
	static const char *const kill_calls[] = { "chroot", "execve", NULL };
	int                      status;
	pid_t                    pid;

	sandbox_harden();
	sandbox_forbid(kill_calls);
	child_assert(open("/dev/null", O_RDONLY) >= 0);
	pid = fork();
	if (pid == 0) {
		sandbox_filter(nothing, NULL);
		_exit(FAILS_WITH(EPERM, socket(AF_UNIX, SOCK_STREAM, 0)) ? 3 : 4);
	}
	child_assert(pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
	if (arg != NULL)
		(void)!chroot("/");
}

static void misspell(void *arg)
{
	static const char *const allow[] = { "openatt", NULL };

	(void)arg;
	sandbox_filter(allow, NULL);
}

static void *wait_for_filter(void *arg)
{
	char octet;

	if (read(*(int *)arg, &octet, 1) != 1)
		return "no octet";
	return FAILS_WITH(EPERM, socket(AF_UNIX, SOCK_STREAM, 0)) ? NULL : "not filtered";
}

/* A thread that was there before is under the filter too. */
static void filter_all_threads(void *arg)
{
	int       gate[2];
	void     *result;
	pthread_t thread;

	(void)arg;
	child_assert(pipe(gate) == 0);
	child_assert(pthread_create(&thread, NULL, wait_for_filter, &gate[0]) == 0);
	sandbox_filter(nothing, NULL);
	child_assert(write(gate[1], "x", 1) == 1);
	child_assert(pthread_join(thread, &result) == 0 && result == NULL);
}

Test(sandbox, filter)
{
	check_child(try_forbidden, NULL, 0);
	check_child(try_basic, NULL, 0);
	check_child(try_named, NULL, 0);
	check_child(start_anew, "clean", 0);
#ifdef BOARDWALK_SANITIZED /* the leak is found, under the filter and not dumpable */
	check_child(start_anew, "leak", 1);
	cr_assert(strstr(text, "77 byte(s) leaked") != NULL, "%s", text);
#endif
	check_child(filter_all_threads, NULL, 0);
	check_child(call_a_killer, NULL, 0);
	check_child(call_a_killer, text, CHILD_KILLED + SIGSYS);
	check_child(forbid, NULL, 0);
	check_child(forbid, text, CHILD_KILLED + SIGSYS);
	check_child(misspell, NULL, 1);
	cr_assert(strstr(text, "there is no system call openatt") != NULL, "%s", text);
}

static void abort_under_filter(void *arg)
{
	(void)arg;
	sandbox_harden();
	sandbox_filter(nothing, NULL);
	abort();
}

Test(sandbox, abort_still_ends_by_its_signal)
{
	check_child(abort_under_filter, NULL, CHILD_KILLED + SIGABRT);
}

/* ---- hardening ---- */

static void harden(void *arg)
{
	struct rlimit core;

	(void)arg;
	sandbox_harden();
#ifdef BOARDWALK_SANITIZED /* LeakSanitizer traces the process */
	child_assert(prctl(PR_GET_DUMPABLE) == 1);
#else
	child_assert(prctl(PR_GET_DUMPABLE) == 0);
#endif
	child_assert(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	child_assert(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 &&
	             core.rlim_max == 0);
}

Test(sandbox, harden)
{
	check_child(harden, NULL, 0);
}

/* ---- the user ---- */

static void become(void *arg)
{
	const gid_t groups[] = { 0, 4 }; /* to be given up */
	const char *user = arg;

	child_assert(setgroups(N(groups), groups) == 0);
	sandbox_become(user);
	child_assert(FAILS_WITH(EPERM, setuid(0)));
	child_assert(FAILS_WITH(EPERM, setgid(0)));
	child_assert(getuid() == getpwnam(user)->pw_uid && geteuid() == getuid());
	child_assert(getgid() == getpwnam(user)->pw_gid && getegid() == getgid());
	child_assert(getgroups(0, NULL) == 0);
	child_assert(strcmp(getenv("HOME"), getpwnam(user)->pw_dir) == 0);
	child_assert(FAILS_WITH(EACCES, open("/etc/shadow", O_RDONLY)));
}

static void become_nobody_in_particular(void *arg)
{
	uid_t uid = getuid();

	sandbox_become(arg);
	child_assert(getuid() == uid);
}

static void become_while_tied(void *arg)
{
	int signal = 0;

	sandbox_die_with_parent();
	sandbox_become(arg);
	child_assert(prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal == SIGKILL);
}

Test(sandbox, become)
{
	static const struct {
		char       *user;
		const char *reason;
	} refused[] = {
		{ "no-such-user-here", "there is no user no-such-user-here" },
		{ "root", "user root is root: nothing would be given up" },
	};

	check_child(become_nobody_in_particular, NULL, 0);
	check_child(become_nobody_in_particular, "", 0);
	if (geteuid() != 0) { /* it stays who it is */
		check_child(become_nobody_in_particular, "nobody", 0);
		cr_skip("the rest needs root");
	}
	check_child(become, "nobody", 0);
	check_child(become_while_tied, "nobody", 0);
	for (size_t i = 0; i < N(refused); i++) {
		check_child(become_nobody_in_particular, refused[i].user, 1);
		cr_assert(strstr(text, refused[i].reason) != NULL, "%s", text);
	}
}

/* ---- the parent ---- */

/* Its child holds the pipe's other end and would sleep for ever. */
static void leave_a_child(void *arg)
{
	int  ready[2];
	char octet;

	child_assert(pipe(ready) == 0);
	if (fork() == 0) {
		sandbox_die_with_parent();
		if (arg != NULL)
			sandbox_become(arg);
		sandbox_harden();
		child_assert(write(ready[1], "x", 1) == 1);
		alarm(20); /* where the tie does not hold; nobody stays behind */
		for (;;)
			pause();
	}
	child_assert(read(ready[0], &octet, 1) == 1);
}

/* run_child reads the stderr that the grandchild has inherited to its end: it returns only when the
 * grandchild is gone too. */
Test(sandbox, die_with_parent)
{
	uint64_t begin = clock_mono_us();

	check_child(leave_a_child, NULL, 0);
	if (geteuid() == 0)
		check_child(leave_a_child, "nobody", 0);
	cr_assert(lt(u64, clock_mono_us() - begin, 15000000), "it ended by its alarm");
}

/* ---- what auth and repo keep ---- */

static void try_asking(void *arg)
{
	(void)arg;
	sandbox_filter_asking();
	child_assert(open("/dev/null", O_RDONLY) >= 0);
	child_assert(socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	child_assert(FAILS_WITH(EPERM, bind(0, NULL, 0)));
	child_assert(FAILS_WITH(EPERM, listen(0, 1)));
	child_assert(FAILS_WITH(EPERM, setuid(getuid())));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_bpf, 0, NULL, 0)));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_io_uring_setup, 1, NULL)));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_mount, NULL, NULL, NULL, 0, NULL)));
	child_assert(FAILS_WITH(EPERM, syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0)));
	child_assert(FAILS_WITH(EPERM, mkdir("/tmp/boardwalk-forbidden", 0700)));
#ifndef BOARDWALK_SANITIZED
	child_assert(FAILS_WITH(EPERM, unlink("/nowhere")));
	child_assert(FAILS_WITH(EPERM, kill(getpid(), 0)));
	child_assert(
		FAILS_WITH(EPERM, syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0)));
#endif
	execl("/bin/true", "true", NULL);
	_exit(0); /* not reached */
}

Test(sandbox, who_asks_a_database_starts_no_program)
{
	check_child(try_asking, NULL, CHILD_KILLED + SIGSYS);
}

/* ---- files ---- */

static char folder[] = "/tmp/boardwalk-sandbox-XXXXXX";

static bool can_write(const char *name)
{
	char path[128];
	int  fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	close(fd);
	return unlink(path) == 0;
}

static void *write_in_thread(void *arg)
{
	return can_write("out/x") ? arg : NULL;
}

/* Code 99: the kernel has no Landlock. */
static void try_files(void *arg)
{
	char              in[128];
	const char *const allowed[] = { in, "/nonexistent/folder", NULL };
	int               kept = open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	pthread_t         thread;
	void             *could = arg;

	snprintf(in, sizeof(in), "%s/in", folder);
	child_assert(can_write("in/x") && can_write("out/x"));
	if (!sandbox_write_below(allowed))
		_exit(99);
	child_assert(can_write("in/x"));
	child_assert(!can_write("out/x") && errno == EACCES);
	child_assert(FAILS_WITH(EACCES, open("/dev/null", O_WRONLY)));
	child_assert(open("/dev/null", O_RDONLY) >= 0);
	child_assert(FAILS_WITH(EACCES, mkdir("/tmp/boardwalk-forbidden", 0700)));
	child_assert(FAILS_WITH(EACCES, symlink("/", "/tmp/boardwalk-forbidden")));
	child_assert(write(kept, "x", 1) == 1);
	child_assert(pthread_create(&thread, NULL, write_in_thread, &kept) == 0);
	child_assert(pthread_join(thread, &could) == 0 && could == NULL);
}

Test(sandbox, files_are_written_below_some_folders_alone)
{
	char path[128];
	int  end;

	cr_assert(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/in", folder);
	cr_assert(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/out", folder);
	cr_assert(mkdir(path, 0700) == 0);
	end = run_child(try_files, NULL, text, sizeof(text));
	cr_expect(rmdir(path) == 0);
	snprintf(path, sizeof(path), "%s/in", folder);
	cr_expect(rmdir(path) == 0 && rmdir(folder) == 0);
	if (end == 99)
		cr_skip_test("this kernel has no Landlock");
	cr_assert(eq(int, end, 0), "%s", text);
}
