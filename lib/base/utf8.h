/* utf8.h - is this text? */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF. Empty text is fine. */
bool utf8_ok(const char *p, size_t n);
/* The length of the sequence that starts at p, 0 if it is none. n > 0. */
size_t utf8_length(const unsigned char *p, size_t n);
