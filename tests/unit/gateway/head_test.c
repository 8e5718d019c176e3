/* gateway/forms/head.c: lists of header lines, typed values, the URL. */
#include "gateway/forms/head.c"

#include <criterion/criterion.h>

static struct bw_req *request(struct bw_res_header *headers, size_t n)
{
	struct bw_req *req = request_new();

	req->headers = headers;
	req->n_headers = n;
	return req;
}

static void end(struct bw_req *req)
{
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
}

Test(head, lists)
{
	struct bw_res_header headers[] = {
		{ BW_STR("accept"), BW_STR("a") },
		{ BW_STR("x"), BW_STR("") },
		{ BW_STR("accept"), BW_STR("b") },
	};
	struct bw_req       *req = request(headers, 3);
	const struct bw_str *list;

	cr_assert(head_values(req, "Accept", &list) == 2);
	cr_expect(bw_str_eq(list[0], BW_STR("a")) && bw_str_eq(list[1], BW_STR("b")));
	cr_assert(head_values(req, "x", &list) == 1);
	cr_expect(bw_str_eq(list[0], BW_STR("")));
	cr_expect(head_values(req, "y", &list) == 0);
	cr_assert(head_names(req, &list) == 2);
	cr_expect(bw_str_eq(list[0], BW_STR("accept")) && bw_str_eq(list[1], BW_STR("x")));
	end(req);
}

Test(head, numbers)
{
	static const struct {
		const char *text;
		int         err;
		int64_t     value;
	} rows[] = {
		{ "0", BW_OK, 0 },
		{ "-0", BW_OK, 0 },
		{ "42", BW_OK, 42 },
		{ "-7", BW_OK, -7 },
		{ "9223372036854775807", BW_OK, INT64_MAX },
		{ "-9223372036854775808", BW_OK, INT64_MIN },
		{ "9223372036854775808", BW_ESYNTAX, 0 },
		{ "-9223372036854775809", BW_ESYNTAX, 0 },
		{ "99999999999999999999", BW_ESYNTAX, 0 },
		{ "", BW_ESYNTAX, 0 },
		{ "-", BW_ESYNTAX, 0 },
		{ "+1", BW_ESYNTAX, 0 },
		{ "1 ", BW_ESYNTAX, 0 },
		{ "0x1", BW_ESYNTAX, 0 },
		{ "1.5", BW_ESYNTAX, 0 },
	};
	struct bw_res_header h = { BW_STR("x-n"), BW_ABSENT };
	struct bw_req       *req = request(&h, 1);
	int64_t              value = 99;

	cr_expect(head_int(req, "x-other", &value) == BW_ENOTFOUND && value == 99);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		h.value = bw_str(rows[i].text);
		value = 0;
		cr_expect(head_int(req, "X-N", &value) == rows[i].err, "%s", rows[i].text);
		cr_expect(value == rows[i].value, "%s", rows[i].text);
	}
	end(req);
}

Test(head, dates)
{
	struct bw_res_header h = { BW_STR("date"), BW_STR("Sun, 09 Sep 2001 01:46:40 GMT") };
	struct bw_req       *req = request(&h, 1);
	int64_t              ms = 5;

	cr_expect(head_date(req, "If-Modified-Since", &ms) == BW_ENOTFOUND && ms == 5);
	cr_expect(head_date(req, "Date", &ms) == BW_OK && ms == 1000000000000);
	h.value = BW_STR("yesterday");
	cr_expect(head_date(req, "Date", &ms) == BW_ESYNTAX);
	end(req);
}

Test(head, url)
{
	struct bw_req *req = request(NULL, 0);

	req->scheme = BW_STR("http");
	req->uri = BW_STR("/a;v=1/%62");
	req->query = BW_STR("q");
	cr_expect(head_url(req).p == NULL, "no host was named");
	req->host = BW_STR("a.example:8080");
	cr_expect(bw_str_eq(head_url(req), BW_STR("http://a.example:8080/a;v=1/%62")));
	end(req);
}
