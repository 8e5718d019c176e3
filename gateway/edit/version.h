/* version.h - versions of resources: the table of include/boardwalk/version.h. */
#pragma once
#include <boardwalk/version.h>

extern const struct bw_versioning resolver_versioning;
