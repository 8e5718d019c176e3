/* sandbox.c - giving up rights, one way only.
 *
 * Order in a process: sandbox_become, sandbox_harden, then everything that needs a name or a path,
 * then sandbox_filter, then the loop.
 * Owns: nothing. Runs in: every process, before its loop. Fails with: fatal.
 * Tests: tests/unit/base/sandbox_test.c. */
#include "sandbox.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "fatal.h"

/* clang-format off */
/* What a process may always do with what it already has. */
static const char *const basic_calls[] = {
	/* memory; mmap and mprotect follow by rule */
	"brk", "munmap", "mremap", "madvise",
	/* threads; clone follows by rule */
	"futex", "set_robust_list", "rseq", "gettid", "getpid", "sched_yield", "sched_getaffinity",
	"exit", "exit_group",
	/* signals to itself: abort and raise use tgkill, which is limited by rule */
	"rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
	/* time */
	"clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time", "timerfd_settime",
	/* descriptors it holds */
	"read", "readv", "pread64", "write", "writev", "pwrite64", "lseek", "close", "fcntl",
	"recvfrom", "recvmsg", "sendto", "sendmsg", "accept4", "shutdown", "getsockopt", "setsockopt",
	"getsockname", "getpeername", "poll", "ppoll", "epoll_wait", "epoll_pwait", "epoll_ctl",
	/* randomness */
	"getrandom", NULL
};

/* LeakSanitizer stops all threads from a tracer it clones and reads /proc/self; AddressSanitizer
 * reads the same when it describes an address. */
#ifdef BOARDWALK_SANITIZED
static const char *const sanitizer_calls[] = {
	"ptrace", "process_vm_readv", "clone", "wait4", "prctl", "openat", "open", "getdents",
	"getdents64", "readlink", "readlinkat", "newfstatat", "fstat", "stat", "ioctl", "personality",
	"getppid", "mmap", "mprotect", "kill", "tgkill", "tkill", "dup", "dup2", "pipe", "pipe2",
	"getrlimit", "prlimit64", "sysinfo", "uname", "getuid", "geteuid", "unlink", "access",
	"setrlimit", NULL
};
#endif
/* clang-format on */

/* setresuid from root clears the capabilities; a group or user that can be taken back means that
 * something here is not as assumed. */
static void verify_no_way_back(const struct passwd *pw)
{
	uid_t real, effective, saved;
	gid_t group, effective_group, saved_group;

	if (getresuid(&real, &effective, &saved) != 0 ||
	    getresgid(&group, &effective_group, &saved_group) != 0)
		fatal("reading back the user");
	if (real != pw->pw_uid || effective != pw->pw_uid || saved != pw->pw_uid ||
	    group != pw->pw_gid || effective_group != pw->pw_gid || saved_group != pw->pw_gid ||
	    getgroups(0, NULL) != 0)
		fatalx("becoming user %s did not take effect", pw->pw_name);
	if (setuid(0) == 0 || seteuid(0) == 0 || setgid(0) == 0)
		fatalx("user %s can become root again", pw->pw_name);
}

/* The signal is sent by the kernel for a parent that dies after the call only. */
static void set_death_signal(int signal, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, signal) != 0)
		fatal("PR_SET_PDEATHSIG");
	if (getppid() != parent)
		fatalx("the parent died during start-up");
}

void sandbox_become(const char *user)
{
	struct passwd *pw;
	pid_t          parent = getppid();
	int            death_signal = 0;

	if (user == NULL || *user == '\0' || geteuid() != 0)
		return;
	errno = 0;
	pw = getpwnam(user);
	if (pw == NULL && errno != 0)
		fatal("looking up user %s", user);
	if (pw == NULL)
		fatalx("there is no user %s", user);
	if (pw->pw_uid == 0)
		fatalx("user %s is root: nothing would be given up", user);
	if (prctl(PR_GET_PDEATHSIG, &death_signal) != 0)
		fatal("PR_GET_PDEATHSIG");
	if (setgroups(0, NULL) != 0)
		fatal("giving up the other groups");
	if (setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) != 0)
		fatal("becoming group %lu", (unsigned long)pw->pw_gid);
	if (setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) != 0)
		fatal("becoming user %s", user);
	verify_no_way_back(pw);
	if (setenv("HOME", pw->pw_dir, 1) != 0) /* libpq looks for certificates there */
		fatal("HOME");
	if (death_signal != 0)
		set_death_signal(death_signal, parent);
}

void sandbox_harden(void)
{
	const struct rlimit none = { 0, 0 };
#ifdef BOARDWALK_SANITIZED
	const unsigned long is_dumpable =
		1; /* LeakSanitizer traces the process and reads its /proc */
#else
	const unsigned long is_dumpable = 0;
#endif

	if (setrlimit(RLIMIT_CORE, &none) != 0)
		fatal("RLIMIT_CORE");
	if (prctl(PR_SET_DUMPABLE, is_dumpable) != 0)
		fatal("PR_SET_DUMPABLE");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fatal("PR_SET_NO_NEW_PRIVS");
}

void sandbox_die_with_parent(void)
{
	set_death_signal(SIGKILL, getppid());
}

static void check_rule(int result, const char *name)
{
	if (result != 0)
		fatalx("seccomp rule for %s: %s", name, strerror(-result));
}

static int call_number(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number == __NR_SCMP_ERROR)
		fatalx("seccomp: there is no system call %s", name);
	return number;
}

/* A call the sanitizers need cannot be deadly: their process would wait for the dead tracer. */
static bool is_spared(uint32_t action, const char *name)
{
#ifdef BOARDWALK_SANITIZED
	for (const char *const *n = sanitizer_calls; *n != NULL; n++)
		if (strcmp(*n, name) == 0)
			return action == SCMP_ACT_KILL_PROCESS;
#endif
	(void)action;
	(void)name;
	return false;
}

/* Negative numbers are calls of other architectures. */
static void add_rules(scmp_filter_ctx filter, uint32_t action, const char *const *names)
{
	for (; names != NULL && *names != NULL; names++) {
		int number = call_number(*names);

		if (number >= 0 && !is_spared(action, *names))
			check_rule(seccomp_rule_add(filter, action, number, 0), *names);
	}
}

static void add_rule_if(scmp_filter_ctx filter, const char *name, struct scmp_arg_cmp condition)
{
	check_rule(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call_number(name), 1, condition), name);
}

static bool may_load_libraries;

void sandbox_allow_libraries(void)
{
	may_load_libraries = true;
}

/* What the dynamic linker maps: a file, to be executed, not to be written. */
static void add_library_rule(scmp_filter_ctx filter)
{
	enum { WRITE_AND_EXEC = 0x6, EXEC_BIT = 0x4, ANONYMOUS_BIT = 0x20 };

	check_rule(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call_number("mmap"), 2,
	                            SCMP_A2(SCMP_CMP_MASKED_EQ, WRITE_AND_EXEC, EXEC_BIT),
	                            SCMP_A3(SCMP_CMP_MASKED_EQ, ANONYMOUS_BIT, 0)),
	           "mmap");
}

/* These are allowed with certain arguments only. A call that the process's own list names as well
 * loses its condition. */
static void add_conditional_rules(scmp_filter_ctx filter)
{
	enum { PROT_EXEC_BIT = 0x4, CLONE_THREAD_BIT = 0x10000 };

	add_rule_if(filter, "mmap", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC_BIT, 0));
	add_rule_if(filter, "mprotect", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC_BIT, 0));
	add_rule_if(filter, "clone",
	            SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD_BIT, CLONE_THREAD_BIT));
	add_rule_if(filter, "tgkill", SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0));
	if (may_load_libraries)
		add_library_rule(filter);
	check_rule(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), call_number("clone3"), 0),
	           "clone3");
}

/* All threads get the filter at once (TSYNC). The call table is searched as a tree. Without SSB the
 * kernel slows every load of the process down, to protect a guest that runs foreign code: there is
 * none here. */
static void set_attributes(scmp_filter_ctx filter)
{
	check_rule(seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1), "TSYNC");
	check_rule(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "OPTIMIZE");
	check_rule(seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1), "SSB");
	check_rule(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
	           "BADARCH");
}

static scmp_filter_ctx new_filter(uint32_t otherwise)
{
	scmp_filter_ctx filter = seccomp_init(otherwise);

	if (filter == NULL)
		fatalx("seccomp is not available");
	set_attributes(filter);
	return filter;
}

static void load(scmp_filter_ctx filter)
{
	check_rule(seccomp_load(filter), "loading");
	seccomp_release(filter);
}

void sandbox_forbid(const char *const *kill)
{
	scmp_filter_ctx filter = new_filter(SCMP_ACT_ALLOW);

	add_rules(filter, SCMP_ACT_KILL_PROCESS, kill);
	load(filter);
}

void sandbox_filter(const char *const *allow, const char *const *kill)
{
	scmp_filter_ctx filter = new_filter(SCMP_ACT_ERRNO(EPERM));

	add_rules(filter, SCMP_ACT_KILL_PROCESS, kill);
	add_rules(filter, SCMP_ACT_ALLOW, basic_calls);
	add_rules(filter, SCMP_ACT_ALLOW, allow);
#ifdef BOARDWALK_SANITIZED
	add_rules(filter, SCMP_ACT_ALLOW, sanitizer_calls);
#endif
	add_conditional_rules(filter);
	load(filter);
}

void sandbox_filter_asking(void)
{
	/* Names are looked up, certificates and keys read. */
	static const char *const allow[] = {
		"socket", "connect", "sendmmsg", "openat", "fstat",      "newfstatat", "access",
		"ioctl",  "getuid",  "geteuid",  "uname",  "getdents64", NULL,
	};
	static const char *const kill_for[] = { "execve", "execveat", "fork",
		                                "vfork",  "ptrace",   NULL };

	sandbox_filter(allow, kill_for);
}
