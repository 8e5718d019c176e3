/* check.h - one item of a row's expectation against what happened. */
#pragma once
#include "world.h"

/* NULL, or what was got instead. answer: for items that begin with a status; NULL if there is none. */
char *check_item(const char *item, const struct answer *answer);
/* Does the item speak of an answer? */
bool check_is_answer(const char *item);
/* Items that this server cannot judge, since it did not see the records before the row's steps. */
bool check_is_beyond(const char *item);
