/* base/httpdate.c: three forms in, one out, no day lost on the way. */
#include <base/httpdate.h>

#include <criterion/criterion.h>
#include <string.h>
#include <time.h>

#define NOW 1796000000 /* 2026-11-30 */

static bool read_text(const char *text, int64_t *ret)
{
	return httpdate_read(text, strlen(text), NOW, ret);
}

Test(httpdate, reads_the_three_forms)
{
	static const struct {
		const char *text;
		int64_t     seconds;
	} rows[] = {
		{ "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
		{ "Sunday, 06-Nov-94 08:49:37 GMT", 784111777 },
		{ "Sun Nov  6 08:49:37 1994", 784111777 },
		{ "Sun Nov 06 08:49:37 1994", 784111777 },
		{ "Sun, 09 Sep 2001 01:46:40 GMT", 1000000000 },
		{ "Sunday, 09-Sep-01 01:46:40 GMT", 1000000000 },
		{ "Sun Sep  9 01:46:40 2001", 1000000000 },
		{ "Thu, 01 Jan 1970 00:00:00 GMT", 0 },
		{ "Wed, 31 Dec 1969 23:59:59 GMT", -1 },
		{ "Tue, 29 Feb 2000 12:00:00 GMT", 951825600 },
		{ "Thu, 31 Dec 1998 23:59:60 GMT", 915148800 }, /* a leap second */
		{ "Mon, 01 Jan 0001 00:00:00 GMT", -62135596800 },
		{ "Fri, 31 Dec 9999 23:59:59 GMT", 253402300799 },
		{ "Friday, 30-Nov-76 00:00:00 GMT", 3373920000 }, /* just not 50 years ahead */
		{ "Wednesday, 30-Nov-77 00:00:00 GMT", 249696000 },
		{ "Monday, 09-Sep-01 01:46:40 GMT", 1000000000 }, /* the wrong day's name */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int64_t got = 1;

		cr_expect(read_text(rows[i].text, &got), "%s", rows[i].text);
		cr_expect(got == rows[i].seconds, "%s: %lld", rows[i].text, (long long)got);
	}
}

Test(httpdate, refuses_what_is_none)
{
	static const char *const rows[] = {
		"",
		"junk",
		"Sun",
		"Sun,",
		"Sun, 06 Nov 1994 08:49:37",
		"Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 06 Nov 1994 08:49:37 GMT ",
		" Sun, 06 Nov 1994 08:49:37 GMT",
		"Sun, 6 Nov 1994 08:49:37 GMT",
		"sun, 06 Nov 1994 08:49:37 GMT",
		"Son, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06 nov 1994 08:49:37 GMT",
		"Sun, 31 Nov 1994 08:49:37 GMT",
		"Sun, 00 Nov 1994 08:49:37 GMT",
		"Tue, 29 Feb 1900 12:00:00 GMT",
		"Tue, 29 Feb 2001 12:00:00 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 06 Nov 1994 08:60:37 GMT",
		"Sun, 06 Nov 1994 08:49:61 GMT",
		"Sun, 06 Nov 0000 08:49:37 GMT",
		"Sun, +6 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-1994 08:49:37 GMT",
		"Sunday, 06 Nov 94 08:49:37 GMT",
		"Sun, 06-Nov-94 08:49:37 GMT",
		"Sun Nov 6 08:49:37 1994",
		"Sun Nov   6 08:49:37 1994",
		"1994-11-06T08:49:37Z",
		"784111777",
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int64_t got = 1;

		cr_expect(!read_text(rows[i], &got), "%s", rows[i]);
		cr_expect(got == 1, "untouched");
	}
	cr_expect(!httpdate_read("Sun, 06 Nov 1994 08:49:37 GMT", 28, NOW, &(int64_t){ 0 }));
}

/* Against the C library, a day at a time and with another second each. */
Test(httpdate, writes_what_the_calendar_says)
{
	for (int64_t t = -62135596800; t < 253402300800; t += 86400 * 17 + 3601) {
		char      got[HTTPDATE_SIZE], want[64];
		time_t    clock = (time_t)t;
		struct tm tm;
		int64_t   back = 0;

		httpdate_write(t, got);
		gmtime_r(&clock, &tm);
		strftime(want, sizeof(want), "%a, %d %b ", &tm);
		cr_assert(strncmp(got, want, strlen(want)) == 0, "%lld: %s, not %s", (long long)t,
		          got, want);
		cr_assert(atoi(got + 12) == tm.tm_year + 1900, "%s", got);
		cr_assert(read_text(got, &back) && back == t, "%s", got);
	}
}

Test(httpdate, is_cut_to_what_can_be_written)
{
	char text[HTTPDATE_SIZE];

	httpdate_write(INT64_MAX, text);
	cr_expect_str_eq(text, "Fri, 31 Dec 9999 23:59:59 GMT");
	httpdate_write(INT64_MIN, text);
	cr_expect_str_eq(text, "Mon, 01 Jan 0001 00:00:00 GMT");
}
