/* session_rows.c - what PostgreSQL says about sessions, as the gateway reads it.
 *
 * Owns: nothing. Runs in: repo's loop. Fails with: nothing; a row that no function of the migration
 * writes is fatal. Tests: tests/unit/repo/session_test.c. */
#include "session_rows.h"
#include "bytea.h"
#include <base/fatal.h>
#include <wire/session.h>

static enum session_what what_of(struct bw_str text)
{
	if (bw_str_eq(text, BW_STR("own")))
		return SESSION_OWN;
	if (bw_str_eq(text, BW_STR("new")))
		return SESSION_NEW;
	return bw_str_eq(text, BW_STR("other")) ? SESSION_OTHER : SESSION_ENDED;
}

static size_t begin(struct buf *out, const struct pg_rows *rows, unsigned row)
{
	struct session_record r = {
		.what = what_of(pg_text(rows, row, SESSION_WHAT)),
		.max_inactive = (int32_t)pg_int(rows, row, SESSION_MAX_INACTIVE),
		.created_us = (uint64_t)pg_int(rows, row, SESSION_CREATED),
		.accessed_us = (uint64_t)pg_int(rows, row, SESSION_ACCESSED),
		.lease_us = (uint64_t)pg_int(rows, row, SESSION_LEASE),
		.context = pg_text(rows, row, SESSION_CONTEXT),
	};

	return session_record_begin(out, &r);
}

unsigned session_rows_put(struct buf *out, const struct pg_rows *rows)
{
	int64_t      number = 0; /* drawn from 1 on */
	size_t       at = 0;
	unsigned     count = 0;
	struct arena a;

	arena_init(&a);
	for (unsigned i = 0; i < pg_rows_count(rows); i++) {
		struct session_value v = { .name = pg_text(rows, i, SESSION_NAME) };

		if (pg_int(rows, i, SESSION_NUMBER) != number) {
			number = pg_int(rows, i, SESSION_NUMBER);
			at = begin(out, rows, i);
			count++;
		}
		if (v.name.p == NULL)
			continue;
		v.kind = (enum session_kind)pg_int(rows, i, SESSION_KIND);
		v.value = bytea_get(&a, rows, i, SESSION_VALUE);
		session_record_put(out, at, &v);
	}
	arena_done(&a);
	return count;
}
