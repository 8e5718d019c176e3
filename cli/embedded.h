/* embedded.h - files of the source tree that are part of the program: a command finds them wherever
 * it was installed, and they cannot be of another version than the code. */
#pragma once
#include <stddef.h>

struct embedded_file {
	const char *name;
	const char *text, *end; /* *end is a NUL */
};

/* The migrations; number i brings the database to version i + 1. */
extern const struct embedded_file embedded_migrations[];
extern const size_t               embedded_n_migrations;
/* Run before any other script at each start. */
extern const struct embedded_file embedded_base_repoinit;
