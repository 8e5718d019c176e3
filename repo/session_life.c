/* session_life.c - the sessions' connections to PostgreSQL, and sessions that end by themselves.
 *
 * Reads have a connection of their own, so that they do not stand behind commits. On one connection
 * commits stand in line, each waiting for the disk, while the server syncs those of several at
 * once: so there are more connections that write, as they are needed. The order in which they run
 * is nobody's business: a request waits for each of its changes, and a lease that is given back too
 * late is refused.
 *
 * Every five seconds, while a gateway's worker waits with SESSION_WATCH, sessions whose time is over
 * are deleted, a few at a time, and the worker that waits longest is told of them.
 *
 * Owns: the connections, the workers that wait. Runs in: repo's loop. Fails with: pg.h's errors,
 * given to the questions. Logs sessions that ended and that nobody was told of.
 * Tests: tests/unit/repo/session_test.c. */
#include "session_impl.h"
#include "session_rows.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_QUERIES 4096u
#define SWEEP_S     5.
#define WRITER_BUSY 4u /* in flight on each: another one is worth its connection */

static const struct pg_statement read_statements[] = {
#define Q_SESSION_READ(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};
static const struct pg_statement write_statements[] = {
#define Q_SESSION_WRITE(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};

/* ---- connections ---- */

static struct pg *connect_to(struct sessions *s, const struct pg_statement *statements, size_t n)
{
	static const struct pg_ops ops = { NULL, NULL, NULL };
	struct pg *pg = pg_new(s->loop, s->conninfo, statements, n, NULL, s->timeout_ms,
	                       MAX_QUERIES, &ops, s);

	pg_require_schema(pg);
	return pg;
}

static void add_writer(struct sessions *s)
{
	s->writers[s->n_writers++] = connect_to(s, write_statements, SESSION_N_WRITES);
}

/* The one with the least to do, of those that are there. */
struct pg *session_writer(struct sessions *s)
{
	struct pg *best = s->writers[0];

	for (unsigned i = 1; i < s->n_writers; i++) {
		struct pg *pg = s->writers[i];

		if (pg_is_up(pg) && (!pg_is_up(best) || pg_in_flight(pg) < pg_in_flight(best)))
			best = pg;
	}
	if (pg_in_flight(best) >= WRITER_BUSY && s->n_writers < SESSION_MAX_WRITERS)
		add_writer(s);
	return best;
}

/* ---- sessions that end by themselves ---- */

static void sweep(struct sessions *s);

/* They are deleted already. If the one who asked has gone meanwhile, the next one tells of them. */
static void on_swept(void *arg, int err, const struct pg_rows *rows)
{
	struct sessions    *s = arg;
	struct session_ask *ask = TAILQ_FIRST(&s->watchers);
	unsigned            count;

	s->sweeping = false;
	if (err != BW_OK || pg_rows_count(rows) == 0)
		return;
	buf_clear(&s->scratch);
	count = session_rows_put(&s->scratch, rows);
	if (ask == NULL) {
		log_warning(0, "%u sessions have ended, and no gateway is there to be told", count);
		return;
	}
	TAILQ_REMOVE(&s->watchers, ask, watching);
	session_ask_answer(ask, count);
	sweep(s); /* there may be more */
}

static void sweep(struct sessions *s)
{
	struct session_ask *ask = TAILQ_FIRST(&s->watchers);
	char                most[16];

	if (s->sweeping || ask == NULL)
		return;
	snprintf(most, sizeof(most), "%u", ask->max);
	s->sweeping = pg_query(session_writer(s), SESSION_WRITE_SWEEP,
	                       (struct pg_param[]){ { most } }, on_swept, s) == BW_OK;
}

static void on_sweep(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	sweep(w->data);
}

/* ---- life ---- */

bool sessions_are_up(const struct sessions *s)
{
	return pg_is_up(s->reads) && pg_is_up(s->writers[0]);
}

unsigned sessions_waiting(const struct sessions *s)
{
	return s->n_waiting;
}

void session_asker_init(struct session_asker *a, struct wire_chan *chan)
{
	a->chan = chan;
	LIST_INIT(&a->waiting);
}

void session_asker_gone(struct session_asker *a)
{
	struct session_ask *ask;

	while ((ask = LIST_FIRST(&a->waiting)) != NULL) {
		LIST_REMOVE(ask, with_asker);
		ask->asker = NULL;
		if (ask->q.id != WIRE_SESSION_WATCH)
			continue;
		TAILQ_REMOVE(&ask->s->watchers, ask, watching);
		session_ask_end(ask);
	}
}

struct sessions *sessions_new(struct ev_loop *loop, const char *conninfo,
                              unsigned statement_timeout_ms)
{
	struct sessions *s = xcalloc(1, sizeof(*s));

	s->loop = loop;
	s->conninfo = xstrdup(conninfo);
	s->timeout_ms = statement_timeout_ms;
	TAILQ_INIT(&s->watchers);
	buf_init(&s->scratch);
	s->reads = connect_to(s, read_statements, SESSION_N_READS);
	add_writer(s);
	ev_timer_init(&s->sweep, on_sweep, SWEEP_S, SWEEP_S);
	s->sweep.data = s;
	ev_timer_start(loop, &s->sweep);
	return s;
}

void sessions_free(struct sessions *s)
{
	struct session_ask *ask;

	if (s == NULL)
		return;
	ev_timer_stop(s->loop, &s->sweep);
	pg_free(s->reads);
	for (unsigned i = 0; i < s->n_writers; i++)
		pg_free(s->writers[i]);
	while ((ask = TAILQ_FIRST(&s->watchers)) != NULL) {
		TAILQ_REMOVE(&s->watchers, ask, watching);
		session_ask_fail(ask, BW_EGONE);
	}
	buf_done(&s->scratch);
	free(s->conninfo);
	free(s);
}
