/* entries.c - reads privileges, service users with lists of their own and all entries, as one
 * snapshot of the database shows them.
 *
 * Owns: nothing. Runs in: repo's loop. Fails with: nothing. Logs restrictions that cannot be read.
 * Tests: tests/unit/repo/journal_test.c, tests/unit/repo/list_test.c. */
#include "entries.h"
#include <base/log.h>
#include <boardwalk/err.h>

enum column { GENERATION, KIND, TEXT, PRINCIPAL, ALLOW, PRIVILEGES, RESTRICTIONS, NAME };
enum kind { PRIVILEGE = 1, OWN_LIST = 2, NODE_ENTRY = 3, OWN_ENTRY = 4 };

/* False: the entry is left out. Restrictions that cannot be read, which the database does not let in,
 * make an entry that allows void and one that denies general. */
static bool read_restrictions(struct acl *acl, const struct pg_rows *rows, unsigned row,
                              struct acl_entry *e)
{
	struct bw_str json = pg_text(rows, row, RESTRICTIONS);

	if (bw_str_eq(json, BW_STR("{}")) ||
	    restriction_parse(json.p, json.n, acl_arena(acl), &e->restriction) == BW_OK)
		return true;
	log_error(0, "%s: stored restrictions have a wrong form", pg_text(rows, row, TEXT).p);
	e->restriction = NULL;
	return !e->allow;
}

static void load_entry(struct acl *acl, const struct pg_rows *rows, unsigned row, bool own)
{
	struct acl_entry e = {
		.principal = (uint64_t)pg_int(rows, row, PRINCIPAL),
		.privileges =
			privilege_list_bits(acl_privileges(acl), pg_text(rows, row, PRIVILEGES)),
		.allow = pg_bool(rows, row, ALLOW),
		.own = own,
	};

	if (!read_restrictions(acl, rows, row, &e))
		return;
	acl_load_add(acl, pg_text(rows, row, TEXT), &e);
	acl_load_name(acl, pg_text(rows, row, NAME));
}

static void load_row(struct acl *acl, const struct pg_rows *rows, unsigned row)
{
	enum kind kind = (enum kind)pg_int(rows, row, KIND);

	if (kind == PRIVILEGE)
		privileges_add(acl_privileges(acl), pg_text(rows, row, TEXT),
		               pg_text(rows, row, PRIVILEGES));
	else if (kind == OWN_LIST)
		acl_load_own(acl, (uint64_t)pg_int(rows, row, PRINCIPAL));
	else
		load_entry(acl, rows, row, kind == OWN_ENTRY);
}

void entries_load(struct acl *acl, const struct pg_rows *rows)
{
	acl_load_begin(acl);
	for (unsigned i = 0; i < pg_rows_count(rows); i++)
		if (pg_text(rows, i, TEXT).p != NULL)
			load_row(acl, rows, i);
	acl_load_end(acl, pg_int(rows, 0, GENERATION));
}
