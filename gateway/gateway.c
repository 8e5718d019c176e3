/* gateway.c - boardwalk-gateway: the open port. Servlets run here.
 *
 * Holds no key, no password, no SQL: what it knows of users and content it asks of boardwalk-auth and
 * boardwalk-repo. Refuses what is not clean HTTP (http/guard.c). This file is the start; then the
 * process becomes the parent of N workers, each with its own listening socket and its own registry.
 *
 *     gateway (parent.c) ---fork---> worker 0 .. N-1 (worker.c)
 *                                      http -> whiteboard -> engine -> servlet -> ask auth, ask repo
 *
 * SIGTERM: requests end, then the process; a second one: at once.
 * Owns: settings, sockets, the counters' mapping. Runs in: the parent. Fails with: a fatal line.
 * Tests: tests/system. */
#include "listeners.h"
#include "parent.h"
#include "settings.h"
#include "shared.h"

#include <base/fatal.h>
#include <base/log.h>
#include <base/program.h>
#include <base/sandbox.h>
#include <pwd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define OTHER_FILES 1024 /* descriptors besides connections */

static void print_settings(FILE *out)
{
	conf_print(gateway_keys, gateway_n_keys, out);
}

static void load_settings(const char *file, struct gateway_settings *ret)
{
	char err[512];

	if (gateway_settings_load(file, ret, err, sizeof(err)) != 0)
		fatalx("%s", err);
	log_init("gateway", program_log_level("gateway.log_level", ret->log_level));
}

/* As many as there are cores that we may run on. */
static uint32_t count_workers(const struct gateway_settings *s)
{
	cpu_set_t cores;

	if (s->workers > 0)
		return (uint32_t)s->workers;
	if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
		return 1;
	return (uint32_t)CPU_COUNT(&cores);
}

/* Descriptors for all connections of a worker. Before the rights are dropped: root may raise the hard
 * limit as well. */
static void raise_limits(const struct gateway_settings *s)
{
	rlim_t        wanted = s->max_connections + OTHER_FILES;
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		fatal("RLIMIT_NOFILE");
	if (files.rlim_max < wanted) {
		struct rlimit raised = { .rlim_cur = wanted, .rlim_max = wanted };

		if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
			return;
		log_warning(
			0, "gateway.max_connections is %llu, but only %llu descriptors are allowed",
			(unsigned long long)s->max_connections, (unsigned long long)files.rlim_max);
		wanted = files.rlim_max;
	}
	files.rlim_cur = wanted;
	if (setrlimit(RLIMIT_NOFILE, &files) != 0)
		fatal("RLIMIT_NOFILE");
}

/* Who may give orders besides root. Nobody is, unless there is a socket to give them on. */
static uid_t find_owner(const struct gateway_settings *s)
{
	const struct passwd *pw;

	if (*s->control_socket == '\0' || *s->owner == '\0')
		return geteuid();
	pw = getpwnam(s->owner);
	if (pw == NULL)
		fatalx("gateway.owner: there is no system user %s", s->owner);
	return pw->pw_uid;
}

/* The workers inherit this and add their own: they still have to load bundles and find their peers.
 * Nothing that starts here needs what reaches into other programs, the kernel, or other rights. */
static void forbid_calls(void)
{
	/* clang-format off */
	static const char *const kill_for[] = {
		"execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev",
		"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups",
		"capset", "mount", "umount2", "pivot_root", "chroot", "setns",
		"bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key",
		"init_module", "finit_module", "delete_module", "kexec_load", "reboot", NULL
	};
	/* clang-format on */

	sandbox_forbid(kill_for);
}

int main(int argc, char **argv)
{
	static struct gateway_settings settings; /* as long as the process, workers included */
	struct listeners               listeners;
	struct program_options         options =
		program_options(argc, argv, "boardwalk-gateway", print_settings);
	uint32_t n;
	uid_t    owner;
	int      status;

	log_init("gateway", LOG_LEVEL_INFO);
	load_settings(options.config, &settings);
	if (options.check) {
		gateway_settings_done(&settings);
		return 0;
	}
	if (getenv("BOARDWALK_DIE_WITH_PARENT") != NULL)
		sandbox_die_with_parent();
	n = count_workers(&settings);
	raise_limits(&settings);
	listeners_open(&listeners, &settings, n);
	owner = find_owner(&settings);
	sandbox_become(settings.user);
	sandbox_harden();
	forbid_calls();
	status = parent_run(&settings, &listeners, shared_map(n), owner);
	listeners_close(&listeners);
	gateway_settings_done(&settings);
	log_info(0, "stopped");
	return status;
}
