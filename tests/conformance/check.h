/* check.h - one item of a row's expectation against what happened. */
#pragma once
#include "world.h"

/* NULL, or what was got instead. answer: for items that begin with a status. */
char *check_item(const char *item, const struct answer *answer);
/* Does the item speak of an answer? */
bool check_is_answer(const char *item);
