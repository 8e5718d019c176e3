/* Dates of HTTP, three ways in and one way out:
 *
 *    Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate; the one that is written
 *    Sunday, 06-Nov-94 08:49:37 GMT    RFC 850
 *    Sun Nov  6 08:49:37 1994          asctime
 *
 * They are fixed but for the length of the day's name, so each is read by a picture of it. The name
 * of the day must be one, but need not be the right one: it says nothing that the rest does not.
 *
 * Runs in: anywhere, keeps nothing; no locale and no time zone is asked. Fails with: false.
 * Tests: tests/unit/base/httpdate_test.c. */
#include "httpdate.h"

#include <stdio.h>
#include <string.h>

#define DAY_S 86400

static const char *const day_names[] = { "Sunday",   "Monday", "Tuesday", "Wednesday",
	                                 "Thursday", "Friday", "Saturday" };
static const char        month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

struct fields {
	int year, month, day, hour, minute, second; /* month: 1 to 12 */
	int year_digits;
};

/* Days since 1970 of a day in the Gregorian calendar. A year begins in March here, so that its last
 * day is the one that may be missing; 400 years are always 146,097 days. */
static int64_t days_of(int year, int month, int day)
{
	int64_t y = year - (month <= 2), era = y / 400;
	int64_t of_era = y % 400, of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(int64_t days, struct fields *f)
{
	int64_t z = days + 719468, era = z / 146097, of_era = z % 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * of_year + 2) / 153;

	f->day = (int)(of_year - (153 * month + 2) / 5 + 1);
	f->month = (int)(month < 10 ? month + 3 : month - 9);
	f->year = (int)(year + era * 400 + (f->month <= 2));
}

void httpdate_write(int64_t seconds, char out[HTTPDATE_SIZE])
{
	const int64_t first = days_of(1, 1, 1) * DAY_S, last = days_of(10000, 1, 1) * DAY_S - 1;
	int64_t       days;
	int           rest;
	struct fields f;

	seconds = seconds < first ? first : seconds > last ? last : seconds;
	days = (seconds - first) / DAY_S + first / DAY_S;
	rest = (int)(seconds - days * DAY_S);
	date_of(days, &f);
	/* 719,162 days before 1970 is a Monday. */
	snprintf(out, HTTPDATE_SIZE, "%.3s, %02u %.3s %04u %02u:%02u:%02u GMT",
	         day_names[(days + 719163) % 7], (unsigned)f.day % 100,
	         month_names + 3 * (f.month - 1), (unsigned)f.year % 10000,
	         (unsigned)rest / 3600 % 100, (unsigned)rest / 60 % 60, (unsigned)rest % 60);
}

/* ---- reading ---- */

static bool digits(const char *p, size_t n, int *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		if (p[i] < '0' || p[i] > '9')
			return false;
		*ret = *ret * 10 + p[i] - '0';
	}
	return true;
}

static bool month(const char *p, int *ret)
{
	for (int i = 0; i < 12; i++)
		if (memcmp(p, month_names + 3 * (size_t)i, 3) == 0) {
			*ret = i + 1;
			return true;
		}
	return false;
}

/* Takes text apart along a picture: each letter stands for one octet of a field, all other
 * octets for themselves. In the picture fields have their full length, so a run is read at its
 * first letter; 'e' is a day that may have a blank in place of its first digit. */
static bool take_apart(const char *p, size_t n, const char *picture, struct fields *f)
{
	if (n != strlen(picture))
		return false;
	for (size_t i = 0, run; i < n; i += run) {
		char c = picture[i];
		bool ok;

		run = strspn(picture + i, (char[]){ c, '\0' });
		if (c == 'd')
			ok = digits(p + i, run, &f->day);
		else if (c == 'e')
			ok = digits(p + i + (p[i] == ' '), run - (p[i] == ' '), &f->day);
		else if (c == 'm')
			ok = month(p + i, &f->month);
		else if (c == 'y')
			ok = digits(p + i, run, &f->year);
		else if (c == 'h')
			ok = digits(p + i, run, &f->hour);
		else if (c == 'i')
			ok = digits(p + i, run, &f->minute);
		else if (c == 's')
			ok = digits(p + i, run, &f->second);
		else
			ok = memcmp(p + i, picture + i, run) == 0;
		if (!ok)
			return false;
	}
	return true;
}

/* Does text begin with the name of a day, whole or as its first three letters? Its length; 0:
 * no. */
static size_t day_name(const char *p, size_t n, bool whole)
{
	for (size_t i = 0; i < 7; i++) {
		size_t len = whole ? strlen(day_names[i]) : 3;

		if (n > len && memcmp(p, day_names[i], len) == 0)
			return len;
	}
	return 0;
}

static bool read_form(const char *p, size_t n, struct fields *f)
{
	size_t len = day_name(p, n, true);

	f->year_digits = 2;
	if (len > 0 && p[len] == ',')
		return take_apart(p + len, n - len, ", dd-mmm-yy hh:ii:ss GMT", f);
	f->year_digits = 4;
	len = day_name(p, n, false);
	if (len == 0)
		return false;
	if (p[len] == ',')
		return take_apart(p + len, n - len, ", dd mmm yyyy hh:ii:ss GMT", f);
	return take_apart(p + len, n - len, " mmm ee hh:ii:ss yyyy", f);
}

static bool is_day(const struct fields *f)
{
	static const int lengths[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool             leap = f->year % 4 == 0 && (f->year % 100 != 0 || f->year % 400 == 0);

	if (f->day < 1 || f->day > lengths[f->month - 1])
		return false;
	return f->month != 2 || f->day < 29 || leap;
}

/* RFC 9110 5.6.7: what appears to be more than 50 years in the future is the last year of the
 * past that ends in these digits. */
static int whole_year(int two, int64_t now_s)
{
	struct fields now;
	int           year;

	date_of(now_s / DAY_S, &now);
	year = now.year - now.year % 100 + two;
	if (year > now.year + 50)
		return year - 100;
	return year + 100 <= now.year + 50 ? year + 100 : year;
}

bool httpdate_read(const char *p, size_t n, int64_t now_s, int64_t *ret_seconds)
{
	struct fields f = { 0 };

	if (!read_form(p, n, &f))
		return false;
	if (f.year_digits == 2)
		f.year = whole_year(f.year, now_s);
	/* A second of 60 is a leap second; it counts as the next one. */
	if (f.year < 1 || !is_day(&f) || f.hour > 23 || f.minute > 59 || f.second > 60)
		return false;
	*ret_seconds =
		days_of(f.year, f.month, f.day) * DAY_S + f.hour * 3600 + f.minute * 60 + f.second;
	return true;
}
