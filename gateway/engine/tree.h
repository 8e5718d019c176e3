/* tree.h - the nodes of mount.h, for mount.c alone: which servlet is mounted at which path. */
#pragma once
#include "engine/mount.h"

/* One servlet at one path. */
struct mount_point {
	struct mount_point   *next_of_servlet;
	struct mount_point   *next_of_node; /* best ranked first */
	struct mount_node    *node;
	struct mount_servlet *servlet;
	bool                  marker;     /* carries the super type alone */
	char                 *super_type; /* heap; NULL: none */
	struct record record; /* the node as a resource, if this point answers for it; heap */
};

void tree_add(struct mount_servlet *m, struct bw_str path, bool marker);
/* Takes all points of m out. */
void tree_remove_all(struct mount_servlet *m);
/* After the last point is gone: the table's own memory. */
void tree_done(void);
