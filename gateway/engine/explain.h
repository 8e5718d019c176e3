/* explain.h - what the engine would do with a path, for the whiteboard's routes. */
#pragma once
#include <boardwalk/types.h>

struct json_out;

/* Adds the member "engine" to the open object. 503: the servlet at this very path is unavailable; else
 * 0. */
int engine_explain(struct json_out *j, struct bw_str path);
