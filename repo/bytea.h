/* bytea.h - octets to and from PostgreSQL, whose parameters and columns are text here. */
#pragma once
#include <base/arena.h>
#include <pg/pg.h>

/* The octets of a column, in a; absent for NULL. */
struct bw_str bytea_get(struct arena *a, const struct pg_rows *rows, unsigned row, unsigned column);
/* The text for a parameter; in a. */
const char *bytea_text(struct arena *a, const void *octets, size_t n);
