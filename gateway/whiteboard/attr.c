/* Request attributes: a short list in the request's arena, the first of a name counts. A dispatch puts
 * its own in front, from its stack, and takes them away when it ends.
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
	value = request_dup(req, value);
	if (*at) {
		(*at)->value = value; /* an absent one too: the place may be one of a dispatch */
		return BW_OK;
	}
	if (!value.p)
		return BW_OK;
	*at = arena_alloc(&req->arena, sizeof(**at));
	**at = (struct req_attr){ .name = request_dup(req, key), .value = value };
	return BW_OK;
}

void attr_push(struct bw_req *req, struct req_attr *block, size_t n)
{
	for (size_t i = n; i > 0; i--) {
		block[i - 1].next = req->attrs;
		req->attrs = &block[i - 1];
	}
}

void attr_pop(struct bw_req *req, const struct req_attr *block, size_t n)
{
	req->attrs = block[n - 1].next;
}

/* Is it what attr_get would find? */
static bool is_visible(const struct bw_req *req, const struct req_attr *attr)
{
	const struct req_attr *a = req->attrs;

	while (!bw_str_eq(a->name, attr->name))
		a = a->next;
	return a == attr && attr->value.p;
}

size_t attr_names(struct bw_req *req, const struct bw_str **ret_names)
{
	struct bw_str *names;
	size_t         n = 0;

	for (const struct req_attr *a = req->attrs; a; a = a->next)
		n++;
	names = arena_alloc(&req->arena, (n + 1) * sizeof(*names));
	n = 0;
	for (const struct req_attr *a = req->attrs; a; a = a->next)
		if (is_visible(req, a))
			names[n++] = a->name;
	*ret_names = names;
	return n;
}
