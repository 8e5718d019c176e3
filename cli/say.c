/* say.c - how a command speaks and how it reads a file.
 *
 * Owns: nothing. Runs in: every command. Fails with: false or NULL after a line on stderr.
 * Tests: tests/system/setup_test.c. */
#include "cli.h"

#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool complain_va(const char *cause, const char *format, va_list args)
{
	fputs("boardwalk: ", stderr);
	vfprintf(stderr, format, args);
	fprintf(stderr, "%s%s\n", cause ? ": " : "", cause ? cause : "");
	return false;
}

bool complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain_va(NULL, format, args);
	va_end(args);
	return false;
}

bool complain_errno(const char *format, ...)
{
	const char *cause = strerror(errno);
	va_list     args;

	va_start(args, format);
	complain_va(cause, format, args);
	va_end(args);
	return false;
}

static char *read_all(int fd, const char *file, size_t max, size_t *ret_size)
{
	char  *text = xmalloc(max + 1);
	size_t size = 0;

	for (;;) {
		ssize_t n = read(fd, text + size, max + 1 - size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			complain_errno("%s", file);
		else if (n > 0 && size + (size_t)n > max)
			complain("%s: longer than %zu octets", file, max);
		else if (n > 0) {
			size += (size_t)n;
			continue;
		} else {
			text[size] = '\0';
			*ret_size = size;
			return text;
		}
		explicit_bzero(text, max + 1);
		free(text);
		return NULL;
	}
}

char *read_file(const char *file, size_t max, size_t *ret_size)
{
	char *text;
	int   fd;

	if (strcmp(file, "-") == 0)
		return read_all(STDIN_FILENO, "standard input", max, ret_size);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		complain_errno("%s", file);
		return NULL;
	}
	text = read_all(fd, file, max, ret_size);
	close(fd);
	return text;
}
