/* sandbox.h - what a process gives up once it is set up: its user, new privileges, core dumps,
 * system calls. Each step is fatal when it fails: a process that cannot be confined does not run. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Becomes that user with its own group and no others, if started by root; otherwise stays who it
 * is. NULL: stays. Sets PR_SET_PDEATHSIG anew afterwards if it was set (setuid clears it). */
void sandbox_become(const char *user);
/* No core dumps, no ptrace by others (PR_SET_DUMPABLE 0), no new privileges. */
void sandbox_harden(void);
/* Ends when the parent does. For children of the supervisor and for workers. */
void sandbox_die_with_parent(void);

/* A seccomp filter that allows the named system calls and answers others with EPERM (clone3 with
 * ENOSYS, so that libc falls back). names: NULL-terminated; unknown on this architecture is fine.
 * forbidden_kills: the calls in kill (NULL-terminated, may be NULL) end the process instead. With
 * BOARDWALK_SANITIZED defined at build, ptrace and what LeakSanitizer needs is added. */
void sandbox_filter(const char *const *allow, const char *const *kill);
