/* edit.h - changing through a resolver: the table of include/boardwalk/edit.h, and what its files share.
 *
 *    space.c    what is pending
 *    look.c, children.c   reading with that in mind
 *    edit.c     create, delete, move, copy, order
 *    names.c    names in their expanded form
 *    property.c properties and types
 *    access.c   entries of access control lists
 *    commit.c   commit, revert, refresh, and the life of a resolver
 *    convert.c  values as other types */
#pragma once
#include "look.h"

extern const struct bw_editing resolver_editing;
extern const struct bw_access  resolver_access; /* access.c */

/* Before each change: forgets the last failure. BW_ESTATE: closed. */
int edit_begin(struct bw_resolver *r);
/* The resolver's space, made with its first change. */
struct space *edit_space(struct bw_resolver *r);
/* Nothing is pending any more; its memory is for the next changes. */
void edit_drop(struct bw_resolver *r);
/* Notes why, in words for a client; path and format's result are copied. Returns err. */
int edit_fail(struct bw_resolver *r, int err, struct bw_str path, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* BW_ETOOBIG, noted, if so many more changes of so many octets would be too much. */
int edit_room(struct bw_resolver *r, unsigned n, struct bw_str path, size_t octets);

/* A node that is there: where it is, and what is stored of it (NULL: nothing). BW_ENOTFOUND, noted.
 * (waits) */
struct edit_node {
	struct bw_str       path;
	struct space_spot   spot;
	struct bw_resource *stored;
};
int edit_find(struct bw_resolver *r, struct bw_str path, struct edit_node *ret);
/* The version that a change of it was decided upon. */
uint64_t edit_version(const struct edit_node *node);

/* For "%.*s". */
#define EDIT_TEXT(s) (int)((s).n < 80 ? (s).n : 80), (s).n ? (s).p : ""

/* names.c: the qualified form of a name that may be an expanded one, {uri}local (JCR 2.0 section
 * 3.2.5.1), in the space; others stay as they are. BW_ECONTENT, noted for path: the namespace is not
 * registered. (waits) */
int edit_qualify(struct bw_resolver *r, struct bw_str path, struct bw_str *name);

/* property.c */

void edit_show_mixins(struct space *s, struct space_item *item, const struct bw_str *mixins,
                      unsigned n);

/* A value as the texts that properties have, in the arena. False: it is none. */
bool edit_value(struct bw_resolver *r, const struct bw_value *value, struct change_text *ret);
/* Types and properties of a new node into its CREATE and its item. BW_ECONTENT, noted; then nothing
 * is to be done with them. */
struct edit_created {
	struct bw_str        type; /* absent: as its parent says */
	const struct bw_str *mixins;
	unsigned             n_mixins;
	struct space_value  *props;
	unsigned             n_props; /* at most SPACE_MAX_VALUES */
	size_t               octets;
};
int edit_created(struct bw_resolver *r, struct bw_str path, const struct bw_property *props,
                 size_t n, struct edit_created *ret);
int edit_set(struct bw_resolver *r, struct bw_str path, struct bw_str name,
             const struct bw_value *value);
int edit_set_type(struct bw_resolver *r, struct bw_str path, struct bw_str type);
int edit_mixin(struct bw_resolver *r, struct bw_str path, struct bw_str mixin, bool add);

/* edit.c */
int edit_create(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
                const struct bw_property *props, size_t n_props, struct bw_resource **ret);
int edit_delete(struct bw_resolver *r, struct bw_str path);
int edit_move(struct bw_resolver *r, struct bw_str path, struct bw_str parent, struct bw_str name,
              struct bw_resource **ret);
int edit_copy(struct bw_resolver *r, struct bw_str path, struct bw_str parent, struct bw_str name,
              struct bw_resource **ret);
int edit_order_before(struct bw_resolver *r, struct bw_str parent, struct bw_str name,
                      struct bw_str next, bool *ret_moved);

/* security/clone.c */
int security_clone(struct bw_resolver *r, const struct bw_login *login, struct bw_resolver **ret);

/* convert.c: a text of type from as another type; as STRING it borrows text. BW_EINVAL. */
int convert_value(enum bw_value_type from, struct bw_str text, enum bw_value_type as,
                  struct bw_value *ret);
