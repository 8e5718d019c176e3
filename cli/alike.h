/* alike.h - whether workers say the same. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/* Of two workers' answers, or of the same part of both. */
bool alike(const json_t *a, const json_t *b);
/* lines: of speak_ask. Compares each answer with the first; a line on stderr for each that differs or
 * failed. */
bool alike_check(const json_t *lines);
