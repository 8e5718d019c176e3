/* obey.h - a worker does what its parent orders. */
#pragma once
#include <stddef.h>

/* Takes the channel's descriptor. */
void obey_init(int fd);
/* News for the parent that it has not asked for; words, each with its NUL. */
void obey_tell(const char *words, size_t n);
void obey_done(void);
