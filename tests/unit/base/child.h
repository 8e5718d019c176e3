/* child.h - runs a function in a forked child and hands back how it ended and what it wrote to
 * stderr. An assertion of Criterion counts for nothing in a child: report by exit code. */
#pragma once
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_FAILED = 77, CHILD_KILLED = 1000 };

/* In a child: ends it unless what holds; the line says which. */
#define child_assert(what) \
	do { \
		if (!(what)) { \
			dprintf(STDERR_FILENO, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			_exit(CHILD_FAILED); \
		} \
	} while (0)

/* The exit code, or CHILD_KILLED + signal. text (may be NULL): its stderr, cut to size. */
static inline int run_child(void (*run)(void *arg), void *arg, char *text, size_t size)
{
	int     out[2], status;
	size_t  n = 0;
	ssize_t got;
	char    rest[4096];
	pid_t   pid;

	cr_assert(pipe(out) == 0);
	fflush(NULL);
	pid = fork();
	cr_assert(pid >= 0);
	if (pid == 0) {
		dup2(out[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		run(arg);
		_exit(0);
	}
	close(out[1]);
	do {
		bool fits = text != NULL && n + 1 < size;

		got = fits ? read(out[0], text + n, size - 1 - n)
		           : read(out[0], rest, sizeof(rest));
		if (fits && got > 0)
			n += (size_t)got;
	} while (got > 0);
	if (text != NULL)
		text[n] = '\0';
	close(out[0]);
	cr_assert(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? CHILD_KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}
