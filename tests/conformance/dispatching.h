/* dispatching.h - the words of do= for dispatchers and asynchronous requests. */
#pragma once
#include "actions.h"

extern const struct word dispatching_words[];
