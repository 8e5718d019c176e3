/* location.c - the location list: the resource's own type, its super types, and the base type, each
 * below every entry of the search path.
 *
 *    t/c -> /apps/t/c /libs/t/c,  super type t/b -> /apps/t/b /libs/t/b,  base -> ...
 *
 * Super types come from two sources: servlet registrations declare them on mounted nodes, and repo
 * sends the chain it computed from stored types with each resource. A mounted node hides what is
 * stored at its path, so it is asked first. Beyond a type that only registrations know, only they can
 * go on: repo was not asked about it.
 *
 * Owns: nothing; strings are in the request's arena or borrow the record and the mounted nodes.
 * Runs in: a request's fiber; never waits. Fails with: nothing; a cycle ends the list, and is logged.
 * Tests: tests/unit/engine/location_test.c, tests/conformance/engine/hier.rows. */
#include <base/log.h>
#include "engine/location.h"
#include "engine/mount.h"

/* The chain as far as it is known. */
struct types {
	struct bw_str items[LOCATION_MAX_TYPES];
	size_t        n;
};

struct bw_str location_type(const struct record *r)
{
	return r->resource_type.n > 0 ? r->resource_type : r->primary_type;
}

struct bw_str location_type_path(struct arena *a, struct bw_str type)
{
	while (type.n > 1 && type.p[type.n - 1] == '/')
		type.n--;
	if (type.n > 0 && memchr(type.p, ':', type.n) != NULL) {
		char *path = arena_dup(a, type.p, type.n);

		for (size_t i = 0; i < type.n; i++)
			if (path[i] == ':')
				path[i] = '/';
		type.p = path;
	}
	return type;
}

static struct bw_str join(struct arena *a, struct bw_str prefix, struct bw_str name)
{
	char *p = arena_alloc(a, prefix.n + name.n + 1);

	memcpy(p, prefix.p, prefix.n);
	memcpy(p + prefix.n, name.p, name.n);
	p[prefix.n + name.n] = '\0';
	return (struct bw_str){ p, prefix.n + name.n };
}

/* ---- the chain of types ---- */

static struct bw_str mounted_super_type_at(struct bw_str path)
{
	const struct mount_node *node = mount_find(path);

	return node != NULL ? mount_node_super_type(node) : BW_ABSENT;
}

/* The first that declares one, in search path order. */
static struct bw_str mounted_super_type(struct arena *a, struct bw_str type)
{
	const struct search_path *sp = mount_search_path();
	struct bw_str             path = location_type_path(a, type), super = BW_ABSENT;

	if (path.n > 0 && path.p[0] == '/')
		return mounted_super_type_at(path);
	for (size_t i = 0; super.p == NULL && i < sp->n; i++)
		super = mounted_super_type_at(join(a, sp->items[i], path));
	return super;
}

/* What follows type in the chain that came with the resource. */
static struct bw_str stored_super_type(const struct record *r, struct bw_str type)
{
	for (unsigned i = 0; i < r->n_chain; i++)
		if (bw_str_eq(record_chain(r, i), type))
			return record_chain(r, i + 1);
	return BW_ABSENT;
}

static struct bw_str super_type(struct arena *a, const struct record *r, const struct types *t,
                                const char *base_type)
{
	struct bw_str type = t->items[t->n - 1], super;

	if (t->n == 1 && r->super_type.n > 0)
		return r->super_type;
	if (bw_str_eq(type, bw_str(base_type)))
		return BW_ABSENT;
	super = mounted_super_type(a, type);
	if (super.n > 0)
		return super;
	return t->n == 1 ? record_chain(r, 0) : stored_super_type(r, type);
}

static bool has_type(const struct types *t, struct bw_str type)
{
	for (size_t i = 0; i < t->n; i++)
		if (bw_str_eq(t->items[i], type))
			return true;
	return false;
}

/* False: the chain ends there because it cannot go on, which is logged. */
static bool get_types(struct arena *a, const struct record *r, const char *base_type,
                      uint64_t request, struct types *ret)
{
	struct bw_str super;

	ret->n = 0;
	ret->items[ret->n++] = location_type(r);
	while ((super = super_type(a, r, ret, base_type)).n > 0) {
		if (has_type(ret, super) || ret->n == LOCATION_MAX_TYPES) {
			log_warning(request, "type %s: its super types %s at %s", ret->items[0].p,
			            ret->n == LOCATION_MAX_TYPES ? "are too many" : "form a cycle",
			            super.p);
			return false;
		}
		ret->items[ret->n++] = super;
	}
	return true;
}

/* A type without the entry of the search path that it lies below. */
static struct bw_str relative_type(struct bw_str type)
{
	const struct search_path *sp = mount_search_path();

	for (size_t i = 0; i < sp->n; i++)
		if (type.n > sp->items[i].n && memcmp(type.p, sp->items[i].p, sp->items[i].n) == 0)
			return (struct bw_str){ type.p + sp->items[i].n, type.n - sp->items[i].n };
	return type;
}

int location_is_type(struct arena *a, const struct record *r, struct bw_str type, uint64_t request,
                     bool *ret)
{
	struct types types;
	bool         whole = get_types(a, r, BASE_TYPE_DEFAULT, request, &types);

	type = relative_type(type);
	for (size_t i = 0; i < types.n; i++) {
		if (bw_str_eq(relative_type(types.items[i]), type)) {
			*ret = true;
			return BW_OK;
		}
	}
	if (!whole)
		return BW_ECYCLE;
	*ret = false;
	return BW_OK;
}

/* ---- the list ---- */

static void add_type(struct arena *a, struct locations *l, struct bw_str type)
{
	const struct search_path *sp = mount_search_path();
	struct bw_str             path = location_type_path(a, type);

	if (path.n == 0)
		return;
	if (path.p[0] == '/') {
		l->items[l->n++] = path;
		return;
	}
	for (size_t i = 0; i < sp->n; i++)
		l->items[l->n++] = join(a, sp->items[i], path);
}

void locations_get(struct arena *a, const struct record *r, const char *base_type, uint64_t request,
                   struct locations *ret)
{
	struct types types;

	get_types(a, r, base_type, request, &types);
	ret->n = 0;
	ret->items = arena_alloc(a, (types.n + 1) * mount_search_path()->n * sizeof(*ret->items));
	for (size_t i = 0; i < types.n; i++)
		add_type(a, ret, types.items[i]);
	add_type(a, ret, bw_str(base_type));
}
