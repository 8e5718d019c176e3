/* steps_access.h - steps about access control lists, for steps.c. */
#pragma once
#include <boardwalk/boardwalk.h>

/* The step w[0] with n words, at path; what it says goes into said. *ret_known false: it is another. */
int steps_access(struct bw_resolver *r, struct bw_str path, char **w, size_t n, char *said,
                 size_t size, bool *ret_known);
