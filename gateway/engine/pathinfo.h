/* pathinfo.h - cutting a request path: where the resource may end, and what the rest means. Pure
 * functions over borrowed strings; nothing is allocated. */
#pragma once
#include <boardwalk/types.h>

struct pathinfo {
	struct bw_str resource_path; /* the part of the request path that names the resource */
	struct bw_str selectors;     /* unsplit, as sent; absent if the list is empty */
	struct bw_str extension;
	struct bw_str suffix; /* begins with a slash */
};

/* The first place to look at: the path without slashes at its end, "/" at least. */
struct bw_str pathinfo_first(struct bw_str path);
/* The next shorter place: *path is cut before its last dot, wherever that is. False: there is none
 * (no dot, or it is the first octet). "/" stands for what is left of "/.json". */
bool pathinfo_cut(struct bw_str *path);
/* Splits what was left over behind the resource; it is empty or begins with a dot or a slash.
 * Leaves resource_path alone. */
void pathinfo_split(struct bw_str left_over, struct pathinfo *ret);
/* False: answer 400 instead of calling a servlet. */
bool pathinfo_is_valid(const struct pathinfo *p);
/* The next selector of *rest, which is moved behind it; false at the end. Empty ones at the end of
 * the list do not count. */
bool pathinfo_selector(struct bw_str *rest, struct bw_str *ret);
