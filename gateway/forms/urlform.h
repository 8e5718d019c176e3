/* urlform.h - the names and values of a query or of an application/x-www-form-urlencoded body. */
#pragma once
#include "pairs.h"

#define URLFORM_MAX_NAME 1024 /* octets of a name, decoded */

/* Decodes the n octets at text where they lie (text[n] must be a NUL, and everything found
 * points into it) and adds the pairs to to, in order, until it holds max. BW_ESYNTAX: a '%'
 * without two hexadecimal digits, text that is not UTF-8 or has a NUL in it, a name that is too
 * long. BW_EFORMSIZE: more than max. */
int urlform_parse(struct arena *a, char *text, size_t n, size_t max, struct pairs *to);
