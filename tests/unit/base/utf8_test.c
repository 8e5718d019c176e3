/* base/utf8.c: what RFC 3629 calls UTF-8, and nothing else. */
#include <base/utf8.h>

#include <criterion/criterion.h>
#include <string.h>

Test(utf8, what_is_and_what_is_not)
{
	static const struct {
		const char *text;
		bool        ok;
	} rows[] = {
		{ "", true },
		{ "plain", true },
		{ "\x7f", true },
		{ "\xc2\x80\xdf\xbf", true },         /* U+0080, U+07FF */
		{ "\xe0\xa0\x80\xef\xbf\xbf", true }, /* U+0800, U+FFFF */
		{ "\xed\x9f\xbf\xee\x80\x80", true }, /* around the surrogates */
		{ "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", true },
		{ "\x80", false },
		{ "\xc0\xaf", false }, /* overlong */
		{ "\xc1\xbf", false },
		{ "\xe0\x9f\xbf", false },
		{ "\xf0\x8f\xbf\xbf", false },
		{ "\xed\xa0\x80", false }, /* a surrogate */
		{ "\xf4\x90\x80\x80", false },
		{ "\xf5\x80\x80\x80", false },
		{ "\xff", false },
		{ "a\xc3", false }, /* cut short */
		{ "\xe2\x82", false },
		{ "\xf0\x9f\x98", false },
		{ "\xc3z", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect(utf8_ok(rows[i].text, strlen(rows[i].text)) == rows[i].ok, "row %zu", i);
	cr_expect(utf8_ok("a\0b", 3), "a NUL is a character");
}
