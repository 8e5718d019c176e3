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

/* ---- TRACE ---- */

static const char *body_of(struct bw_req *req)
{
	return arena_dup(&req->arena, buf_size(&req->body) ? buf_data(&req->body) : NULL,
	                 buf_size(&req->body));
}

static int trace(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	called = 't';
	return BW_OK;
}

Test(servlet, TRACE_is_answered_if_it_is_on)
{
	static const struct bw_servlet own = { .size = sizeof(own), .trace = trace };
	struct bw_res_header           headers[] = {
			  { BW_STR("host"), BW_STR("a") },
			  { BW_STR("cookie"), BW_STR("secret") },
			  { BW_STR("Cookie2"), BW_STR("secret") },
			  { BW_STR("authorization"), BW_STR("s") },
			  { BW_STR("Authorization-Info"), BW_STR("s") },
			  { BW_STR("forwarded"), BW_STR("s") },
			  { BW_STR("x-forwarded-for"), BW_STR("s") },
			  { BW_STR("proxy-authorization"), BW_STR("s") },
			  { BW_STR("x-q"), BW_STR("1") },
	};
	struct bw_req *req = request("TRACE");

	servlet_init(true);
	req->uri = BW_STR("/a;v=1");
	req->query = BW_STR("b=c");
	req->headers = headers;
	req->n_headers = sizeof(headers) / sizeof(*headers);
	cr_assert(eq(int, servlet_call(&none, NULL, req), BW_OK));
	cr_assert(eq(int, req->status, 200));
	cr_assert_str_eq(req->res_headers[0].value.p, "message/http");
	cr_assert_str_eq(body_of(req), "TRACE /a;v=1?b=c HTTP/1.1\r\nhost: a\r\nx-q: 1\r\n\r\n");
	end(req);

	req = request("TRACE");
	called = 0;
	cr_assert(eq(int, servlet_call(&own, NULL, req), BW_OK));
	cr_assert(eq(int, called, 't'));
	end(req);

	req = request("OPTIONS");
	servlet_call(&get_post, NULL, req);
	cr_assert_str_eq(allow(req), "GET, HEAD, POST, TRACE, OPTIONS");
	end(req);

	servlet_init(false);
	req = request("TRACE");
	called = 0;
	servlet_call(&own, NULL, req);
	cr_assert(eq(int, called, 0));
	cr_assert(eq(int, req->status, 405));
	end(req);
	request_pool_done();
}

/* ---- conditional requests ---- */

static int64_t modified_ms;

static int64_t last_modified(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	return modified_ms;
}

static const struct bw_servlet dated = {
	.size = sizeof(dated), .get = get, .post = post, .last_modified = last_modified
};

static const char *last_modified_of(const struct bw_req *req)
{
	const char *value = "-";

	for (size_t i = 0; i < req->n_res_headers; i++) {
		if (strcmp(req->res_headers[i].name.p, "last-modified") != 0)
			continue;
		cr_assert(strcmp(value, "-") == 0, "twice");
		value = req->res_headers[i].value.p;
	}
	return value;
}

Test(servlet, If_Modified_Since_is_answered_from_last_modified)
{
	static const char is_dated[] = "Sun, 09 Sep 2001 01:46:40 GMT";
	static const struct {
		const char *method, *since, *match;
		int         called, status;
		const char *header;
	} rows[] = {
		{ "GET", NULL, NULL, 'g', 200, is_dated },
		{ "GET", "Sun, 09 Sep 2001 01:46:39 GMT", NULL, 'g', 200, is_dated },
		{ "GET", "Sun, 09 Sep 2001 01:46:40 GMT", NULL, 0, 304, "-" },
		{ "GET", "Sun, 09 Sep 2001 01:46:41 GMT", NULL, 0, 304, "-" },
		{ "GET", "Sunday, 09-Sep-01 01:46:40 GMT", NULL, 0, 304, "-" },
		{ "GET", "Sun Sep  9 01:46:40 2001", NULL, 0, 304, "-" },
		{ "GET", "junk", NULL, 'g', 200, is_dated },
		{ "GET", "", NULL, 'g', 200, is_dated },
		{ "HEAD", "Sun, 09 Sep 2001 01:46:40 GMT", NULL, 0, 304, "-" },
		{ "HEAD", NULL, NULL, 'g', 200, is_dated },
		{ "POST", "Sun, 09 Sep 2001 01:46:40 GMT", NULL, 'p', 200, "-" },
		{ "GET", "Sun, 09 Sep 2001 01:46:40 GMT", "\"x\"", 'g', 200, is_dated },
	};

	modified_ms = 1000000000500;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_res_header h[] = { { BW_STR("if-modified-since"), bw_str(rows[i].since) },
			                     { BW_STR("if-none-match"), bw_str(rows[i].match) } };
		struct bw_req       *req = request(rows[i].method);

		called = 0;
		req->headers = h;
		req->n_headers = rows[i].match ? 2 : rows[i].since ? 1 : 0;
		cr_assert(eq(int, servlet_call(&dated, NULL, req), BW_OK));
		cr_assert(eq(int, called, rows[i].called), "row %zu", i);
		cr_assert(eq(int, req->status, rows[i].status), "row %zu", i);
		cr_assert_str_eq(last_modified_of(req), rows[i].header, "row %zu", i);
		end(req);
	}
	request_pool_done();
}

Test(servlet, Last_Modified_is_absent_if_unknown_and_never_ahead_of_the_clock)
{
	struct bw_servlet    old = dated;
	struct bw_res_header h = { BW_STR("if-modified-since"),
		                   BW_STR("Fri, 31 Dec 9999 23:59:59 GMT") };
	struct bw_req       *req = request("GET");
	int64_t              got_s, now_s = (int64_t)(clock_real_us() / 1000000);

	req->headers = &h;
	req->n_headers = 1;
	modified_ms = -1;
	servlet_call(&dated, NULL, req);
	cr_assert(eq(int, req->status, 200));
	cr_assert_str_eq(last_modified_of(req), "-");
	end(req);

	modified_ms = INT64_MAX;
	req = request("GET");
	servlet_call(&dated, NULL, req);
	cr_assert(httpdate_read(last_modified_of(req), 29, now_s, &got_s));
	cr_assert(got_s >= now_s && got_s <= now_s + 60);
	end(req);

	/* What somebody in front has set stays. */
	modified_ms = 1000000000500;
	req = request("GET");
	response_header(req, "Last-Modified", BW_STR("Mon, 10 Sep 2001 00:00:00 GMT"), true);
	servlet_call(&dated, NULL, req);
	cr_assert_str_eq(last_modified_of(req), "Mon, 10 Sep 2001 00:00:00 GMT");
	end(req);

	/* A bundle of the first version has no such member: what lies behind its table is not looked at. */
	old.size = offsetof(struct bw_servlet, last_modified);
	req = request("GET");
	servlet_call(&old, NULL, req);
	cr_assert_str_eq(last_modified_of(req), "-");
	end(req);
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
	{
		const struct bw_str *names;

		cr_assert(eq(sz, attr_names(req, &names), 2));
		cr_assert(bw_str_eq(names[0], BW_STR("a")) && bw_str_eq(names[1], BW_STR("b")));
	}
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

Test(servlet, a_client_that_has_what_there_is_is_told_so)
{
	static const struct {
		const char *name, *value;
		int64_t     modified;
		bool        unchanged;
	} rows[] = {
		{ "if-modified-since", "Sun, 09 Sep 2001 01:46:40 GMT", 1000000000, true },
		{ "if-modified-since", "Sun, 09 Sep 2001 01:46:41 GMT", 1000000000, true },
		{ "if-modified-since", "Sun, 09 Sep 2001 01:46:39 GMT", 1000000000, false },
		{ "if-modified-since", "Sunday, 09-Sep-01 01:46:40 GMT", 1000000000, true },
		{ "if-modified-since", "Sun, 09 Sep 2001 01:46:40 GMT", INT64_MAX, false },
		{ "if-modified-since", "Thu, 01 Jan 1970 00:00:00 GMT", 0, true },
		{ "if-modified-since", "junk", 0, false },
		{ "if-modified-since", "", 0, false },
		{ "if-none-match", "*", INT64_MAX, true },
		{ "if-none-match", "\"x\"", 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_req       *req = request("GET");
		struct bw_res_header h = { bw_str(rows[i].name), bw_str(rows[i].value) };

		req->headers = &h;
		req->n_headers = 1;
		cr_assert(eq(int, servlet_is_unchanged(req, rows[i].modified, 1800000000),
		             rows[i].unchanged),
		          "%zu", i);
		end(req);
	}
}

Test(servlet, an_entity_tag_goes_before_the_date)
{
	struct bw_req       *req = request("GET");
	struct bw_res_header h[] = {
		{ BW_STR("if-modified-since"), BW_STR("Sun, 09 Sep 2001 01:46:40 GMT") },
		{ BW_STR("if-none-match"), BW_STR("\"x\"") },
	};

	req->headers = h;
	req->n_headers = 2;
	cr_assert(not(servlet_is_unchanged(req, 1000000000, 1800000000)));
	end(req);
}
