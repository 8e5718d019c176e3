/* journal.c - follows repo.journal, by the bell and every 150 ms in any case.
 *
 * Each reading takes the rows that are visible now and were not in the snapshot of the reading
 * before: exactly those whose transactions have ended in between, in whatever order they drew their
 * numbers. Whoever comes up anew, was away for long, or has too much to read forgets everything.
 *
 * After a crash of the server transaction ids may be given out twice, and then a snapshot from
 * before is worth nothing. A connection that has stood since says that there was none: a snapshot
 * counts as long as one of its witnesses stands, the connections that were up when it was taken,
 * and the next reading goes over one of those. So the journal is followed while only the connection
 * that listens is lost, over that for reads (docs/decisions/0014-journal.md). If a reading takes
 * long, or we were stopped, nothing is answered until one has ended: others may be writing.
 * Owns: the connection that listens. Runs in: repo's loop. Fails with: fatal, if the schema is
 * newer than this program. Logs what it waits for. Tests: tests/unit/repo/journal_test.c,
 * tests/system/events_test.c. */
#include "journal.h"
#include "entries.h"
#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <pg/pg.h>
#include <stdlib.h>

#define PRUNE_ROWS  10000 /* as many as repo.journal_prune takes at a time: there are more */
#define PRUNE_S     60.
#define RING_S      0.01 /* between two bells */
#define MAX_QUERIES 16u
#define MAX_ROWS    20000u      /* of one reading: more than one commit writes */
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

/* The two connections by the number of times that they have come up; 0: down. */
struct connections {
	unsigned listening, reads;
};

struct journal {
	struct resources  *r;
	struct events     *events;
	struct pg         *pg;
	struct ev_loop    *loop;
	ev_timer           poll, bell, prune;
	bool               ring_again;
	char              *snapshot;      /* of the last reading; NULL: none */
	struct connections witnesses;     /* of the snapshot */
	struct connections asked;         /* when the present reading was sent */
	uint64_t           read_at_us;    /* CLOCK_BOOTTIME of it */
	bool               reading, rung; /* rung: a bell during the reading */
	bool               loading_entries, loading_types;
	bool               want_entries, want_types; /* again, once the present loading has ended */
	bool     entries_void, types_void; /* what is being loaded is too old to start with */
	bool     has_entries, has_types;
	uint64_t types_begun, types_ended; /* loadings of the super types, by number */
	char    *search_path;              /* as an array's text */
};

static void read_news(struct journal *j);

static void look_whether_current(struct journal *j)
{
	if (j->snapshot != NULL && j->has_entries && j->has_types)
		resources_set_current(j->r, true);
}

/* ---- over which connection ---- */

static struct connections connections_now(const struct journal *j)
{
	return (struct connections){ pg_is_up(j->pg) ? pg_connection(j->pg) : 0,
		                     resources_connection(j->r) };
}

static bool is_listening(const struct journal *j)
{
	return pg_is_up(j->pg);
}

static int query_over(struct journal *j, bool listening, enum query q,
                      const struct pg_param *params, pg_rows_cb cb)
{
	return listening ? pg_query(j->pg, q, params, cb, j)
	                 : resources_follow(j->r, q, params, cb, j);
}

static int query(struct journal *j, enum query q, const struct pg_param *params, pg_rows_cb cb)
{
	return query_over(j, is_listening(j), q, params, cb);
}

/* Whether a witness of the snapshot stands; *ret_listening: which. */
static bool find_witness(const struct journal *j, bool *ret_listening)
{
	struct connections now = connections_now(j);

	*ret_listening = now.listening != 0 && now.listening == j->witnesses.listening;
	return *ret_listening || (now.reads != 0 && now.reads == j->witnesses.reads);
}

/* ---- loading ---- */

static void load_entries(struct journal *j);
static void load_types(struct journal *j);

static void on_entries(void *arg, int err, const struct pg_rows *rows)
{
	struct journal *j = arg;
	struct acl     *acl = resources_acl(j->r);
	bool            is_void = j->entries_void;

	j->loading_entries = j->entries_void = false;
	if (err != BW_OK) {
		j->want_entries = true; /* the next turn tries again */
		return;
	}
	entries_load(acl, rows);
	j->has_entries |= !is_void;
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
	j->loading_entries = query(j, QUERY_ENTRIES, NULL, on_entries) == BW_OK;
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
	bool               is_void = j->types_void;

	j->loading_types = j->types_void = false;
	if (err != BW_OK) {
		j->want_types = true;
		return;
	}
	type_load_begin(types);
	for (unsigned i = 0; i < pg_rows_count(rows); i++)
		type_load_add(types, pg_text(rows, i, 0), pg_text(rows, i, 1));
	type_load_end(types);
	j->types_ended = j->types_begun;
	resources_types_loaded(j->r);
	j->has_types |= !is_void;
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
	j->loading_types = query(j, QUERY_SUPER_TYPES, params, on_types) == BW_OK;
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
	j->has_entries = j->has_types = false;
	j->entries_void = j->loading_entries;
	j->types_void = j->loading_types;
	load_entries(j);
	load_types(j);
	events_resync(j->events);
}

/* Nobody says what has changed since the last reading. */
static void forget(struct journal *j)
{
	free(j->snapshot);
	j->snapshot = NULL;
	j->has_entries = j->has_types = j->want_entries = j->want_types = false;
	resources_set_current(j->r, false);
	resources_forget_all(j->r);
}

enum news_column {
	SNAPSHOT,
	GENERATION,
	KIND,
	PATH,
	SUPER_TYPE_SET,
	COMMIT,
	NAMES,
	PRINCIPAL,
	NODE,
	FROM_PATH,
	OF_FILE,
};

static void invalidate(struct journal *j, const struct pg_rows *rows, unsigned n)
{
	bool types = false;

	for (unsigned i = 0; i < n; i++) {
		struct bw_str kind = pg_text(rows, i, KIND), path = pg_text(rows, i, PATH);
		bool          removed = bw_str_eq(kind, BW_STR("REMOVED"));
		bool          came = pg_text(rows, i, FROM_PATH).p != NULL;

		if (bw_str_eq(kind, BW_STR("ACL")))
			continue; /* the generation tells */
		resources_changed(j->r, path, removed || came);
		types |= (removed || came || pg_bool(rows, i, SUPER_TYPE_SET)) &&
		         type_is_below_search_path(resources_types(j->r), path);
	}
	if (types)
		load_types(j);
}

/* The audit trail of permissions: whoever changed them, and by whatever way. Without a principal it was
 * the operator, by a command or a script. */
static void audit(const struct pg_rows *rows, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct bw_str    path = pg_text(rows, i, PATH), user = pg_text(rows, i, PRINCIPAL);
		struct log_field fields[] = { { "path", path.p, path.n },
			                      { "user", user.p, user.n } };

		if (bw_str_eq(pg_text(rows, i, KIND), BW_STR("ACL")))
			log_event(0, "permissions_changed", fields, user.p != NULL ? 2 : 1);
	}
}

static void tell(struct journal *j, const struct pg_rows *rows, unsigned n)
{
	struct event_row *list;

	if (!events_are_wanted(j->events))
		return;
	list = xcalloc(n, sizeof(*list));
	for (unsigned i = 0; i < n; i++)
		list[i] = (struct event_row){
			.commit = pg_text(rows, i, COMMIT),
			.kind = pg_text(rows, i, KIND),
			.path = pg_text(rows, i, PATH),
			.names = pg_text(rows, i, NAMES),
			.principal = pg_text(rows, i, PRINCIPAL),
			.node = pg_text(rows, i, NODE),
			.from = pg_text(rows, i, FROM_PATH),
			.of_file = pg_bool(rows, i, OF_FILE),
		};
	events_tell(j->events, list, n);
	free(list);
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
	if (first || n > MAX_ROWS || now - j->read_at_us > MAX_AWAY_US) {
		start_anew(j);
	} else if (pg_text(rows, 0, KIND).p != NULL) {
		invalidate(j, rows, n);
		audit(rows, n);
		tell(j, rows, n);
	}
	if (pg_int(rows, 0, GENERATION) != acl_generation(resources_acl(j->r)) && j->has_entries)
		load_entries(j);
	free(j->snapshot);
	j->snapshot = xstrdup(pg_text(rows, 0, SNAPSHOT).p);
	j->witnesses = j->asked;
	j->read_at_us = now;
	resources_vouch_until(j->r, now + MAX_LATE_US);
	look_whether_current(j);
	if (j->rung)
		read_news(j);
}

static void read_news(struct journal *j)
{
	bool listening = is_listening(j);

	j->rung = j->reading;
	if (j->reading)
		return;
	if (j->snapshot != NULL && !find_witness(j, &listening))
		forget(j);
	j->asked = connections_now(j);
	j->reading = query_over(j, listening, QUERY_NEWS, (struct pg_param[]){ { j->snapshot } },
	                        on_news) == BW_OK;
}

/* ---- the connection ---- */

static void on_up(struct pg *pg)
{
	read_news(pg_owner(pg));
}

static void on_down(struct pg *pg, const char *reason)
{
	(void)reason; /* pg.c has logged it */
	read_news(pg_owner(pg));
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
	if (is_listening(j))
		(void)pg_query(j->pg, QUERY_RING, NULL, on_rung, j); /* we hear it, too */
	else
		read_news(j);
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
	if (is_listening(j))
		(void)pg_query(j->pg, QUERY_JOURNAL_PRUNE, NULL, on_pruned, j);
}

static void on_prune(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	prune(w->data);
}

static void on_poll(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct journal *j = w->data;

	(void)loop;
	(void)revents;
	if (!j->reading)
		read_news(j);
	if (j->want_entries && !j->loading_entries)
		load_entries(j);
	if (j->want_types && !j->loading_types)
		load_types(j);
}

static void start_timers(struct journal *j, double interval_s)
{
	ev_timer_init(&j->poll, on_poll, interval_s, interval_s);
	ev_timer_init(&j->prune, on_prune, PRUNE_S, PRUNE_S);
	ev_init(&j->bell, on_bell);
	j->poll.data = j->prune.data = j->bell.data = j;
	ev_timer_start(j->loop, &j->poll);
	ev_timer_start(j->loop, &j->prune);
}

struct journal *journal_new(struct ev_loop *loop, const struct journal_settings *s,
                            struct resources *r, struct events *events)
{
	static const char *const   channels[] = { "boardwalk_repo", NULL };
	static const struct pg_ops ops = { on_up, on_down, on_notify };
	struct journal            *j = xcalloc(1, sizeof(*j));
	struct bw_str             *items = xcalloc(s->n_search_path + 1, sizeof(*items));

	j->loop = loop;
	j->r = r;
	j->events = events;
	for (size_t i = 0; i < s->n_search_path; i++)
		items[i] = bw_str(s->search_path[i]);
	j->search_path = pg_array(items, (unsigned)s->n_search_path);
	free(items);
	j->pg = pg_new(loop, s->conninfo, statements, N_QUERIES, channels, s->statement_timeout_ms,
	               MAX_QUERIES, &ops, j);
	pg_require_schema(j->pg);
	start_timers(j, s->interval_ms / 1000.);
	return j;
}

void journal_free(struct journal *j)
{
	if (j == NULL)
		return;
	ev_timer_stop(j->loop, &j->poll);
	ev_timer_stop(j->loop, &j->prune);
	ev_timer_stop(j->loop, &j->bell);
	pg_free(j->pg);
	free(j->snapshot);
	free(j->search_path);
	free(j);
}
