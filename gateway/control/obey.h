/* obey.h - a worker does what its parent orders. */
#pragma once
#include <base/buf.h>

#define OBEY_MAX_WORDS 16u

/* An order's words, words[0] being the verb. Appends the answer, as one line, to out and returns true;
 * or appends a reason, the end of "it ...", and returns false. */
typedef bool (*obey_verb)(const char *const *words, size_t n, struct buf *out);

struct obey_row {
	const char *name;
	size_t      min_words, max_words; /* without the verb */
	obey_verb   serve;
};

/* Takes the channel's descriptor. */
void obey_init(int fd);
void obey_done(void);
