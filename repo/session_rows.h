/* session_rows.h - rows of repo.session_row become records of wire/session.h. */
#pragma once
#include <base/arena.h>
#include <base/buf.h>
#include <pg/pg.h>

/* The columns of repo.session_row, and one more in the statement SESSION. */
enum session_column {
	SESSION_WHAT,
	SESSION_NUMBER,
	SESSION_CONTEXT,
	SESSION_CREATED,
	SESSION_ACCESSED,
	SESSION_MAX_INACTIVE,
	SESSION_LEASE,
	SESSION_NAME,
	SESSION_KIND,
	SESSION_VALUE,
	SESSION_DUE
};

/* Appends the records; how many. */
unsigned session_rows_put(struct buf *out, const struct pg_rows *rows);
