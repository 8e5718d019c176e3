/* sandbox.h - what a process gives up once it is set up: its user, new privileges, core dumps,
 * system calls. Each step is fatal when it fails: what cannot be confined does not run. */
#pragma once
#include <stdbool.h>

/* Becomes that user with its own group and no others, if started by root; otherwise stays who it
 * is. NULL or "": stays. HOME becomes that user's. Sets PR_SET_PDEATHSIG anew afterwards if it was
 * set (setuid clears it). */
void sandbox_become(const char *user);
/* No core dumps, no ptrace by others (PR_SET_DUMPABLE 0, unless BOARDWALK_SANITIZED: LeakSanitizer
 * is such another), no new privileges. */
void sandbox_harden(void);
/* Is killed when the parent dies, and ends at once if it dies during the call. For children of the
 * supervisor and for workers. */
void sandbox_die_with_parent(void);

/* A seccomp filter for all threads, present and future, that allows the calls named and answers
 * others with EPERM (clone3 with ENOSYS, so that libc falls back to clone).
 *
 * Always allowed, not to be named: what works on memory, threads, signals, clocks and descriptors
 * the process already has (read, write, recvmsg, sendmsg, accept4, epoll_wait, close ...; the list
 * is in sandbox.c). New threads may be made, new processes not. Memory may not become executable
 * unless "mmap" and "mprotect" are named. To be named: whatever reaches for something by name, path
 * or address (openat, socket, connect, bind, unlink, execve, clone for fork, kill, prctl ...).
 *
 * allow: NULL-terminated. A name that no architecture has is fatal; one that only this architecture
 * lacks is skipped. kill: calls that end the process instead of failing; NULL-terminated, may be
 * NULL. With BOARDWALK_SANITIZED defined, what the sanitizers need is added, and does not kill. */
void sandbox_filter(const char *const *allow, const char *const *kill);

/* The filter of a process that answers on sockets it has and asks a database, over a socket or the
 * network: it may read files, connect and resolve names. To start a program, or to trace one, ends it. */
void sandbox_filter_asking(void);

/* From here on this thread, and those it starts, may write, make and remove files below these folders
 * alone (NULL-terminated; one that is not there counts for nothing); what is open stays open, and reading is not touched. False:
 * this kernel cannot do that, and nothing has changed. Before sandbox_filter, and before any thread that
 * is to be confined. */
bool sandbox_write_below(const char *const *folders);

/* Before sandbox_filter: files may be mapped as code, unless they are writable by it. For processes that
 * load shared objects while they serve; memory that is no file's still cannot become executable. */
void sandbox_allow_libraries(void);

/* A filter for a process whose children still have to start, and inherit it: everything is allowed but
 * the calls named, which end the process, and calls of other architectures. */
void sandbox_forbid(const char *const *kill);
