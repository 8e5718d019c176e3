/* bytea.c - PostgreSQL's text form of octets: \x and hexadecimal digits.
 *
 * Owns: nothing. Runs in: repo's loop. Fails with: nothing; another form is fatal.
 * Tests: tests/unit/repo/session_test.c, tests/unit/repo/blob_test.c. */
#include "bytea.h"
#include <base/fatal.h>
#include <sodium.h>

struct bw_str bytea_get(struct arena *a, const struct pg_rows *rows, unsigned row, unsigned column)
{
	struct bw_str text = pg_text(rows, row, column);
	size_t        n;
	uint8_t      *octets;

	if (text.p == NULL)
		return BW_ABSENT;
	octets = arena_alloc(a, text.n / 2 + 1);
	if (text.n < 2 ||
	    sodium_hex2bin(octets, text.n / 2, text.p + 2, text.n - 2, NULL, &n, NULL) != 0)
		fatalx("PostgreSQL writes a bytea as \"%.8s\"", text.p);
	octets[n] = '\0';
	return (struct bw_str){ (const char *)octets, n };
}

const char *bytea_text(struct arena *a, const void *octets, size_t n)
{
	char *text = arena_alloc(a, 2 * n + 3);

	text[0] = '\\';
	text[1] = 'x';
	sodium_bin2hex(text + 2, 2 * n + 1, octets, n);
	return text;
}
