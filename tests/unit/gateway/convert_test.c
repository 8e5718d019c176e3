/* gateway/edit/convert.c: what is a number, a date, a boolean, and above all what is none. */
#include <criterion/criterion.h>
#include <gateway/edit/edit.h>
#include <math.h>

#define LOSS INT64_MIN /* marks a conversion that has to fail */

Test(convert, longs)
{
	static const struct {
		enum bw_value_type from;
		const char        *text;
		int64_t            want;
	} rows[] = {
		{ BW_VALUE_LONG, "0", 0 },
		{ BW_VALUE_LONG, "-9223372036854775807", -INT64_MAX },
		{ BW_VALUE_STRING, "+7", 7 },
		{ BW_VALUE_STRING, "007", 7 },
		{ BW_VALUE_STRING, "1x", LOSS },
		{ BW_VALUE_STRING, "", LOSS },
		{ BW_VALUE_STRING, "-", LOSS },
		{ BW_VALUE_STRING, " 1", LOSS },
		{ BW_VALUE_STRING, "1 ", LOSS },
		{ BW_VALUE_STRING, "0x10", LOSS },
		{ BW_VALUE_STRING, "1.0", LOSS },
		{ BW_VALUE_STRING, "9223372036854775808", LOSS },
		{ BW_VALUE_DOUBLE, "2", 2 },
		{ BW_VALUE_DOUBLE, "2.0", 2 },
		{ BW_VALUE_DOUBLE, "1e3", 1000 },
		{ BW_VALUE_DOUBLE, "2.5", LOSS },
		{ BW_VALUE_DOUBLE, "1e300", LOSS },
		{ BW_VALUE_DOUBLE, "NaN", LOSS },
		{ BW_VALUE_DOUBLE, "-Infinity", LOSS },
		{ BW_VALUE_DECIMAL, "12345678901234567890", LOSS },
		{ BW_VALUE_DECIMAL, "0.10", LOSS },
		{ BW_VALUE_DECIMAL, "9007199254740993", 9007199254740993 },
		{ BW_VALUE_BOOLEAN, "true", LOSS },
		{ BW_VALUE_NAME, "1", LOSS },
	};
	struct bw_value v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = convert_value(rows[i].from, bw_str(rows[i].text), BW_VALUE_LONG, &v);

		if (rows[i].want == LOSS)
			cr_expect(err == BW_EINVAL, "\"%s\" became %lld", rows[i].text,
			          (long long)v.u.i64);
		else
			cr_expect(err == BW_OK && v.type == BW_VALUE_LONG &&
			                  v.u.i64 == rows[i].want,
			          "\"%s\" became %lld (%d)", rows[i].text, (long long)v.u.i64, err);
	}
}

/* NaN in want: it has to fail. */
Test(convert, doubles)
{
	static const struct {
		enum bw_value_type from;
		const char        *text;
		double             want;
	} rows[] = {
		{ BW_VALUE_DOUBLE, "2.5", 2.5 },
		{ BW_VALUE_DOUBLE, "-.5", -0.5 },
		{ BW_VALUE_DOUBLE, "1e-3", 0.001 },
		{ BW_VALUE_DOUBLE, "Infinity", INFINITY },
		{ BW_VALUE_DOUBLE, "-Infinity", -INFINITY },
		{ BW_VALUE_LONG, "3", 3 },
		{ BW_VALUE_DECIMAL, "0.25", 0.25 },
		{ BW_VALUE_STRING, "1.5", 1.5 },
		{ BW_VALUE_DATE, "1970-01-01T00:00:00.250Z", 250 },
		{ BW_VALUE_STRING, "1.5x", NAN },
		{ BW_VALUE_STRING, "0x1p3", NAN },
		{ BW_VALUE_STRING, "inf", NAN },
		{ BW_VALUE_STRING, "nan(1)", NAN },
		{ BW_VALUE_STRING, "1e999", NAN },
		{ BW_VALUE_STRING, "", NAN },
		{ BW_VALUE_STRING, ".", NAN },
		{ BW_VALUE_STRING, " 1", NAN },
		{ BW_VALUE_BOOLEAN, "true", NAN },
		{ BW_VALUE_PATH, "1", NAN },
	};
	struct bw_value v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = convert_value(rows[i].from, bw_str(rows[i].text), BW_VALUE_DOUBLE, &v);

		if (isnan(rows[i].want))
			cr_expect(err == BW_EINVAL, "\"%s\"", rows[i].text);
		else
			cr_expect(err == BW_OK && v.u.f64 == rows[i].want, "\"%s\" became %g",
			          rows[i].text, v.u.f64);
	}
	cr_expect(convert_value(BW_VALUE_DOUBLE, BW_STR("NaN"), BW_VALUE_DOUBLE, &v) == BW_OK &&
	          isnan(v.u.f64));
}

Test(convert, dates)
{
	static const struct {
		enum bw_value_type from;
		const char        *text;
		int64_t            want;
	} rows[] = {
		{ BW_VALUE_DATE, "1970-01-01T00:00:00.000Z", 0 },
		{ BW_VALUE_DATE, "1970-01-01T01:00:00.001+01:00", 1 },
		{ BW_VALUE_DATE, "1969-12-31T23:59:59.999Z", -1 },
		{ BW_VALUE_DATE, "1969-12-31T19:00:00.000-05:00", 0 },
		{ BW_VALUE_DATE, "2000-02-29T12:00:00.000Z", 951825600000 },
		{ BW_VALUE_DATE, "2026-11-30T22:52:48.123+01:00", 1796075568123 },
		{ BW_VALUE_DATE, "0001-01-01T00:00:00.000Z", -62135596800000 },
		{ BW_VALUE_DATE, "0000-12-31T00:00:00.000Z", -62135683200000 },
		{ BW_VALUE_STRING, "1970-01-02T00:00:00.000Z", 86400000 },
		{ BW_VALUE_LONG, "42", 42 },
		{ BW_VALUE_STRING, "1970-01-01", LOSS },
		{ BW_VALUE_STRING, "1970-01-01T00:00:00Z", LOSS },
		{ BW_VALUE_STRING, "1970-01-01T00:00:00.000", LOSS },
		{ BW_VALUE_STRING, "1970-01-01T00:00:00.000Zx", LOSS },
		{ BW_VALUE_STRING, "1970-13-01T00:00:00.000Z", LOSS },
		{ BW_VALUE_STRING, "1970-00-01T00:00:00.000Z", LOSS },
		{ BW_VALUE_STRING, "1970-02-29T00:00:00.000Z", LOSS },
		{ BW_VALUE_STRING, "1900-02-29T00:00:00.000Z", LOSS },
		{ BW_VALUE_STRING, "1970-01-01T24:00:00.000Z", LOSS },
		{ BW_VALUE_STRING, "1970-01-01T00:60:00.000Z", LOSS },
		{ BW_VALUE_STRING, "1970-01-01T00:00:00.000+15:00", LOSS },
		{ BW_VALUE_STRING, "1970-01-01T00:00:00.000+1:00", LOSS },
		{ BW_VALUE_STRING, "", LOSS },
		{ BW_VALUE_STRING, "-", LOSS },
		{ BW_VALUE_BOOLEAN, "true", LOSS },
	};
	struct bw_value v;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int err = convert_value(rows[i].from, bw_str(rows[i].text), BW_VALUE_DATE, &v);

		if (rows[i].want == LOSS)
			cr_expect(err == BW_EINVAL, "\"%s\"", rows[i].text);
		else
			cr_expect(err == BW_OK && v.u.i64 == rows[i].want, "\"%s\" became %lld",
			          rows[i].text, (long long)v.u.i64);
	}
}

Test(convert, booleans_and_texts)
{
	struct bw_value v;

	cr_expect(convert_value(BW_VALUE_BOOLEAN, BW_STR("true"), BW_VALUE_BOOLEAN, &v) == BW_OK &&
	          v.u.b);
	cr_expect(convert_value(BW_VALUE_STRING, BW_STR("false"), BW_VALUE_BOOLEAN, &v) == BW_OK &&
	          !v.u.b);
	cr_expect_eq(convert_value(BW_VALUE_STRING, BW_STR("yes"), BW_VALUE_BOOLEAN, &v),
	             BW_EINVAL);
	cr_expect_eq(convert_value(BW_VALUE_STRING, BW_STR("TRUE"), BW_VALUE_BOOLEAN, &v),
	             BW_EINVAL);
	cr_expect_eq(convert_value(BW_VALUE_LONG, BW_STR("1"), BW_VALUE_BOOLEAN, &v), BW_EINVAL);
	cr_expect(convert_value(BW_VALUE_LONG, BW_STR("1"), BW_VALUE_STRING, &v) == BW_OK &&
	          bw_str_eq(v.u.string, BW_STR("1")));
	cr_expect_eq(convert_value(BW_VALUE_STRING, BW_STR("/a"), BW_VALUE_PATH, &v), BW_EINVAL);
}
