/* Request attributes: a short list in the request's arena.
 *
 * Runs in: the request's fiber. Fails with: BW_EINVAL. Tests: tests/unit/whiteboard/dispatch_test.c. */
#include "attr.h"

struct bw_str attr_get(const struct bw_req *req, const char *name)
{
	struct bw_str key = bw_str(name);

	for (const struct req_attr *a = req->attrs; a; a = a->next)
		if (bw_str_eq(a->name, key))
			return a->value;
	return BW_ABSENT;
}

int attr_set(struct bw_req *req, const char *name, struct bw_str value)
{
	struct bw_str     key = bw_str(name);
	struct req_attr **at = &req->attrs;

	if (!key.p)
		return BW_EINVAL;
	while (*at && !bw_str_eq((*at)->name, key))
		at = &(*at)->next;
	if (!value.p) {
		if (*at)
			*at = (*at)->next;
		return BW_OK;
	}
	value = request_dup(req, value);
	if (*at) {
		(*at)->value = value;
		return BW_OK;
	}
	*at = arena_alloc(&req->arena, sizeof(**at));
	**at = (struct req_attr){ .name = request_dup(req, key), .value = value };
	return BW_OK;
}
