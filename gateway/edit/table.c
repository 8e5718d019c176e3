/* table.c - the editing part of the host table, and the few entries that are no more than a look-up.
 *
 * Owns: nothing. Runs in: a request's fiber. Fails with: as the functions behind it.
 * Tests: tests/conformance/resolver, whose bundle calls through it. */
#include "commit.h"
#include "edit.h"
#include "engine/location.h"
#include "request.h"

static const struct bw_str user_name = BW_STR("user.name");

static struct bw_str attribute(const struct bw_resolver *r, const char *name)
{
	if (bw_str_eq(bw_str(name), user_name))
		return r->user;
	for (size_t i = 0; i < r->n_attributes; i++)
		if (bw_str_eq(r->attributes[i].name, bw_str(name)))
			return r->attributes[i].value;
	return BW_ABSENT;
}

static struct bw_str attribute_name(const struct bw_resolver *r, size_t i)
{
	if (i == 0)
		return user_name;
	return i <= r->n_attributes ? r->attributes[i - 1].name : BW_ABSENT;
}

static int is_type(struct bw_resource *res, struct bw_str type, bool *ret)
{
	struct bw_resolver *r = res->resolver;
	struct record       record;
	int                 err = BW_OK;

	if (r->space && !res->made)
		err = look_record(r, res->record.path, &record);
	else if (res->stale)
		err = resolver_complete(res);
	if (err != BW_OK)
		return err;
	return location_is_type(&r->req->arena, r->space && !res->made ? &record : &res->record,
	                        type, r->req->id, ret);
}

static int values(struct bw_resource *res, const char *name, struct bw_values *ret)
{
	struct change_text text;
	int                err = look_value(res, bw_str(name), &text);

	if (err == BW_OK)
		*ret = (struct bw_values){ text.type, text.multiple, text.n, text.values };
	return err;
}

static int value(struct bw_resource *res, const char *name, size_t index, enum bw_value_type as,
                 struct bw_value *ret)
{
	enum bw_value_type from;
	struct bw_str      text;
	int                err = resource_property(res, name, index, &from, &text);

	return err == BW_OK ? convert_value(from, text, as, ret) : err;
}

static int clone_at(struct bw_resolver *r, const struct bw_login *login, const char *file,
                    unsigned line, struct bw_resolver **ret)
{
	int err = security_clone(r, login, ret);

	if (err == BW_OK) {
		(*ret)->opened_file = file ? file : "";
		(*ret)->opened_line = line;
	}
	return err;
}

/* Of bundles from before clone_at. */
static int clone(struct bw_resolver *r, const struct bw_login *login, struct bw_resolver **ret)
{
	return clone_at(r, login, "somewhere", 0, ret);
}

const struct bw_editing resolver_editing = {
	.size = sizeof(resolver_editing),
	.create = edit_create,
	.remove = edit_delete,
	.move = edit_move,
	.copy = edit_copy,
	.order_before = edit_order_before,
	.set = edit_set,
	.set_type = edit_set_type,
	.mixin = edit_mixin,
	.commit = commit_all,
	.refresh = commit_refresh,
	.revert = commit_revert,
	.has_changes = commit_has_changes,
	.clone = clone,
	.is_live = commit_is_live,
	.close = commit_close,
	.error = commit_error,
	.attribute = attribute,
	.attribute_name = attribute_name,
	.is_type = is_type,
	.values = values,
	.names = look_names,
	.value = value,
	.clone_at = clone_at,
};
