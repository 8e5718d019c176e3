/* gateway/whiteboard/pattern.c: which texts are patterns and of what kind; which paths a filter's
 * pattern takes. */
#include <gateway/whiteboard/pattern.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(pattern, parse_tells_the_kind_and_the_key)
{
	static const struct {
		const char       *text;
		enum pattern_kind kind;
		const char       *key;
	} rows[] = {
		{ "", PATTERN_ROOT, "" },
		{ "/", PATTERN_DEFAULT, "/" },
		{ "/*", PATTERN_PREFIX, "" },
		{ "/a/*", PATTERN_PREFIX, "/a" },
		{ "/a/b/*", PATTERN_PREFIX, "/a/b" },
		{ "*.html", PATTERN_EXTENSION, "html" },
		{ "*.a.b", PATTERN_EXTENSION, "a.b" },
		{ "/a", PATTERN_EXACT, "/a" },
		{ "/a/b.x", PATTERN_EXACT, "/a/b.x" },
		{ "/%61", PATTERN_EXACT, "/%61" },
		{ "/a b", PATTERN_EXACT, "/a b" },
		{ "/.a/..b/...", PATTERN_EXACT, "/.a/..b/..." },
		{ "/\xc3\xa9", PATTERN_EXACT, "/\xc3\xa9" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pattern p;

		cr_assert(pattern_parse(bw_str(rows[i].text), &p), "\"%s\"", rows[i].text);
		cr_assert(p.kind == rows[i].kind, "\"%s\" is kind %d", rows[i].text, p.kind);
		cr_assert(bw_str_eq(p.key, bw_str(rows[i].key)), "\"%s\" has key \"%.*s\"",
		          rows[i].text, (int)p.key.n, p.key.p);
	}
}

Test(pattern, parse_refuses_what_is_none_or_can_never_match)
{
	static const char *const rows[] = {
		"a",       "a/b",  "*",     "/a*",   "/a/*b",   "/a/*/b", "/**",  "/*.html",
		"*.x/y",   "*.",   "/a/",   "//",    "//*",     "/a//b",  "/a/.", "/./a",
		"/a/../b", "/..",  "/a?b",  "/a;b",  "/a#b",    "/a\\b",  "/a\n", "/a\x7f",
		"*.a*",    "*.a?", "/a//*", "/../*", "*a.html", " /a",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pattern p = { .kind = PATTERN_DEFAULT, .key = BW_STR("untouched") };

		cr_assert(not(pattern_parse(bw_str(rows[i]), &p)), "\"%s\"", rows[i]);
		cr_assert(bw_str_eq(p.key, BW_STR("untouched")), "\"%s\" was written", rows[i]);
	}
}

Test(pattern, filters_take_whole_segments_and_ends_of_the_last_one)
{
	static const struct {
		const char *pattern, *path;
		bool        takes;
	} rows[] = {
		{ "/*", "/", true },       { "/*", "/x/y", true },      { "/", "/x/", true },
		{ "", "/", true },         { "", "/x", false },         { "/p/*", "/p", true },
		{ "/p/*", "/p/", true },   { "/p/*", "/p/x", true },    { "/p/*", "/px", false },
		{ "/p/*", "/", false },    { "/p", "/p", true },        { "/p", "/p/", false },
		{ "/p", "/p/x", false },   { "*.q", "/x.q", true },     { "*.q", "/d/x.q", true },
		{ "*.q", "/.q", true },    { "*.q", "/x.q/y", false },  { "*.q", "/xq", false },
		{ "*.q", "/x.qq", false }, { "*.a.b", "/x.a.b", true }, { "*.q", "/", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pattern p;

		cr_assert(pattern_parse(bw_str(rows[i].pattern), &p));
		cr_assert(pattern_filters(&p, bw_str(rows[i].path)) == rows[i].takes,
		          "\"%s\" and %s", rows[i].pattern, rows[i].path);
	}
}
