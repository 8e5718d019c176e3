/* acl.h - who may do what where: all access control entries, in memory, and their evaluation.
 *
 * The nodes that have entries are few. A node's scope is its nearest ancestor (or itself) with
 * entries; all nodes of a scope have the same permissions unless an entry that bears on it has a
 * restriction. So a decision is remembered per (scope, principal set), and where there is a
 * restriction it is made anew for each item. Entries of service users' own lists stand with the
 * others at their paths; a set looks either at these or at those. */
#pragma once
#include "principals.h"
#include "privilege.h"
#include "restriction.h"
#include <boardwalk/types.h>

struct acl;
struct acl_scope;

/* One entry, as evaluation sees it. */
struct acl_entry {
	uint64_t                  principal, privileges;
	bool                      allow;
	bool                      own;         /* of the principal's own list, not of the node's */
	const struct restriction *restriction; /* in acl_arena; NULL: none */
};

/* How a set whose members' own lists count is judged (Jackrabbit Oak, composite authorization). */
enum acl_composition {
	ACL_ALONE, /* by these lists and nothing else */
	ACL_AND,   /* what they and the lists of nodes both allow */
	ACL_OR,    /* what one of them allows */
};

struct acl *acl_new(void);
/* ACL_ALONE until then; what was remembered is void. */
void acl_compose(struct acl *acl, enum acl_composition how);
void acl_free(struct acl *acl);

/* Replaces all entries: begin, then add in the order of (path, position), then end. The empty path is
 * that of the repository's own list, which nothing inherits. generation: of the snapshot that they
 * were read in. Scopes and decisions from before are gone. */
void acl_load_begin(struct acl *acl);
/* The privileges of the present load; to be filled behind acl_load_begin. */
struct privileges *acl_privileges(struct acl *acl);
/* A service user whose own list counts. */
void acl_load_own(struct acl *acl, uint64_t principal);
/* Where the restrictions of the entries being loaded live; emptied by the next acl_load_begin. */
struct arena *acl_arena(struct acl *acl);
void          acl_load_add(struct acl *acl, struct bw_str path, const struct acl_entry *entry);
void          acl_load_end(struct acl *acl, int64_t generation);
int64_t       acl_generation(const struct acl *acl); /* of the last load; -1: none yet */
/* Raised by each load, never 0: what was remembered under another number is void. */
uint64_t acl_loads(const struct acl *acl);

/* The name of the principal of the entry that was added last, for those who read the list. Copied. */
void acl_load_name(struct acl *acl, struct bw_str principal);

/* The entries of a path's list, in order: from i = 0 on, false past the last. Own lists' are not among
 * them. Borrowed until the next load; the name is absent if it was not loaded. */
bool acl_list_entry(const struct acl_scope *scope, unsigned *i, const struct acl_entry **ret,
                    struct bw_str *ret_principal);
/* The scope of an absolute path; NULL: no entry at it or above. Borrowed until the next load. */
const struct acl_scope *acl_scope_of(const struct acl *acl, struct bw_str path);
/* The same for a child of a node whose scope is known. */
const struct acl_scope *acl_scope_of_child(const struct acl *acl, const struct acl_scope *parent,
                                           struct bw_str path);
/* The entries of that very path; NULL: it has none. The empty path: the repository's. */
const struct acl_scope *acl_scope_at(const struct acl *acl, struct bw_str path);
/* Whether its members' own lists count for a set: all of them are such users. */
bool acl_uses_own(const struct acl *acl, const struct principals *who);
/* Whether an entry that may bear on it has a restriction. scope may be NULL. */
bool acl_is_restricted(const struct acl_scope *scope, const struct principals *who);
/* Where there may be nodes of which the set sees the node and not all properties: at these paths and
 * below. Borrowed until the next load. Returns how many there are; beyond max, max + 1. */
unsigned acl_hiding(const struct acl *acl, const struct principals *who, struct bw_str *ret,
                    unsigned max);
/* All bits that the set has there. scope: NULL, or one that is not restricted. */
uint64_t acl_allowed(struct acl *acl, const struct acl_scope *scope, const struct principals *who);
/* All bits that the set has on an item of the scope, worked out anew: the order of evaluation is in
 * acl.c. item may be NULL if the scope is not restricted. */
uint64_t acl_evaluate(const struct acl_scope *scope, const struct principals *who,
                      const struct acl_item *item);

/* A node on the way from an item to the root: its entries (NULL: none), and its path as the entries'
 * restrictions are to see it. */
struct acl_level {
	const struct acl_scope *scope;
	struct bw_str           node;
};
/* As acl_evaluate, over levels from the item's node upward instead of a scope and those above. Own lists name
 * texts, which do not go with a node: they are those of the item's path. */
uint64_t acl_evaluate_levels(const struct acl *acl, const struct acl_level *levels, unsigned n,
                             const struct principals *who, const struct acl_item *item);
