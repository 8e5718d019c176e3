/* guard.h - the strict edge in front of libh2o's parser, without libh2o's own header: what guard.c
 * and chunked.c share, and what tests need. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Under -fvisibility=hidden the library would find its own functions, and the guard would be gone
 * without a word: guard_probe is there to notice. A test sets another visibility to see it noticed. */
#ifndef GUARD_VISIBILITY
#define GUARD_VISIBILITY "default"
#endif
#define GUARD_EXPORT __attribute__((visibility(GUARD_VISIBILITY)))

struct guard_answer {
	char        path[2]; /* the address of this array is the mark: no client can send it */
	int         status;
	const char *why;
};

struct guard {
	size_t   max_head, max_target;
	uint64_t max_body;
};
extern struct guard guard; /* the limits in force */

void guard_init(size_t max_head, size_t max_target, uint64_t max_body);
/* Is path the mark of a refused head? NULL: no. */
const struct guard_answer *guard_head_refusal(const char *path);
/* Did the body that was complete just now break the rules? Asked once, right after. NULL: no. */
const struct guard_answer *guard_take_body_refusal(void);
