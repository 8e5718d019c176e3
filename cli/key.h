/* key.h - the keys of resolver handles and session tokens. */
#pragma once
#include "instance.h"

/* Makes DATA/keys/handle.key and session.key if they are not there: one line "1 HEX", readable by auth,
 * the first one by repo as well.
 * False after a line on stderr. */
bool key_make(const struct instance *instance);
