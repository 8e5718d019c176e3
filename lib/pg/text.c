/* text.c - a query whose text is made while the program runs.
 *
 * Owns: nothing; the entry holds the text and the parameters. Runs in: the loop. Fails with: see pg.h.
 * Tests: tests/unit/pg/pg_test.c. */
#include "pg_impl.h"
#include <base/fatal.h>
#include <stdlib.h>

/* One block: the entry, the pointers, the texts, the statement. */
static struct entry *entry_of(const char *sql, unsigned n, const char *const *params)
{
	size_t        pointers = n * sizeof(char *), texts = strlen(sql) + 1;
	struct entry *e;
	char         *at;

	for (unsigned i = 0; i < n; i++)
		texts += params[i] != NULL ? strlen(params[i]) + 1 : 0;
	e = xmalloc(sizeof(*e) + pointers + texts);
	memset(e, 0, sizeof(*e));
	at = (char *)e + sizeof(*e) + pointers;
	for (unsigned i = 0; i < n; i++) {
		e->params[i] = params[i] != NULL ? strcpy(at, params[i]) : NULL;
		at += params[i] != NULL ? strlen(at) + 1 : 0;
	}
	e->sql = strcpy(at, sql);
	e->n_params = n;
	return e;
}

int pg_query_text(struct pg *pg, const char *sql, unsigned n_params, const char *const *params,
                  pg_rows_cb cb, void *arg)
{
	struct entry *e;

	if (pg->state != PG_UP)
		return BW_EGONE;
	if (pg->queries >= pg->max_queue)
		return BW_EBUSY;
	e = entry_of(sql, n_params, params);
	e->kind = ENTRY_QUERY;
	e->cb = cb;
	e->arg = arg;
	if (!ev_is_active(&pg->silence))
		ev_timer_again(pg->loop, &pg->silence);
	if (!pg_send_query(pg, e, true)) {
		free(e);
		return BW_EGONE;
	}
	pg->queries++;
	return BW_OK;
}
