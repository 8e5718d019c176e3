/* journal.c - follows repo.journal, by the bell and every 250 ms in any case.
 *
 * Each reading takes the rows that are visible now and were not in the snapshot of the reading
 * before: exactly those whose transactions have ended in between, in whatever order they drew their
 * numbers. Whoever comes up anew, was away for long, or has too much to read forgets everything.
 * After a crash of the server transaction ids may be given out twice; so a lost connection, too,
 * means to forget. If a reading takes long, or we were stopped, nothing is answered until one has
 * ended: others may be writing.
 * Owns: the connection that listens. Runs in: repo's loop. Fails with: fatal, if the schema is
 * newer than this program. Logs what it waits for. Tests: tests/unit/repo/journal_test.c. */
#include "journal.h"
#include "entries.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <pg/pg.h>
#include <stdlib.h>

#define POLL_S      0.25
#define RING_S      0.01  /* between two bells */
#define PRUNE_ROWS  10000 /* as many as repo.journal_prune takes at a time: there are more */
#define PRUNE_TURNS 240u  /* once a minute */
#define MAX_QUERIES 16u
#define MAX_ROWS    4096u       /* of one reading */
#define MAX_LATE_US 2000000u    /* without a reading: nothing is vouched for any more */
#define MAX_AWAY_US 3000000000u /* 50 minutes: rows are pruned after an hour */

enum query {
#define Q_FOLLOW(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
	N_QUERIES
};

static const struct pg_statement statements[] = {
#define Q_FOLLOW(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};

struct journal {
	struct resources *r;
	struct pg        *pg;
	struct ev_loop   *loop;
	ev_timer          poll, bell;
	bool              ring_again;
	unsigned          turns;
	char             *snapshot;      /* of the last reading; NULL: none */
	uint64_t          read_at_us;    /* CLOCK_BOOTTIME of it */
	bool              reading, rung; /* rung: a bell during the reading */
	bool              loading_entries, loading_types;
	bool              want_entries, want_types; /* again, once the present loading has ended */
	bool              has_entries, has_types;
	uint64_t          types_begun, types_ended; /* loadings of the super types, by number */
	char             *search_path;              /* as an array's text */
};

static void read_news(struct journal *j);

static void look_whether_current(struct journal *j)
{
	if (j->snapshot != NULL && j->has_entries && j->has_types)
		resources_set_current(j->r, true);
}

/* ---- loading ---- */

static void load_entries(struct journal *j);
static void load_types(struct journal *j);

static void on_entries(void *arg, int err, const struct pg_rows *rows)
{
	struct journal *j = arg;
	struct acl     *acl = resources_acl(j->r);

	j->loading_entries = false;
	if (err != BW_OK) {
		j->want_entries |= err != BW_EGONE; /* the next turn tries again */
		return;
	}
	entries_load(acl, rows);
	j->has_entries = true;
	look_whether_current(j);
	resources_entries_loaded(j->r);
	if (j->want_entries)
		load_entries(j);
}

static void load_entries(struct journal *j)
{
	if (j->loading_entries) {
		j->want_entries = true;
		return;
	}
	j->loading_entries = pg_query(j->pg, QUERY_ENTRIES, NULL, on_entries, j) == BW_OK;
	j->want_entries = !j->loading_entries;
}

void journal_want_entries(struct journal *j)
{
	load_entries(j);
}

static void on_types(void *arg, int err, const struct pg_rows *rows)
{
	struct journal    *j = arg;
	struct type_graph *types = resources_types(j->r);

	j->loading_types = false;
	if (err != BW_OK) {
		j->want_types |= err != BW_EGONE;
		return;
	}
	type_load_begin(types);
	for (unsigned i = 0; i < pg_rows_count(rows); i++)
		type_load_add(types, pg_text(rows, i, 0), pg_text(rows, i, 1));
	type_load_end(types);
	j->types_ended = j->types_begun;
	resources_types_loaded(j->r);
	j->has_types = true;
	look_whether_current(j);
	if (j->want_types)
		load_types(j);
}

static void load_types(struct journal *j)
{
	struct pg_param params[] = { { j->search_path } };

	if (j->loading_types) {
		j->want_types = true;
		return;
	}
	j->loading_types = pg_query(j->pg, QUERY_SUPER_TYPES, params, on_types, j) == BW_OK;
	j->types_begun += j->loading_types;
	j->want_types = !j->loading_types;
}

uint64_t journal_want_types(struct journal *j)
{
	load_types(j);
	return j->types_begun + j->want_types;
}

uint64_t journal_types_loaded(const struct journal *j)
{
	return j->types_ended;
}

/* ---- news ---- */

static void start_anew(struct journal *j)
{
	resources_forget_all(j->r);
	load_entries(j);
	load_types(j);
}

static void apply(struct journal *j, const struct pg_rows *rows, unsigned n)
{
	bool types = false;

	for (unsigned i = 0; i < n; i++) {
		struct bw_str kind = pg_text(rows, i, 2), path = pg_text(rows, i, 3);
		bool          removed = bw_str_eq(kind, BW_STR("REMOVED"));

		if (bw_str_eq(kind, BW_STR("ACL")))
			continue; /* the generation tells */
		resources_changed(j->r, path, removed);
		types |= (removed || pg_bool(rows, i, 4)) &&
		         type_is_below_search_path(resources_types(j->r), path);
	}
	if (types)
		load_types(j);
}

static void on_news(void *arg, int err, const struct pg_rows *rows)
{
	struct journal *j = arg;
	unsigned        n = err == BW_OK ? pg_rows_count(rows) : 0;
	uint64_t        now = clock_boot_us();
	bool            first = j->snapshot == NULL;

	j->reading = false;
	if (err != BW_OK)
		return;
	if (first || n > MAX_ROWS || now - j->read_at_us > MAX_AWAY_US)
		start_anew(j);
	else if (pg_text(rows, 0, 2).p != NULL)
		apply(j, rows, n);
	if (pg_int(rows, 0, 1) != acl_generation(resources_acl(j->r)) && j->has_entries)
		load_entries(j);
	free(j->snapshot);
	j->snapshot = xstrdup(pg_text(rows, 0, 0).p);
	j->read_at_us = now;
	resources_vouch_until(j->r, now + MAX_LATE_US);
	if (j->rung)
		read_news(j);
}

static void read_news(struct journal *j)
{
	struct pg_param params[] = { { j->snapshot } };

	j->rung = j->reading;
	if (!j->reading)
		j->reading = pg_query(j->pg, QUERY_NEWS, params, on_news, j) == BW_OK;
}

/* ---- the connection ---- */

static void on_up(struct pg *pg)
{
	read_news(pg_owner(pg));
}

static void on_down(struct pg *pg, const char *reason)
{
	struct journal *j = pg_owner(pg);

	(void)reason; /* pg.c has logged it */
	free(j->snapshot);
	j->snapshot = NULL;
	j->has_entries = j->has_types = j->want_entries = j->want_types = j->rung = false;
	resources_set_current(j->r, false);
	resources_forget_all(j->r);
}

static void on_notify(struct pg *pg, const char *channel)
{
	struct journal *j = pg_owner(pg);

	(void)channel;
	read_news(j);
}

/* ---- the bell ---- */

/* Nobody waits for it: where it is not heard the journal is read all the same, a little later. */
static void on_rung(void *arg, int err, const struct pg_rows *rows)
{
	(void)arg;
	(void)err;
	(void)rows;
}

void journal_ring(struct journal *j)
{
	if (ev_is_active(&j->bell)) {
		j->ring_again = true;
		return;
	}
	(void)pg_query(j->pg, QUERY_RING, NULL, on_rung, j);
	ev_timer_set(&j->bell, RING_S, 0.);
	ev_timer_start(j->loop, &j->bell);
}

static void on_bell(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct journal *j = w->data;

	(void)loop;
	(void)revents;
	if (!j->ring_again)
		return;
	j->ring_again = false;
	journal_ring(j);
}

/* ---- at times ---- */

static void prune(struct journal *j);

static void on_pruned(void *arg, int err, const struct pg_rows *rows)
{
	/* An error has been logged; the next minute tries again. */
	if (err == BW_OK && pg_int(rows, 0, 0) >= PRUNE_ROWS)
		prune(arg);
}

static void prune(struct journal *j)
{
	(void)pg_query(j->pg, QUERY_JOURNAL_PRUNE, NULL, on_pruned, j);
}

static void on_poll(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct journal *j = w->data;

	(void)loop;
	(void)revents;
	if (!pg_is_up(j->pg))
		return;
	if (!j->reading)
		read_news(j);
	if (j->want_entries && !j->loading_entries)
		load_entries(j);
	if (j->want_types && !j->loading_types)
		load_types(j);
	if (++j->turns % PRUNE_TURNS == 0)
		prune(j);
}

struct journal *journal_new(struct ev_loop *loop, const char *conninfo,
                            unsigned statement_timeout_ms, char *const *search_path,
                            size_t n_search_path, struct resources *r)
{
	static const char *const   channels[] = { "boardwalk_repo", NULL };
	static const struct pg_ops ops = { on_up, on_down, on_notify };
	struct journal            *j = xcalloc(1, sizeof(*j));
	struct bw_str             *items = xcalloc(n_search_path + 1, sizeof(*items));

	j->loop = loop;
	j->r = r;
	for (size_t i = 0; i < n_search_path; i++)
		items[i] = bw_str(search_path[i]);
	j->search_path = pg_array(items, (unsigned)n_search_path);
	free(items);
	j->pg = pg_new(loop, conninfo, statements, N_QUERIES, channels, statement_timeout_ms,
	               MAX_QUERIES, &ops, j);
	pg_require_schema(j->pg);
	ev_timer_init(&j->poll, on_poll, POLL_S, POLL_S);
	ev_init(&j->bell, on_bell);
	j->poll.data = j->bell.data = j;
	ev_timer_start(loop, &j->poll);
	return j;
}

void journal_free(struct journal *j)
{
	if (j == NULL)
		return;
	ev_timer_stop(j->loop, &j->poll);
	ev_timer_stop(j->loop, &j->bell);
	pg_free(j->pg);
	free(j->snapshot);
	free(j->search_path);
	free(j);
}
