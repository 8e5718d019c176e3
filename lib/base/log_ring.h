/* log_ring.h - the way of a finished line to its descriptor. For log.c alone.
 *
 *   DIRECT --log_ring_start--> RING --log_ring_stop--> DIRECT
 *     ^                         |                 \
 *     +---- (fork, in child) ---+                  +-> DEAD: the writer is stuck, lines are dropped
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_LINE_MAX = 16384 }; /* a longer line is cut in the ring, and still ends in '\n' */

/* Registers what a forked child needs. May be called again. */
void log_ring_init(void);
/* tell: so many lines were lost since the last call, and in total. Runs on the writer thread, at
 * most once a second, and writes through log_ring_write_now. */
void log_ring_start(void (*tell)(uint64_t lost, uint64_t total));
void log_ring_stop(void);

/* By the ring if it runs, otherwise directly. Keeps errno. */
void log_ring_put(int fd, const char *line, size_t n);
/* Directly, in the calling thread. A line that could not be written is not counted as lost. */
bool     log_ring_write_now(int fd, const char *line, size_t n);
uint64_t log_ring_dropped(void);
