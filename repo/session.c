/* session.c - what gateways ask about sessions, each question a statement.
 *
 *    LOAD --> SESSION (a read) ---------------------------------> answer
 *                |  something has ended, or an access is to be written
 *                `----> VISIT (commits) ------------------------> answer
 *    all others --> a function of 0003_session.sql (commits) ---> answer
 *    WATCH --> waits; SWEEP, every 5 s while somebody does -----> answer to the one who waits longest
 *
 * Reads have a connection of their own, so that they do not stand behind commits. On one connection
 * commits stand in line, each waiting for the disk, while the server syncs those of several at once: so
 * there are more connections that write, as they are needed. The order in which they run is nobody's
 * business: a request waits for each of its changes, and a lease that is given back too late is refused.
 * Owns: the connections, questions that wait. Runs in: repo's loop. Fails with: BW_ESTATE (there is no
 * such session), BW_ETOOBIG, BW_EINVAL, and pg.h's. Logs sessions that ended and that nobody was told
 * of. Tests: tests/unit/repo/session_test.c. */
#include "session.h"
#include "session_rows.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <wire/session.h>

#define MAX_QUERIES 4096u
#define SWEEP_S     5.
#define MAX_WRITERS 4u
#define WRITER_BUSY 4u /* in flight on each: another one is worth its connection */
#define RETRY_S     1u

enum read_query {
#define Q_SESSION_READ(name, n_params, n_columns, writes, sql) READ_##name,
#include "queries.def"
	N_READS
};
enum write_query {
#define Q_SESSION_WRITE(name, n_params, n_columns, writes, sql) WRITE_##name,
#include "queries.def"
	N_WRITES
};
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

struct session_ask {
	struct sessions      *s;
	struct session_asker *asker; /* NULL: gone */
	struct wire_question  q;
	LIST_ENTRY(session_ask) with_asker;
	TAILQ_ENTRY(session_ask) watching;
	char    *id, *context; /* LOAD: the parameters, for VISIT; heap */
	unsigned max;          /* WATCH */
};

struct sessions {
	struct ev_loop *loop;
	char           *conninfo;
	unsigned        timeout_ms;
	struct pg      *reads, *writers[MAX_WRITERS];
	unsigned        n_writers;
	unsigned        n_waiting;
	ev_timer        sweep;
	bool            sweeping;
	TAILQ_HEAD(, session_ask) watchers; /* the one that waits longest first */
	struct buf scratch;
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
	s->writers[s->n_writers++] = connect_to(s, write_statements, N_WRITES);
}

/* The one with the least to do, of those that are there. */
static struct pg *writer(struct sessions *s)
{
	struct pg *best = s->writers[0];

	for (unsigned i = 1; i < s->n_writers; i++) {
		struct pg *pg = s->writers[i];

		if (pg_is_up(pg) && (!pg_is_up(best) || pg_in_flight(pg) < pg_in_flight(best)))
			best = pg;
	}
	if (pg_in_flight(best) >= WRITER_BUSY && s->n_writers < MAX_WRITERS)
		add_writer(s);
	return best;
}

/* ---- the end of a question ---- */

static void ask_end(struct session_ask *ask)
{
	if (ask->asker != NULL)
		LIST_REMOVE(ask, with_asker);
	if (ask->q.id != WIRE_SESSION_WATCH)
		ask->s->n_waiting--;
	free(ask->id);
	free(ask->context);
	free(ask);
}

static void fail(struct session_ask *ask, int err)
{
	static const char *const reasons[] = {
		[-BW_ESTATE] = "the session is gone",
		[-BW_ETOOBIG] = "the session is full",
		[-BW_EINVAL] = "no integer, or the sum does not fit",
		[-BW_EGONE] = "PostgreSQL is away",
		[-BW_EBUSY] = "too many questions are waiting for PostgreSQL",
		[-BW_ETIME] = "PostgreSQL took too long",
		[-BW_EIO] = "PostgreSQL refused a statement",
	};
	unsigned retry = err == BW_EGONE || err == BW_EBUSY ? RETRY_S : 0;

	if (ask->asker != NULL)
		wire_fail(ask->asker->chan, &ask->q, err, retry, reasons[-err]);
	ask_end(ask);
}

/* Records that are in scratch. */
static void answer_data(struct session_ask *ask, unsigned count)
{
	Bw__Wire__SessionData m = BW__WIRE__SESSION_DATA__INIT;
	const struct buf     *records = &ask->s->scratch;

	m.count = count;
	m.sessions = (ProtobufCBinaryData){ buf_size(records), buf_data(records) };
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	ask_end(ask);
}

static void answer_rows(struct session_ask *ask, const struct pg_rows *rows)
{
	buf_clear(&ask->s->scratch);
	answer_data(ask, session_rows_put(&ask->s->scratch, rows));
}

static void on_rows(void *arg, int err, const struct pg_rows *rows)
{
	if (err != BW_OK)
		fail(arg, err);
	else
		answer_rows(arg, rows);
}

/* The outcome of session_set and session_add. */
static int outcome_of(struct bw_str text)
{
	if (bw_str_eq(text, BW_STR("done")))
		return BW_OK;
	if (bw_str_eq(text, BW_STR("gone")))
		return BW_ESTATE;
	return bw_str_eq(text, BW_STR("full")) ? BW_ETOOBIG : BW_EINVAL;
}

static void on_changed(void *arg, int err, const struct pg_rows *rows)
{
	struct session_ask      *ask = arg;
	Bw__Wire__SessionChanged m = BW__WIRE__SESSION_CHANGED__INIT;
	struct bw_str            value;
	struct arena             a;

	if (err == BW_OK)
		err = outcome_of(pg_text(rows, 0, 0));
	if (err != BW_OK) {
		fail(ask, err);
		return;
	}
	arena_init(&a);
	value = session_bytea(&a, rows, 0, 2);
	m.has_kind = m.has_value = value.p != NULL;
	m.kind = (uint32_t)pg_int(rows, 0, 1);
	m.value = (ProtobufCBinaryData){ value.n, (uint8_t *)value.p };
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	arena_done(&a);
	ask_end(ask);
}

static void on_timeout_set(void *arg, int err, const struct pg_rows *rows)
{
	struct session_ask      *ask = arg;
	Bw__Wire__SessionChanged m = BW__WIRE__SESSION_CHANGED__INIT;

	if (err == BW_OK && pg_rows_count(rows) == 0)
		err = BW_ESTATE;
	if (err != BW_OK) {
		fail(ask, err);
		return;
	}
	m.lease = (uint64_t)pg_int(rows, 0, 0);
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	ask_end(ask);
}

/* ---- questions ---- */

static struct session_ask *ask_new(struct sessions *s, struct session_asker *asker,
                                   const struct wire_question *q)
{
	struct session_ask *ask = xcalloc(1, sizeof(*ask));

	ask->s = s;
	ask->asker = asker;
	ask->q = *q;
	LIST_INSERT_HEAD(&asker->waiting, ask, with_asker);
	if (q->id != WIRE_SESSION_WATCH)
		s->n_waiting++;
	return ask;
}

/* What the questions have in common, as texts for PostgreSQL; NULL: malformed. */

static const char *hash(struct arena *a, const ProtobufCBinaryData *b)
{
	return b->len == SESSION_HASH_SIZE ? session_bytea_text(a, b->data, b->len) : NULL;
}

static const char *name(struct arena *a, const ProtobufCBinaryData *b)
{
	struct bw_str s = { (const char *)b->data, b->len };

	return session_name_fits(s) ? arena_dup(a, s.p, s.n) : NULL;
}

static const char *number(struct arena *a, int64_t v)
{
	return arena_printf(a, "%lld", (long long)v);
}

/* Starts a question whose first n parameters must not be NULL. */
static bool write_for(struct sessions *s, struct session_asker *asker,
                      const struct wire_question *q, enum write_query statement,
                      const struct pg_param *params, unsigned n, pg_rows_cb cb)
{
	struct session_ask *ask;
	int                 err;

	for (unsigned i = 0; i < n; i++)
		if (params[i].text == NULL)
			return false;
	ask = ask_new(s, asker, q);
	err = pg_query(writer(s), statement, params, cb, ask);
	if (err != BW_OK)
		fail(ask, err);
	return true;
}

static void on_read(void *arg, int err, const struct pg_rows *rows)
{
	struct session_ask *ask = arg;
	bool                is_due = false;

	if (err != BW_OK) {
		fail(ask, err);
		return;
	}
	for (unsigned i = 0; i < pg_rows_count(rows); i++)
		is_due |= pg_bool(rows, i, SESSION_DUE);
	if (!is_due) {
		answer_rows(ask, rows);
		return;
	}
	err = pg_query(writer(ask->s), WRITE_VISIT,
	               (struct pg_param[]){ { ask->id }, { ask->context } }, on_rows, ask);
	if (err != BW_OK)
		fail(ask, err);
}

static bool load(struct sessions *s, struct session_asker *asker, const struct wire_question *q,
                 const char *id, const char *context)
{
	struct session_ask *ask;
	int                 err;

	if (id == NULL || context == NULL)
		return false;
	ask = ask_new(s, asker, q);
	ask->id = xstrdup(id);
	ask->context = xstrdup(context);
	err = pg_query(s->reads, READ_SESSION, (struct pg_param[]){ { id }, { context } }, on_read,
	               ask);
	if (err != BW_OK)
		fail(ask, err);
	return true;
}

static bool set(struct sessions *s, struct session_asker *asker, const struct wire_question *q,
                const Bw__Wire__SessionSet *m, struct arena *a)
{
	struct bw_str value = { (const char *)m->value.data, m->value.len };
	bool          sets = m->has_kind;

	if (m->has_value != sets || (sets && !session_value_fits(m->kind, value)))
		return false;
	return write_for(s, asker, q, WRITE_SET,
	                 (struct pg_param[]){
				 { hash(a, &m->id) },
				 { name(a, &m->context) },
				 { name(a, &m->name) },
				 { sets ? number(a, m->kind) : NULL },
				 { sets ? session_bytea_text(a, value.p, value.n) : NULL },
			 },
	                 3, on_changed);
}

static void on_released(void *arg, int err, const struct pg_rows *rows)
{
	(void)arg; /* pg.c has logged an error; the lease then ends by itself */
	(void)err;
	(void)rows;
}

static bool release(struct sessions *s, const Bw__Wire__SessionRelease *m, struct arena *a)
{
	const char *id = hash(a, &m->id), *context = name(a, &m->context);

	if (id == NULL || context == NULL || m->lease > INT64_MAX)
		return false;
	(void)pg_query(writer(s), WRITE_RELEASE,
	               (struct pg_param[]){ { id }, { context }, { number(a, (int64_t)m->lease) } },
	               on_released, NULL);
	return true;
}

static void sweep(struct sessions *s);

static bool watch(struct sessions *s, struct session_asker *asker, const struct wire_question *q,
                  const Bw__Wire__SessionWatch *m)
{
	struct session_ask *ask;

	if (m->max < 1 || m->max > SESSION_BATCH)
		return false;
	ask = ask_new(s, asker, q);
	ask->max = m->max;
	TAILQ_INSERT_TAIL(&s->watchers, ask, watching);
	return true;
}

static bool dispatch(struct sessions *s, struct session_asker *asker, const struct wire_question *q,
                     const union wire_any *m, struct arena *a)
{
	switch (q->id) {
	case WIRE_SESSION_LOAD:
		return load(s, asker, q, hash(a, &m->session_load.id),
		            name(a, &m->session_load.context));
	case WIRE_SESSION_CREATE:
		return write_for(s, asker, q, WRITE_CREATE,
		                 (struct pg_param[]){
					 { hash(a, &m->session_create.id) },
					 { name(a, &m->session_create.context) },
					 { number(a, m->session_create.max_inactive) },
					 { m->session_create.join ? "true" : "false" },
				 },
		                 4, on_rows);
	case WIRE_SESSION_SET:
		return set(s, asker, q, &m->session_set, a);
	case WIRE_SESSION_ADD:
		return write_for(s, asker, q, WRITE_ADD,
		                 (struct pg_param[]){
					 { hash(a, &m->session_add.id) },
					 { name(a, &m->session_add.context) },
					 { name(a, &m->session_add.name) },
					 { number(a, (int64_t)m->session_add.delta) },
				 },
		                 4, on_changed);
	case WIRE_SESSION_TIMEOUT:
		return write_for(s, asker, q, WRITE_TIMEOUT,
		                 (struct pg_param[]){
					 { hash(a, &m->session_timeout.id) },
					 { name(a, &m->session_timeout.context) },
					 { number(a, m->session_timeout.max_inactive) },
				 },
		                 3, on_timeout_set);
	case WIRE_SESSION_INVALIDATE:
		return write_for(s, asker, q, WRITE_INVALIDATE,
		                 (struct pg_param[]){
					 { hash(a, &m->session_invalidate.id) },
					 { name(a, &m->session_invalidate.context) },
				 },
		                 2, on_rows);
	case WIRE_SESSION_CHANGE_ID:
		return write_for(s, asker, q, WRITE_CHANGE_ID,
		                 (struct pg_param[]){
					 { hash(a, &m->session_change_id.id) },
					 { hash(a, &m->session_change_id.new_id) },
				 },
		                 2, on_rows);
	case WIRE_SESSION_RELEASE:
		return release(s, &m->session_release, a);
	case WIRE_SESSION_WATCH:
		return watch(s, asker, q, &m->session_watch);
	default:
		fatalx("message %d is no session's", (int)q->id);
	}
}

bool sessions_ask(struct sessions *s, struct session_asker *asker, const struct wire_question *q,
                  const struct wire_message *m)
{
	struct arena a;
	bool         fits;

	arena_init(&a);
	fits = dispatch(s, asker, q, m->u, &a);
	arena_done(&a);
	return fits;
}

/* ---- sessions that end by themselves ---- */

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
	answer_data(ask, count);
	sweep(s); /* there may be more */
}

static void sweep(struct sessions *s)
{
	struct session_ask *ask = TAILQ_FIRST(&s->watchers);
	char                most[16];

	if (s->sweeping || ask == NULL)
		return;
	snprintf(most, sizeof(most), "%u", ask->max);
	s->sweeping = pg_query(writer(s), WRITE_SWEEP, (struct pg_param[]){ { most } }, on_swept,
	                       s) == BW_OK;
}

static void on_sweep(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	sweep(w->data);
}

/* ---- life ---- */

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
		ask_end(ask);
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
	s->reads = connect_to(s, read_statements, N_READS);
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
		fail(ask, BW_EGONE);
	}
	buf_done(&s->scratch);
	free(s->conninfo);
	free(s);
}
