/* stage.c - see stage.h. */
#include "stage.h"
#include "resolver/steps.h"
#include "support/fake_repo.h"
#include <base/fatal.h>
#include <gateway/bundle/bundles.h>
#include <gateway/edit/commit.h>
#include <gateway/edit/edit.h>
#include <gateway/peers/resolver.h>
#include <gateway/request.h>

/* ---- the host table, as far as steps go ---- */

static int clone_at(struct bw_resolver *from, const struct bw_login *login, const char *file,
                    unsigned line, struct bw_resolver **ret)
{
	(void)file;
	(void)line;
	if (login)
		return BW_EUNSUPPORTED;
	if (from->closed)
		return BW_ESTATE;
	*ret = resolver_new(from->req, from->kind);
	(*ret)->cloned = true;
	return BW_OK;
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

static void *req_alloc(struct bw_req *req, size_t n)
{
	return arena_alloc(&req->arena, n);
}

static const struct bw_editing editing = {
	.size = sizeof(editing),
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
	.clone_at = clone_at,
	.is_live = commit_is_live,
	.close = commit_close,
	.error = commit_error,
	.values = values,
	.names = look_names,
	.value = value,
};

static const struct bw_host host = {
	.size = sizeof(host),
	.req_alloc = req_alloc,
	.service_resolver = resolver_of_service,
	.resolver_user = resolver_user,
	.resolver_get = resolver_get,
	.resource_field = resource_field,
	.resource_property = resource_property,
	.resolver_children = resolver_children,
	.editing = &editing,
};

const struct bw_host *bw_host = &host;

/* ---- requests ---- */

static struct bw_bundle bundle = { .name = "test.resolver" };

void stage_ask(const char *root, char *text, char *said, size_t size)
{
	struct bw_req *req = request_new();

	if (steps_run(req, &bundle, root, text, said, size) != BW_OK)
		fatalx("a step says too much");
	resolvers_close(req);
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
}

void stage_begin(const char *root)
{
	char steps[512], said[64];

	fake_repo_begin();
	snprintf(steps, sizeof(steps), "create // content ; create //content %s ; commit",
	         root + strlen("/content/"));
	stage_ask("", steps, said, sizeof(said));
	if (said[0] != '\0')
		fatalx("the fake repo: %s", said);
}
