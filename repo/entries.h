/* entries.h - rows of the statement ENTRIES become what acl.h evaluates. */
#pragma once
#include "acl.h"
#include <pg/pg.h>

/* Replaces all that acl holds. rows: at least one. */
void entries_load(struct acl *acl, const struct pg_rows *rows);
