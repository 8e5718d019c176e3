/* gateway/security/basic.c: what is no valid header never gets to auth, whatever it is. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/security/basic.c>
#include <stdio.h>

Test(basic, decodes_canonical_base64_only)
{
	static const struct {
		const char *text, *octets; /* NULL: refused */
	} cases[] = {
		{ "YQ==", "a" },
		{ "YWI=", "ab" },
		{ "YWJj", "abc" },
		{ "YWJjZA==", "abcd" },
		{ "+/+/", "\xfb\xff\xbf" },
		{ "", NULL },
		{ "Y", NULL },
		{ "YQ", NULL },
		{ "YQ=", NULL },
		{ "YR==", NULL },
		{ "YWJ=", NULL },
		{ "YQ==YQ==", NULL },
		{ "=", NULL },
		{ "====", NULL },
		{ "Y===", NULL },
		{ "Y=Q=", NULL },
		{ "YWJj ", NULL },
		{ "YW Jj", NULL },
		{ "-_-_", NULL },
		{ "YWJj\n", NULL },
		{ "YQ==\xc3", NULL },
		{ "\xff\xff\xff\xff", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char   out[16] = "";
		size_t n = 0;
		bool   good = decode_base64(bw_str(cases[i].text), out, sizeof(out), &n);

		cr_assert(eq(int, good, cases[i].octets != NULL), "%s", cases[i].text);
		if (good)
			cr_assert(n == strlen(cases[i].octets) &&
			          memcmp(out, cases[i].octets, n) == 0);
	}
}

Test(basic, writes_no_octet_beyond_the_room)
{
	char   out[5] = { 0, 0, 0, 0, 'x' };
	size_t n;

	cr_assert(decode_base64(BW_STR("YWJjZA=="), out, 4, &n) == true);
	cr_assert(decode_base64(BW_STR("YWJjZGU="), out, 4, &n) == false);
	cr_assert(out[4] == 'x');
}

Test(basic, takes_utf8_without_controls)
{
	static const struct {
		const char *text;
		bool        good;
	} cases[] = {
		{ "ada", true },
		{ "", true },
		{ "\xc3\xa9", true },
		{ "\xe2\x82\xac", true },
		{ "\xf0\x9f\x98\x80", true },
		{ "\xf4\x8f\xbf\xbf", true },
		{ "a\nb", false },
		{ "a\x7f", false },
		{ "\xc2\x85", false },
		{ "\xc2\xa0", true },
		{ "\xc0\x80", false },
		{ "\xc1\xbf", false },
		{ "\xe0\x80\x80", false },
		{ "\xed\xa0\x80", false },
		{ "\xf4\x90\x80\x80", false },
		{ "\xf8\x88\x80\x80\x80", false },
		{ "\x80", false },
		{ "\xc3", false },
		{ "\xe2\x82", false },
		{ "\xff", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert(eq(int, basic_is_text(bw_str(cases[i].text)), cases[i].good), "case %zu",
		          i);
	cr_assert(basic_is_text((struct bw_str){ "a\0b", 3 }) == false);
}

static enum auth_verdict try(const char *value, struct auth_credentials *c)
{
	const char       *headers[] = { value ? "authorization" : NULL, value, NULL };
	struct bw_req    *req = fake_request("GET", "/x", headers);
	enum auth_verdict verdict = extract(&basic_handler, req, c);

	fake_request_free(req);
	return verdict;
}

/* "Basic " and the base64 of n times 'u', a colon, m times 'p'. */
static const char *header_of(size_t n, size_t m)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static char text[4096];
	size_t      at = (size_t)snprintf(text, sizeof(text), "Basic "), total = n + 1 + m;

	for (size_t i = 0; i < total; i += 3) {
		uint32_t bits = 0;

		for (size_t k = i; k < i + 3; k++)
			bits = bits << 8 | (k >= total ? 0 : k < n ? 'u' : k == n ? ':' : 'p');
		text[at++] = alphabet[bits >> 18];
		text[at++] = alphabet[bits >> 12 & 63];
		text[at++] = i + 1 < total ? alphabet[bits >> 6 & 63] : '=';
		text[at++] = i + 2 < total ? alphabet[bits & 63] : '=';
	}
	text[at] = '\0';
	return text;
}

Test(basic, bounds_name_and_password)
{
	static const struct {
		size_t            user, password;
		enum auth_verdict verdict;
	} cases[] = {
		{ 1, 0, AUTH_CREDENTIALS }, { 255, 1024, AUTH_CREDENTIALS },
		{ 256, 1, AUTH_FAILED },    { 1, 1025, AUTH_FAILED },
		{ 0, 5, AUTH_FAILED },      { 1, 1281, AUTH_FAILED },
		{ 700, 700, AUTH_FAILED },  { 1400, 1400, AUTH_FAILED },
	};
	struct auth_credentials c;

	log_init("test", LOG_LEVEL_ERROR);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum auth_verdict verdict = try(header_of(cases[i].user, cases[i].password), &c);

		cr_assert(eq(int, verdict, cases[i].verdict), "%zu:%zu", cases[i].user,
		          cases[i].password);
		if (verdict == AUTH_CREDENTIALS)
			cr_assert(c.user.n == cases[i].user && c.password.n == cases[i].password);
	}
}

Test(basic, claims_its_own_scheme_alone)
{
	struct auth_credentials c;

	cr_assert(eq(int, try(NULL, &c), AUTH_NOT_MINE));
	cr_assert(eq(int, try("Basic", &c), AUTH_NOT_MINE));
	cr_assert(eq(int, try("Basic ", &c), AUTH_NOT_MINE));
	cr_assert(eq(int, try("Basicx YQ==", &c), AUTH_NOT_MINE));
	cr_assert(eq(int, try("Bearer YQ==", &c), AUTH_NOT_MINE));
	cr_assert(eq(int, try("BASIC YTpiOmM=", &c), AUTH_CREDENTIALS));
	cr_assert(bw_str_eq(c.user, BW_STR("a")) && bw_str_eq(c.password, BW_STR("b:c")));
}

Test(basic, quotes_the_realm)
{
	struct gateway_settings settings = { .realm = (char *)"a \"b\" \\c" };

	basic_init(&settings);
	cr_assert_str_eq(challenge, "Basic realm=\"a \\\"b\\\" \\\\c\", charset=\"UTF-8\"");
	basic_done();
}

Test(basic, stops_the_start_on_a_realm_that_is_no_header, .exit_code = 1)
{
	struct gateway_settings settings = { .realm = (char *)"a\r\nSet-Cookie: x" };

	basic_init(&settings);
}
