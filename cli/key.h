/* key.h - the keys of resolver handles and session tokens. */
#pragma once
#include "instance.h"

#include <base/key_file.h>

/* Makes DATA/keys/handle.key and session.key if they are not there: one line "1 HEX", readable by auth,
 * the first one by repo as well.
 * False after a line on stderr. */
bool key_make(const struct instance *instance);
/* Puts a new key in front of n lines, drops those whose time is over at now_s, and lets the others' end
 * by until_s at the latest. Returns how many there are then; -1: max would not be enough. */
int key_lines_rotate(struct key_line lines[KEY_LINES], unsigned n, unsigned max, int64_t now_s,
                     int64_t until_s);
