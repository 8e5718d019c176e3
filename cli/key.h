/* key.h - the key of the resolver handles. */
#pragma once
#include "instance.h"

/* Makes DATA/keys/handle.key if it is not there: one line "1 HEX", readable by auth and repo alone.
 * False after a line on stderr. */
bool key_make(const struct instance *instance);
