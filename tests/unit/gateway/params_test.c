/* gateway/forms/params.c and urlform.c: which parameters a request has, in what order, and which it
 * may not have. */
#include "gateway/forms/params.c"

#include "offload.h"

#include <boardwalk/form.h>
#include <criterion/criterion.h>

/* Small parts need no thread. */
int offload_run(struct bw_req *req, void (*job)(void *arg), void *arg)
{
	(void)req;
	(void)job;
	(void)arg;
	return BW_EBUSY;
}

static struct bw_res_header form = { BW_STR("content-type"),
	                             BW_STR("application/x-www-form-urlencoded") };

static struct bw_req *request(const char *method, const char *query, const char *body)
{
	struct bw_req *req = request_new();

	req->method = bw_str(method);
	req->query = bw_str(query);
	req->headers = &form;
	req->n_headers = 1;
	if (body) {
		req->body_in = (const uint8_t *)body;
		req->body_length = strlen(body);
	}
	return req;
}

static void end(struct bw_req *req)
{
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
}

/* "a=1|b=2", or the number of an error. */
static const char *list(struct bw_req *req)
{
	const struct bw_pair *all = NULL;
	const char           *text = "";
	size_t                n = 0;
	int                   err = params_all(req, &all, &n);

	if (err != BW_OK)
		return arena_printf(&req->arena, "%d", err);
	for (size_t i = 0; i < n; i++) {
		cr_expect(strlen(all[i].name.p) == all[i].name.n);
		cr_expect(strlen(all[i].value.p) == all[i].value.n);
		text = arena_printf(&req->arena, "%s%s%s=%s", text, i ? "|" : "", all[i].name.p,
		                    all[i].value.p);
	}
	return text;
}

Test(params, of_a_query)
{
	static const struct {
		const char *query, *want;
	} rows[] = {
		{ NULL, "" },
		{ "", "" },
		{ "&", "" },
		{ "a=1", "a=1" },
		{ "a=1&b=2&a=3", "a=1|b=2|a=3" },
		{ "a&b=", "a=|b=" },
		{ "=x", "=x" },
		{ "=", "=" },
		{ "a==b", "a==b" },
		{ "&&a=1&&b=2&", "a=1|b=2" },
		{ "a+b=c+d", "a b=c d" },
		{ "a%20b=c%2Bd%26e%3df", "a b=c+d&e=f" },
		{ "%C3%A4=%e2%82%ac", "\xc3\xa4=\xe2\x82\xac" },
		{ "a;b=c;d", "a;b=c;d" },
		{ "a=%25zz", "a=%zz" },
		{ "a=%", "-20" },
		{ "a=%z1", "-20" },
		{ "a=%4", "-20" },
		{ "a%=1", "-20" },
		{ "b=1&a=%zz", "-20" },
		{ "a=%00", "-20" },
		{ "%00=a", "-20" },
		{ "a=%C3", "-20" },
		{ "a=%C0%AF", "-20" },
		{ "a=%ED%A0%80", "-20" },
		{ "a=\xff", "-20" },
	};

	cr_assert(BW_ESYNTAX == -20);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct bw_req *req = request("GET", rows[i].query, NULL);

		cr_expect_str_eq(list(req), rows[i].want, "%s", rows[i].query);
		cr_expect_str_eq(list(req), rows[i].want, "the second time");
		cr_expect(bw_str_eq(req->query, bw_str(rows[i].query)), "the raw query stays");
		end(req);
	}
}

Test(params, of_a_form)
{
	struct bw_req *req = request("POST", "a=1&b=2", "a=3&c=x+y");

	cr_expect_str_eq(list(req), "a=1|b=2|a=3|c=x y");
	end(req);
	form.value = BW_STR("Application/X-WWW-form-urlencoded; charset=UTF-8");
	req = request("POST", NULL, "a=3");
	cr_expect_str_eq(list(req), "a=3");
	end(req);
	req = request("PUT", "a=1", "a=3"); /* Jakarta Servlet 3.1.1: POST alone */
	cr_expect_str_eq(list(req), "a=1");
	end(req);
	req = request("POST", "a=1", "b=%zz");
	cr_expect_str_eq(list(req), "-20");
	end(req);
	form.value = BW_STR("application/json");
	req = request("POST", "a=1", "b=2");
	cr_expect_str_eq(list(req), "a=1");
	end(req);
	/* Nobody takes multipart bodies here. */
	form.value = BW_STR("multipart/form-data; boundary=b");
	req = request("POST", "a=1", "junk");
	cr_expect_str_eq(list(req), "a=1");
	end(req);
}

Test(params, fields_of_multipart_come_after_the_query)
{
	static const struct upload all = { -1, -1, -1, 100, "/nowhere" };
	struct bw_req             *req =
		request("POST", "p=0",
	                "--b\r\nContent-Disposition: form-data; name=p\r\n\r\nval\r\n"
	                "--b\r\nContent-Disposition: form-data; name=f; filename=x\r\n\r\nfile\r\n"
	                "--b\r\nContent-Disposition: form-data; name=q\r\n\r\n\r\n--b--");

	form.value = BW_STR("multipart/form-data; boundary=b");
	req->upload = &all;
	cr_expect_str_eq(list(req), "p=0|p=val|q=");
	end(req);
	req = request("POST", "p=0", "--b\r\n");
	req->upload = &all;
	cr_expect_str_eq(list(req), "-22");
	cr_assert(BW_EPARTSYNTAX == -22);
	end(req);
}

Test(params, an_error_page_sees_what_the_client_sent)
{
	struct bw_req *req = request("GET", "a=1", "b=2");

	req->sent_method = BW_STR("POST");
	cr_expect_str_eq(list(req), "a=1|b=2");
	end(req);
}

Test(params, by_name)
{
	struct bw_req       *req = request("GET", "a=1&b=2&a=3&A=4&b=", NULL);
	struct bw_str        value = BW_STR("x");
	const struct bw_str *values = NULL;
	size_t               n = 0;

	cr_expect(params_get(req, "a", &value) == BW_OK && bw_str_eq(value, BW_STR("1")));
	cr_expect(params_get(req, "c", &value) == BW_OK && value.p == NULL);
	cr_assert(params_values(req, "b", &values, &n) == BW_OK && n == 2);
	cr_expect(bw_str_eq(values[0], BW_STR("2")) && bw_str_eq(values[1], BW_STR("")));
	cr_assert(params_values(req, "c", &values, &n) == BW_OK && n == 0);
	cr_assert(params_names(req, &values, &n) == BW_OK && n == 3);
	cr_expect(bw_str_eq(values[0], BW_STR("a")) && bw_str_eq(values[1], BW_STR("b")) &&
	          bw_str_eq(values[2], BW_STR("A")));
	end(req);
	req = request("GET", NULL, NULL);
	cr_assert(params_names(req, &values, &n) == BW_OK && n == 0);
	end(req);
	req = request("GET", "%", NULL);
	cr_expect(params_get(req, "a", &value) == BW_ESYNTAX);
	cr_expect(params_values(req, "a", &values, &n) == BW_ESYNTAX);
	cr_expect(params_names(req, &values, &n) == BW_ESYNTAX);
	end(req);
}

Test(params, of_dispatchers_come_first_and_end_with_them)
{
	struct bw_req   *req = request("GET", "p=1&r=3", NULL);
	struct req_query outer = { .query = BW_STR("p=2") };
	struct req_query inner = { .next = &outer, .query = BW_STR("s=%41&p=4") };

	req->extra = &outer; /* what the client sent was not asked for before */
	cr_expect_str_eq(list(req), "p=2|p=1|r=3");
	req->extra = &inner;
	cr_expect_str_eq(list(req), "s=A|p=4|p=2|p=1|r=3");
	req->extra = &outer;
	cr_expect_str_eq(list(req), "p=2|p=1|r=3");
	inner = (struct req_query){ .next = &outer, .query = BW_STR("p=%") };
	req->extra = &inner;
	cr_expect_str_eq(list(req), "-20");
	req->extra = NULL;
	cr_expect_str_eq(list(req), "p=1|r=3");
	end(req);
}

/* A servlet that takes no multipart bodies may have asked before it forwards to one that does. */
Test(params, fields_are_there_as_soon_as_a_servlet_takes_them)
{
	static const struct upload all = { -1, -1, -1, 100, "/nowhere" };
	static const char          body[] =
		"--b\r\nContent-Disposition: form-data; name=q\r\n\r\n1\r\n--b--";
	struct bw_req   *req = request("POST", "p=0", body);
	struct req_query extra = { .query = BW_STR("x") };

	form.value = BW_STR("multipart/form-data; boundary=b");
	req->extra = &extra;
	cr_expect_str_eq(list(req), "x=|p=0");
	req->upload = &all;
	cr_expect_str_eq(list(req), "x=|p=0|q=1");
	req->extra = NULL;
	req->upload = NULL;
	cr_expect_str_eq(list(req), "p=0|q=1");
	end(req);
}

Test(params, limits)
{
	struct bw_req *req;
	char           name[URLFORM_MAX_NAME + 2], *query = name;

	params_init(3, 10);
	req = request("GET", "a=1&b=2&c=3", NULL);
	cr_expect_str_eq(list(req), "a=1|b=2|c=3");
	end(req);
	req = request("GET", "a=1&b=2&c=3&d", NULL);
	cr_expect_str_eq(list(req), "-21");
	cr_assert(BW_EFORMSIZE == -21);
	end(req);
	form.value = BW_STR("application/x-www-form-urlencoded");
	req = request("POST", "a=1&b=2&c=3", "d=4");
	cr_expect_str_eq(list(req), "-21", "query and body together");
	end(req);
	req = request("POST", NULL, "a=34567890");
	cr_expect_str_eq(list(req), "a=34567890");
	end(req);
	req = request("POST", NULL, "a=345678901");
	cr_expect_str_eq(list(req), "-21");
	end(req);
	memset(name, 'n', sizeof(name));
	name[URLFORM_MAX_NAME] = '\0';
	req = request("GET", query, NULL);
	cr_expect(params_get(req, "a", &(struct bw_str){ NULL, 0 }) == BW_OK);
	end(req);
	name[URLFORM_MAX_NAME] = 'n';
	name[URLFORM_MAX_NAME + 1] = '\0';
	req = request("GET", query, NULL);
	cr_expect_str_eq(list(req), "-20");
	end(req);
}

/* A body that is gone with its client is an error, not an empty form. */
Test(params, of_a_client_that_is_gone)
{
	struct bw_req *req = request("POST", "a=1", "b=2");
	struct bw_str  value;

	form.value = BW_STR("application/x-www-form-urlencoded");
	req->body_in = NULL;
	cr_expect(params_get(req, "a", &value) == BW_EGONE);
	end(req);
}
