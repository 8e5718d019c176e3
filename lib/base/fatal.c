/* fatal.c - ends the process with one line, and memory that is always there.
 *
 * Owns: nothing. Runs in: any process, any thread, also on a fiber's small stack.
 * Fails with: nothing comes back from here. Tests: tests/unit/base/fatal_test.c. */
#include "fatal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

enum { FATAL_TEXT_MAX = 1024 };

/* _exit, not exit: other threads still run, and must not meet the handlers of exit half done. What
 * the process has printed for its caller so far is pushed out by hand. */
__attribute__((noreturn)) static void end_process(const char *text)
{
	log_error(0, "%s", text);
	log_stop();
	fflush(stdout);
	_exit(1);
}

void fatal(const char *format, ...)
{
	int     error = errno;
	char    text[FATAL_TEXT_MAX];
	size_t  n;
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	n = strlen(text);
	errno = error;
	snprintf(text + n, sizeof(text) - n, ": %m");
	end_process(text);
}

void fatalx(const char *format, ...)
{
	char    text[FATAL_TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	end_process(text);
}

/* malloc(0) may be NULL without being a failure; one octet is asked for instead. */
void *xmalloc(size_t n)
{
	void *p = malloc(n > 0 ? n : 1);

	if (p == NULL)
		fatalx("out of memory: %zu octets", n);
	return p;
}

void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count > 0 ? count : 1, size > 0 ? size : 1);

	if (p == NULL)
		fatalx("out of memory: %zu times %zu octets", count, size);
	return p;
}

void *xrealloc(void *p, size_t n)
{
	void *q = realloc(p, n > 0 ? n : 1);

	if (q == NULL)
		fatalx("out of memory: %zu octets", n);
	return q;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char  *copy = xmalloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *xasprintf(const char *format, ...)
{
	char   *text;
	va_list ap;
	int     n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	if (n < 0)
		fatalx("out of memory: formatting \"%s\"", format);
	return text;
}
