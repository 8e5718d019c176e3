/* sandbox_files.c - giving up the right to change files, by Landlock (Linux 5.13 and later).
 *
 * The filter for system calls sees no paths, and a user of its own can still write wherever everybody
 * can. A kernel without Landlock leaves it at that.
 *
 * Owns: nothing. Runs in: every process, before its loop. Fails with: fatal, but for a kernel that has
 * no Landlock. Tests: tests/unit/base/sandbox_test.c, tests/system/confinement_test.c. */
#include "fatal.h"
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian 12 runs on kernels that know more of these than its headers. */
#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ull << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ull << 14)
#endif

static uint64_t rights(int abi)
{
	uint64_t all = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
	               LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
	               LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
	               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
	               LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

	if (abi >= 2)
		all |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		all |= LANDLOCK_ACCESS_FS_TRUNCATE;
	return all;
}

static void allow_below(int ruleset, const char *folder, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access };

	rule.parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rule.parent_fd < 0 && errno == ENOENT)
		return; /* nothing to be written there */
	if (rule.parent_fd < 0)
		fatal("%s", folder);
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
		fatal("landlock_add_rule: %s", folder);
	close(rule.parent_fd);
}

bool sandbox_write_below(const char *const *folders)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_ruleset_attr attr = { .handled_access_fs = rights((int)abi) };
	int                          ruleset;

	if (abi < 1) {
		/* EPERM: the filter of an older container engine does not know the call. */
		if (errno != ENOSYS && errno != EOPNOTSUPP && errno != EPERM)
			fatal("landlock_create_ruleset");
		return false;
	}
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		fatal("landlock_create_ruleset");
	for (; *folders != NULL; folders++)
		allow_below(ruleset, *folders, attr.handled_access_fs);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fatal("PR_SET_NO_NEW_PRIVS");
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
		fatal("landlock_restrict_self");
	close(ruleset);
	return true;
}
