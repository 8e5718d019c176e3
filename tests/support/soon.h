/* soon.h - whether all workers of a running instance have heard of a change in time: the same question
 * on several connections. */
#pragma once
#include <stdbool.h>

#include "http.h"

#define SOON_MS          300 /* from the end of the command to the last worker's news */
#define SOON_CONNECTIONS 16  /* enough to meet every worker */

struct soon { /* too large for a stack */
	struct http connections[SOON_CONNECTIONS];
};

void soon_open(struct soon *s, unsigned port);
void soon_close(struct soon *s);
/* Asks on every connection; how many answers have that status and body (NULL: any). */
unsigned soon_count(struct soon *s, const char *path, const char *credentials, int status,
                    const char *body);
/* Whether each connection gives that answer to every question asked later than SOON_MS from now. What
 * was asked before may be answered either way. */
bool soon_all(struct soon *s, const char *path, const char *credentials, int status,
              const char *body);
