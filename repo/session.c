/* session.c - what gateways ask about sessions, each question a statement.
 *
 *    LOAD --> SESSION (a read) ---------------------------------> answer
 *                |  something has ended, or an access is to be written
 *                `----> VISIT (commits) ------------------------> answer
 *    all others --> a function of 0003_session.sql (commits) ---> answer
 *    WATCH --> waits for session_life.c
 *
 * Owns: questions that wait. Runs in: repo's loop. Fails with: BW_ESTATE (there is no such
 * session), BW_ETOOBIG, BW_EINVAL, and pg.h's. Logs nothing.
 * Tests: tests/unit/repo/session_test.c. */
#include "session_impl.h"
#include "bytea.h"
#include "session_rows.h"
#include <base/fatal.h>
#include <stdlib.h>

#define RETRY_S 1u

/* ---- the end of a question ---- */

void session_ask_end(struct session_ask *ask)
{
	if (ask->asker != NULL)
		LIST_REMOVE(ask, with_asker);
	if (ask->q.id != WIRE_SESSION_WATCH)
		ask->s->n_waiting--;
	free(ask->id);
	free(ask->context);
	free(ask);
}

void session_ask_fail(struct session_ask *ask, int err)
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
	session_ask_end(ask);
}

/* Records that are in scratch. */
void session_ask_answer(struct session_ask *ask, unsigned count)
{
	Bw__Wire__SessionData m = BW__WIRE__SESSION_DATA__INIT;
	const struct buf     *records = &ask->s->scratch;

	m.count = count;
	m.sessions = (ProtobufCBinaryData){ buf_size(records), buf_data(records) };
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	session_ask_end(ask);
}

static void answer_rows(struct session_ask *ask, const struct pg_rows *rows)
{
	buf_clear(&ask->s->scratch);
	session_ask_answer(ask, session_rows_put(&ask->s->scratch, rows));
}

static void on_rows(void *arg, int err, const struct pg_rows *rows)
{
	if (err != BW_OK)
		session_ask_fail(arg, err);
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
		session_ask_fail(ask, err);
		return;
	}
	arena_init(&a);
	value = bytea_get(&a, rows, 0, 2);
	m.has_kind = m.has_value = value.p != NULL;
	m.kind = (uint32_t)pg_int(rows, 0, 1);
	m.value = (ProtobufCBinaryData){ value.n, (uint8_t *)value.p };
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	arena_done(&a);
	session_ask_end(ask);
}

static void on_timeout_set(void *arg, int err, const struct pg_rows *rows)
{
	struct session_ask      *ask = arg;
	Bw__Wire__SessionChanged m = BW__WIRE__SESSION_CHANGED__INIT;

	if (err == BW_OK && pg_rows_count(rows) == 0)
		err = BW_ESTATE;
	if (err != BW_OK) {
		session_ask_fail(ask, err);
		return;
	}
	m.lease = (uint64_t)pg_int(rows, 0, 0);
	if (ask->asker != NULL)
		wire_answer(ask->asker->chan, &ask->q, 0, 0, &m.base);
	session_ask_end(ask);
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
	return b->len == SESSION_HASH_SIZE ? bytea_text(a, b->data, b->len) : NULL;
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
                      const struct wire_question *q, enum session_write statement,
                      const struct pg_param *params, unsigned n, pg_rows_cb cb)
{
	struct session_ask *ask;
	int                 err;

	for (unsigned i = 0; i < n; i++)
		if (params[i].text == NULL)
			return false;
	ask = ask_new(s, asker, q);
	err = pg_query(session_writer(s), statement, params, cb, ask);
	if (err != BW_OK)
		session_ask_fail(ask, err);
	return true;
}

static void on_read(void *arg, int err, const struct pg_rows *rows)
{
	struct session_ask *ask = arg;
	bool                is_due = false;

	if (err != BW_OK) {
		session_ask_fail(ask, err);
		return;
	}
	for (unsigned i = 0; i < pg_rows_count(rows); i++)
		is_due |= pg_bool(rows, i, SESSION_DUE);
	if (!is_due) {
		answer_rows(ask, rows);
		return;
	}
	err = pg_query(session_writer(ask->s), SESSION_WRITE_VISIT,
	               (struct pg_param[]){ { ask->id }, { ask->context } }, on_rows, ask);
	if (err != BW_OK)
		session_ask_fail(ask, err);
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
	err = pg_query(s->reads, SESSION_READ_SESSION, (struct pg_param[]){ { id }, { context } },
	               on_read, ask);
	if (err != BW_OK)
		session_ask_fail(ask, err);
	return true;
}

static bool set(struct sessions *s, struct session_asker *asker, const struct wire_question *q,
                const Bw__Wire__SessionSet *m, struct arena *a)
{
	struct bw_str value = { (const char *)m->value.data, m->value.len };
	bool          sets = m->has_kind;

	if (m->has_value != sets || (sets && !session_value_fits(m->kind, value)))
		return false;
	return write_for(s, asker, q, SESSION_WRITE_SET,
	                 (struct pg_param[]){
				 { hash(a, &m->id) },
				 { name(a, &m->context) },
				 { name(a, &m->name) },
				 { sets ? number(a, m->kind) : NULL },
				 { sets ? bytea_text(a, value.p, value.n) : NULL },
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
	(void)pg_query(session_writer(s), SESSION_WRITE_RELEASE,
	               (struct pg_param[]){ { id }, { context }, { number(a, (int64_t)m->lease) } },
	               on_released, NULL);
	return true;
}

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
		return write_for(s, asker, q, SESSION_WRITE_CREATE,
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
		return write_for(s, asker, q, SESSION_WRITE_ADD,
		                 (struct pg_param[]){
					 { hash(a, &m->session_add.id) },
					 { name(a, &m->session_add.context) },
					 { name(a, &m->session_add.name) },
					 { number(a, (int64_t)m->session_add.delta) },
				 },
		                 4, on_changed);
	case WIRE_SESSION_TIMEOUT:
		return write_for(s, asker, q, SESSION_WRITE_TIMEOUT,
		                 (struct pg_param[]){
					 { hash(a, &m->session_timeout.id) },
					 { name(a, &m->session_timeout.context) },
					 { number(a, m->session_timeout.max_inactive) },
				 },
		                 3, on_timeout_set);
	case WIRE_SESSION_INVALIDATE:
		return write_for(s, asker, q, SESSION_WRITE_INVALIDATE,
		                 (struct pg_param[]){
					 { hash(a, &m->session_invalidate.id) },
					 { name(a, &m->session_invalidate.context) },
				 },
		                 2, on_rows);
	case WIRE_SESSION_CHANGE_ID:
		return write_for(s, asker, q, SESSION_WRITE_CHANGE_ID,
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
