/* look.h - reading through a resolver that has something pending (r->space is not NULL): what is stored,
 * with the transient space over it. Arguments have been checked; errors are those of the plain calls. */
#pragma once
#include "peers/resolver.h"
#include "space.h"

int look_get(struct bw_resolver *r, struct bw_str path, struct bw_resource **ret);
/* The same for a place in the space; *ret_stored (may be NULL): what is stored there, NULL if nothing
 * is. */
int look_at(struct bw_resolver *r, const struct space_spot *spot, struct bw_resource **ret_stored);
int look_children(struct bw_resolver *r, struct bw_str path, struct bw_str after, size_t max,
                  struct bw_resource ***ret, size_t *ret_n, bool *ret_more);
struct bw_str look_field(const struct bw_resource *res, enum bw_resource_field f);
int           look_property(struct bw_resource *res, struct bw_str name, size_t index,
                            enum bw_value_type *ret_type, struct bw_str *ret_value);

/* Also without a space. All of a property; values are in the arena or the record. BW_ENOTFOUND. */
int look_value(struct bw_resource *res, struct bw_str name, struct change_text *ret);
/* A property of what is stored. False: absent. */
bool look_stored_value(struct arena *a, struct bw_resource *stored, struct bw_str name,
                       struct change_text *ret);
/* The names of all properties, sorted, in the arena. */
int look_names(struct bw_resource *res, const struct bw_str **ret, size_t *ret_n);
/* The types of what is at path, as a record without properties, in the arena. */
int look_record(struct bw_resolver *r, struct bw_str path, struct record *ret);
/* What the engine resolves path to: the longest prefix that is there, cut before a dot. The
 * resource is not in the resolver's table: its record says what is pending, but no properties. */
int look_resolve(struct bw_resolver *r, struct bw_str path, size_t *ret_resolved,
                 struct bw_resource **ret);
/* The request ends while something is pending. */
void look_drop(struct bw_resolver *r);
