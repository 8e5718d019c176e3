/* Ranges of octets: bytes=FIRST-LAST, bytes=FIRST-, bytes=-LENGTH (of the end).
 *
 * Runs in: anywhere, keeps nothing. Fails with: nothing. Tests: tests/unit/base/httprange_test.c. */
#include "httprange.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct text {
	const char *p, *end;
};

/* Digits up to what is none; more than 64 bits hold is as much as they hold. */
static bool read_number(struct text *t, uint64_t *ret)
{
	const char *begin = t->p;
	uint64_t    value = 0;

	for (; t->p < t->end && *t->p >= '0' && *t->p <= '9'; t->p++) {
		uint64_t digit = (uint64_t)(*t->p - '0');

		value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
	}
	*ret = value;
	return t->p > begin;
}

static void trim(struct text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t'))
		t->p++;
	while (t->end > t->p && (t->end[-1] == ' ' || t->end[-1] == '\t'))
		t->end--;
}

enum httprange httprange_read(const char *p, size_t n, uint64_t size, uint64_t *ret_first,
                              uint64_t *ret_n)
{
	static const char unit[] = "bytes=";
	struct text       t = { p, p + n };
	uint64_t          first, last;
	bool              has_first, has_last;

	if (n < sizeof(unit) - 1 || strncasecmp(p, unit, sizeof(unit) - 1) != 0)
		return HTTPRANGE_NONE;
	t.p += sizeof(unit) - 1;
	trim(&t);
	has_first = read_number(&t, &first);
	if (t.p == t.end || *t.p++ != '-')
		return HTTPRANGE_NONE;
	has_last = read_number(&t, &last);
	if (t.p != t.end || !(has_first || has_last) || (has_first && has_last && last < first))
		return HTTPRANGE_NONE;
	if (!has_first) {
		first = last < size ? size - last : 0;
		if (last == 0)
			return HTTPRANGE_OUTSIDE;
		last = UINT64_MAX;
	}
	if (first >= size)
		return HTTPRANGE_OUTSIDE;
	*ret_first = first;
	*ret_n = (has_last && last < size - 1 ? last : size - 1) - first + 1;
	return HTTPRANGE_PART;
}
