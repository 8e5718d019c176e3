/* edge.h - runs the rows of edge.rows against a server. */
#pragma once
#include <stdint.h>

struct edge_result {
	unsigned rows, failed; /* each row counts twice: at once, and octet by octet */
};

/* path: one that answers GET with 200. Failures go to stderr, a line each. Dies if file cannot be
 * read or understood. */
struct edge_result edge_run(const char *address, uint16_t port, const char *file, const char *path);
