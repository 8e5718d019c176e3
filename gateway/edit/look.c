/* look.c - one resource through a resolver with pending changes: where it is, its fields, its properties.
 *
 * Everything is looked up by path at each call, so that a resource that a servlet holds says what is
 * true now: it may have been changed, moved away, or made anew.
 *
 * Owns: nothing beyond the request's arena. Runs in: a request's fiber; waits for repo. Fails with: as
 * reading does. Tests: tests/unit/gateway/edit_test.c, tests/conformance/resolver. */
#include "look.h"
#include "request.h"
#include <base/log.h>
#include <stdlib.h>
#include <wire/octets.h>

static const struct bw_str resource_type = BW_STR("sling:resourceType");
static const struct bw_str super_type = BW_STR("sling:resourceSuperType");

void look_drop(struct bw_resolver *r)
{
	if (r->space->n_changes > 0)
		log_debug(r->req->id,
		          "the request ends with %u changes of %s that were not committed",
		          r->space->n_changes, r->user.p);
	r->space = NULL;
}

/* ---- a place ---- */

int look_at(struct bw_resolver *r, const struct space_spot *spot, struct bw_resource **ret_stored)
{
	struct bw_resource *stored = NULL;
	int                 err = BW_OK;

	if (spot->stored.p)
		err = resolver_read(r, spot->stored, &stored);
	if (err == BW_OK && ret_stored)
		*ret_stored = stored;
	return err;
}

int look_get(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret)
{
	struct space_spot spot;
	int               err;

	if (!space_find(r->space, path, &spot))
		return BW_ENOTFOUND;
	err = look_at(r, &spot, NULL);
	if (err == BW_OK)
		*ret = resolver_show(r, path);
	return err;
}

/* ---- properties ---- */

static void take_values(struct arena *a, const struct record *rec, const struct record_prop *prop,
                        struct change_text *ret)
{
	struct bw_str *values = arena_alloc(a, (prop->n + 1) * sizeof(*values));
	struct bw_str  next = record_value(rec, prop, 0);

	/* Behind each value are its NUL and the size of the next one (record.h). */
	for (unsigned i = 0; i < prop->n; i++) {
		values[i] = next;
		if (i + 1 < prop->n)
			next = (struct bw_str){ next.p + next.n + 5,
				                get_u32((const uint8_t *)next.p + next.n + 1) };
	}
	*ret = (struct change_text){ prop->type, prop->multiple, prop->n, values };
}

bool look_stored_value(struct arena *a, struct bw_resource *stored, struct bw_str name,
                       struct change_text *ret)
{
	struct record_prop prop;

	if (!record_prop(&stored->record, name, &prop))
		return false;
	take_values(a, &stored->record, &prop, ret);
	return true;
}

/* What the space says of a property: true and *ret (NULL: removed), or, if it says nothing, where it is
 * stored (*ret_stored, whole; NULL: nowhere). */
static int find_property(struct bw_resource *res, struct bw_str name, const struct space_prop **ret,
                         struct bw_resource **ret_stored)
{
	struct bw_resolver *r = res->resolver;
	struct space_spot   spot;
	int                 err;

	*ret = NULL;
	*ret_stored = NULL;
	if (!space_find(r->space, res->record.path, &spot))
		return BW_ENOTFOUND;
	if (spot.item)
		*ret = space_prop(r->space, spot.item, name);
	if (*ret)
		return (*ret)->removed ? BW_ENOTFOUND : BW_OK;
	err = look_at(r, &spot, ret_stored);
	if (err == BW_OK)
		err = *ret_stored ? resolver_complete(*ret_stored) : BW_ENOTFOUND;
	return err;
}

int look_property(struct bw_resource *res, struct bw_str name, size_t index,
                  enum bw_value_type *ret_type, struct bw_str *ret_value)
{
	const struct space_prop *changed;
	struct bw_resource      *stored;
	struct record_prop       prop;
	int                      err = find_property(res, name, &changed, &stored);

	if (err != BW_OK)
		return err;
	if (changed ? index >= changed->value.n
	            : !record_prop(&stored->record, name, &prop) || index >= prop.n)
		return BW_ENOTFOUND;
	if (ret_type)
		*ret_type = changed ? changed->value.type : prop.type;
	*ret_value = changed ? request_dup(res->resolver->req, changed->value.values[index])
	                     : record_value(&stored->record, &prop, (unsigned)index);
	return BW_OK;
}

/* A reader's strings outlive the space that they are from. */
static void copy_values(struct bw_req *req, const struct change_text *v, struct change_text *ret)
{
	struct bw_str *values = arena_alloc(&req->arena, (v->n + 1) * sizeof(*values));

	for (unsigned i = 0; i < v->n; i++)
		values[i] = request_dup(req, v->values[i]);
	*ret = (struct change_text){ v->type, v->multiple, v->n, values };
}

int look_value(struct bw_resource *res, struct bw_str name, struct change_text *ret)
{
	const struct space_prop *changed = NULL;
	struct bw_resource      *stored = res;
	int                      err;

	if (res->missing)
		return BW_ENOTFOUND;
	if (res->resolver->space && !res->made)
		err = find_property(res, name, &changed, &stored);
	else
		err = resolver_complete(res);
	if (err != BW_OK)
		return err;
	if (changed)
		copy_values(res->resolver->req, &changed->value, ret);
	else if (!look_stored_value(&res->resolver->req->arena, stored, name, ret))
		return BW_ENOTFOUND;
	return BW_OK;
}

static int compare(const void *a, const void *b)
{
	const struct bw_str *x = a, *y = b;
	size_t               n = x->n < y->n ? x->n : y->n;
	int                  diff = n > 0 ? memcmp(x->p, y->p, n) : 0;

	return diff ? diff : (x->n > y->n) - (x->n < y->n);
}

/* Those of what is stored (NULL: nothing) that are not changed in item (NULL: none is), and those that
 * item has. */
static void gather_names(struct bw_resolver *r, const struct space_item *item,
                         const struct bw_resource *stored, const struct bw_str **ret, size_t *ret_n)
{
	struct record_prop prop;
	unsigned           n_stored = stored ? stored->record.n_props : 0;
	size_t             n = n_stored, at = 0;
	struct bw_str     *names;

	for (const struct space_prop *p = item ? item->props : NULL; p; p = p->next)
		n++;
	names = arena_alloc(&r->req->arena, (n + 1) * sizeof(*names));
	for (unsigned i = 0; i < n_stored && record_prop_at(&stored->record, i, &prop); i++)
		if (!item || !space_prop(r->space, item, prop.name))
			names[at++] = prop.name;
	for (const struct space_prop *p = item ? item->props : NULL; p; p = p->next)
		if (!p->removed)
			names[at++] = request_dup(r->req, p->key.name);
	qsort(names, at, sizeof(*names), compare);
	*ret = names;
	*ret_n = at;
}

int look_names(struct bw_resource *res, const struct bw_str **ret, size_t *ret_n)
{
	struct bw_resolver *r = res->resolver;
	struct bw_resource *stored = res;
	struct space_spot   spot = { .item = NULL };
	int                 err = BW_OK;

	if (res->missing)
		return BW_ENOTFOUND;
	if (r->space && !res->made) {
		if (!space_find(r->space, res->record.path, &spot))
			return BW_ENOTFOUND;
		err = look_at(r, &spot, &stored);
	}
	if (err == BW_OK && stored)
		err = resolver_complete(stored);
	if (err == BW_OK)
		gather_names(r, spot.item, stored, ret, ret_n);
	return err;
}

/* ---- fields ---- */

static struct bw_str absent_if_empty(struct bw_str s)
{
	return s.n > 0 ? s : BW_ABSENT;
}

/* What a pending change makes of a field that a property says; else as it is stored. */
static struct bw_str changed_or(struct bw_resolver *r, const struct space_item *item,
                                struct bw_str name, struct bw_str stored)
{
	const struct space_prop *prop = item ? space_prop(r->space, item, name) : NULL;

	if (!prop)
		return absent_if_empty(stored);
	return prop->removed || prop->value.n == 0 ? BW_ABSENT
	                                           : request_dup(r->req, prop->value.values[0]);
}

/* Type, super type and primary type of what is at spot; never waits, so of something that others have
 * removed since it was read it says what it was. */
static void find_types(struct bw_resolver *r, const struct space_spot *spot, struct record *ret)
{
	const struct bw_resource *stored = NULL;

	*ret = (struct record){ .p = NULL };
	if (spot->stored.p)
		stored = resolver_find(r, spot->stored);
	if (stored)
		*ret = stored->record;
	ret->resource_type = changed_or(r, spot->item, resource_type, ret->resource_type);
	ret->super_type = changed_or(r, spot->item, super_type, ret->super_type);
	ret->primary_type = spot->item && spot->item->type.p ? request_dup(r->req, spot->item->type)
	                                                     : absent_if_empty(ret->primary_type);
}

struct bw_str look_field(const struct bw_resource *res, enum bw_resource_field f)
{
	struct space_spot spot;
	struct record     types = res->record;

	if (f == BW_RESOURCE_PATH)
		return res->record.path;
	if (f == BW_RESOURCE_NAME)
		return res->record.name;
	if (space_find(res->resolver->space, res->record.path, &spot))
		find_types(res->resolver, &spot, &types);
	switch (f) {
	case BW_RESOURCE_TYPE:
		return types.resource_type.n > 0 ? types.resource_type
		                                 : absent_if_empty(types.primary_type);
	case BW_RESOURCE_SUPER_TYPE:
		return absent_if_empty(types.super_type);
	case BW_RESOURCE_PRIMARY_TYPE:
		return absent_if_empty(types.primary_type);
	default:
		return BW_ABSENT;
	}
}

/* ---- for the engine ---- */

/* The chain of super types is known for a type that is stored so; for another one repo says it when it is
 * committed, and until then there is the super type that the resource itself has. */
static void put_chain(struct buf *out, size_t at, const struct bw_resource *stored,
                      const struct record *types)
{
	const struct record *rec = stored ? &stored->record : NULL;

	if (rec && bw_str_eq(absent_if_empty(rec->resource_type), types->resource_type) &&
	    bw_str_eq(absent_if_empty(rec->super_type), types->super_type) &&
	    bw_str_eq(absent_if_empty(rec->primary_type), types->primary_type)) {
		for (unsigned i = 0; i < rec->n_chain; i++)
			record_put_chain(out, at, record_chain(rec, i));
	} else if (types->super_type.p) {
		record_put_chain(out, at, types->super_type);
	}
}

int look_record(struct bw_resolver *r, struct bw_str path, struct record *ret)
{
	struct bw_resource *stored = NULL;
	struct space_spot   spot;
	struct record       types;
	struct buf          out;
	size_t              at, n;
	int                 err;

	if (!space_find(r->space, path, &spot))
		return BW_ENOTFOUND;
	err = look_at(r, &spot, &stored);
	if (err != BW_OK)
		return err;
	find_types(r, &spot, &types);
	buf_init(&out);
	at = record_begin(&out, types.id, types.version, path, types.primary_type,
	                  types.resource_type, types.super_type);
	put_chain(&out, at, stored, &types);
	record_end(&out, at);
	n = buf_size(&out);
	err = record_get((uint8_t *)arena_dup(&r->req->arena, buf_data(&out), n), n, ret);
	buf_done(&out);
	return err;
}

/* Repo's cuts (RESOURCE_RESOLVE): what stands before the last dot, again and again. */
int look_resolve(struct bw_resolver *r, struct bw_str path, size_t *ret_resolved,
                 struct bw_resource **ret)
{
	struct bw_resource *res;
	struct bw_str       at = path;
	const char         *dot;
	int                 err;

	while (at.n > 1 && at.p[at.n - 1] == '/')
		at.n--;
	for (;;) {
		err = resolver_is_canonical(at) ? look_get(r, at, &res) : BW_ENOTFOUND;
		dot = memrchr(at.p, '.', at.n);
		if (err != BW_ENOTFOUND || !dot || dot == at.p)
			break;
		at.n = (size_t)(dot - at.p);
	}
	if (err != BW_OK)
		return err;
	res = arena_zalloc(&r->req->arena, sizeof(*res));
	res->resolver = r;
	res->partial = res->stale = true;
	*ret_resolved = at.n;
	*ret = res;
	return look_record(r, at, &res->record);
}
