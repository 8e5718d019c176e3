/* mount.h - the servlets that bundles have put into the resource tree, and the tree they make.
 *
 *    service (sling.servlet.*)  1 ---- n  point  n ---- 1  node (a path)  n ---- 1  its folder
 *
 * A node has at most one servlet that answers: of the best ranked service mounted there. Nodes and
 * points come and go with registry events; a servlet stays until its last call has left. All of it
 * belongs to one worker's thread. */
#pragma once
#include <base/arena.h>
#include <wire/record.h>
#include "engine/mountpaths.h"

struct bw_context;
struct bw_servlet;
struct gateway_settings;
struct mount_node;
struct registry;
struct shared_limit;

/* A list of values of sling.servlet.paths.strict's conditions. */
struct mount_condition {
	char **items; /* heap */
	size_t n;
	bool   must_be_empty; /* the single value ".EMPTY." */
};

struct mount_servlet {
	struct mount_servlet      *next; /* of all that are mounted */
	struct mount_point        *points;
	struct bw_service         *service; /* referenced */
	const struct bw_servlet   *type;
	void                      *object;        /* from its factory, or the singleton */
	unsigned                   refs;          /* being mounted is one, each call is one */
	bool                       gone;          /* unregistered, also while its init still runs */
	char                      *name;          /* as init was told */
	char                      *subject;       /* what a crash is reported with */
	bool                       strict, async; /* asyncSupported */
	struct mount_condition     extensions, selectors, methods; /* asked for if strict */
	const struct shared_limit *limit; /* it crashed workers; NULL: it did not */
};

/* Stands for the pattern's context where a crash is reported. */
#define MOUNT_SCOPE "servlet"

/* Mounts what is registered already, then follows the registry. context: what init is told. */
void mount_init(struct registry *r, const struct gateway_settings *settings,
                struct bw_context *context);
void mount_done(void);

const struct search_path *mount_search_path(void);
/* Raised by every change; what was worked out under another number is void. */
uint64_t mount_generation(void);

/* The node at a path, NULL if nothing is mounted at or below it. Good until the next change. */
const struct mount_node *mount_find(struct bw_str path);
/* The servlet that answers at a node; NULL for a folder or a marker. */
struct mount_servlet *mount_node_servlet(const struct mount_node *node);
/* The super type that a servlet or marker here declares; absent if none. Borrowed like the node. */
struct bw_str mount_node_super_type(const struct mount_node *node);
/* The node as a resource; its bytes are copied into the arena. Only for a node with a servlet. */
void mount_node_record(const struct mount_node *node, struct arena *a, struct record *ret);
/* Direct children, in the order in which they were first mounted. */
const struct mount_node *mount_node_child(const struct mount_node *node);
const struct mount_node *mount_node_sibling(const struct mount_node *node);
struct bw_str            mount_node_name(const struct mount_node *node);

/* Around a call, so that destroy waits for it. */
void mount_servlet_ref(struct mount_servlet *m);
void mount_servlet_unref(struct mount_servlet *m);
