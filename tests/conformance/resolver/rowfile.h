/* rowfile.h - the lines of files about resolvers, and their verdicts; run.c and system/resolver give
 * them something to ask. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define ROWS_ROOT "/content/rows"

struct row_runner {
	void (*begin)(void); /* before each row: only the root is there */
	void (*end)(void);
	/* Steps of one request (steps.h); text may be changed. */
	void (*ask)(const char *root, char *text, char *said, size_t size);
};

struct row_result {
	unsigned passed, failed;
};

/* Adds to *total; prints what fails, and ends the program at a line that is none. with_stars: also rows
 * for an instance. */
void rowfile_run(const char *file, const struct row_runner *runner, bool with_stars,
                 struct row_result *total);
