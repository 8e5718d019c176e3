/* rows.c - the values of a result, and an array as a parameter's text.
 * Owns: nothing. Runs in: the loop, within a pg_rows_cb. Fails with: nothing; a wrong row or column
 * is the caller's bug. Tests: tests/unit/pg/pg_test.c. */
#include <pg/pg.h>
#include <base/fatal.h>
#include <libpq-fe.h>
#include <stdlib.h>

unsigned pg_rows_count(const struct pg_rows *rows)
{
	return (unsigned)PQntuples((const PGresult *)rows);
}

struct bw_str pg_text(const struct pg_rows *rows, unsigned row, unsigned column)
{
	const PGresult *r = (const PGresult *)rows;

	if (PQgetisnull(r, (int)row, (int)column))
		return BW_ABSENT;
	return (struct bw_str){ PQgetvalue(r, (int)row, (int)column),
		                (size_t)PQgetlength(r, (int)row, (int)column) };
}

int64_t pg_int(const struct pg_rows *rows, unsigned row, unsigned column)
{
	struct bw_str text = pg_text(rows, row, column);

	return text.p != NULL ? strtoll(text.p, NULL, 10) : 0;
}

bool pg_bool(const struct pg_rows *rows, unsigned row, unsigned column)
{
	struct bw_str text = pg_text(rows, row, column);

	return text.p != NULL && text.p[0] == 't';
}

char *pg_array(const struct bw_str *items, unsigned n)
{
	size_t size = 3;
	char  *text, *at;

	for (unsigned i = 0; i < n; i++)
		size += 2 * items[i].n + 3;
	text = at = xmalloc(size);
	*at++ = '{';
	for (unsigned i = 0; i < n; i++) {
		if (i > 0)
			*at++ = ',';
		*at++ = '"';
		for (size_t k = 0; k < items[i].n; k++) {
			if (items[i].p[k] == '"' || items[i].p[k] == '\\')
				*at++ = '\\';
			*at++ = items[i].p[k];
		}
		*at++ = '"';
	}
	*at++ = '}';
	*at = '\0';
	return text;
}
