/* A context as servlets see it: parameters, attributes, and what the helper for the calling bundle
 * says.
 *
 * Owns: the attributes, per context and worker. Runs in: a request's fiber or a bundle's start; calls
 * listeners and other bundle code. Fails with: BW_EINVAL, BW_ENOTFOUND, BW_ETOOBIG, BW_ESTATE.
 * Tests: tests/unit/whiteboard/helper_test.c, tests/conformance (C56 to C59, J11). */
#include "helper.h"
#include "listener.h"

#include <request.h>
#include <stdlib.h>

struct bw_context *context_of_request(struct bw_req *req)
{
	return req->context;
}

struct bw_str context_get_field(const struct bw_context *c, enum bw_context_field field)
{
	switch (field) {
	case BW_CONTEXT_FIELD_NAME:
		return c->reading->name;
	case BW_CONTEXT_FIELD_PATH:
		return c->reading->path.n == 1 ? BW_STR("") : c->reading->path;
	case BW_CONTEXT_FIELD_SERVER_INFO:
		return BW_STR("Boardwalk/" BOARDWALK_VERSION);
	}
	return BW_ABSENT; /* a field that this version does not know */
}

struct bw_str context_param(const struct bw_context *c, const char *name)
{
	const struct reading *r = c->reading;

	for (size_t i = 0; i < r->n_params; i++)
		if (strcmp(r->params[i].name.p, name) == 0)
			return r->params[i].value;
	return BW_ABSENT;
}

struct bw_str context_param_name(const struct bw_context *c, size_t i)
{
	return i < c->reading->n_params ? c->reading->params[i].name : BW_ABSENT;
}

/* ---- attributes ---- */

int context_attr(const struct bw_context *c, const char *name, void *buf, size_t n,
                 struct bw_value *ret, size_t *ret_need)
{
	const struct bw_value *v = name ? attrs_find(&c->attrs, name) : NULL;
	size_t                 need;

	if (!name)
		return BW_EINVAL;
	if (!v)
		return BW_ENOTFOUND;
	need = value_size(v);
	if (ret_need)
		*ret_need = need;
	if (need > n)
		return BW_ETOOBIG;
	value_copy(v, ret, buf);
	return BW_OK;
}

struct bw_str context_attr_name(const struct bw_context *c, size_t i)
{
	return attrs_name(&c->attrs, i);
}

int context_set_attr(struct bw_context *c, const char *name, const struct bw_value *value)
{
	struct bw_value *old, *new = NULL;
	bool             is_set = value && value->type != 0;

	if (!name || (is_set && !value_ok(value)))
		return BW_EINVAL;
	attrs_set(&c->attrs, name, value, &old);
	if ((old || is_set) && listener_hears(c, LISTENS_CONTEXT_ATTRIBUTE)) {
		/* Ours, since whoever is told may set it once more. */
		new = is_set ? value_dup(value) : NULL;
		listener_context_attribute(c, name, old, new);
	}
	free(new);
	free(old);
	return BW_OK;
}

/* ---- the helper ---- */

struct bw_str context_mime_type(struct bw_context *c, struct bw_bundle *b, struct bw_str name)
{
	const struct helper *h = context_helper_of(c, b);

	return h ? helper_mime_type(h, name) : BW_ABSENT;
}

int context_resource(struct bw_context *c, struct bw_bundle *b, struct bw_str path,
                     struct bw_file *ret)
{
	const struct helper *h = context_helper_of(c, b);

	return h ? helper_resource(h, b, path, ret) : BW_ESTATE;
}

int context_real_path(struct bw_context *c, struct bw_bundle *b, struct bw_str path, char *buf,
                      size_t n)
{
	const struct helper *h = context_helper_of(c, b);

	return h ? helper_real_path(h, path, buf, n) : BW_ESTATE;
}

int context_resource_paths(struct bw_context *c, struct bw_bundle *b, struct bw_str path,
                           bw_path_cb tell, void *arg)
{
	const struct helper *h = context_helper_of(c, b);

	return h ? helper_resource_paths(h, b, path, tell, arg) : BW_ESTATE;
}
