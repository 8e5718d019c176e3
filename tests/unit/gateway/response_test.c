/* gateway/response.c: what may be set and when, what is kept back. gateway/page.c: the page. */
#include "gateway/response.c"

#include "fiber.h"

#include <criterion/criterion.h>

static struct bw_req *new_response(void)
{
	struct bw_req *req = request_new();

	strcpy(req->id_text, "00000000000000ab");
	return req;
}

static void done(struct bw_req *req)
{
	if (req->state == REQ_NEW)
		request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
}

static const char *value_of(const struct bw_req *req, const char *name)
{
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (strcmp(req->res_headers[i].name.p, name) == 0)
			return req->res_headers[i].value.p;
	return NULL;
}

static bool body_is(const struct bw_req *req, const char *text)
{
	return buf_size(&req->body) == strlen(text) &&
	       memcmp(buf_data(&req->body), text, strlen(text)) == 0;
}

Test(response, header_names_and_values)
{
	struct bw_req *req = new_response();
	static const struct {
		const char *name;
		int         r;
	} names[] = {
		{ "X-Ok", BW_OK },
		{ "!#$%&'*+-.^_`|~09", BW_OK },
		{ "", BW_EINVAL },
		{ "a b", BW_EINVAL },
		{ "a:", BW_EINVAL },
		{ "a\r\nb", BW_EINVAL },
		{ "\xc3\xa4", BW_EINVAL },
		{ "Connection", BW_EINVAL },
		{ "CONTENT-LENGTH", BW_EINVAL },
		{ "Date", BW_EINVAL },
		{ "Server", BW_EINVAL },
		{ "Transfer-Encoding", BW_EINVAL },
		{ "Upgrade", BW_EINVAL },
		{ "X-Request-Id", BW_EINVAL },
		{ "Trailer", BW_EINVAL },
		{ "Keep-Alive", BW_EINVAL },
		{ "TE", BW_EINVAL },
		{ "a/b", BW_EINVAL },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(response_header(req, names[i].name, BW_STR("v"), true) == names[i].r,
		          "\"%s\"", names[i].name);
	for (unsigned c = 0; c < 256; c++) {
		bool bad = (c < 32 && c != '\t') || c == 127;

		for (size_t i = 0; i < 19; i++) { /* two words and a rest */
			char value[19];

			memset(value, '\xe4', sizeof(value));
			value[i] = (char)c;
			cr_expect(response_header(req, "x-c", (struct bw_str){ value, 19 }, true) ==
			                  (bad ? BW_EINVAL : BW_OK),
			          "%02x at %zu", c, i);
		}
	}
	cr_expect(response_header(req, "x", BW_ABSENT, true) == BW_EINVAL);
	done(req);
}

Test(response, set_replaces_and_add_adds)
{
	struct bw_req *req = new_response();

	for (int i = 0; i < 20; i++)
		cr_assert(response_header(req, "Set-Cookie", BW_STR("a"), false) == BW_OK);
	cr_assert(response_header(req, "X-Other", BW_STR("1"), true) == BW_OK);
	cr_expect(req->n_res_headers == 21);
	cr_assert(response_header(req, "set-COOKIE", BW_STR("b"), true) == BW_OK);
	cr_expect(req->n_res_headers == 2);
	cr_expect_str_eq(value_of(req, "set-cookie"), "b");
	cr_expect_str_eq(value_of(req, "x-other"), "1");
	done(req);
}

Test(response, status_and_send_error)
{
	struct bw_req *req = new_response();

	cr_expect(response_status(req, 199) == BW_EINVAL && response_status(req, 600) == BW_EINVAL);
	cr_expect(response_status(req, 201) == BW_OK && req->status == 201);
	cr_assert(response_write(req, "partial", 7) == BW_OK);
	cr_expect(response_send_error(req, 199, NULL) == BW_EINVAL &&
	          response_send_error(req, 600, NULL) == BW_EINVAL);
	cr_expect(response_send_error(req, 404, "no <such> thing") == BW_OK);
	cr_expect(req->status == 404 && req->error_status == 404 && buf_size(&req->body) == 0);
	/* From now on nothing changes it. */
	cr_expect(response_write(req, "more", 4) == BW_OK && buf_size(&req->body) == 0);
	cr_expect(response_status(req, 200) == BW_OK && req->status == 404);
	cr_expect(response_header(req, "x-y", BW_STR("z"), true) == BW_OK && !value_of(req, "x-y"));
	cr_expect(response_send_error(req, 500, NULL) == BW_OK && req->error_status == 404);
	/* The server itself may. */
	response_builtin_page(req, 404);
	cr_expect(strstr((char *)buf_data(&req->body), "<p>no &lt;such&gt; thing</p>") != NULL);
	response_reset(req);
	cr_expect(req->status == 200 && req->n_res_headers == 0 && buf_size(&req->body) == 0);
	done(req);
}

Test(response, fail_names_the_error)
{
	struct bw_req *req = new_response();

	cr_expect(response_fail(req, "acme.broken", "text") == BW_ESERVLET);
	cr_expect_str_eq(req->error_name.p, "acme.broken");
	cr_expect_str_eq(req->error_text.p, "text");
	done(req);
}

Test(response, over_or_committed)
{
	struct bw_req *req = new_response();

	req->committed = true;
	cr_expect(response_status(req, 200) == BW_ESTATE &&
	          response_send_error(req, 500, NULL) == BW_ESTATE);
	cr_expect(response_header(req, "x", BW_STR("y"), true) == BW_ESTATE);
	req->gone = true;
	cr_expect(response_write(req, "x", 1) == BW_EGONE && response_flush(req) == BW_EGONE);
	cr_expect(response_status(req, 200) == BW_EGONE);
	req->late = true;
	cr_expect(response_write(req, "x", 1) == BW_ETIME);
	done(req);
}

/* ---- streaming, with a transport that takes everything ---- */

static size_t taken, flushes;

static void take(struct bw_req *req)
{
	if (req->state != REQ_PARKED)
		return;
	cr_assert(req->flush && req->committed);
	taken += buf_size(&req->body);
	flushes++;
}

static void serve_much(struct bw_req *req)
{
	static const char much[200000];

	cr_assert(response_write(req, much, sizeof(much)) == BW_OK);
	cr_assert(response_write(req, "tail", 4) == BW_OK);
}

Test(response, more_than_the_buffer_is_streamed)
{
	struct bw_req *req = new_response();

	fiber_pool_init(1);
	request_on_stop(take);
	cr_assert(request_start(req, serve_much));
	while (req->state == REQ_PARKED)
		request_wake(req);
	cr_expect(flushes == 3 && taken == 3 * RESPONSE_BUFFER, "%zu, %zu", flushes, taken);
	cr_expect(req->body_sent == taken && buf_size(&req->body) == 200004 - taken);
	done(req);
	fiber_pool_done();
}

Test(response, a_length_is_told_before_anything_is_written_and_forgotten_with_the_body)
{
	struct bw_req *req = new_response();

	response_length(req, 7);
	cr_assert(req->has_length && req->length == 7);
	response_reset_body(req);
	cr_assert(!req->has_length);
	response_write(req, "x", 1);
	response_length(req, 7);
	cr_assert(!req->has_length);
	done(req);
}

Test(response, no_body_no_streaming)
{
	struct bw_req *req = new_response();

	fiber_pool_init(1);
	request_on_stop(take);
	req->head_only = true;
	cr_assert(request_start(req, serve_much));
	cr_expect(req->state == REQ_RESPONDING && !req->committed);
	cr_expect(req->body_sent == 200004 && buf_size(&req->body) == 0);
	done(req);
	req = new_response();
	req->status = 304;
	cr_assert(request_start(req, serve_much));
	cr_expect(req->state == REQ_RESPONDING && !req->committed && !response_has_body(req));
	done(req);
	fiber_pool_done();
}

/* ---- the page ---- */

Test(response, page_by_accept)
{
	static const struct {
		const char *accept;
		bool        json;
	} rows[] = {
		{ NULL, false },
		{ "", false },
		{ "*/*", false },
		{ "text/html", false },
		{ "application/json", true },
		{ "application/problem+json", true },
		{ "application/json;q=0.5", true },
		{ "text/html, application/json", false },
		{ "text/html;q=0.8, application/json;q=0.9", true },
		{ "text/html;q=0.8,application/json;q=0.7", false },
		{ "application/json, */*;q=0.1", true },
		{ "APPLICATION/JSON", true },
		{ "application/json;q=0", false },
		{ "application/jsonx", false },
		{ ",,;;q=,", false },
		{ "application/json;q=0.00001", false },
		{ "application/json;q=9", true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct bw_req       *req = new_response();
		struct bw_res_header h = { BW_STR("accept"), bw_str(rows[i].accept) };

		req->headers = &h;
		req->n_headers = rows[i].accept != NULL;
		response_builtin_page(req, 404);
		cr_expect_str_eq(value_of(req, "content-type"),
		                 rows[i].json ? "application/problem+json"
		                              : "text/html;charset=utf-8",
		                 "%s", rows[i].accept);
		cr_expect(body_is(req,
		                  rows[i].json
		                          ? "{\"status\":404,\"title\":\"Not Found\",\"instance\":"
		                            "\"urn:request:00000000000000ab\"}\n"
		                          : "<!DOCTYPE html>\n<title>404 Not Found</title>\n"
		                            "<h1>404 Not Found</h1>\n"
		                            "<p>Request 00000000000000ab</p>\n"),
		          "%s", rows[i].accept);
		done(req);
	}
}

Test(response, page_texts)
{
	struct bw_req       *req = new_response();
	struct bw_res_header h = { BW_STR("accept"), BW_STR("application/json") };

	response_builtin_page(req, 503);
	cr_expect_str_eq(value_of(req, "retry-after"), "1");
	response_header(req, "Retry-After", BW_STR("9"), true);
	response_builtin_page(req, 503);
	cr_expect_str_eq(value_of(req, "retry-after"), "9");
	req->headers = &h;
	req->n_headers = 1;
	cr_assert(response_send_error(req, 400, "a \"b\" \\ \n") == BW_OK);
	response_builtin_page(req, 400);
	cr_expect(body_is(
		req,
		"{\"status\":400,\"title\":\"Bad Request\",\"detail\":\"a \\\"b\\\" \\\\ \\u000a\","
		"\"instance\":\"urn:request:00000000000000ab\"}\n"));
	cr_expect_str_eq(response_reason(431), "Request Header Fields Too Large");
	cr_expect_str_eq(response_reason(299), "Unknown");
	done(req);
}
