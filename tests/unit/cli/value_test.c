/* cli/value.c: repoinit's values in the form the database holds them. */
#include <criterion/criterion.h>
#include <repoinit/repoinit.h>
#include <value.h>

/* The value of the one property that a script with this line sets; heap. */
static char *value_of(const char *line)
{
	struct repoinit_script *script;
	struct repoinit_error   error;
	struct buf              script_text, value;

	buf_init(&script_text);
	buf_init(&value);
	buf_printf(&script_text, "set properties on /a\nset x%s\nend\n", line);
	cr_assert_eq(repoinit_parse((char *)buf_data(&script_text), buf_size(&script_text), &script,
	                            &error),
	             0, "%s: %s", line, error.text);
	value_put(&value, repoinit_first(script)->properties.lines);
	repoinit_free(script);
	buf_done(&script_text);
	return (char *)value.mem;
}

Test(value, has_the_tag_of_its_type_and_json_that_keeps_it)
{
	static const struct {
		const char *line, *want;
	} rows[] = {
		{ " to a", "{\"s\":\"a\"}" },
		{ " to \"\"", "{\"s\":\"\"}" },
		{ " to a,b", "{\"s\":[\"a\",\"b\"]}" },
		{ " to", "{\"s\":[]}" },
		{ "{String[]} to a", "{\"s\":[\"a\"]}" },
		{ " to \"q\\\"b\\\\n\nt\tu\x01 \xc3\xb6\"",
		  "{\"s\":\"q\\\"b\\\\n\\u000at\\u0009u\\u0001 \xc3\xb6\"}" },
		{ "{Long} to 007", "{\"l\":7}" },
		{ "{Long} to -0", "{\"l\":0}" },
		{ "{Long} to 9223372036854775807,-9223372036854775808",
		  "{\"l\":[9223372036854775807,-9223372036854775808]}" },
		{ "{Double} to -0.0", "{\"d\":\"-0.0\"}" },
		{ "{Boolean} to true,false", "{\"b\":[true,false]}" },
		{ "{Date} to 2026-11-30T16:20:05Z", "{\"date\":\"2026-11-30T16:20:05.000Z\"}" },
		{ "{Date} to \"2026-11-30T16:20:05.1+01:00\"",
		  "{\"date\":\"2026-11-30T16:20:05.100+01:00\"}" },
		{ "{Date} to \"2026-11-30T16:20:05.123-11:30\"",
		  "{\"date\":\"2026-11-30T16:20:05.123-11:30\"}" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *got = value_of(rows[i].line);

		cr_expect_str_eq(got, rows[i].want, "%s: %s", rows[i].line, got);
		free(got);
	}
}
