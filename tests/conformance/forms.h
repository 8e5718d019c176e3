/* forms.h - the words of forms.c. */
#pragma once
#include "actions.h"

extern const struct word form_words[];
