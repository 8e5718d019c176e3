/* doors.h - from which of the public sockets this worker accepts: from none until it is up, then from those
 * that the parent says (porter.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct shared_worker;

/* The sockets of all workers, borrowed; which is this one's. Behind obey_init, ask_init and all bundles:
 * "up" is told as soon as auth and repo have greeted, or cannot be reached, or keep silent for a second;
 * then 503 for what needs them is the truth. */
void doors_init(const int *fds, uint32_t n, uint32_t own, struct shared_worker *me);
void doors_done(void);
/* The parent's list, "0,3". False: it is none. */
bool doors_set(const char *list);
