/* progress.h - how far a long command has come: a bar on standard error, if that is a terminal. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *unit;     /* of done: "nodes" */
	uint64_t    total;    /* of at; 0: not known */
	uint64_t    at, done; /* the caller's */
	uint64_t    begun_us, shown_us;
	bool        visible;
};

/* total: where `at` will be at the end, 0 if that is not known. unit: borrowed. */
void progress_begin(struct progress *p, uint64_t total, const char *unit);
void progress_show(struct progress *p); /* ten times a second at most */
void progress_end(struct progress *p);  /* takes the bar away */
