/* gateway/whiteboard/resource.c: the name looked up, the dates, the part that is sent.
 * What a whole request does is in tests/conformance. */
#include <gateway/whiteboard/resource.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

static struct bw_req *request(const char *pattern, const char *info)
{
	struct bw_req *req = request_new();

	req->pattern = bw_str(pattern);
	req->path_info = bw_str(info);
	return req;
}

static void end(struct bw_req *req)
{
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
}

Test(resource, the_name_is_prefix_and_path_info)
{
	static const struct {
		const char *pattern, *info, *prefix, *name;
	} rows[] = {
		{ "/files/*", "/cheese.html", "/www", "/www/cheese.html" },
		{ "/files/*", NULL, "/www", "/www" },
		{ "/files/*", "/", "/www", "/www/" },
		{ "/favicon.ico", NULL, "/logo.png", "/logo.png" },
		{ "*.txt", NULL, "/www", "/www" },
		{ "/", NULL, "/www", "/www" },
		{ "", "/", "/a.txt", "/a.txt" },
		{ "/*", "/i.html", "/", "/i.html" },
		{ "/*", "/", "/", "/" },
		{ "", "/", "/", "/" },
		{ "/*", "/a", "www", "www/a" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_req *req = request(rows[i].pattern, rows[i].info);
		struct bw_str  name = file_name(req, bw_str(rows[i].prefix));

		cr_assert(bw_str_eq(name, bw_str(rows[i].name)), "%zu: %.*s", i, (int)name.n,
		          name.p);
		end(req);
	}
}

Test(resource, an_include_looks_for_what_is_included)
{
	const struct req_target included = { .path = BW_STR("/r/x.txt") };
	struct bw_req          *req = request("/d/*", "/own");

	req->included = &included;
	attr_set(req, "jakarta.servlet.include.mapping", BW_STR("/r/*"));
	attr_set(req, "jakarta.servlet.include.path_info", BW_STR("/x.txt"));
	cr_assert(bw_str_eq(file_name(req, BW_STR("/www")), BW_STR("/www/x.txt")));
	attr_set(req, "jakarta.servlet.include.path_info", BW_ABSENT);
	cr_assert(bw_str_eq(file_name(req, BW_STR("/www")), BW_STR("/www")));
	attr_set(req, "jakarta.servlet.include.path_info", BW_STR("/"));
	attr_set(req, "jakarta.servlet.include.mapping", BW_STR(""));
	cr_assert(bw_str_eq(file_name(req, BW_STR("/www")), BW_STR("/www")));
	end(req);
}

Test(resource, a_date_is_never_ahead_of_now)
{
	struct bw_file past = { .modified_ms = 1000000000999 },
		       future = { .modified_ms = INT64_MAX };
	struct bw_file unknown = { .modified_ms = 0 };

	cr_assert(eq(i64, times_of(&past).modified, 1000000000));
	cr_assert(eq(i64, times_of(&unknown).modified, 0));
	cr_assert(le(i64, times_of(&future).modified, (int64_t)(clock_real_us() / 1000000)));
}

/* A GET of a file of five octets with these headers; the answer's status, "-" or what Content-Range says. */
static const char *range_of(const char *range, const char *if_range, int *ret_status)
{
	static char          text[64];
	struct bw_req       *req = request("/a", NULL);
	struct bw_res_header h[2] = { { BW_STR("range"), bw_str(range) },
		                      { BW_STR("if-range"), bw_str(if_range) } };
	struct part          part = { 0, 5 };
	int                  err;

	req->headers = h;
	req->n_headers = if_range ? 2 : 1;
	err = choose_part(req, (struct times){ 2000000000, 1000000000 }, 5, &part);
	cr_assert(eq(int, err, req->status == 416 ? BW_DECLINED : BW_OK));
	strcpy(text, req->n_res_headers ? req->res_headers[0].value.p : "-");
	*ret_status = req->status;
	end(req);
	return text;
}

Test(resource, a_part_is_sent_if_it_is_one_of_what_the_client_has)
{
	static const struct {
		const char *range, *if_range, *content_range;
		int         status;
	} rows[] = {
		{ "bytes=1-3", NULL, "bytes 1-3/5", 206 },
		{ "bytes=-2", NULL, "bytes 3-4/5", 206 },
		{ "bytes=5-", NULL, "bytes */5", 416 },
		{ "bytes=0-0,2-2", NULL, "-", 200 },
		{ "junk", NULL, "-", 200 },
		{ "bytes=1-3", "Sun, 09 Sep 2001 01:46:40 GMT", "bytes 1-3/5", 206 },
		{ "bytes=1-3", "Sun, 09 Sep 2001 01:46:41 GMT", "-", 200 },
		{ "bytes=9-", "Sun, 09 Sep 2001 01:46:39 GMT", "-", 200 },
		{ "bytes=1-3", "\"x\"", "-", 200 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int status;

		cr_assert(eq(str, (char *)range_of(rows[i].range, rows[i].if_range, &status),
		             rows[i].content_range),
		          "%zu", i);
		cr_assert(eq(int, status, rows[i].status), "%zu", i);
	}
}

Test(resource, a_date_that_the_file_may_have_twice_is_no_proof)
{
	struct bw_req       *req = request("/a", NULL);
	struct bw_res_header h = { BW_STR("if-range"), BW_STR("Sun, 09 Sep 2001 01:46:40 GMT") };

	req->headers = &h;
	req->n_headers = 1;
	cr_assert(is_same(req, (struct times){ 1000000001, 1000000000 }));
	cr_assert(not(is_same(req, (struct times){ 1000000000, 1000000000 })));
	cr_assert(not(is_same(req, (struct times){ 1000000001, 0 })));
	end(req);
}
