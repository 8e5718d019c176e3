/* lib/base/httprange.c: each form of a range against files of several sizes. */
#include <base/httprange.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

Test(httprange, one_range_is_read_and_all_else_is_none)
{
	static const struct {
		const char    *text;
		uint64_t       size;
		enum httprange kind;
		uint64_t       first, n;
	} rows[] = {
		{ "bytes=0-0", 5, HTTPRANGE_PART, 0, 1 },
		{ "bytes=1-3", 5, HTTPRANGE_PART, 1, 3 },
		{ "Bytes= 1-3 ", 5, HTTPRANGE_PART, 1, 3 },
		{ "bytes=0-4", 5, HTTPRANGE_PART, 0, 5 },
		{ "bytes=0-99", 5, HTTPRANGE_PART, 0, 5 },
		{ "bytes=4-", 5, HTTPRANGE_PART, 4, 1 },
		{ "bytes=0-", 5, HTTPRANGE_PART, 0, 5 },
		{ "bytes=-1", 5, HTTPRANGE_PART, 4, 1 },
		{ "bytes=-5", 5, HTTPRANGE_PART, 0, 5 },
		{ "bytes=-99", 5, HTTPRANGE_PART, 0, 5 },
		{ "bytes=0-99999999999999999999999", 5, HTTPRANGE_PART, 0, 5 },
		{ "bytes=-99999999999999999999999", 5, HTTPRANGE_PART, 0, 5 },
		{ "bytes=0-0", UINT64_MAX, HTTPRANGE_PART, 0, 1 },
		{ "bytes=-1", UINT64_MAX, HTTPRANGE_PART, UINT64_MAX - 1, 1 },
		{ "bytes=5-", 5, HTTPRANGE_OUTSIDE, 0, 0 },
		{ "bytes=5-9", 5, HTTPRANGE_OUTSIDE, 0, 0 },
		{ "bytes=99999999999999999999999-", 5, HTTPRANGE_OUTSIDE, 0, 0 },
		{ "bytes=-0", 5, HTTPRANGE_OUTSIDE, 0, 0 },
		{ "bytes=0-", 0, HTTPRANGE_OUTSIDE, 0, 0 },
		{ "bytes=-1", 0, HTTPRANGE_OUTSIDE, 0, 0 },
		{ "bytes=3-1", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=0-0,2-2", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=0-0,", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=-", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=1", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=a-b", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=1 -3", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=--1", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes=+1-2", 5, HTTPRANGE_NONE, 0, 0 },
		{ "bytes 1-3", 5, HTTPRANGE_NONE, 0, 0 },
		{ "lines=1-3", 5, HTTPRANGE_NONE, 0, 0 },
		{ "byte", 5, HTTPRANGE_NONE, 0, 0 },
		{ "", 5, HTTPRANGE_NONE, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t       first = 0, n = 0;
		enum httprange kind = httprange_read(rows[i].text, strlen(rows[i].text),
		                                     rows[i].size, &first, &n);

		cr_assert(eq(int, kind, rows[i].kind), "%s", rows[i].text);
		cr_assert(eq(u64, first, rows[i].first), "%s", rows[i].text);
		cr_assert(eq(u64, n, rows[i].n), "%s", rows[i].text);
	}
}
