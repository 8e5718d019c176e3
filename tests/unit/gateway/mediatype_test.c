/* gateway/forms/mediatype.c: header values with parameters. */
#include "gateway/forms/mediatype.c"

#include <criterion/criterion.h>

Test(mediatype, is_compared_without_its_parameters)
{
	cr_expect(mediatype_is(BW_STR("text/plain"), "text/plain"));
	cr_expect(mediatype_is(BW_STR(" Text/PLAIN ; charset=utf-8"), "text/plain"));
	cr_expect(mediatype_is(BW_STR("text/plain;"), "text/plain"));
	cr_expect(!mediatype_is(BW_STR("text/plains"), "text/plain"));
	cr_expect(!mediatype_is(BW_STR("text/plai"), "text/plain"));
	cr_expect(!mediatype_is(BW_STR("text/plain, text/html"), "text/plain"));
	cr_expect(!mediatype_is(BW_STR(""), "text/plain"));
	cr_expect(!mediatype_is(BW_ABSENT, "text/plain"));
}

/* "name=value|name=value", then '!' if what follows is malformed. */
static const char *list(struct arena *a, const char *field)
{
	struct mediatype_params in = mediatype_params(bw_str(field));
	struct bw_str           name, value;
	const char             *text = "";
	int                     r;

	while ((r = mediatype_next(&in, a, &name, &value)) > 0)
		text = arena_printf(a, "%s%s%.*s=%s", text, *text ? "|" : "", (int)name.n, name.p,
		                    value.p);
	return r < 0 ? arena_printf(a, "%s!", text) : text;
}

Test(mediatype, parameters)
{
	static const struct {
		const char *field, *want;
	} rows[] = {
		{ "form-data", "" },
		{ "form-data;", "" },
		{ "form-data ; ; ;", "" },
		{ "form-data; name=a", "name=a" },
		{ "form-data;name=\"a b\";filename=\"x;y\"", "name=a b|filename=x;y" },
		{ "form-data;\tname = a", "!" }, /* no blank around '=' */
		{ "form-data; name=\"a\\\"b\\\\c\"", "name=a\"b\\c" },
		{ "form-data; filename=\"C:\\dir\\a.txt\"", "filename=C:\\dir\\a.txt" },
		{ "form-data; name=\"\"", "name=" },
		{ "x/y; boundary=--=_a:b/c", "boundary=--=_a:b/c" },
		{ "form-data; name=\"a", "!" },
		{ "form-data; name=\"a\\\"", "!" },
		{ "form-data; name=\"a\"b", "!" },
		{ "form-data; name=a b", "!" },
		{ "form-data; name=", "!" },
		{ "form-data; name", "!" },
		{ "form-data; =a", "!" },
		{ "form-data; n\xc3\xa4=a", "!" },
		{ "form-data; a=1; b", "a=1!" },
	};
	struct arena a;

	arena_init(&a);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *got = list(&a, rows[i].field);

		cr_expect_str_eq(got, rows[i].want, "%s: %s", rows[i].field, got);
	}
	arena_done(&a);
}
