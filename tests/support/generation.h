/* generation.h - copies of the bundle tests/support/bundles/generation.c that are other generations
 * of it. */
#pragma once
#include <stddef.h>

/* A shared object in memory, with the place where the words go. */
struct generation {
	char  *octets; /* heap */
	size_t n, words_at;
};

/* Reads the built file; abort() if it is not one. */
void generation_read(struct generation *g, const char *file);
void generation_done(struct generation *g);
/* Writes it to a new file, with these words ("n=17 start=fail", at most 78 octets). */
void generation_write(const struct generation *g, const char *words, const char *file);
