/* convert.c - a property's text as another type (JCR 2.0 section 3.6.4), without loss or not at all.
 *
 * Where that section would truncate or guess (1.5 as a Long, "yes" as a Boolean), this fails: who
 * reads a number wants to know that there is none.
 *
 * Owns: nothing. Runs in: a request's fiber; never waits. Fails with: BW_EINVAL.
 * Tests: tests/unit/gateway/convert_test.c. */
#include "edit.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <wire/record.h>

/* Behind text there is a NUL: it is a property's (record.h). */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int to_long(struct bw_str text, int64_t *ret)
{
	size_t    sign = text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');
	char     *end;
	long long value;

	if (text.n <= sign || !is_digit(text.p[sign]))
		return BW_EINVAL;
	errno = 0;
	value = strtoll(text.p, &end, 10);
	if (errno != 0 || end != text.p + text.n)
		return BW_EINVAL;
	*ret = value;
	return BW_OK;
}

/* A number as it is written in the repository: no blanks, no hexadecimal ones. */
static int to_double(struct bw_str text, double *ret)
{
	static const struct {
		struct bw_str name;
		double        value;
	} names[] = {
		{ BW_STR("NaN"), NAN },
		{ BW_STR("Infinity"), INFINITY },
		{ BW_STR("-Infinity"), -INFINITY },
	};
	size_t sign = text.n > 0 && (text.p[0] == '-' || text.p[0] == '+');
	char  *end;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (bw_str_eq(text, names[i].name)) {
			*ret = names[i].value;
			return BW_OK;
		}
	}
	if (text.n <= sign || (!is_digit(text.p[sign]) && text.p[sign] != '.') ||
	    memchr(text.p, 'x', text.n) || memchr(text.p, 'X', text.n))
		return BW_EINVAL;
	*ret = strtod(text.p, &end);
	return end == text.p + text.n && isfinite(*ret) ? BW_OK : BW_EINVAL;
}

/* ---- dates: [-]YYYY-MM-DDThh:mm:ss.sss and Z or +hh:mm (JCR 2.0 section 3.6.4.3) ---- */

/* n digits, exactly, at *at. */
static bool take_digits(struct bw_str text, size_t *at, size_t n, int *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n; i++, ++*at) {
		if (*at >= text.n || !is_digit(text.p[*at]))
			return false;
		*ret = *ret * 10 + (text.p[*at] - '0');
	}
	return true;
}

static bool take_char(struct bw_str text, size_t *at, char c)
{
	if (*at >= text.n || text.p[*at] != c)
		return false;
	++*at;
	return true;
}

/* Minutes east of Greenwich. */
static bool take_zone(struct bw_str text, size_t *at, int *ret)
{
	bool west = *at < text.n && text.p[*at] == '-';
	int  hours, minutes;

	*ret = 0;
	if (take_char(text, at, 'Z'))
		return true;
	if (!west && !(*at < text.n && text.p[*at] == '+'))
		return false;
	++*at;
	if (!take_digits(text, at, 2, &hours) || !take_char(text, at, ':') ||
	    !take_digits(text, at, 2, &minutes) || hours > 14 || minutes > 59)
		return false;
	*ret = (west ? -1 : 1) * (hours * 60 + minutes);
	return true;
}

static int days_of(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool             leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* Days since 1970-01-01 in the Gregorian calendar, years counted from March so that a leap day is the
 * last one of its year. */
static int64_t days_since_1970(int year, int month, int day)
{
	int64_t y = year - (month <= 2);
	int64_t era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int to_date(struct bw_str text, int64_t *ret_ms)
{
	bool   before_christ = text.n > 0 && text.p[0] == '-';
	size_t at = before_christ;
	int    year, month, day, hour, minute, second, ms, zone;

	if (!take_digits(text, &at, 4, &year) || !take_char(text, &at, '-') ||
	    !take_digits(text, &at, 2, &month) || !take_char(text, &at, '-') ||
	    !take_digits(text, &at, 2, &day) || !take_char(text, &at, 'T') ||
	    !take_digits(text, &at, 2, &hour) || !take_char(text, &at, ':') ||
	    !take_digits(text, &at, 2, &minute) || !take_char(text, &at, ':') ||
	    !take_digits(text, &at, 2, &second) || !take_char(text, &at, '.') ||
	    !take_digits(text, &at, 3, &ms) || !take_zone(text, &at, &zone) || at != text.n)
		return BW_EINVAL;
	if (before_christ)
		year = -year;
	if (month < 1 || month > 12 || day < 1 || day > days_of(year, month) || hour > 23 ||
	    minute > 59 || second > 59)
		return BW_EINVAL;
	*ret_ms = ((days_since_1970(year, month, day) * 24 + hour) * 60 + minute - zone) * 60000 +
	          second * 1000 + ms;
	return BW_OK;
}

/* ---- by the type that is wanted ---- */

/* A number without a fraction, however it is written. */
static int whole(struct bw_str text, int64_t *ret)
{
	double d;
	int    err = to_long(text, ret);

	if (err == BW_OK)
		return BW_OK;
	err = to_double(text, &d);
	if (err != BW_OK || d != floor(d) || fabs(d) > 9007199254740992.0) /* 2^53: all exact */
		return BW_EINVAL;
	*ret = (int64_t)d;
	return BW_OK;
}

static int as_long(enum bw_value_type from, struct bw_str text, int64_t *ret)
{
	switch (from) {
	case BW_VALUE_STRING:
	case BW_VALUE_LONG:
		return to_long(text, ret);
	case BW_VALUE_DOUBLE:
	case BW_VALUE_DECIMAL:
		return whole(text, ret);
	case BW_VALUE_DATE:
		return to_date(text, ret);
	default:
		return BW_EINVAL;
	}
}

static int as_double(enum bw_value_type from, struct bw_str text, double *ret)
{
	int64_t ms;
	int     err;

	switch (from) {
	case BW_VALUE_STRING:
	case BW_VALUE_LONG:
	case BW_VALUE_DOUBLE:
	case BW_VALUE_DECIMAL:
		return to_double(text, ret);
	case BW_VALUE_DATE:
		err = to_date(text, &ms);
		if (err == BW_OK)
			*ret = (double)ms;
		return err;
	default:
		return BW_EINVAL;
	}
}

static int as_boolean(enum bw_value_type from, struct bw_str text, bool *ret)
{
	if (from != BW_VALUE_STRING && from != BW_VALUE_BOOLEAN)
		return BW_EINVAL;
	*ret = bw_str_eq(text, BW_STR("true"));
	return *ret || bw_str_eq(text, BW_STR("false")) ? BW_OK : BW_EINVAL;
}

static int as_date(enum bw_value_type from, struct bw_str text, int64_t *ret)
{
	switch (from) {
	case BW_VALUE_STRING:
	case BW_VALUE_DATE:
		return to_date(text, ret);
	case BW_VALUE_LONG:
		return to_long(text, ret);
	default:
		return BW_EINVAL;
	}
}

int convert_value(enum bw_value_type from, struct bw_str text, enum bw_value_type as,
                  struct bw_value *ret)
{
	*ret = (struct bw_value){ .type = as };
	switch (as) {
	case BW_VALUE_STRING:
		ret->u.string = text;
		return BW_OK;
	case BW_VALUE_LONG:
		return as_long(from, text, &ret->u.i64);
	case BW_VALUE_DOUBLE:
		return as_double(from, text, &ret->u.f64);
	case BW_VALUE_BOOLEAN:
		return as_boolean(from, text, &ret->u.b);
	case BW_VALUE_DATE:
		return as_date(from, text, &ret->u.i64);
	default:
		return BW_EINVAL;
	}
}
