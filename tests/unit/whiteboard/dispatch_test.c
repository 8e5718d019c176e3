/* gateway/whiteboard/servlet.c and attr.c: the defaults of a method table, and request attributes. What
 * a whole request does is in tests/conformance. */
#include <gateway/whiteboard/attr.c>
#include <gateway/whiteboard/servlet.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static int called; /* the letter of the entry that was */

#define ENTRY(name, letter) \
	static int name(void *self, struct bw_req *req) \
	{ \
		(void)self; \
		(void)req; \
		called = letter; \
		return BW_OK; \
	}
ENTRY(get, 'g')
ENTRY(head, 'h')
ENTRY(post, 'p')
ENTRY(put, 'u')
ENTRY(patch, 'a')
ENTRY(delete, 'd')
ENTRY(options, 'o')
ENTRY(service, 's')

static const struct bw_servlet all = { .size = sizeof(all),
	                               .get = get,
	                               .head = head,
	                               .post = post,
	                               .put = put,
	                               .patch = patch,
	                               .delete = delete,
	                               .options = options };
static const struct bw_servlet get_post = { .size = sizeof(get_post), .get = get, .post = post };
static const struct bw_servlet post_only = { .size = sizeof(post_only), .post = post };
static const struct bw_servlet none = { .size = sizeof(none) };
static const struct bw_servlet raw = { .size = sizeof(raw), .service = service, .get = get };

/* The Allow header of the answer, "" without one. */
static const char *allow(const struct bw_req *req)
{
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (strcmp(req->res_headers[i].name.p, "allow") == 0)
			return req->res_headers[i].value.p;
	return "";
}

static struct bw_req *request(const char *method)
{
	struct bw_req *req = request_new();

	req->method = bw_str(method);
	return req;
}

static void end(struct bw_req *req)
{
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
}

Test(servlet, a_method_table_has_the_defaults_of_HttpServlet)
{
	static const struct {
		const struct bw_servlet *type;
		const char              *method;
		int                      called, status;
		const char              *allow;
	} rows[] = {
		{ &all, "GET", 'g', 200, "" },
		{ &all, "HEAD", 'h', 200, "" },
		{ &all, "POST", 'p', 200, "" },
		{ &all, "PUT", 'u', 200, "" },
		{ &all, "PATCH", 'a', 200, "" },
		{ &all, "DELETE", 'd', 200, "" },
		{ &all, "OPTIONS", 'o', 200, "" },
		{ &all, "TRACE", 0, 405, "GET, HEAD, PATCH, POST, PUT, DELETE, OPTIONS" },
		{ &get_post, "HEAD", 'g', 200, "" },
		{ &get_post, "OPTIONS", 0, 200, "GET, HEAD, POST, OPTIONS" },
		{ &get_post, "PUT", 0, 405, "GET, HEAD, POST, OPTIONS" },
		{ &post_only, "GET", 0, 405, "POST, OPTIONS" },
		{ &post_only, "HEAD", 0, 405, "POST, OPTIONS" },
		{ &none, "GET", 0, 405, "OPTIONS" },
		{ &none, "OPTIONS", 0, 200, "OPTIONS" },
		{ &all, "get", 0, 501, "" },
		{ &all, "CONNECT", 0, 501, "" },
		{ &all, "", 0, 501, "" },
		{ &raw, "GET", 's', 200, "" },
		{ &raw, "BREW", 's', 200, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_req *req = request(rows[i].method);

		called = 0;
		cr_assert(eq(int, servlet_call(rows[i].type, NULL, req), BW_OK));
		cr_assert(eq(int, called, rows[i].called), "row %zu: %s", i, rows[i].method);
		cr_assert(eq(int, req->status, rows[i].status), "row %zu: %s", i, rows[i].method);
		cr_assert_str_eq(allow(req), rows[i].allow, "row %zu: %s", i, allow(req));
		end(req);
	}
	request_pool_done();
}

Test(attr, is_set_replaced_and_removed)
{
	struct bw_req *req = request("GET");
	char           name[] = "a", value[] = "one";

	cr_assert(attr_get(req, "a").p == NULL);
	cr_assert(eq(int, attr_set(req, name, bw_str(value)), BW_OK));
	cr_assert(eq(int, attr_set(req, "b", BW_STR("")), BW_OK));
	name[0] = value[0] = '!'; /* both are copied */
	cr_assert(bw_str_eq(attr_get(req, "a"), BW_STR("one")));
	cr_assert(bw_str_eq(attr_get(req, "b"), BW_STR("")), "empty is not absent");
	cr_assert(eq(int, attr_set(req, "a", BW_STR("two")), BW_OK));
	cr_assert(bw_str_eq(attr_get(req, "a"), BW_STR("two")));
	cr_assert(eq(int, attr_set(req, "a", BW_ABSENT), BW_OK));
	cr_assert(eq(int, attr_set(req, "never", BW_ABSENT), BW_OK));
	cr_assert(attr_get(req, "a").p == NULL);
	cr_assert(bw_str_eq(attr_get(req, "b"), BW_STR("")));
	cr_assert(eq(int, attr_set(req, NULL, BW_STR("x")), BW_EINVAL));
	end(req);
	request_pool_done();
}
