/* alike.h - whether workers say the same. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

/* Takes a member away from an object and from everything below it. */
void alike_strip(json_t *value, const char *const *names);
/* lines: of speak_ask. Compares each answer with the first; a line on stderr for each that differs or
 * failed. */
bool alike_check(const json_t *lines);
