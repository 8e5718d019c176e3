/* porter.h - who accepts from which of the public sockets. Each worker has one of its own, and the kernel
 * spreads new connections over all of them, whether their workers live or not: so while one is away the
 * others accept from its socket, too.
 *
 *   ABSENT --fork--> STARTED --"up"--> UP --told to, and does--> OPEN        ends: any -> ABSENT
 *
 * "up" is the worker's word that its bundles are loaded and that auth and repo have greeted it, or cannot
 * be reached. A successor takes its socket back from the others by becoming OPEN. */
#pragma once
#include "control/crew.h"

struct porter;

struct porter_hooks {
	/* Ends a worker that does not answer. */
	void (*abort_worker)(void *arg, uint32_t worker, const char *why);
	void *arg;
};

struct porter *porter_new(struct crew *crew, const struct porter_hooks *hooks);
void           porter_free(struct porter *p); /* before crew_free */

void porter_started(struct porter *p, uint32_t worker);
void porter_up(struct porter *p, uint32_t worker);
void porter_ended(struct porter *p, uint32_t worker); /* behind crew_ended */
/* It is there, but has not turned its loop for a while: the others accept in its place until it does. */
void porter_stuck(struct porter *p, uint32_t worker, bool yes);
bool porter_is_open(const struct porter *p, uint32_t worker);
bool porter_is_any_open(const struct porter *p);
bool porter_was_any_open(const struct porter *p); /* ever */
