/* gateway/engine/pathinfo.c: what is left of a path behind the resource is split as Sling does. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/engine/pathinfo.c>
#include <stdio.h>

static void check(struct bw_str got, const char *want, const char *part, const char *of)
{
	cr_assert(bw_str_eq(got, bw_str(want)), "%s of \"%s\": got %.*s", part, of, (int)got.n,
	          got.p ? got.p : "");
}

Test(pathinfo, splits_selectors_extension_and_suffix)
{
	static const struct {
		const char *left, *selectors, *extension, *suffix;
	} cases[] = {
		{ "", NULL, NULL, NULL },
		{ ".", NULL, NULL, NULL },
		{ "..", NULL, NULL, NULL },
		{ "...", NULL, NULL, NULL },
		{ "/", NULL, NULL, "/" },
		{ "./s", NULL, NULL, "/s" },
		{ ".html", NULL, "html", NULL },
		{ ".html/", NULL, "html", "/" },
		{ ".html/a.b/c", NULL, "html", "/a.b/c" },
		{ ".a.html", "a", "html", NULL },
		{ ".a.b.html/x", "a.b", "html", "/x" },
		{ "..html", NULL, "html", NULL },
		{ "...html", NULL, "html", NULL },
		{ ".a..html", "a.", "html", NULL },
		{ "..a.html", ".a", "html", NULL },
		{ ".a..b.html", "a..b", "html", NULL },
		{ ".a.", "a", NULL, NULL },
		{ ".a./x", "a", NULL, "/x" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pathinfo p;

		pathinfo_split(bw_str(cases[i].left), &p);
		check(p.selectors, cases[i].selectors, "selectors", cases[i].left);
		check(p.extension, cases[i].extension, "extension", cases[i].left);
		check(p.suffix, cases[i].suffix, "suffix", cases[i].left);
	}
	{
		struct pathinfo p;

		pathinfo_split(BW_ABSENT, &p);
		cr_assert(p.selectors.p == NULL && p.extension.p == NULL && p.suffix.p == NULL);
	}
}

Test(pathinfo, cuts_before_the_last_dot_wherever_it_is)
{
	static const struct {
		const char *path, *cuts;
	} cases[] = {
		{ "/a/b", "/a/b" },
		{ "/a/b/", "/a/b" },
		{ "/a/b//", "/a/b" },
		{ "/", "/" },
		{ "", "/" },
		{ "/a.x/b.y.z", "/a.x/b.y.z /a.x/b.y /a.x/b /a" },
		{ "/.1.json", "/.1.json /.1 /" },
		{ ".x", ".x" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bw_str at = pathinfo_first(bw_str(cases[i].path));
		char          got[128] = "";

		do {
			size_t n = strlen(got);

			snprintf(got + n, sizeof(got) - n, "%s%.*s", n ? " " : "", (int)at.n, at.p);
		} while (pathinfo_cut(&at));
		cr_assert_str_eq(got, cases[i].cuts);
	}
}

Test(pathinfo, lists_selectors_without_empty_ones_at_the_end)
{
	static const struct {
		const char *text, *list;
	} cases[] = { { "a", "[a]" },    { "a.b", "[a][b]" },    { "a.b..", "[a][b]" },
		      { ".a", "[][a]" }, { "a..b", "[a][][b]" }, { "", "" },
		      { "...", "" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bw_str rest = bw_str(cases[i].text), one;
		char          got[64] = "";

		while (pathinfo_selector(&rest, &one)) {
			size_t n = strlen(got);

			snprintf(got + n, sizeof(got) - n, "[%.*s]", (int)one.n, one.p);
		}
		cr_assert_str_eq(got, cases[i].list);
	}
}

Test(pathinfo, refuses_empty_selectors_and_segments_of_dots)
{
	static const struct {
		const char *path, *selectors;
		bool        valid;
	} cases[] = {
		{ "/a/b", NULL, true },      { "/a/b", "x.y", true },
		{ "/a/b", "x.", true },      { "/a/b", ".x", false },
		{ "/a/b", "x..y", false },   { "/a/b", "x. .y", false },
		{ "/a/./b", NULL, true },    { "/a/..", NULL, false },
		{ "/a/.../b", NULL, false }, { "/a/.[.}/b", NULL, false },
		{ "/a/[}/b", NULL, true },   { "/a/..b", NULL, true },
		{ "/a/b../c", NULL, true },  { "..", NULL, false },
		{ NULL, NULL, true },        { "/a/.[/b", NULL, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct pathinfo p = { bw_str(cases[i].path), bw_str(cases[i].selectors), BW_ABSENT,
			              BW_ABSENT };

		cr_assert(eq(int, pathinfo_is_valid(&p), cases[i].valid), "case %zu", i);
	}
}
