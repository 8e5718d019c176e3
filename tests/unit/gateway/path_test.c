/* gateway/path.c: every row of tests/conformance/canonical.rows, and the limits no row can hold. */
#include "gateway/path.c"

#include <criterion/criterion.h>
#include <support/rows.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef ROWS
#error "ROWS is the folder of the row files"
#endif

static char *trim(char *s)
{
	char *end;

	while (*s == ' ')
		s++;
	end = s + strlen(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\n'))
		*--end = 0;
	return s;
}

/* \xHH in place; returns the length. */
static size_t unescape(char *s)
{
	size_t n = 0;

	for (char *p = s; *p; n++) {
		unsigned octet;

		if (sscanf(p, "\\x%2x", &octet) == 1) {
			s[n] = (char)octet;
			p += 4;
		} else {
			s[n] = *p++;
		}
	}
	s[n] = 0;
	return n;
}

static void check_optional(const char *row, const char *what, const char *expected,
                           struct bw_str got)
{
	if (strcmp(expected, "-") == 0) {
		cr_assert(got.p == NULL, "%s: %s is \"%.*s\"", row, what, (int)got.n, got.p);
		return;
	}
	if (strcmp(expected, "\"\"") == 0)
		expected = "";
	cr_assert(got.p != NULL && got.n == strlen(expected) && memcmp(got.p, expected, got.n) == 0,
	          "%s: %s is \"%.*s\", not \"%s\"", row, what, (int)got.n, got.p, expected);
}

static void check_row(char *line)
{
	char              *fields[5] = { NULL }, *save = NULL;
	struct arena       arena;
	struct path_target t;
	size_t             n = 0;
	int                r;

	for (char *f = strtok_r(line, "|", &save); f && n < 5; f = strtok_r(NULL, "|", &save))
		fields[n++] = trim(f);
	cr_assert(n == 3 || n == 5, "%s: %zu fields", line, n);
	arena_init(&arena);
	r = path_canonical(&arena, (struct bw_str){ fields[1], unescape(fields[1]) }, &t);
	if (strcmp(fields[2], "400") == 0) {
		cr_assert(r == BW_EINVAL, "%s: \"%s\" became \"%.*s\"", fields[0], fields[1],
		          (int)t.path.n, t.path.p);
	} else {
		size_t len = unescape(fields[2]);

		cr_assert(n == 5, "%s: query and parameters are missing", fields[0]);
		cr_assert(r == BW_OK, "%s: \"%s\" refused", fields[0], fields[1]);
		cr_assert(t.path.n == len && memcmp(t.path.p, fields[2], len) == 0,
		          "%s: \"%.*s\", not \"%s\"", fields[0], (int)t.path.n, t.path.p,
		          fields[2]);
		check_optional(fields[0], "query", fields[3], t.query);
		check_optional(fields[0], "params", fields[4], t.params);
	}
	arena_done(&arena);
}

Test(path, rows)
{
	FILE    *f = fopen(rows_file(ROWS "/canonical.rows"), "r");
	char     line[1024];
	unsigned rows = 0;

	cr_assert(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (line[0] == '#' || line[0] == '\n')
			continue;
		check_row(line);
		rows++;
	}
	fclose(f);
	cr_assert(rows >= rows_least(80), "only %u rows", rows);
}

static int canonical_of(const char *text, size_t n)
{
	struct arena       arena;
	struct path_target t;
	int                r;

	arena_init(&arena);
	r = path_canonical(&arena, (struct bw_str){ text, n }, &t);
	arena_done(&arena);
	return r;
}

Test(path, at_most_128_segments)
{
	char text[1024];

	for (unsigned n = 120; n <= 140; n++) {
		for (unsigned i = 0; i < n; i++)
			memcpy(text + 2 * i, "/a", 2);
		cr_assert(canonical_of(text, 2 * n) == (n <= 128 ? BW_OK : BW_EINVAL), "%u", n);
	}
	/* Those that resolve away do not count. */
	text[0] = 0;
	for (unsigned i = 0; i < 200; i++)
		memcpy(text + 5 * i, "/a/..", 5);
	cr_assert(canonical_of(text, 1000) == BW_OK);
}

/* Each octet, raw and encoded, in a path and in a query. */
Test(path, octets)
{
	for (unsigned c = 0; c < 256; c++) {
		char raw[] = { '/', 'a', (char)c, 'b' };
		char query[] = { '/', '?', (char)c };
		char encoded[16];
		bool control = c < 32 || c == 127;
		int  n = snprintf(encoded, sizeof(encoded), "/a%%%02xb", c);
		bool bad = c <= ' ' || c >= 127 || c == '#' || c == '\\';

		cr_assert((canonical_of(raw, 4) == BW_EINVAL) == (bad || c == '%'), "raw %02x", c);
		cr_assert((canonical_of(query, 3) == BW_EINVAL) == bad, "query %02x", c);
		cr_assert((canonical_of(encoded, (size_t)n) == BW_EINVAL) ==
		                  (control || c == '/' || c == '\\' || c >= 128),
		          "encoded %02x", c);
	}
}

Test(path, authority)
{
	static const struct {
		const char *text;
		bool        ok;
	} rows[] = {
		{ "a", true },
		{ "a.b-c_d~e:80", true },
		{ "127.0.0.1:8080", true },
		{ "a:", true },
		{ "[::1]", true },
		{ "[::1]:80", true },
		{ "[::ffff:1.2.3.4]", true },
		{ "", false },
		{ ":80", false },
		{ "a:b", false },
		{ "a:80:80", false },
		{ "a:65536", false },
		{ "a:000080", false },
		{ "a/b", false },
		{ "a b", false },
		{ "u@a", false },
		{ "[]", false },
		{ "[::1", false },
		{ "[1]", false },
		{ "[::1]x", false },
		{ "a,b", false },
		{ "a%41", false },
		{ "\xc3\xa4", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert(path_is_authority(bw_str(rows[i].text)) == rows[i].ok, "%s",
		          rows[i].text);
}
