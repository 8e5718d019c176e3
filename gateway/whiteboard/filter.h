/* filter.h - the targets of a filter: patterns, regular expressions, servlet names, dispatchers. */
#pragma once
#include "reading.h"

/* Compiles the regular expressions into r. False: one is none. */
bool filter_compile(struct reading *r, const struct bw_str *texts, size_t n);
/* The set of dispatcher words, REQUEST if there is none. False: an unknown word. */
bool filter_dispatchers(const struct bw_str *words, size_t n, unsigned *ret);
/* "REQUEST" ... */
const char *filter_dispatcher_name(enum bw_dispatcher type);
void        filter_free(struct reading *r);
