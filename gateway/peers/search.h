/* search.h - the table of include/boardwalk/query.h. */
#pragma once
#include <boardwalk/query.h>

extern const struct bw_searching resolver_searching;
