/* gateway/forms/cookies.c: what is read of Cookie, what is written into Set-Cookie. */
#include "gateway/forms/cookies.c"

#include <boardwalk/form.h>
#include <criterion/criterion.h>

const struct bw_host *bw_host; /* form.h wants one; bw_cookie() does not use it */

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

/* "a=1|b=2", or "!". */
static const char *read_header(struct arena *a, const char *header)
{
	struct pairs list = { 0 };
	const char  *text = "";

	if (cookies_parse(a, bw_str(header), &list) != BW_OK)
		return "!";
	for (size_t i = 0; i < list.n; i++) {
		cr_expect(strlen(list.items[i].value.p) == list.items[i].value.n);
		text = arena_printf(a, "%s%s%s=%s", text, i ? "|" : "", list.items[i].name.p,
		                    list.items[i].value.p);
	}
	return text;
}

Test(cookies, read)
{
	static const struct {
		const char *header, *want;
	} rows[] = {
		{ "", "" },
		{ "a=1", "a=1" },
		{ "a=1; b=2", "a=1|b=2" },
		{ "a=1;b=2", "a=1|b=2" },
		{ " \ta=1 ;; b=2;", "a=1|b=2" },
		{ "a=1; a=2", "a=1|a=2" },
		{ "a=", "a=" },
		{ "a==b=c", "a==b=c" },
		{ "a=\"q\"", "a=\"q\"" },                     /* quotes are part of the value */
		{ "a={\"x\": [1, 2]}", "a={\"x\": [1, 2]}" }, /* what others in the domain set */
		{ "a=\xc3\xa4", "a=\xc3\xa4" },
		{ "A=1; a=2", "A=1|a=2" },
		{ "a", "!" },
		{ "=1", "!" },
		{ "a =1", "!" },
		{ "a=1; b", "!" },
		{ "a b=1", "!" },
		{ "\xc3\xa4=1", "!" },
		{ "a=\x01", "!" },
		{ "a=x\ty", "!" },
		{ "a=\x7f", "!" },
	};
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(read_header(&a, rows[i].header), rows[i].want, "%s",
		                 rows[i].header);
	arena_done(&a);
}

Test(cookies, of_a_request)
{
	struct bw_res_header  headers[] = { { BW_STR("cookie"), BW_STR("a=1; b=2") },
		                            { BW_STR("host"), BW_STR("c=3") },
		                            { BW_STR("Cookie"), BW_STR("a=4") } };
	struct bw_req        *req = request(headers, 3);
	const struct bw_pair *all = NULL;
	struct bw_str         value = BW_STR("x");
	size_t                n = 0;

	cr_expect(cookies_get(req, "a", &value) == BW_OK && bw_str_eq(value, BW_STR("1")));
	cr_expect(cookies_get(req, "B", &value) == BW_OK && value.p == NULL);
	cr_assert(cookies_all(req, &all, &n) == BW_OK && n == 3);
	cr_expect(bw_str_eq(all[2].name, BW_STR("a")) && bw_str_eq(all[2].value, BW_STR("4")));
	end(req);
}

Test(cookies, a_malformed_header_stays_an_error)
{
	struct bw_res_header  h = { BW_STR("cookie"), BW_STR("a=1; b") };
	struct bw_req        *req = request(&h, 1);
	const struct bw_pair *all;
	struct bw_str         value = BW_STR("x");
	size_t                n = 7;

	cr_expect(cookies_get(req, "a", &value) == BW_ESYNTAX && bw_str_eq(value, BW_STR("x")));
	cr_expect(cookies_all(req, &all, &n) == BW_ESYNTAX && n == 7);
	end(req);
}

/* What is sent, "!" if nothing is. */
static const char *sent(struct bw_req *req, const struct bw_cookie *c)
{
	req->n_res_headers = 0;
	if (cookies_add(req, c) != BW_OK)
		return req->n_res_headers == 0 ? "!" : "an error, and a header";
	cr_assert(req->n_res_headers == 1);
	cr_assert(bw_str_eq(req->res_headers[0].name, BW_STR("set-cookie")));
	return req->res_headers[0].value.p;
}

Test(cookies, written_with_safe_defaults)
{
	struct bw_req   *req = request(NULL, 0);
	struct bw_cookie c = bw_cookie("theme", BW_STR("dark"));

	req->scheme = BW_STR("http");
	cr_expect_str_eq(sent(req, &c), "theme=dark; HttpOnly; SameSite=Lax");
	req->scheme = BW_STR("https");
	cr_expect_str_eq(sent(req, &c), "theme=dark; Secure; HttpOnly; SameSite=Lax");
	req->scheme = BW_STR("http");
	c.path = "/shop";
	c.domain = "shop.example";
	c.max_age_s = 3600;
	c.http_only = false;
	c.same_site = BW_SAME_SITE_STRICT;
	cr_expect_str_eq(sent(req, &c),
	                 "theme=dark; Path=/shop; Domain=shop.example; Max-Age=3600; "
	                 "SameSite=Strict");
	c = bw_cookie("gone", BW_ABSENT);
	c.max_age_s = 0;
	c.secure = true;
	c.same_site = BW_SAME_SITE_NONE;
	cr_expect_str_eq(sent(req, &c), "gone=; Max-Age=0; Secure; HttpOnly; SameSite=None");
	c = bw_cookie("q", BW_STR("\"quoted\""));
	cr_expect_str_eq(sent(req, &c), "q=\"quoted\"; HttpOnly; SameSite=Lax");
	end(req);
}

Test(cookies, two_are_two_headers)
{
	struct bw_req   *req = request(NULL, 0);
	struct bw_cookie c = bw_cookie("a", BW_STR("1"));

	cr_expect(cookies_add(req, &c) == BW_OK && cookies_add(req, &c) == BW_OK);
	cr_expect(req->n_res_headers == 2);
	req->committed = true;
	cr_expect(cookies_add(req, &c) == BW_ESTATE && req->n_res_headers == 2);
	end(req);
}

static const char *with(struct bw_req *req, const char *name, const char *value, const char *path,
                        const char *domain)
{
	struct bw_cookie c = bw_cookie(name, bw_str(value));

	c.path = path;
	c.domain = domain;
	return sent(req, &c);
}

Test(cookies, what_is_not_written)
{
	struct bw_req   *req = request(NULL, 0);
	struct bw_cookie c;
	static char      large[4097];

	static const char *const names[] = { NULL, "", "a b", "a=b", "a;b", "a\r\nb", "\xc3\xa4" };
	static const char *const values[] = { "a b",     "a,b",      "a;b",     "a\\b",
		                              "a\"b",    "\"",       "a\nb",    "\x7f",
		                              "\"a;b\"", "\xc3\xa4", "\"a\"b\"" };
	static const char *const paths[] = { "", "a", "/a;b", "/a\r\nSet-Cookie: b=c" };
	static const char *const domains[] = { "", "a b", "a;b", "a\r\nb", "\xc3\xa4.example" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		cr_expect_str_eq(with(req, names[i], "v", NULL, NULL), "!", "name %zu", i);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		cr_expect_str_eq(with(req, "n", values[i], NULL, NULL), "!", "value %zu", i);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		cr_expect_str_eq(with(req, "n", "v", paths[i], NULL), "!", "path %zu", i);
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		cr_expect_str_eq(with(req, "n", "v", NULL, domains[i]), "!", "domain %zu", i);
	memset(large, 'x', sizeof(large) - 1);
	cr_expect_str_eq(with(req, "n", large, NULL, NULL), "!");
	large[4095] = '\0';
	cr_expect_str_neq(with(req, "n", large, NULL, NULL), "!");
	c = bw_cookie("n", BW_STR("v"));
	c.same_site = BW_SAME_SITE_NONE;
	cr_expect_str_eq(sent(req, &c), "!", "None without Secure");
	c.same_site = (enum bw_same_site)3;
	cr_expect_str_eq(sent(req, &c), "!");
	c = bw_cookie("n", BW_STR("v"));
	c.size = 8;
	cr_expect_str_eq(sent(req, &c), "!");
	end(req);
}

Test(cookies, prefixes_that_clients_insist_on)
{
	struct bw_req   *req = request(NULL, 0);
	struct bw_cookie c = bw_cookie("__Secure-a", BW_STR("v"));

	cr_expect_str_eq(sent(req, &c), "!");
	c.secure = true;
	cr_expect_str_eq(sent(req, &c), "__Secure-a=v; Secure; HttpOnly; SameSite=Lax");
	c.name = "__Host-a";
	cr_expect_str_eq(sent(req, &c), "!", "no path");
	c.path = "/a";
	cr_expect_str_eq(sent(req, &c), "!");
	c.path = "/";
	cr_expect_str_eq(sent(req, &c), "__Host-a=v; Path=/; Secure; HttpOnly; SameSite=Lax");
	c.domain = "a.example";
	cr_expect_str_eq(sent(req, &c), "!");
	end(req);
}
