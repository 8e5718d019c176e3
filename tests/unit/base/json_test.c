/* lib/base/json.c: brackets and commas, and that whatever octets a string has, what comes out is
 * JSON. */
#include <base/json.c>

#include <criterion/criterion.h>
#include <stdlib.h>

static char *text_of(struct buf *b)
{
	char *text;

	buf_append(b, "", 1);
	text = strdup((char *)buf_data(b));
	buf_done(b);
	return text;
}

#define EXPECT(b, want) \
	do { \
		char *got_ = text_of(b); \
		cr_expect_str_eq(got_, want, "%s", got_); \
		free(got_); \
	} while (0)

Test(json, commas_stand_between_what_is_told)
{
	struct buf      b;
	struct json_out j;

	buf_init(&b);
	json_out_init(&j, &b);
	json_out_object(&j);
	json_out_key(&j, "empty");
	json_out_array(&j);
	json_out_array_end(&j);
	json_out_key(&j, "list");
	json_out_array(&j);
	json_out_int(&j, INT64_MIN);
	json_out_bool(&j, true);
	json_out_object(&j);
	json_out_object_end(&j);
	json_out_object(&j);
	json_out_key(&j, "a\"b");
	json_out_null(&j);
	json_out_object_end(&j);
	json_out_bool(&j, false);
	json_out_array_end(&j);
	json_out_key(&j, "last");
	json_out_text(&j, NULL);
	json_out_object_end(&j);
	EXPECT(&b, "{\"empty\":[],\"list\":[-9223372036854775808,true,{},{\"a\\\"b\":null},false],"
	           "\"last\":null}");
}

Test(json, a_string_may_have_any_octets)
{
	static const struct {
		const char *octets;
		size_t      n;
		const char *want;
	} rows[] = {
		{ "", 0, "\"\"" },
		{ "a/b \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 15,
		  "\"a/b \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"" },
		{ "\"\\\n\r\t\x01\x7f\0z", 9, "\"\\\"\\\\\\n\\r\\t\\u0001\\u007f\\u0000z\"" },
		{ "\xff", 1, "\"\xef\xbf\xbd\"" },
		{ "x\xc3", 2, "\"x\xef\xbf\xbd\"" },               /* cut off */
		{ "\xc0\xaf", 2, "\"\xef\xbf\xbd\xef\xbf\xbd\"" }, /* overlong */
		{ "\xe0\x80\xaf", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
		{ "\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* surrogate */
		{ "\xf4\x90\x80\x80", 4,
		  "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" }, /* above U+10FFFF */
		{ "\x80"
		  "a",
		  2,
		  "\"\xef\xbf\xbd"
		  "a\"" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf      b;
		struct json_out j;

		buf_init(&b);
		json_out_init(&j, &b);
		json_out_string(&j, rows[i].octets, rows[i].n);
		EXPECT(&b, rows[i].want);
	}
}

Test(json, a_double_is_read_back_as_it_was)
{
	struct buf      b;
	struct json_out j;

	buf_init(&b);
	json_out_init(&j, &b);
	json_out_array(&j);
	json_out_double(&j, 0.1);
	json_out_double(&j, 1e308 * 10);
	json_out_double(&j, -2.5);
	json_out_array_end(&j);
	EXPECT(&b, "[0.10000000000000001,null,-2.5]");
}

Test(json, too_deep_a_nesting_is_a_mistake_of_the_program, .exit_code = 1)
{
	struct buf      b;
	struct json_out j;

	buf_init(&b);
	json_out_init(&j, &b);
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		json_out_array(&j);
}
