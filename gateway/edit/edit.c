/* edit.c - changes of the tree: resources are made, removed, moved, copied and put in order.
 *
 * Each function looks at everything first, and only then changes the space, with nothing between that
 * waits: it fails with nothing changed, and two changes never meet half-way.
 *
 * Owns: nothing beyond the request's arena. Runs in: a request's fiber; waits for repo to read what is not
 * known. Fails with: BW_EINVAL, BW_ECONTENT, BW_ENOTFOUND, BW_EEXIST, BW_ETOOBIG, noted for
 * bw_resolver_error, and as reading does. Tests: tests/unit/gateway/edit_test.c,
 * tests/conformance/resolver. */
#include "edit.h"
#include "request.h"
#include <base/utf8.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- what all of them need ---- */

int edit_begin(struct bw_resolver *r)
{
	r->error_path = r->error_text = BW_ABSENT;
	return r->closed ? BW_ESTATE : BW_OK;
}

struct space *edit_space(struct bw_resolver *r)
{
	if (!r->space && r->spare)
		space_clear(r->spare);
	if (!r->space)
		r->space = r->spare ? r->spare : space_new(&r->req->arena);
	return r->space;
}

void edit_drop(struct bw_resolver *r)
{
	if (r->space)
		r->spare = r->space;
	r->space = NULL;
}

int edit_fail(struct bw_resolver *r, int err, struct bw_str path, const char *format, ...)
{
	char    text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	r->error_path = path.p ? request_dup(r->req, path) : BW_ABSENT;
	r->error_text = request_dup(r->req, bw_str(text));
	return err;
}

int edit_room(struct bw_resolver *r, unsigned n, struct bw_str path, size_t octets)
{
	if (space_has_room(edit_space(r), n, octets))
		return BW_OK;
	return edit_fail(r, BW_ETOOBIG, path, "more than %u changes or %zu octets would be pending",
	                 CHANGES_MAX, SPACE_MAX_OCTETS);
}

int edit_find(struct bw_resolver *r, struct bw_str path, struct edit_node *ret)
{
	int err;

	if (!resolver_is_canonical(path))
		return edit_fail(r, BW_EINVAL, path, "not an absolute path");
	*ret = (struct edit_node){ .path = path };
	err = space_find(edit_space(r), path, &ret->spot) ? look_at(r, &ret->spot, &ret->stored)
	                                                  : BW_ENOTFOUND;
	return err == BW_ENOTFOUND ? edit_fail(r, err, path, "there is no such resource") : err;
}

uint64_t edit_version(const struct edit_node *node)
{
	return node->stored && !node->spot.fresh ? node->stored->record.version : 0;
}

static bool is_root(struct bw_str path)
{
	return path.n == 1;
}

static struct bw_str parent_of(struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	return (struct bw_str){ path.p, slash > path.p ? (size_t)(slash - path.p) : 1 };
}

static struct bw_str name_of(struct bw_str path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	return (struct bw_str){ slash + 1, path.n - (size_t)(slash + 1 - path.p) };
}

/* The rules that make it a part of a path; those of JCR names are repo's. */
static bool is_name(struct bw_str name)
{
	size_t dots = 0;

	while (dots < name.n && name.p[dots] == '.')
		dots++;
	return dots < name.n && !memchr(name.p, '/', name.n) && !memchr(name.p, '\0', name.n) &&
	       utf8_ok(name.p, name.n);
}

/* Where a new child is to be: below a parent that is there, under a name that is free. */
struct target {
	struct edit_node parent;
	struct bw_str    name, path;
};

static int find_target(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
                       struct target *ret)
{
	struct edit_node child;
	int              err = edit_find(r, parent, &ret->parent);

	if (err == BW_OK)
		err = edit_qualify(r, parent, &name);
	if (err != BW_OK)
		return err;
	if (!is_name(name))
		return edit_fail(r, BW_ECONTENT, parent, "\"%.*s\" is not a name", EDIT_TEXT(name));
	ret->name = name;
	ret->path = space_join(r->space->arena, parent, name);
	if (ret->path.n > SPACE_MAX_PATH)
		return edit_fail(r, BW_ECONTENT, parent, "its child's path would be over %u octets",
		                 SPACE_MAX_PATH);
	err = edit_find(r, ret->path, &child);
	if (err == BW_OK)
		return edit_fail(r, BW_EEXIST, ret->path, "exists already");
	if (err == BW_ENOTFOUND)
		err = edit_begin(r); /* that is as it should be */
	return err;
}

/* The item comes to stand at its target. */
static void put(struct space *s, const struct target *to, struct space_item *item)
{
	struct space_item *parent = space_touch(s, to->parent.path);

	space_put(space_slot_make(s, parent, to->name), item, parent);
}

static void show(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret)
{
	if (ret)
		*ret = resolver_show(r, path);
}

/* ---- create and delete ---- */

static void add_props(struct space *s, struct space_item *item, struct space_value *props)
{
	struct space_prop *prop;

	for (; props; props = props->next) {
		prop = space_prop_make(s, item, props->name);
		prop->value = props->value;
		prop->removed = false;
		prop->amend = props;
	}
}

int edit_create(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
                const struct bw_property *props, size_t n_props, struct bw_resource **ret)
{
	struct target        to;
	struct edit_created  created;
	struct space_change *c;
	struct space_item   *item;
	int                  err = edit_begin(r);

	if (err == BW_OK)
		err = find_target(r, parent, name, &to);
	if (err == BW_OK)
		err = edit_created(r, to.path, props, n_props, &created);
	if (err == BW_OK)
		err = edit_room(r, 1, to.path, to.path.n + created.type.n + created.octets);
	if (err != BW_OK)
		return err;
	c = space_log(r->space, CHANGE_CREATE, to.path, created.type, created.octets);
	c->version = edit_version(&to.parent);
	c->mixins = created.mixins;
	c->n_mixins = created.n_mixins;
	c->props = created.props;
	c->n_props = created.n_props;
	item = space_item_new(r->space);
	item->type = c->name;
	item->create = c;
	add_props(r->space, item, created.props);
	if (created.n_mixins > 0)
		edit_show_mixins(r->space, item, created.mixins, created.n_mixins);
	put(r->space, &to, item);
	show(r, to.path, ret);
	return BW_OK;
}

int edit_delete(struct bw_resolver *r, struct bw_str path)
{
	struct edit_node     node;
	struct space_change *c;
	struct space_item   *parent;
	int                  err = edit_begin(r);

	if (err == BW_OK)
		err = edit_find(r, path, &node);
	if (err == BW_ENOTFOUND)
		return edit_begin(r);
	if (err == BW_OK && is_root(path))
		err = edit_fail(r, BW_ECONTENT, path, "the root cannot be removed");
	if (err == BW_OK)
		err = edit_room(r, 1, path, path.n);
	if (err != BW_OK)
		return err;
	c = space_log(r->space, CHANGE_REMOVE, path, BW_ABSENT, 0);
	if (!node.spot.item || space_void(r->space, node.spot.item))
		c->version = edit_version(&node);
	parent = space_touch(r->space, parent_of(path));
	space_cut(space_slot_make(r->space, parent, name_of(path)));
	return BW_OK;
}

/* ---- move and copy ---- */

static bool is_at_or_below(struct bw_str path, struct bw_str folder)
{
	return path.n >= folder.n && memcmp(path.p, folder.p, folder.n) == 0 &&
	       (path.n == folder.n || path.p[folder.n] == '/');
}

static int find_both(struct bw_resolver *r, struct bw_str path, struct bw_str parent,
                     struct bw_str name, struct edit_node *ret_from, struct target *ret_to)
{
	int err = edit_begin(r);

	if (err == BW_OK)
		err = edit_find(r, path, ret_from);
	if (err == BW_OK && is_root(path))
		err = edit_fail(r, BW_ECONTENT, path, "the root can neither be moved nor copied");
	if (err == BW_OK)
		err = find_target(r, parent, name.p ? name : name_of(path), ret_to);
	if (err == BW_OK && is_at_or_below(parent, path))
		err = edit_fail(r, BW_ECONTENT, ret_to->path, "would be inside of itself");
	if (err == BW_OK)
		err = edit_room(r, 1, path, path.n + ret_to->path.n);
	return err;
}

int edit_move(struct bw_resolver *r, struct bw_str path, struct bw_str parent, struct bw_str name,
              struct bw_resource **ret)
{
	struct edit_node     from;
	struct target        to;
	struct space_change *c;
	struct space_item   *item;
	int                  err = find_both(r, path, parent, name, &from, &to);

	if (err != BW_OK)
		return err;
	c = space_log(r->space, CHANGE_MOVE, path, to.path, 0);
	item = space_touch(r->space, path);
	if (!item->changes) /* else they have made it another version by then */
		c->version = edit_version(&from);
	space_cut(item->at);
	put(r->space, &to, item);
	show(r, to.path, ret);
	return BW_OK;
}

int edit_copy(struct bw_resolver *r, struct bw_str path, struct bw_str parent, struct bw_str name,
              struct bw_resource **ret)
{
	struct edit_node     from;
	struct target        to;
	struct space_item   *item;
	struct space_change *c;
	unsigned             n;
	int                  err = find_both(r, path, parent, name, &from, &to);

	if (err != BW_OK)
		return err;
	n = space_count(space_touch(r->space, path), CHANGES_MAX);
	err = edit_room(r, n, path, path.n + to.path.n);
	if (err != BW_OK)
		return err;
	c = space_log(r->space, CHANGE_COPY, path, to.path, 0);
	c->version = edit_version(&from);
	r->space->n_changes += n - 1; /* so that copies of copies have an end */
	item = space_item_copy(r->space, space_touch(r->space, path));
	put(r->space, &to, item);
	show(r, to.path, ret);
	return BW_OK;
}

/* ---- order ---- */

/* Whether next (absent: nobody) follows name already. */
static int is_in_place(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
                       struct bw_str next, bool *ret)
{
	struct bw_resource **children;
	size_t               n = 0;
	bool                 more;
	int                  err = look_children(r, parent, name, 1, &children, &n, &more);

	*ret = n == 0 ? !next.p : next.p && bw_str_eq(children[0]->record.name, next);
	return err;
}

static int find_child(struct bw_resolver *r, struct bw_str parent, struct bw_str name)
{
	struct edit_node child;

	if (!is_name(name))
		return edit_fail(r, BW_ENOTFOUND, parent, "has no such child");
	return edit_find(r, space_join(edit_space(r)->arena, parent, name), &child);
}

int edit_order_before(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
                      struct bw_str next, bool *ret_moved)
{
	struct edit_node   folder;
	struct space_item *item;
	bool               in_place = false;
	int                err = edit_begin(r);

	if (next.n == 0)
		next = BW_ABSENT; /* an empty name is at the end, too */
	if (err == BW_OK)
		err = edit_find(r, parent, &folder);
	if (err == BW_OK)
		err = edit_qualify(r, parent, &name);
	if (err == BW_OK && next.p)
		err = edit_qualify(r, parent, &next);
	if (err == BW_OK)
		err = find_child(r, parent, name);
	if (err == BW_OK && next.p)
		err = find_child(r, parent, next);
	if (err == BW_OK && next.p && bw_str_eq(name, next))
		in_place = true;
	else if (err == BW_OK)
		err = is_in_place(r, parent, name, next, &in_place);
	if (err == BW_OK && !in_place)
		err = edit_room(r, 1, parent, parent.n + name.n + next.n + 1);
	if (err != BW_OK)
		return err;
	if (ret_moved)
		*ret_moved = !in_place;
	if (in_place)
		return BW_OK;
	space_log(r->space, CHANGE_ORDER, space_join(r->space->arena, parent, name), next, 0);
	item = space_touch(r->space, parent);
	space_order(item, space_slot_make(r->space, item, name),
	            next.p ? space_slot_make(r->space, item, next) : NULL);
	return BW_OK;
}
