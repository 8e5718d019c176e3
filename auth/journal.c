/* journal.c - reads the news of schema auth, at the bell and four times a second.
 *
 * Rows become visible when their transaction commits, not in the order of their numbers. What has
 * been read is therefore remembered as a snapshot: the next read takes all rows that its own
 * snapshot sees and the last one did not, each exactly once. A long transaction elsewhere holds the
 * lower end of the snapshots, which makes reads a little wider and stops nothing.
 *
 *     up ---> first read: nothing in memory is believed, it only brings a snapshot; memory is emptied
 *      |       `--> read, read, ... each vouches for what is in memory for 300 ms from its begin
 *     down --> memory is not believed; logins read the database themselves
 *
 * Owns: the listening connection. Runs in: the loop. Fails by not vouching. Logs: the audit trail of
 * changes, as far as they are made while it follows; more than MAX_ROWS at once are cut there. Tests:
 * tests/unit/auth/journal_test.c (logic), database_test.c (against PostgreSQL). */
#include "journal.h"
#include "audit.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <pg/pg.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_ROWS   1000u /* more news than that: everything is dropped instead */
#define TIMEOUT_MS 1000u

enum query {
#define Q_FOLLOW(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
};

static const struct pg_statement statements[] = {
#define Q_FOLLOW(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};

struct journal {
	struct pg       *pg;
	struct ev_loop  *loop;
	struct accounts *accounts;
	struct sessions *sessions;
	void (*on_followed)(void *arg);
	void    *arg;
	ev_timer poll;
	char    *snapshot; /* of the last read; NULL: none since the connection came up */
	bool     is_reading, again;
	uint64_t began_us;
};

static void read_news(struct journal *j);

static void apply(struct journal *j, const struct pg_rows *rows, unsigned row)
{
	struct bw_str kind = pg_text(rows, row, 3);

	if (bw_str_eq(kind, BW_STR("revoked"))) {
		sessions_revoked(j->sessions, pg_text(rows, row, 6));
		return;
	}
	/* A new account may be one that is known not to exist; a membership bears on everybody below. */
	if (bw_str_eq(kind, BW_STR("password")) || bw_str_eq(kind, BW_STR("disabled")) ||
	    bw_str_eq(kind, BW_STR("impersonator")) || bw_str_eq(kind, BW_STR("place")) ||
	    bw_str_eq(kind, BW_STR("sessions")))
		accounts_drop(j->accounts, (uint64_t)pg_int(rows, row, 2));
	else
		accounts_drop_all(j->accounts);
}

/* Whoever made the change, and by whatever way: the journal knows it. The name of an account that is
 * gone is not known any more, so its number is said as well. */
static void audit(const struct pg_rows *rows, unsigned row)
{
	char         id[24];
	struct audit a = {
		.event = "account_changed",
		.user = pg_text(rows, row, 5),
		.target = pg_text(rows, row, 4),
		.change = pg_text(rows, row, 3),
	};

	if (bw_str_eq(a.change, BW_STR("place")) || bw_str_eq(a.change, BW_STR("revoked")))
		return; /* auth's own notes about a login and a logout */
	snprintf(id, sizeof(id), "%lld", (long long)pg_int(rows, row, 2));
	a.id = bw_str(id);
	audit_write(0, &a);
}

static void on_news(void *arg, int err, const struct pg_rows *rows)
{
	struct journal *j = arg;
	bool            is_first = j->snapshot == NULL;
	unsigned        n;

	j->is_reading = false;
	if (err != BW_OK) /* pg.c has logged it; the timer tries again */
		return;
	n = pg_rows_count(rows);
	if (is_first || n > MAX_ROWS) {
		accounts_drop_all(j->accounts);
		sessions_forget(j->sessions);
	}
	for (unsigned i = 0; i < n; i++) {
		if (pg_text(rows, i, 1).p == NULL)
			continue;
		if (n <= MAX_ROWS)
			apply(j, rows, i);
		audit(rows, i);
	}
	free(j->snapshot);
	j->snapshot = xstrdup(pg_text(rows, 0, 0).p);
	accounts_trust(j->accounts, j->began_us + JOURNAL_TRUST_US);
	if (j->again)
		read_news(j);
	if (is_first && j->on_followed != NULL)
		j->on_followed(j->arg);
}

static void read_news(struct journal *j)
{
	struct pg_param since = { j->snapshot };

	/* One that is under way may have begun before the bell's change: another follows it. */
	j->again = j->is_reading;
	if (j->is_reading)
		return;
	j->began_us = clock_boot_us();
	j->is_reading = pg_query(j->pg, QUERY_NEWS, &since, on_news, j) == BW_OK;
}

static void on_poll(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct journal *j = w->data;

	(void)loop;
	(void)revents;
	if (pg_is_up(j->pg) && !j->is_reading)
		read_news(j);
}

static void on_up(struct pg *pg)
{
	struct journal *j = pg_owner(pg);

	free(j->snapshot);
	j->snapshot = NULL;
	read_news(j);
}

static void on_down(struct pg *pg, const char *reason)
{
	struct journal *j = pg_owner(pg);

	(void)reason; /* pg.c has logged it */
	accounts_trust(j->accounts, 0);
}

static void on_notify(struct pg *pg, const char *channel)
{
	(void)channel;
	read_news(pg_owner(pg));
}

struct journal *journal_new(struct ev_loop *loop, const char *conninfo, struct accounts *accounts,
                            struct sessions *sessions, void (*on_followed)(void *arg), void *arg)
{
	static const char *const   channels[] = { "boardwalk_auth", NULL };
	static const struct pg_ops ops = { on_up, on_down, on_notify };
	struct journal            *j = xcalloc(1, sizeof(*j));

	j->loop = loop;
	j->accounts = accounts;
	j->sessions = sessions;
	j->on_followed = on_followed;
	j->arg = arg;
	ev_timer_init(&j->poll, on_poll, JOURNAL_POLL_S, JOURNAL_POLL_S);
	j->poll.data = j;
	ev_timer_start(loop, &j->poll);
	j->pg = pg_new(loop, conninfo, statements, 1, channels, TIMEOUT_MS, 4, &ops, j);
	pg_require_schema(j->pg);
	return j;
}

void journal_free(struct journal *j)
{
	if (j == NULL)
		return;
	pg_free(j->pg);
	ev_timer_stop(j->loop, &j->poll);
	free(j->snapshot);
	free(j);
}
