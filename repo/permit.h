/* permit.h - whether somebody may make a change: what each operation needs, and where.
 *
 * A permission is asked of the entries in struct acl, which must be those of the generation that the
 * writing transaction has read (repo.generation.acl), or later ones: the caller compares it with
 * acl_generation() and waits for journal_want_entries() if that is behind. Entries of a list that the
 * same commit changes count from the next commit on.
 *
 * A commit checks its changes in their order and says which nodes it moved and removed on the way, so
 * that a node keeps its entries wherever the commit has put it, and a new node does not get those of
 * one that stood there before. */
#pragma once
#include "acl.h"

enum permit_op {
	PERMIT_READ_NODE,
	PERMIT_READ_PROPERTY,
	PERMIT_ADD_NODE,       /* item: the new node */
	PERMIT_ADD_TYPED_NODE, /* the same, with a stated type; also where a move or a copy goes to */
	PERMIT_REMOVE_NODE,    /* nothing is asked of what is below; also where a move comes from */
	PERMIT_ORDER,          /* item: the node whose children change places */
	PERMIT_ADD_PROPERTY,
	PERMIT_ALTER_PROPERTY,
	PERMIT_REMOVE_PROPERTY,
	PERMIT_CHANGE_TYPE, /* the primary type or the mixins of a node that is there */
	PERMIT_VERSION,
	PERMIT_LOCK,
	PERMIT_READ_ACL,
	PERMIT_MODIFY_ACL,
	PERMIT_MANAGE_USERS,
	/* Of the whole repository: the item is not looked at. */
	PERMIT_WORKSPACES,
	PERMIT_DEFINE_TYPES,
	PERMIT_NAMESPACES,
	PERMIT_PRIVILEGES,
};

/* One commit's view. Stack or arena; nothing to free. */
struct permit {
	struct acl              *acl;
	const struct principals *who;
	struct arena            *arena;
	struct permit_change    *newest; /* NULL: nothing has been moved or removed */
};

/* All borrowed for as long as the view is used; entries must not be loaded in between. */
void permit_init(struct permit *p, struct acl *acl, const struct principals *who,
                 struct arena *arena);

/* BW_OK; BW_EDENIED; BW_ENOTFOUND instead if not even the node (for an addition: the parent) may be
 * read, so that the answer is that of a path where nothing is. Whether something is there, the caller
 * knows. item: of a property operation with the property, else without; its type is that of the node
 * (of a new one: the type it gets), absent if not known: then restrictions by type do not hold.
 * parent_type: of an addition. What the repository itself adds to a node (jcr:created, jcr:createdBy,
 * jcr:uuid) needs no permission: it is not asked about.
 *
 * A move: PERMIT_REMOVE_NODE of the source, PERMIT_ADD_TYPED_NODE of the target, then permit_moved.
 * A copy: for each node PERMIT_READ_NODE of the source and PERMIT_ADD_TYPED_NODE of the target, for
 * each property PERMIT_READ_PROPERTY and PERMIT_ADD_PROPERTY; what may not be read is not there. */
int permit(struct permit *p, enum permit_op op, const struct acl_item *item,
           struct bw_str parent_type);

/* From here on a node and all below it stand elsewhere, or nowhere. Paths are copied. */
void permit_moved(struct permit *p, struct bw_str from, struct bw_str to);
void permit_removed(struct permit *p, struct bw_str path);
