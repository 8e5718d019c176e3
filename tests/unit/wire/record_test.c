/* lib/wire/record.c: what is built is read back; whatever else comes is refused or can at least be
 * walked without leaving it (run with the address sanitizer, that is the point). */
#include <criterion/criterion.h>
#include <wire/record.h>

static struct buf out;

static size_t build(void)
{
	size_t at, prop;

	buf_init(&out);
	buf_append(&out, "xyz", 3); /* a record need not begin at the start of the buffer */
	at = record_begin(&out, 42, 7, BW_STR("/content/test"), BW_STR("nt:unstructured"),
	                  BW_STR("demo/test"), BW_STR("demo/base"));
	record_put_chain(&out, at, BW_STR("demo/base"));
	record_put_chain(&out, at, BW_STR("sling/servlet/default"));
	prop = record_put_prop(&out, at, BW_STR("a"), BW_VALUE_LONG, false);
	record_put_value(&out, prop, BW_STR("-5"));
	record_put_prop(&out, at, BW_STR("empty"), BW_VALUE_STRING, true);
	prop = record_put_prop(&out, at, BW_STR("many"), BW_VALUE_URI, true);
	record_put_value(&out, prop, BW_STR("one"));
	record_put_value(&out, prop, BW_STR(""));
	record_put_value(&out, prop, BW_STR("a\0b"));
	record_end(&out, at);
	return at;
}

static void assert_str(struct bw_str s, const char *expected)
{
	cr_assert(s.n == strlen(expected) && memcmp(s.p, expected, s.n) == 0, "%.*s is not %s",
	          (int)s.n, s.p, expected);
	cr_assert(s.p[s.n] == '\0', "no NUL behind %s", expected);
}

Test(record, what_is_built_is_read_back)
{
	size_t             at = build();
	const uint8_t     *p = buf_data(&out) + at;
	struct record      r;
	struct record_prop prop;

	cr_assert_eq(record_get(p, buf_size(&out) - at, &r), BW_OK);
	cr_assert_eq(r.size, (unsigned)(buf_size(&out) - at));
	cr_assert(r.p == p && r.id == 42 && r.version == 7 && r.n_chain == 2 && r.n_props == 3);
	assert_str(r.path, "/content/test");
	assert_str(r.name, "test");
	assert_str(r.primary_type, "nt:unstructured");
	assert_str(r.resource_type, "demo/test");
	assert_str(r.super_type, "demo/base");
	assert_str(record_chain(&r, 0), "demo/base");
	assert_str(record_chain(&r, 1), "sling/servlet/default");
	cr_assert_null(record_chain(&r, 2).p);

	cr_assert(record_prop(&r, BW_STR("a"), &prop));
	cr_assert(prop.type == BW_VALUE_LONG && !prop.multiple && prop.n == 1);
	assert_str(record_value(&r, &prop, 0), "-5");
	cr_assert_null(record_value(&r, &prop, 1).p);
	cr_assert(record_prop(&r, BW_STR("empty"), &prop));
	cr_assert(prop.multiple && prop.n == 0);
	cr_assert_null(record_value(&r, &prop, 0).p);
	cr_assert(record_prop(&r, BW_STR("many"), &prop));
	cr_assert(prop.type == BW_VALUE_URI && prop.multiple && prop.n == 3);
	assert_str(record_value(&r, &prop, 0), "one");
	assert_str(record_value(&r, &prop, 1), "");
	cr_assert(bw_str_eq(record_value(&r, &prop, 2), BW_STR("a\0b")));

	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = { "a", "empty", "many" };

		cr_assert(record_prop_at(&r, i, &prop));
		assert_str(prop.name, names[i]);
	}
	cr_assert_not(record_prop_at(&r, 3, &prop));
	buf_done(&out);
}

Test(record, absent_property_is_not_found)
{
	static const char *const absent[] = { "",       "A",   "aa",    "b", "emp",
		                              "empty0", "man", "many!", "z" };
	size_t                   at = build();
	struct record            r;
	struct record_prop       prop;

	cr_assert_eq(record_get(buf_data(&out) + at, buf_size(&out) - at, &r), BW_OK);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		cr_assert(!record_prop(&r, bw_str(absent[i]), &prop), "%s", absent[i]);
	cr_assert_not(record_prop(&r, BW_ABSENT, &prop));
	buf_done(&out);
}

Test(record, root_has_an_empty_name_and_types_may_be_missing)
{
	struct record r;
	size_t        at;

	buf_init(&out);
	at = record_begin(&out, 1, 1, BW_STR("/"), BW_STR("rep:root"), BW_ABSENT, BW_STR(""));
	record_end(&out, at);
	cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_OK);
	assert_str(r.name, "");
	cr_assert(r.resource_type.n == 0 && r.super_type.n == 0);
	buf_done(&out);
}

/* A block of exactly n octets, so that a step beyond is seen. */
static uint8_t *exact(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	memcpy(copy, p, n);
	return copy;
}

static void walk(const struct record *r)
{
	struct record_prop prop;
	size_t             sum = r->path.n + r->name.n;

	for (unsigned i = 0; i < r->n_chain; i++)
		sum += record_chain(r, i).n;
	for (unsigned i = 0; record_prop_at(r, i, &prop); i++) {
		for (unsigned j = 0; j < prop.n; j++)
			sum += record_value(r, &prop, j).n;
		cr_assert(record_prop(r, prop.name, &prop));
	}
	cr_assert_lt(sum, r->size);
}

Test(record, every_truncation_is_refused)
{
	size_t        at = build(), whole = buf_size(&out) - at;
	struct record r;

	for (size_t n = 0; n < whole; n++) {
		uint8_t *p = exact(buf_data(&out) + at, n);

		cr_assert(record_get(p, n, &r) == BW_EPROTO, "%zu of %zu octets", n, whole);
		if (n >= 4) { /* and when it says itself that it is shorter */
			memcpy(p, &(uint32_t){ (uint32_t)n }, 4);
			cr_assert(record_get(p, n, &r) == BW_EPROTO, "cut to %zu octets", n);
		}
		free(p);
	}
	buf_done(&out);
}

Test(record, every_changed_octet_is_refused_or_harmless)
{
	static const uint8_t masks[] = { 0x01, 0x80, 0xff, 0x7f, 0x04 };
	size_t               at = build(), whole = buf_size(&out) - at, refused = 0;
	struct record        r;

	for (size_t i = 0; i < whole; i++) {
		for (size_t j = 0; j < sizeof(masks); j++) {
			uint8_t *p = exact(buf_data(&out) + at, whole);

			p[i] ^= masks[j];
			if (record_get(p, whole, &r) == BW_OK)
				walk(&r);
			else
				refused++;
			free(p);
		}
	}
	cr_assert_gt(refused, whole); /* sizes, counts and NULs are most of it */
	buf_done(&out);
}

Test(record, what_breaks_the_rules_is_refused)
{
	struct record r;
	size_t        at, prop;

	buf_init(&out); /* properties out of order */
	at = record_begin(&out, 1, 1, BW_STR("/a"), BW_STR("t"), BW_ABSENT, BW_ABSENT);
	prop = record_put_prop(&out, at, BW_STR("b"), BW_VALUE_STRING, false);
	record_put_value(&out, prop, BW_STR(""));
	prop = record_put_prop(&out, at, BW_STR("a"), BW_VALUE_STRING, false);
	record_put_value(&out, prop, BW_STR(""));
	record_end(&out, at);
	cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_EPROTO);
	buf_clear(&out); /* the same name twice */
	at = record_begin(&out, 1, 1, BW_STR("/a"), BW_STR("t"), BW_ABSENT, BW_ABSENT);
	record_put_prop(&out, at, BW_STR("a"), BW_VALUE_STRING, true);
	record_put_prop(&out, at, BW_STR("a"), BW_VALUE_STRING, true);
	record_end(&out, at);
	cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_EPROTO);
	buf_clear(&out); /* a single value that is none */
	at = record_begin(&out, 1, 1, BW_STR("/a"), BW_STR("t"), BW_ABSENT, BW_ABSENT);
	record_put_prop(&out, at, BW_STR("a"), BW_VALUE_STRING, false);
	record_end(&out, at);
	cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_EPROTO);
	buf_clear(&out); /* a type that is none */
	at = record_begin(&out, 1, 1, BW_STR("/a"), BW_STR("t"), BW_ABSENT, BW_ABSENT);
	record_put_prop(&out, at, BW_STR("a"), BW_VALUE_BINARY + 1, true);
	record_end(&out, at);
	cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_EPROTO);
	buf_clear(&out); /* a path that is none */
	at = record_begin(&out, 1, 1, BW_STR("a/b"), BW_STR("t"), BW_ABSENT, BW_ABSENT);
	record_end(&out, at);
	cr_assert_eq(record_get(buf_data(&out), buf_size(&out), &r), BW_EPROTO);
	buf_done(&out);
}

Test(record, more_values_than_can_be_counted_make_it_too_large_for_a_frame)
{
	size_t at, prop;

	buf_init(&out);
	at = record_begin(&out, 1, 1, BW_STR("/a"), BW_STR("t"), BW_ABSENT, BW_ABSENT);
	prop = record_put_prop(&out, at, BW_STR("a"), BW_VALUE_STRING, true);
	for (unsigned i = 0; i < 70000; i++)
		record_put_value(&out, prop, BW_STR(""));
	record_end(&out, at);
	cr_assert_gt(buf_size(&out), 262144);
	buf_done(&out);
}
