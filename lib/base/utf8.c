/* UTF-8, checked. Runs in: anywhere, keeps nothing. Tests: tests/unit/base/utf8_test.c. */
#include "utf8.h"

size_t utf8_length(const unsigned char *p, size_t n)
{
	size_t len;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

bool utf8_ok(const char *p, size_t n)
{
	size_t len;

	for (size_t i = 0; i < n; i += len)
		if ((len = utf8_length((const unsigned char *)p + i, n - i)) == 0)
			return false;
	return true;
}
