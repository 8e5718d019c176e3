/* Under test: lib/wire/session.c. What was put is got, cut or lengthened records are refused, and
 * ids, names and values are judged as wire/session.h says. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <wire/session.h>

static const struct session_value values[] = {
	{ BW_STR("a"), BW_STR("text \0 and octets \xff"), SESSION_STRING },
	{ BW_STR("b"), BW_STR("\0\0\0\0\0\0\0\1"), SESSION_LONG },
	{ BW_STR("\xc3\xa9"), BW_STR("\2\0\0\0xy\0\0\0\0"), SESSION_STRINGS },
	{ BW_STR("\xf4\x8f\xbf\xbf"), BW_STR(""), SESSION_STRING },
	{ BW_STR("z"), BW_STR("\1\0\1"), SESSION_BOOLEANS },
};
#define N_VALUES (sizeof(values) / sizeof(values[0]))

static void build(struct buf *out)
{
	struct session_record r = {
		.what = SESSION_ENDED,
		.max_inactive = -1,
		.created_us = 1796000000000000,
		.accessed_us = UINT64_MAX,
		.lease_us = 3,
		.context = BW_STR("acme.shop"),
	};
	size_t at;

	buf_init(out);
	at = session_record_begin(out, &r);
	for (size_t i = 0; i < N_VALUES; i++)
		session_record_put(out, at, &values[i]);
}

/* From a block of exactly that size. */
static int get(const uint8_t *p, size_t n, struct session_record *ret)
{
	uint8_t *exact = malloc(n > 0 ? n : 1);
	int      err;

	memcpy(exact, p, n);
	err = session_record_get(exact, n, ret);
	free(exact);
	return err;
}

Test(session, round_trip)
{
	struct session_record r;
	struct session_value  v;
	struct buf            b;
	const uint8_t        *at;

	build(&b);
	cr_assert_eq(session_record_get(buf_data(&b), buf_size(&b), &r), BW_OK);
	cr_assert(r.what == SESSION_ENDED && r.max_inactive == -1 && r.lease_us == 3);
	cr_assert(r.created_us == 1796000000000000 && r.accessed_us == UINT64_MAX);
	cr_assert(bw_str_eq(r.context, BW_STR("acme.shop")));
	cr_assert_eq(r.n_values, N_VALUES);
	at = r.values;
	for (size_t i = 0; i < N_VALUES; i++) {
		cr_assert(session_record_next(&r, &at, &v));
		cr_assert(bw_str_eq(v.name, values[i].name) && v.kind == values[i].kind, "%zu", i);
		cr_assert(bw_str_eq(v.value, values[i].value) && v.value.p[v.value.n] == '\0',
		          "%zu", i);
	}
	cr_assert(!session_record_next(&r, &at, &v));
	cr_assert_eq(r.end, buf_data(&b) + buf_size(&b));
	buf_done(&b);
}

Test(session, every_cut_and_every_flaw_is_refused)
{
	static const struct {
		size_t      at;
		uint8_t     octet;
		const char *what;
	} flaws[] = {
		{ 0, 35, "size below the head" },
		{ 3, 1, "size above what is there" },
		{ 4, 0, "no such kind of record" },
		{ 4, 5, "no such kind of record" },
		{ 5, 0, "no context" },
		{ 6, N_VALUES + 1, "an attribute too many" },
		{ 6, N_VALUES - 1, "one too few" },
		{ 36, 0xff, "a context that is no UTF-8" },
		{ 45, 9, "no such kind of value" },
		{ 46, 0, "no name" },
		{ 47, 255, "a value that ends nowhere" },
	};
	struct session_record r;
	struct buf            b;

	build(&b);
	for (size_t n = 0; n < buf_size(&b); n++)
		cr_assert_eq(get(buf_data(&b), n, &r), BW_EPROTO, "cut to %zu", n);
	for (size_t i = 0; i < sizeof(flaws) / sizeof(flaws[0]); i++) {
		uint8_t *octet = buf_data(&b) + flaws[i].at, was = *octet;

		*octet = flaws[i].octet;
		cr_assert_eq(get(buf_data(&b), buf_size(&b), &r), BW_EPROTO, "%s", flaws[i].what);
		*octet = was;
	}
	buf_append(&b, "more", 4); /* the next record, say */
	cr_assert_eq(get(buf_data(&b), buf_size(&b), &r), BW_OK);
	buf_done(&b);
}

Test(session, ids)
{
	uint8_t a[SESSION_HASH_SIZE], b[SESSION_HASH_SIZE];

	cr_assert(session_id_fits(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-_9")));
	cr_assert(!session_id_fits(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-_")));
	cr_assert(!session_id_fits(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-_99")));
	cr_assert(!session_id_fits(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-.9")));
	cr_assert(!session_id_fits(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-\0009")));
	cr_assert(!session_id_fits(BW_ABSENT));
	session_id_hash(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-_9"), a);
	session_id_hash(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-_8"), b);
	cr_assert(memcmp(a, b, sizeof(a)) != 0);
	session_id_hash(BW_STR("ABCDEFGHIJKLMNOPQRSTUVWXYZabc-_9"), b);
	cr_assert(memcmp(a, b, sizeof(a)) == 0);
}

Test(session, names)
{
	static const struct bw_str good[] = { BW_STR("a"), BW_STR("\xc2\x80"),
		                              BW_STR("\xed\x9f\xbf"), BW_STR("\xee\x80\x80"),
		                              BW_STR("\xf0\x90\x80\x80") };
	static const struct bw_str bad[] = {
		BW_STR(""),
		BW_STR("a\0b"),
		BW_STR("\x80"),
		BW_STR("\xc1\xbf"),
		BW_STR("\xe0\x9f\xbf"),
		BW_STR("\xed\xa0\x80"),
		BW_STR("\xc3"),
		BW_STR("\xe2\x82"),
		BW_STR("\xf0\x8f\xbf\xbf"),
		BW_STR("\xff"),
		BW_STR("\xf4\x90\x80\x80"),
		BW_STR("\xf5\x80\x80\x80"),
		BW_STR("a\xc3z"),
	};
	char long_name[256];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_assert(session_name_fits(good[i]), "%zu", i);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert(!session_name_fits(bad[i]), "%zu", i);
	memset(long_name, 'n', sizeof(long_name));
	cr_assert(session_name_fits((struct bw_str){ long_name, 255 }));
	cr_assert(!session_name_fits((struct bw_str){ long_name, 256 }));
}

Test(session, values)
{
	static char large[SESSION_MAX_VALUE + 1];
	static const struct {
		unsigned      kind;
		struct bw_str value;
		bool          fits;
	} rows[] = {
		{ SESSION_STRING, BW_STR(""), true },
		{ SESSION_STRING, { large, SESSION_MAX_VALUE }, true },
		{ SESSION_STRING, { large, SESSION_MAX_VALUE + 1 }, false },
		{ SESSION_LONG, BW_STR("12345678"), true },
		{ SESSION_LONG, BW_STR("1234567"), false },
		{ SESSION_DOUBLE, BW_STR("123456789"), false },
		{ SESSION_BOOLEAN, BW_STR("\1"), true },
		{ SESSION_BOOLEAN, BW_STR("\2"), false },
		{ SESSION_BOOLEAN, BW_STR(""), false },
		{ SESSION_BOOLEANS, BW_STR(""), true },
		{ SESSION_BOOLEANS, BW_STR("\1\2"), false },
		{ SESSION_LONGS, BW_STR("1234567812345678"), true },
		{ SESSION_DOUBLES, BW_STR("123456781234567"), false },
		{ SESSION_STRINGS, BW_STR(""), true },
		{ SESSION_STRINGS, BW_STR("\1\0\0\0x"), true },
		{ SESSION_STRINGS, BW_STR("\2\0\0\0x"), false },
		{ SESSION_STRINGS, BW_STR("\377\377\377\377x"), false },
		{ SESSION_STRINGS, BW_STR("\0\0\0"), false },
		{ 0, BW_STR(""), false },
		{ 9, BW_STR(""), false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(session_value_fits(rows[i].kind, rows[i].value), rows[i].fits, "%zu",
		             i);
}
