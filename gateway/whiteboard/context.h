/* context.h - an active context and the helper objects that decide for it.
 *
 * A helper that comes from a factory is made once for each bundle that has something bound to the
 * context (OSGi 140.2.6), and once for the whiteboard itself, so that it is known to be gettable. */
#pragma once
#include "attrs.h"
#include "reading.h"

struct helper {
	struct helper     *next; /* of the context */
	unsigned           refs;
	struct bw_context *context;   /* outlives it: who holds a helper holds its context */
	struct bw_bundle *for_bundle; /* NULL: the whiteboard's own, or a singleton for everybody */
	const struct bw_context_helper
		*type; /* NULL: the built-in context, which lets everybody in */
	void    *self;
};

struct bw_context {
	unsigned        refs;
	struct reading *reading; /* referenced; name, path and init parameters are there */
	struct helper  *helpers; /* those that exist; not referenced */
	struct helper  *own;
	struct attrs    attrs; /* what servlets set */

	/* listener.c */
	struct binding **listeners; /* heap; in ranking order, not referenced */
	size_t           n_listeners;
	unsigned         n_clients; /* initialised bindings other than listeners */
	struct binding  *staying;   /* referenced: listeners that outlive their snapshot */
};

/* The context of a reading, made if there is none; NULL if the helper is not gettable, which is
 * remembered in the reading. Owned: context_unref. */
struct bw_context *context_get(struct reading *r);
/* The server's own, at /, the same one for as long as somebody has it. Owned. */
struct bw_context *context_server(void);
struct bw_context *context_ref(struct bw_context *c);
void               context_unref(struct bw_context *c);
/* The helper for a bundle's services that are bound already, borrowed; NULL: it has none. */
const struct helper *context_helper_of(const struct bw_context *c, const struct bw_bundle *bundle);
/* The helper for a bundle's services; NULL if the factory gives none. Owned: helper_unref. */
struct helper *context_helper(struct bw_context *c, struct bw_bundle *for_bundle);
void           helper_unref(struct helper *h);

/* ---- contextapi.c: the host table's entries of the same name; see boardwalk.h ---- */
struct bw_context *context_of_request(struct bw_req *req);
struct bw_str      context_get_field(const struct bw_context *c, enum bw_context_field field);
struct bw_str      context_param(const struct bw_context *c, const char *name);
struct bw_str      context_param_name(const struct bw_context *c, size_t i);
int                context_attr(const struct bw_context *c, const char *name, void *buf, size_t n,
                                struct bw_value *ret, size_t *ret_need);
struct bw_str      context_attr_name(const struct bw_context *c, size_t i);
int context_set_attr(struct bw_context *c, const char *name, const struct bw_value *value);
struct bw_str context_mime_type(struct bw_context *c, struct bw_bundle *b, struct bw_str name);
int           context_resource(struct bw_context *c, struct bw_bundle *b, struct bw_str path,
                               struct bw_file *ret);
int context_real_path(struct bw_context *c, struct bw_bundle *b, struct bw_str path, char *buf,
                      size_t n);
int context_resource_paths(struct bw_context *c, struct bw_bundle *b, struct bw_str path,
                           bw_path_cb tell, void *arg);
