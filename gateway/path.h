/* path.h - from the request target to the one canonical path (Jakarta Servlet 3.5.2).
 * Done once; rules, matching and look-up all use the result. */
#pragma once
#include <base/arena.h>
#include <boardwalk/types.h>

struct path_target {
	struct bw_str authority; /* of an absolute-form target, else absent */
	struct bw_str scheme;    /* the same */
	struct bw_str uri;       /* raw path as sent; borrows target */
	struct bw_str query;     /* borrows target; absent without '?' */
	struct bw_str path;      /* canonical */
	struct bw_str params;    /* path parameters, each with its ';'; absent without */
};

/* BW_OK, or BW_EINVAL: answer 400. path and params are in the arena where they differ from the
 * target, else borrow it. */
int path_canonical(struct arena *a, struct bw_str target, struct path_target *ret);
/* A host as Host or an absolute-form target may name it: name, IPv4 or [IPv6], and a port or not. */
bool path_is_authority(struct bw_str s);
