/* edit.h - changing the repository through a resolver, and reading properties with their types.
 *
 * A change is pending first: it is kept in the request, at once seen by every read through the same
 * resolver, and by nobody else. bw_resolver_commit writes all of them in one transaction, or none;
 * bw_resolver_revert forgets them; a request that ends drops them. This is Apache Sling's
 * ResourceResolver, whose methods the functions are named after, with ModifiableValueMap as
 * bw_resolver_set:
 *
 *    resolver.create(parent, "news", props)        bw_resolver_create(r, parent, name, props, n, &res)
 *    resource.adaptTo(ModifiableValueMap.class)
 *            .put("title", "x"), .remove("title")  bw_resolver_set(r, path, "title", &value), _unset
 *    resolver.delete, move, copy, orderBefore      bw_resolver_delete, _move, _copy, _order_before
 *    node.setPrimaryType, addMixin, removeMixin    bw_resolver_set_type, _add_mixin, _remove_mixin
 *    resolver.commit, revert, refresh, hasChanges  bw_resolver_commit, _revert, _refresh, _has_changes
 *    resolver.clone(info), isLive, close           bw_resolver_clone, _is_live, _close
 *    resolver.isResourceType(resource, type)       bw_resource_is_type
 *    resource.getValueMap().get("n", Long.class)   bw_resource_long(res, "n", &n)
 *
 * In short:
 *
 *    err = bw_resolver_create(r, BW_STR("/content/notes"), BW_STR("milk"),
 *                             (struct bw_property[]){ { BW_STR("text"), BW_V_STRING(text) } }, 1, NULL);
 *    if (err == BW_OK)
 *            err = bw_resolver_commit(r);
 *
 * What a change needs is read, if it was not: each function here that changes something (waits), and
 * fails like a read does; BW_EINVAL is a path that is not absolute. Whether the change is allowed and
 * keeps the rules of the node's type is looked at by commit. A function that fails has changed nothing, and bw_resolver_error says why.
 *
 * Conflicts: two may change the same thing. What a resolver has seen of a property travels with the
 * change; if it is different when the commit comes, the commit fails with BW_ECONFLICT, writes nothing,
 * and everything stays pending. The unit is a property or a child's name: changes of different properties
 * of one resource, and of different children, go together. After bw_resolver_revert and _refresh the same
 * can be tried again upon the newest state.
 *
 * An item read once keeps its value until bw_resolver_refresh or a successful commit; what was not
 * read shows its newest state. Strings that were returned stay as they are until the request ends.
 *
 * At most 10,000 changes and 4 MiB of them are pending: BW_ETOOBIG beyond.
 *
 * A resolver is not for several coroutines at a time. A resource is a path seen through its resolver: when
 * what is there changes, it shows that, and after a move or delete BW_ENOTFOUND. */
#pragma once
#include <boardwalk/bundle.h>

/* A property for bw_resolver_create. */
struct bw_property {
	struct bw_str   name;
	struct bw_value value;
};

/* All values of a property as their texts, whatever its type. */
struct bw_values {
	enum bw_value_type   type;
	bool                 is_list; /* several values, or one, or none; else n is 1 */
	size_t               n;
	const struct bw_str *items;
};

/* With what a clone logs in, where that is not what the original did. */
struct bw_login {
	size_t                size;           /* = sizeof(struct bw_login) */
	struct bw_str         user, password; /* absent: who the original acts for */
	const struct bw_pair *attributes;     /* copied; see bw_resolver_attribute */
	size_t                n_attributes;
};

/* The functions below, as a table of its own. */
struct bw_editing {
	size_t size;
	int (*create)(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
	              const struct bw_property *props, size_t n_props, struct bw_resource **ret);
	int (*remove)(struct bw_resolver *r, struct bw_str path);
	int (*move)(struct bw_resolver *r, struct bw_str path, struct bw_str parent,
	            struct bw_str name, struct bw_resource **ret);
	int (*copy)(struct bw_resolver *r, struct bw_str path, struct bw_str parent,
	            struct bw_str name, struct bw_resource **ret);
	int (*order_before)(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
	                    struct bw_str next, bool *ret_moved);
	int (*set)(struct bw_resolver *r, struct bw_str path, struct bw_str name,
	           const struct bw_value *value);
	int (*set_type)(struct bw_resolver *r, struct bw_str path, struct bw_str type);
	int (*mixin)(struct bw_resolver *r, struct bw_str path, struct bw_str mixin, bool add);
	int (*commit)(struct bw_resolver *r);
	int (*refresh)(struct bw_resolver *r);
	int (*revert)(struct bw_resolver *r);
	bool (*has_changes)(const struct bw_resolver *r);
	int (*clone)(struct bw_resolver *r, const struct bw_login *login, struct bw_resolver **ret);
	bool (*is_live)(const struct bw_resolver *r);
	int (*close)(struct bw_resolver *r);
	struct bw_str (*error)(const struct bw_resolver *r, struct bw_str *ret_path);
	struct bw_str (*attribute)(const struct bw_resolver *r, const char *name);
	struct bw_str (*attribute_name)(const struct bw_resolver *r, size_t i);
	int (*is_type)(struct bw_resource *res, struct bw_str type, bool *ret);
	int (*values)(struct bw_resource *res, const char *name, struct bw_values *ret);
	int (*names)(struct bw_resource *res, const struct bw_str **ret, size_t *ret_n);
	int (*value)(struct bw_resource *res, const char *name, size_t index, enum bw_value_type as,
	             struct bw_value *ret);
	int (*clone_at)(struct bw_resolver *r, const struct bw_login *login, const char *file,
	                unsigned line, struct bw_resolver **ret);
};

/* ---- changes ---- */

/* A new resource below the one at parent. name: not empty, no slash in it, not only dots. Its primary
 * type is the property jcr:primaryType, else sling:resourceType if that names a node type, else what
 * parent's type says; jcr:mixinTypes are its mixins; jcr:created and jcr:createdBy are ignored. Other
 * properties as for bw_resolver_set, copied. ret_resource may be NULL.
 * BW_ENOTFOUND: no parent; BW_EEXIST: the name is taken; BW_ECONTENT: this can be no name, property or
 * value. (waits) */
static inline int bw_resolver_create(struct bw_resolver *r, struct bw_str parent,
                                     struct bw_str name, const struct bw_property *props,
                                     size_t n_props, struct bw_resource **ret_resource)
{
	return bw_host->editing->create(r, parent, name, props, n_props, ret_resource);
}

/* The resource and all below it. Nothing, and BW_OK, where there is none. BW_ECONTENT: the root. (waits) */
static inline int bw_resolver_delete(struct bw_resolver *r, struct bw_str path)
{
	return bw_host->editing->remove(r, path);
}

/* The resource and all below it go below the one at parent, behind its other children. name: the new
 * one; absent keeps it. ret_resource may be NULL. BW_ENOTFOUND: one of them is not there; BW_EEXIST: the
 * name is taken there; BW_ECONTENT: parent is the resource or below it, or the root is to move. (waits) */
static inline int bw_resolver_move(struct bw_resolver *r, struct bw_str path, struct bw_str parent,
                                   struct bw_str name, struct bw_resource **ret_resource)
{
	return bw_host->editing->move(r, path, parent, name, ret_resource);
}

/* The same with a copy, pending changes included. */
static inline int bw_resolver_copy(struct bw_resolver *r, struct bw_str path, struct bw_str parent,
                                   struct bw_str name, struct bw_resource **ret_resource)
{
	return bw_host->editing->copy(r, path, parent, name, ret_resource);
}

/* The child goes immediately before its sibling next; absent: behind all. *ret_moved (may be NULL) is
 * false if it stands there already. BW_ENOTFOUND: one of them is not there. That the type of parent
 * orders its children is looked at by commit. (waits) */
static inline int bw_resolver_order_before(struct bw_resolver *r, struct bw_str parent,
                                           struct bw_str name, struct bw_str next, bool *ret_moved)
{
	return bw_host->editing->order_before(r, parent, name, next, ret_moved);
}

/* Sets one property, in place of what it was, be it of another type. Copied; NULL or type 0 removes it,
 * also where there is none. To what it is already: no change. jcr:primaryType and jcr:mixinTypes are the
 * resource's types. BW_ENOTFOUND: no such resource; BW_ECONTENT: this can be no property or value. (waits) */
static inline int bw_resolver_set(struct bw_resolver *r, struct bw_str path, const char *name,
                                  const struct bw_value *value)
{
	return bw_host->editing->set(r, path, bw_str(name), value);
}

static inline int bw_resolver_unset(struct bw_resolver *r, struct bw_str path, const char *name)
{
	return bw_host->editing->set(r, path, bw_str(name), NULL);
}

static inline int bw_resolver_set_string(struct bw_resolver *r, struct bw_str path,
                                         const char *name, struct bw_str text)
{
	const struct bw_value value = BW_V_STRING(text);

	return bw_host->editing->set(r, path, bw_str(name), &value);
}

/* The primary type. */
static inline int bw_resolver_set_type(struct bw_resolver *r, struct bw_str path,
                                       struct bw_str type)
{
	return bw_host->editing->set_type(r, path, type);
}

/* Adding one that is there, or removing one that is not, changes nothing. */
static inline int bw_resolver_add_mixin(struct bw_resolver *r, struct bw_str path,
                                        struct bw_str mixin)
{
	return bw_host->editing->mixin(r, path, mixin, true);
}

static inline int bw_resolver_remove_mixin(struct bw_resolver *r, struct bw_str path,
                                           struct bw_str mixin)
{
	return bw_host->editing->mixin(r, path, mixin, false);
}

/* ---- all of them ---- */

/* Writes what is pending; when it returns BW_OK that is durable, and this resolver refreshed. Without
 * changes nothing is asked. Otherwise everything is still pending. BW_ECONFLICT: somebody else came
 * between; BW_EFORBIDDEN: not allowed; BW_ENOTFOUND: what is to change is gone, or may not even be read;
 * BW_ECONTENT, BW_ECONTENTSIZE: against a rule or a limit of the repository; BW_ETOOBIG: more than fits
 * into one commit; BW_EGONE and BW_ETIME: it may have happened or not. bw_resolver_error says where and
 * why, and bw_resolver_send_error makes an answer of it. (waits) */
static inline int bw_resolver_commit(struct bw_resolver *r)
{
	return bw_host->editing->commit(r);
}

/* What is read from now on is the newest state; pending changes stay. */
static inline int bw_resolver_refresh(struct bw_resolver *r)
{
	return bw_host->editing->refresh(r);
}

/* Forgets all pending changes. */
static inline int bw_resolver_revert(struct bw_resolver *r)
{
	return bw_host->editing->revert(r);
}

static inline bool bw_resolver_has_changes(const struct bw_resolver *r)
{
	return bw_host->editing->has_changes(r);
}

/* Why the last call of this resolver failed that changes or commits, as a text for people, with the
 * path that it was about in *ret_path (may be NULL). Absent: none has, or no more is known than the
 * error's number says. */
static inline struct bw_str bw_resolver_error(const struct bw_resolver *r, struct bw_str *ret_path)
{
	return bw_host->editing->error(r, ret_path);
}

/* Answers what a failed change or commit means to a client, with the resolver's reason: 404 for
 * BW_ENOTFOUND, 409 for BW_EEXIST and BW_ECONFLICT, 403, 400 or 413. Other errors are not the client's:
 * they are returned as they are. return bw_resolver_send_error(req, r, err) ends a servlet. */
static inline int bw_resolver_send_error(struct bw_req *req, const struct bw_resolver *r, int err)
{
	int status;

	switch (err) {
	case BW_ENOTFOUND:
		status = 404;
		break;
	case BW_EEXIST:
	case BW_ECONFLICT:
		status = 409;
		break;
	case BW_EFORBIDDEN:
		status = 403;
		break;
	case BW_ECONTENT:
		status = 400;
		break;
	case BW_ETOOBIG:
	case BW_ECONTENTSIZE:
		status = 413;
		break;
	default:
		return err;
	}
	return bw_host->res_send_error(req, status, bw_resolver_error(r, NULL).p);
}

/* ---- life ---- */

/* A new login, with what the original logged in with (the request's credentials, or the bundle's
 * mapping) unless login says otherwise; NULL: as the original. It sees nothing of what is pending in the
 * original, and each lives on when the other is closed. Whoever clones closes: a clone that its request
 * leaves open is closed then, counted (boardwalk_resolvers_left_total) and logged with the place of this
 * call. BW_ESTATE: the original is closed; BW_ELOGIN: refused. (waits) */
#define bw_resolver_clone(r, login, ret_resolver) \
	bw_resolver_clone_at((r), (login), __FILE__, __LINE__, (ret_resolver))

/* The same, called from elsewhere than it seems; file lives as long as the bundle. */
static inline int bw_resolver_clone_at(struct bw_resolver *r, const struct bw_login *login,
                                       const char *file, unsigned line,
                                       struct bw_resolver **ret_resolver)
{
	return bw_host->editing->clone_at(r, login, file, line, ret_resolver);
}

/* False when it is closed, or when the repository that knew it has come back as another process. */
static inline bool bw_resolver_is_live(const struct bw_resolver *r)
{
	return bw_host->editing->is_live(r);
}

/* Ends it; pending changes are dropped. Closing a closed one is fine; everything else with it, and with
 * its resources, is BW_ESTATE from then on. The request's own resolver is not the servlet's to close:
 * BW_ESTATE; a service user's resolver is everybody's in this bundle and request, and ends with it. */
static inline int bw_resolver_close(struct bw_resolver *r)
{
	return bw_host->editing->close(r);
}

/* What the resolver was logged in with: "user.name", and the attributes given to bw_resolver_clone, also
 * of those it was cloned from. Never a secret: a name that contains "password", and those by which
 * a service is known, are not kept. Absent if there is none. */
static inline struct bw_str bw_resolver_attribute(const struct bw_resolver *r, const char *name)
{
	return bw_host->editing->attribute(r, name);
}

/* The name of attribute number i, absent past the last. */
static inline struct bw_str bw_resolver_attribute_name(const struct bw_resolver *r, size_t i)
{
	return bw_host->editing->attribute_name(r, i);
}

/* ---- a resource ---- */

/* Whether the resource is of that type or one that inherits from it: its own type, then each super type.
 * A type below the search path may be given with or without it. BW_ECYCLE: the super types form a
 * cycle, and type was not met. (waits) */
static inline int bw_resource_is_type(struct bw_resource *res, struct bw_str type, bool *ret_is)
{
	return bw_host->editing->is_type(res, type, ret_is);
}

/* All values of a property. BW_ENOTFOUND: there is none. (waits) as bw_resource_property does. */
static inline int bw_resource_values(struct bw_resource *res, const char *name,
                                     struct bw_values *ret)
{
	return bw_host->editing->values(res, name, ret);
}

/* The names of all properties, sorted. (waits) */
static inline int bw_resource_property_names(struct bw_resource *res, const struct bw_str **ret,
                                             size_t *ret_n)
{
	return bw_host->editing->names(res, ret, ret_n);
}

/* The first value of a property as another type (JCR 2.0 section 3.6.4), strictly: what cannot be
 * said without loss is BW_EINVAL, never a default. "1x" and 1.5 are no Long. BW_ENOTFOUND: there is no
 * such property, or its list is empty. (waits) as bw_resource_property does. */
static inline int bw_resource_string(struct bw_resource *res, const char *name, struct bw_str *ret)
{
	return bw_host->resource_property(res, name, 0, NULL, ret);
}

static inline int bw_resource_long(struct bw_resource *res, const char *name, int64_t *ret)
{
	struct bw_value value;
	int             err = bw_host->editing->value(res, name, 0, BW_VALUE_LONG, &value);

	if (err == BW_OK)
		*ret = value.u.i64;
	return err;
}

static inline int bw_resource_double(struct bw_resource *res, const char *name, double *ret)
{
	struct bw_value value;
	int             err = bw_host->editing->value(res, name, 0, BW_VALUE_DOUBLE, &value);

	if (err == BW_OK)
		*ret = value.u.f64;
	return err;
}

static inline int bw_resource_boolean(struct bw_resource *res, const char *name, bool *ret)
{
	struct bw_value value;
	int             err = bw_host->editing->value(res, name, 0, BW_VALUE_BOOLEAN, &value);

	if (err == BW_OK)
		*ret = value.u.b;
	return err;
}

/* Milliseconds since 1970, UTC. */
static inline int bw_resource_date(struct bw_resource *res, const char *name, int64_t *ret_ms)
{
	struct bw_value value;
	int             err = bw_host->editing->value(res, name, 0, BW_VALUE_DATE, &value);

	if (err == BW_OK)
		*ret_ms = value.u.i64;
	return err;
}
