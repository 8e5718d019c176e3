/* Reads row files line by line. See rowfile.h. */
#include "rowfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rowfile_counts rowfile;

static void run_file(const char *file, void (*row)(const char *file, unsigned number, char *line))
{
	FILE    *in = fopen(file, "re");
	char    *line = NULL;
	size_t   room = 0;
	unsigned number = 0;
	ssize_t  n;

	if (in == NULL) {
		rowfile.failed++;
		printf("%s: %s\n", file, strerror(errno));
		return;
	}
	while ((n = getline(&line, &room, in)) > 0) {
		number++;
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (line[0] != '\0' && line[0] != '#')
			row(file, number, line);
	}
	free(line);
	fclose(in);
}

int rowfile_run(char *const *files, int n,
                void (*row)(const char *file, unsigned number, char *line))
{
	for (int i = 0; i < n; i++)
		run_file(files[i], row);
	printf("%u passed, %u failed\n", rowfile.passed, rowfile.failed);
	return rowfile.failed == 0 && rowfile.passed > 0 ? 0 : 1;
}
