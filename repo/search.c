/* search.c - searches from their question to their answer, on a few connections of their own.
 *
 * A search is one read-only transaction: what it waits for, what it reads and what it may show are of
 * one snapshot (search_begin.c). Rows come through a cursor of the server in small portions, each of
 * which goes through the evaluator and is forgotten. A search that is too late is answered at once; its
 * connection is free when the statement under way has ended: no later than the same limit again.
 * Owns: the connections, the jobs. Runs in: repo's loop. Fails with: BW_EBUSY (too many, or too slow:
 * the text says which), BW_EGONE, BW_EIO, BW_ETOOBIG. Logs searches that fail.
 * Tests: tests/unit/repo/search_test.c, tests/conformance/query. */
#include "search_impl.h"
#include <base/fatal.h>
#include <base/log.h>
#include <sodium.h>
#include <stdlib.h>
#include <wire/chan.h>

#define MAX_WAITING 64u
#define PORTION     256u /* rows at a time */
#define RETRY_S     1u

struct resources *search_resources(const struct job *job)
{
	return job->s->resources;
}

/* ---- the end of a job ---- */

static void start_next(struct searches *s);

void search_unqueue(struct job *job)
{
	if (job->is_queued)
		TAILQ_REMOVE(&job->s->waiting, job, queued);
	if (job->is_held)
		TAILQ_REMOVE(&job->s->held, job, queued);
	job->s->n_waiting -= job->is_queued;
	job->is_queued = job->is_held = false;
}

static void free_job(struct job *job)
{
	search_unqueue(job);
	ev_timer_stop(job->s->loop, &job->deadline);
	if (job->asker != NULL)
		LIST_REMOVE(job, with_asker);
	LIST_REMOVE(job, with_all);
	job->s->n_jobs--;
	principals_unref(job->who);
	for (unsigned i = 0; i < job->n_hits; i++) {
		buf_done(&job->hits[i].record);
		buf_done(&job->hits[i].content);
	}
	search_facets_done(job);
	type_graph_free(job->types);
	buf_done(&job->ids);
	buf_done(&job->names);
	buf_done(&job->items);
	buf_done(&job->facets);
	arena_done(&job->arena);
	free(job);
}

static void on_lane_free(void *arg, int err, const struct pg_rows *rows)
{
	struct lane *lane = arg;

	(void)rows;
	(void)err; /* the connection has gone: it comes back without a transaction */
	lane->is_ending = false;
	start_next(lane->s);
}

/* Ends the transaction, if there is a connection for it. */
static void leave_lane(struct job *job)
{
	struct lane *lane = job->lane;

	job->lane = NULL;
	if (lane == NULL)
		return;
	lane->job = NULL;
	lane->is_ending = pg_query_text(lane->pg, "ROLLBACK", 0, NULL, on_lane_free, lane) == BW_OK;
}

/* The job has been answered, and nothing of it is under way. */
static void end(struct job *job)
{
	struct searches *s = job->s;

	leave_lane(job);
	free_job(job);
	start_next(s);
}

/* From here on nobody is answered any more. A statement that is under way ends the job when it
 * returns. */
static void answered(struct job *job)
{
	job->is_answered = true;
	ev_timer_stop(job->s->loop, &job->deadline);
	if (job->asker != NULL)
		LIST_REMOVE(job, with_asker);
	job->asker = NULL;
	if (!job->is_under_way)
		end(job);
}

void search_fail(struct job *job, int err)
{
	static const char *const reasons[] = {
		[-BW_ETIME] = "the search took too long",
		[-BW_EGONE] = "PostgreSQL is away",
		[-BW_EBUSY] = "too many searches",
		[-BW_EIO] = "PostgreSQL refused a search",
		[-BW_ETOOBIG] = "too many hidden properties, or too many pages",
	};

	if (err != BW_EGONE)
		log_warning(job->wire.request, "search failed: %s", reasons[-err]);
	/* Too slow and too many are the same to who asked: later, perhaps. */
	wire_fail(job->asker->chan, &job->wire, err == BW_ETIME ? BW_EBUSY : err,
	          err == BW_EIO || err == BW_ETOOBIG ? 0 : RETRY_S, reasons[-err]);
	answered(job);
}

/* Small: counters do not matter to what is in it. */
void search_answer(struct job *job, struct buf *page)
{
	Bw__Wire__SearchPage m = BW__WIRE__SEARCH_PAGE__INIT;

	m.page = (ProtobufCBinaryData){ buf_size(page), buf_data(page) };
	wire_answer(job->asker->chan, &job->wire, 0, 0, &m.base);
	answered(job);
}

void search_refuse(struct job *job, const char *text, size_t position)
{
	struct search_page head = { .error = bw_str(text), .error_position = (uint32_t)position };
	struct buf         page;

	buf_init(&page);
	search_put_head(&page, &head);
	search_answer(job, &page);
	buf_done(&page);
}

static void on_deadline(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct job *job = t->data;

	(void)loop;
	(void)revents;
	search_fail(job, job->is_queued ? BW_EBUSY : BW_ETIME);
}

/* ---- statements ---- */

bool search_goes_on(struct job *job, int err)
{
	job->is_under_way = false;
	if (job->is_answered) {
		end(job);
		return false;
	}
	if (err != BW_OK) {
		search_fail(job, err);
		return false;
	}
	return true;
}

void search_query(struct job *job, const char *sql, unsigned n_params, const char *const *params,
                  pg_rows_cb cb)
{
	int err;

	job->is_under_way = true;
	err = pg_query_text(job->lane->pg, sql, n_params, params, cb, job);
	if (err == BW_OK)
		return;
	job->is_under_way = false;
	search_fail(job, err);
}

static void fetch(struct job *job);

static void on_portion(void *arg, int err, const struct pg_rows *rows)
{
	struct job *job = arg;
	unsigned    n;

	if (!search_goes_on(job, err))
		return;
	n = pg_rows_count(rows);
	for (unsigned i = 0; i < n && !job->is_enough(job); i++)
		job->on_row(job, rows, i);
	if (n == PORTION && !job->is_enough(job))
		fetch(job);
	else
		job->after_rows(job);
}

static void fetch(struct job *job)
{
	search_query(job, "FETCH FORWARD 256 FROM rows", 0, NULL, on_portion);
}

static void on_declared(void *arg, int err, const struct pg_rows *rows)
{
	struct job *job = arg;

	(void)rows;
	if (search_goes_on(job, err))
		fetch(job);
}

/* The second cursor of a transaction takes the place of the first. */
static void on_closed(void *arg, int err, const struct pg_rows *rows)
{
	struct job *job = arg;

	(void)rows;
	if (search_goes_on(job, err))
		search_query(job, job->declare, job->n_params, job->params, on_declared);
}

void search_rows(struct job *job, struct query_sql *sql)
{
	job->declare = arena_printf(&job->arena, "DECLARE rows NO SCROLL CURSOR FOR %s",
	                            (const char *)buf_data(&sql->text));
	job->n_params = sql->n_params;
	job->params = sql->params;
	buf_done(&sql->text);
	if (job->has_cursor) {
		search_query(job, "CLOSE rows", 0, NULL, on_closed);
		return;
	}
	job->has_cursor = true;
	search_query(job, job->declare, job->n_params, job->params, on_declared);
}
/* ---- the beginning ---- */

static void start(struct job *job, struct lane *lane)
{
	search_unqueue(job);
	job->lane = lane;
	lane->job = job;
	search_begin(job);
}

static struct lane *free_lane(struct searches *s)
{
	for (unsigned i = 0; i < s->settings.connections; i++)
		if (s->lanes[i].job == NULL && !s->lanes[i].is_ending && pg_is_up(s->lanes[i].pg))
			return &s->lanes[i];
	return NULL;
}

static void start_next(struct searches *s)
{
	struct lane *lane;

	while (!s->is_stopping && !TAILQ_EMPTY(&s->waiting) && (lane = free_lane(s)) != NULL)
		start(TAILQ_FIRST(&s->waiting), lane);
}

static struct job *new_job(struct searches *s, struct search_asker *asker,
                           const struct wire_question *q, struct principals *who)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->s = s;
	job->asker = asker;
	job->wire = *q;
	job->who = principals_ref(who);
	arena_init(&job->arena);
	buf_init(&job->ids);
	buf_init(&job->names);
	buf_init(&job->items);
	buf_init(&job->facets);
	ev_timer_init(&job->deadline, on_deadline, s->settings.timeout_ms / 1000., 0.);
	job->deadline.data = job;
	LIST_INSERT_HEAD(&asker->jobs, job, with_asker);
	LIST_INSERT_HEAD(&s->all, job, with_all);
	s->n_jobs++;
	return job;
}

bool searches_ask(struct searches *s, struct search_asker *asker, const struct wire_question *q,
                  struct principals *who, struct bw_str terms)
{
	struct job        *job = new_job(s, asker, q, who);
	struct query_error error;
	int                err = search_read_terms(terms, &job->arena, &job->plan, &error);

	if (err == BW_EPROTO) {
		free_job(job);
		return false;
	}
	if (err != BW_OK) {
		search_refuse(job, error.text, error.position);
		return true;
	}
	if (s->n_waiting == MAX_WAITING) {
		search_fail(job, BW_EBUSY);
		return true;
	}
	ev_timer_start(s->loop, &job->deadline);
	job->is_queued = true;
	TAILQ_INSERT_TAIL(&s->waiting, job, queued);
	s->n_waiting++;
	start_next(s);
	return true;
}

/* ---- life ---- */

static void on_loaded(void *arg)
{
	search_entries_loaded(arg);
}

static void on_up(struct pg *pg)
{
	struct lane *lane = pg_owner(pg);

	/* Compiling a plan costs more than most searches; and a plan that reads all text, for fear of disks
	 * that have to seek, costs a hundred times one that asks the index. */
	lane->is_ending = pg_query_text(pg,
	                                "SELECT set_config('jit', 'off', false),"
	                                " set_config('random_page_cost', '1.1', false)",
	                                0, NULL, on_lane_free, lane) == BW_OK;
}

struct searches *searches_new(struct ev_loop *loop, const struct searches_settings *settings,
                              struct resources *r)
{
	static const struct pg_ops ops = { on_up, NULL, NULL };
	struct searches           *s = xcalloc(1, sizeof(*s));
	struct bw_str             *items = xcalloc(settings->n_search_path + 1, sizeof(*items));

	s->loop = loop;
	s->settings = *settings;
	if (s->settings.connections > SEARCH_MAX_LANES)
		s->settings.connections = SEARCH_MAX_LANES;
	s->resources = r;
	TAILQ_INIT(&s->waiting);
	TAILQ_INIT(&s->held);
	LIST_INIT(&s->all);
	for (size_t i = 0; i < settings->n_search_path; i++)
		items[i] = bw_str(settings->search_path[i]);
	s->search_path = pg_array(items, (unsigned)settings->n_search_path);
	free(items);
	randombytes_buf(s->hash_key, sizeof(s->hash_key));
	resources_on_loaded(r, &s->watch, on_loaded, s);
	for (unsigned i = 0; i < s->settings.connections; i++) {
		s->lanes[i].s = s;
		s->lanes[i].pg = pg_new(loop, settings->conninfo, NULL, 0, NULL,
		                        settings->timeout_ms, 4, &ops, &s->lanes[i]);
		pg_require_schema(s->lanes[i].pg);
	}
	return s;
}

void searches_free(struct searches *s)
{
	struct job *job, *next;

	if (s == NULL)
		return;
	s->is_stopping = true;
	resources_off_loaded(&s->watch);
	for (job = LIST_FIRST(&s->all); job != NULL; job = next) {
		next = LIST_NEXT(job, with_all);
		if (!job->is_answered)
			search_fail(job, BW_EGONE);
	}
	for (unsigned i = 0; i < s->settings.connections; i++)
		pg_free(s->lanes[i].pg);
	free((char *)s->search_path);
	free(s);
}

unsigned searches_waiting(const struct searches *s)
{
	return s->n_jobs;
}

void search_asker_init(struct search_asker *a, struct wire_chan *chan)
{
	a->chan = chan;
	LIST_INIT(&a->jobs);
}

void search_asker_gone(struct search_asker *a)
{
	struct job *job;

	while ((job = LIST_FIRST(&a->jobs)) != NULL)
		answered(job);
}