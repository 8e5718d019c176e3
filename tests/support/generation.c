/* generation.c - patches words into copies of a shared object.
 *
 * Owns: nothing. Runs in: tests. Fails with: abort. Tests: none. */
#include <support/generation.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK      "BOARDWALK-GENERATION:"
#define WORDS_MAX 80u

static void fail(const char *what, const char *file)
{
	fprintf(stderr, "%s: %s\n", file, what);
	abort();
}

void generation_read(struct generation *g, const char *file)
{
	int         fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	const char *mark;

	if (fd < 0 || fstat(fd, &st) != 0)
		fail("cannot be opened", file);
	g->n = (size_t)st.st_size;
	g->octets = malloc(g->n);
	if (g->octets == NULL || read(fd, g->octets, g->n) != (ssize_t)g->n)
		fail("cannot be read", file);
	close(fd);
	mark = memmem(g->octets, g->n, MARK, strlen(MARK));
	if (mark == NULL)
		fail("has no place for words", file);
	g->words_at = (size_t)(mark - g->octets) + strlen(MARK);
}

void generation_done(struct generation *g)
{
	free(g->octets);
}

void generation_write(const struct generation *g, const char *words, const char *file)
{
	int    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	char   text[WORDS_MAX];
	size_t n = strlen(words);

	if (n > sizeof(text) - 2)
		fail("too many words", words);
	memset(text, ' ', sizeof(text));
	memcpy(text + 1, words, n);
	if (fd < 0 || write(fd, g->octets, g->n) != (ssize_t)g->n ||
	    pwrite(fd, text, sizeof(text), (off_t)g->words_at) != (ssize_t)sizeof(text))
		fail("cannot be written", file);
	close(fd);
}
