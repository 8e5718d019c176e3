/* Under test: repo/encode.c. What repo.value_check lets in becomes a record that the gateway can
 * read; what it does not is an error, never a wrong value. */
#include <criterion/criterion.h>
#include <repo/encode.h>
#include <stdio.h>
#include <wire/record.h>

static char  apps[] = "/apps/";
static char *search_path[] = { apps };

static struct type_graph *types;
static struct buf         out;

static void begin(void)
{
	types = type_graph_new(search_path, 1);
	buf_init(&out);
}

static void end(void)
{
	type_graph_free(types);
	buf_done(&out);
}

TestSuite(encode, .init = begin, .fini = end);

static int encode(const char *properties, uint32_t *ret_props_at)
{
	struct encode_row row = {
		.id = 7,
		.version = 3,
		.path = BW_STR("/a/b"),
		.primary_type = BW_STR("nt:unstructured"),
		.resource_type = BW_STR("t/one"),
		.properties = bw_str(properties),
	};
	bool cycle;

	buf_clear(&out);
	return encode_record(&out, &row, types, ret_props_at, &cycle);
}

Test(encode, values_of_each_type)
{
	static const struct {
		const char        *json;
		enum bw_value_type type;
		bool               multiple;
		const char        *values; /* each followed by a blank */
	} cases[] = {
		{ "{\"s\":\"\"}", BW_VALUE_STRING, false, " " },
		{ "{\"s\":[\"a\",\"\\u00e9\"]}", BW_VALUE_STRING, true, "a \xc3\xa9 " },
		{ "{\"s\":[]}", BW_VALUE_STRING, true, "" },
		{ "{\"l\":-9223372036854775808}", BW_VALUE_LONG, false, "-9223372036854775808 " },
		{ "{\"l\":[0,9223372036854775807]}", BW_VALUE_LONG, true,
		  "0 9223372036854775807 " },
		{ "{\"b\":true}", BW_VALUE_BOOLEAN, false, "true " },
		{ "{\"b\":[false]}", BW_VALUE_BOOLEAN, true, "false " },
		{ "{\"d\":\"NaN\"}", BW_VALUE_DOUBLE, false, "NaN " },
		{ "{\"dec\":\"1.50\"}", BW_VALUE_DECIMAL, false, "1.50 " },
		{ "{\"date\":\"2026-11-30T16:20:05.123Z\"}", BW_VALUE_DATE, false,
		  "2026-11-30T16:20:05.123Z " },
		{ "{\"name\":\"n\"}", BW_VALUE_NAME, false, "n " },
		{ "{\"path\":\"/p\"}", BW_VALUE_PATH, false, "/p " },
		{ "{\"ref\":\"r\"}", BW_VALUE_REFERENCE, false, "r " },
		{ "{\"weak\":\"w\"}", BW_VALUE_WEAKREFERENCE, false, "w " },
		{ "{\"uri\":\"u\"}", BW_VALUE_URI, false, "u " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char               json[128], values[128] = "";
		uint32_t           props_at;
		struct record      r;
		struct record_prop p;

		snprintf(json, sizeof(json), "{\"p\":%s}", cases[i].json);
		cr_assert_eq(encode(json, &props_at), BW_OK, "%s", json);
		cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_OK, "%s", json);
		cr_assert(r.n_props == 1 && record_prop(&r, BW_STR("p"), &p));
		cr_assert(p.type == cases[i].type && p.multiple == cases[i].multiple, "%s", json);
		for (unsigned k = 0; k < p.n; k++)
			snprintf(values + strlen(values), sizeof(values) - strlen(values), "%s ",
			         record_value(&r, &p, k).p);
		cr_assert_str_eq(values, cases[i].values, "%s", json);
	}
}

/* By octets, whatever order PostgreSQL keeps them in: readers search and stop early. */
Test(encode, properties_are_sorted_and_can_be_left_out)
{
	static const char *const order[] = { "B", "a", "a:", "aa", "b", "jcr:title", "\xc3\xa9" };
	uint32_t                 props_at;
	struct record            r;
	struct record_prop       p;
	struct buf               stripped;

	cr_assert_eq(encode("{\"\xc3\xa9\":{\"s\":\"x\"},\"b\":{\"s\":\"x\"},\"a\":{\"s\":\"x\"},"
	                    "\"aa\":{\"s\":\"x\"},\"B\":{\"s\":\"x\"},\"a:\":{\"s\":\"x\"},"
	                    "\"jcr:title\":{\"s\":\"x\"}}",
	                    &props_at),
	             BW_OK);
	cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_OK);
	cr_assert_eq(r.n_props, 7);
	for (unsigned i = 0; i < 7; i++) {
		cr_assert(record_prop_at(&r, i, &p) && bw_str_eq(p.name, bw_str(order[i])), "%s",
		          order[i]);
		cr_assert(record_prop(&r, bw_str(order[i]), &p));
	}
	buf_init(&stripped);
	encode_stripped(&stripped, buf_data(&out), props_at);
	cr_assert_eq(record_get(buf_data(&stripped), buf_size(&stripped), &r), BW_OK);
	cr_assert(r.n_props == 0 && r.id == 7 && r.version == 3 &&
	          bw_str_eq(r.path, BW_STR("/a/b")));
	cr_assert(bw_str_eq(r.resource_type, BW_STR("t/one")) && r.size == props_at);
	cr_assert(!record_prop(&r, BW_STR("b"), &p));
	buf_done(&stripped);
}

Test(encode, what_is_stored_wrongly)
{
	static const char *const bad[] = {
		"",
		"[]",
		"1",
		"{\"p\":1}",
		"{\"p\":{}}",
		"{\"p\":\"x\"}",
		"{\"p\":{\"q\":\"x\"}}",
		"{\"p\":{\"s\":\"x\",\"l\":1}}",
		"{\"p\":{\"s\":1}}",
		"{\"p\":{\"l\":\"1\"}}",
		"{\"p\":{\"l\":1.5}}",
		"{\"p\":{\"b\":1}}",
		"{\"p\":{\"s\":null}}",
		"{\"p\":{\"s\":[\"x\",null]}}",
		"{\"p\":{\"s\":{}}}",
		"{\"p\":{\"s\":\"x\"}",
		"{\"p\":{\"s\":\"\\u0000\"}}",
	};
	uint32_t props_at;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(encode(bad[i], &props_at), BW_EIO, "%s", bad[i]);
	cr_assert_eq(encode("{}", &props_at), BW_OK);
}
