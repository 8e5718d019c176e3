/* mountpaths.h - where a servlet's registration properties put it in the resource tree. */
#pragma once
#include <boardwalk/types.h>

struct bw_service;
struct conf_list;

/* Absolute prefixes ending in a slash, most specific first: /apps/, /libs/. Never empty. */
struct search_path {
	struct bw_str *items;
	size_t         n;
};

/* Fatal if an entry is no absolute path; a slash at the end is added. An empty list counts as "/". */
void search_path_init(struct search_path *sp, const struct conf_list *list);
void search_path_done(struct search_path *sp);

#define MOUNT_PATH_MAX 1024u /* octets of one mount path */

struct mount_path {
	char *path;   /* heap */
	bool  marker; /* carries the super type of a resource type, and no servlet */
};

struct mount_paths {
	struct mount_path *items; /* no path twice */
	size_t             n, cap;
};

/* The mount paths of a servlet service; none (n == 0) if it has neither paths nor types. False:
 * the registration cannot be used, *ret_reason (static text) says why; *ret is empty then. */
bool mount_paths_get(struct mount_paths *ret, const struct bw_service *s,
                     const struct search_path *sp, const char **ret_reason);
void mount_paths_done(struct mount_paths *paths);
/* sling.servlet.resourceSuperType unless it is the default; absent then. Borrows the service. */
struct bw_str mount_super_type(const struct bw_service *s);
