/* permit.c - the operations of a commit and the privileges they need.
 *
 *     operation            on the node              on its parent
 *     add a node                                    addChildNodes
 *       with its type                               addChildNodes, nodeTypeManagement
 *     remove a node        removeNode               removeChildNodes
 *     order its children   add- and removeChildNodes
 *
 * The halves of adding and removing that are the parent's are asked about its path alone, so that a
 * restriction by type never holds there; all else knows the types. Where oak:index is a segment of
 * the path, rep:indexDefinitionManagement takes the place of what else a change would need
 * (Jackrabbit Oak, permission evaluation).
 *
 * Owns: nothing. Runs in: repo's loop. Fails with: BW_EDENIED, BW_ENOTFOUND.
 * Tests: tests/unit/repo/permit_test.c, tests/conformance/acl.rows. */
#include "permit.h"
#include <boardwalk/err.h>

#define MAX_LEVELS 65u /* of a path, the root included */

/* to absent: removed. */
struct permit_change {
	struct permit_change *older;
	struct bw_str         from, to;
};

static const struct rule {
	uint64_t node;        /* on the item */
	uint64_t parent_text; /* on the parent's path */
	uint64_t parent;      /* on the parent, whose type is known */
	bool     changes;     /* content, which may be an index definition */
	bool     repository;
} rules[] = {
	[PERMIT_READ_NODE] = { .node = ACL_READ_NODES },
	[PERMIT_READ_PROPERTY] = { .node = ACL_READ_PROPERTIES },
	[PERMIT_ADD_NODE] = { .parent_text = ACL_ADD_CHILDREN, .changes = true },
	[PERMIT_ADD_TYPED_NODE] = { .parent_text = ACL_ADD_CHILDREN,
	                            .parent = ACL_NODE_TYPES,
	                            .changes = true },
	[PERMIT_REMOVE_NODE] = { .node = ACL_REMOVE_NODE,
	                         .parent_text = ACL_REMOVE_CHILDREN,
	                         .changes = true },
	[PERMIT_ORDER] = { .node = ACL_ADD_CHILDREN | ACL_REMOVE_CHILDREN, .changes = true },
	[PERMIT_ADD_PROPERTY] = { .node = ACL_ADD_PROPERTIES, .changes = true },
	[PERMIT_ALTER_PROPERTY] = { .node = ACL_ALTER_PROPERTIES, .changes = true },
	[PERMIT_REMOVE_PROPERTY] = { .node = ACL_REMOVE_PROPERTIES, .changes = true },
	[PERMIT_CHANGE_TYPE] = { .node = ACL_NODE_TYPES, .changes = true },
	[PERMIT_VERSION] = { .node = ACL_VERSIONS },
	[PERMIT_LOCK] = { .node = ACL_LOCKS },
	[PERMIT_READ_ACL] = { .node = ACL_READ_ACL },
	[PERMIT_MODIFY_ACL] = { .node = ACL_MODIFY_ACL },
	[PERMIT_MANAGE_USERS] = { .node = ACL_USERS },
	[PERMIT_WORKSPACES] = { .node = ACL_WORKSPACES, .repository = true },
	[PERMIT_DEFINE_TYPES] = { .node = ACL_DEFINE_TYPES, .repository = true },
	[PERMIT_NAMESPACES] = { .node = ACL_NAMESPACES, .repository = true },
	[PERMIT_PRIVILEGES] = { .node = ACL_PRIVILEGES, .repository = true },
};

void permit_init(struct permit *p, struct acl *acl, const struct principals *who,
                 struct arena *arena)
{
	*p = (struct permit){ acl, who, arena, NULL };
}

/* ---- paths ---- */

/* False at the root, which has no parent. */
static bool parent_of(struct bw_str path, struct bw_str *ret)
{
	const char *slash = path.n > 1 ? memrchr(path.p, '/', path.n) : NULL;

	if (slash == NULL)
		return false;
	*ret = (struct bw_str){ path.p, slash == path.p ? 1 : (size_t)(slash - path.p) };
	return true;
}

static bool is_at_or_below(struct bw_str path, struct bw_str node)
{
	return path.n >= node.n && memcmp(path.p, node.p, node.n) == 0 &&
	       (path.n == node.n || path.p[node.n] == '/');
}

static bool has_segment(struct bw_str path, struct bw_str name)
{
	const char *at = path.p, *end = path.p + path.n;

	for (; (at = memmem(at, (size_t)(end - at), name.p, name.n)) != NULL; at++)
		if (at > path.p && at[-1] == '/' && (at + name.n == end || at[name.n] == '/'))
			return true;
	return false;
}

/* ---- what the commit has moved ---- */

static void note(struct permit *p, struct bw_str from, struct bw_str to)
{
	struct permit_change *change = arena_alloc(p->arena, sizeof(*change));

	*change = (struct permit_change){ .older = p->newest };
	change->from = (struct bw_str){ arena_dup(p->arena, from.p, from.n), from.n };
	if (to.p != NULL)
		change->to = (struct bw_str){ arena_dup(p->arena, to.p, to.n), to.n };
	p->newest = change;
}

void permit_moved(struct permit *p, struct bw_str from, struct bw_str to)
{
	note(p, from, to);
}

void permit_removed(struct permit *p, struct bw_str path)
{
	note(p, path, BW_ABSENT);
}

/* Where the node of this path stood before the commit; false: it is new. */
static bool origin_of(const struct permit *p, struct bw_str path, struct bw_str *ret)
{
	for (const struct permit_change *c = p->newest; c != NULL; c = c->older) {
		if (c->to.p != NULL && is_at_or_below(path, c->to))
			path = bw_str(arena_printf(p->arena, "%.*s%.*s", (int)c->from.n, c->from.p,
			                           (int)(path.n - c->to.n), path.p + c->to.n));
		else if (is_at_or_below(path, c->from))
			return false;
	}
	*ret = path;
	return true;
}

/* Entries are looked up where their nodes came from and judged by where they are. */
static uint64_t allowed_after_moves(const struct permit *p, const struct acl_item *item)
{
	struct acl_level levels[MAX_LEVELS];
	struct bw_str    node = item->path, origin;
	unsigned         n = 0;

	do {
		if (n == MAX_LEVELS) /* such a path cannot be stored */
			return 0;
		levels[n].scope = origin_of(p, node, &origin) ? acl_scope_at(p->acl, origin) : NULL;
		levels[n++].node = node;
	} while (parent_of(node, &node));
	return acl_evaluate_levels(p->acl, levels, n, p->who, item);
}

static bool has(const struct permit *p, uint64_t bits, const struct acl_item *item)
{
	const struct acl_scope *scope;
	uint64_t                allowed;

	if (bits == 0)
		return true;
	if (p->newest != NULL)
		return (allowed_after_moves(p, item) & bits) == bits;
	scope = acl_scope_of(p->acl, item->path);
	allowed = acl_is_restricted(scope, p->who) ? acl_evaluate(scope, p->who, item)
	                                           : acl_allowed(p->acl, scope, p->who);
	return (allowed & bits) == bits;
}

/* ---- operations ---- */

static bool is_permitted(const struct permit *p, const struct rule *rule,
                         const struct acl_item *item, const struct acl_item *parent)
{
	struct acl_item text = { .path = parent->path };

	if (rule->changes && has_segment(item->path, BW_STR("oak:index")))
		return has(p, ACL_INDEXES, item);
	if ((rule->parent | rule->parent_text) != 0 && parent->path.p == NULL)
		return false;
	return has(p, rule->node, item) && has(p, rule->parent_text, &text) &&
	       has(p, rule->parent, parent);
}

int permit(struct permit *p, enum permit_op op, const struct acl_item *item,
           struct bw_str parent_type)
{
	const struct rule *rule = &rules[op];
	struct acl_item    parent = { .type = parent_type };
	struct acl_item    seen;

	if (p->who->admin)
		return BW_OK;
	if (rule->repository)
		return (acl_allowed(p->acl, acl_scope_at(p->acl, BW_STR("")), p->who) &
		        rule->node) == rule->node
		               ? BW_OK
		               : BW_EDENIED;
	(void)parent_of(item->path, &parent.path);
	if (is_permitted(p, rule, item, &parent))
		return BW_OK;
	seen = op == PERMIT_ADD_NODE || op == PERMIT_ADD_TYPED_NODE
	               ? parent
	               : (struct acl_item){ item->path, item->type, BW_ABSENT };
	return seen.path.p != NULL && has(p, ACL_READ_NODES, &seen) ? BW_EDENIED : BW_ENOTFOUND;
}
