/* schema.c - waits for the schema's version.
 * Owns: a connection of its own, for as long as it waits. Runs in: the loop, at start. Fails with: a
 * fatal line when the database is newer than this program. Tests: tests/unit/auth/database_test.c. */
#include "schema.h"
#include <base/fatal.h>
#include <base/log.h>
#include <base/schema_version.h>
#include <pg/pg.h>
#include <stdlib.h>

#define AGAIN_S    0.1
#define TIMEOUT_MS 2000u

enum query {
#define Q_BOOT(name, n_params, n_columns, writes, sql) QUERY_##name,
#include "queries.def"
};

static const struct pg_statement statements[] = {
#define Q_BOOT(name, n_params, n_columns, writes, sql) { #name, sql, n_params, n_columns, writes },
#include "queries.def"
};

struct schema_wait {
	struct ev_loop *loop;
	struct pg      *pg;
	ev_timer again; /* asks; or, when ready, ends outside of the connection's callbacks */
	bool     is_ready;
	int64_t  logged; /* version last waited on */
	void (*on_ready)(void *arg);
	void *arg;
};

static void ask_later(struct schema_wait *s, double seconds)
{
	ev_timer_stop(s->loop, &s->again);
	ev_timer_set(&s->again, seconds, 0.);
	ev_timer_start(s->loop, &s->again);
}

static void on_version(void *arg, int err, const struct pg_rows *rows)
{
	struct schema_wait *s = arg;
	int64_t             version = err == BW_OK ? pg_int(rows, 0, 0) : -1; /* 0: no row yet */

	if (version > SCHEMA_VERSION)
		fatalx("the database is at schema version %lld, this program knows %d: it is too "
		       "old",
		       (long long)version, SCHEMA_VERSION);
	s->is_ready = version == SCHEMA_VERSION;
	if (version >= 0 && !s->is_ready && version != s->logged)
		log_info(0, "waiting for schema version %d, the database is at %lld",
		         SCHEMA_VERSION, (long long)version);
	s->logged = version;
	ask_later(s, s->is_ready ? 0. : AGAIN_S);
}

static void ask(struct schema_wait *s)
{
	if (pg_query(s->pg, QUERY_SCHEMA_VERSION, NULL, on_version, s) != BW_OK)
		ask_later(s, AGAIN_S);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct schema_wait *s = w->data;

	(void)loop;
	(void)revents;
	if (s->is_ready)
		s->on_ready(s->arg);
	else if (pg_is_up(s->pg))
		ask(s);
}

static void on_up(struct pg *pg)
{
	ask(pg_owner(pg));
}

struct schema_wait *schema_wait_new(struct ev_loop *loop, const char  *conninfo,
                                    void (*on_ready)(void *arg), void *arg)
{
	static const struct pg_ops ops = { .on_up = on_up };
	struct schema_wait        *s = xcalloc(1, sizeof(*s));

	s->loop = loop;
	s->logged = -1;
	s->on_ready = on_ready;
	s->arg = arg;
	ev_timer_init(&s->again, on_again, 0., 0.);
	s->again.data = s;
	s->pg = pg_new(loop, conninfo, statements, 1, NULL, TIMEOUT_MS, 1, &ops, s);
	return s;
}

void schema_wait_free(struct schema_wait *s)
{
	if (s == NULL)
		return;
	pg_free(s->pg); /* a query in flight ends here and sets the timer once more */
	ev_timer_stop(s->loop, &s->again);
	free(s);
}
