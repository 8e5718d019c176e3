/* rowfile.h - the lines of row files, one after the other; for the two programs of this folder. */
#pragma once

/* Of a row: passed or failed, added to by what runs it. */
struct rowfile_counts {
	unsigned passed, failed;
};

extern struct rowfile_counts rowfile;

/* Calls row for each line of each file that is neither empty nor a comment, prints the counts; the exit
 * status: 0 if some passed and none failed. line: to be changed at will, without its end. */
int rowfile_run(char *const *files, int n,
                void (*row)(const char *file, unsigned number, char *line));
