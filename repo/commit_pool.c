/* commit_pool.c - the connections that commits run on, and the commits that wait for one.
 *
 * A connection has one transaction at a time. While the server syncs one commit to disk it can work on
 * the next, and it syncs those of several connections at once; hence there are more connections, made
 * as they are needed. Now and then one of them is used to make statistics.
 * Owns: the connections; the queue, whose commits end here if no connection is up. Runs in: repo's
 * loop. Fails with: BW_EBUSY, BW_EGONE, given to the commits. Tests: tests/unit/repo/commit_test.c. */
#include "commit_impl.h"
#include <base/fatal.h>

/* Commits: a table has come to some pages in so many. It takes as long as one, if none has grown. */
#define LOOK_EVERY 100u

static const struct pg_statement statements[] = {
#define Q_COMMIT(name, n_params, n_columns, writes, sql) \
	{ #name, sql, n_params, n_columns, writes },
#include "queries.def"
};

static void start_queued(struct commits *c);

static void on_up(struct pg *pg)
{
	struct commit_conn *conn = pg_owner(pg);

	start_queued(conn->owner);
}

bool commits_are_up(const struct commits *c)
{
	for (unsigned i = 0; i < c->n_conns; i++)
		if (pg_is_up(c->conns[i].pg))
			return true;
	return false;
}

/* A commit that has the connection learns it from its batch: one is always under way. */
static void on_down(struct pg *pg, const char *reason)
{
	struct commit_conn *conn = pg_owner(pg);
	struct commits     *c = conn->owner;
	struct commit      *commit;

	(void)reason; /* pg.c has logged it */
	while (!commits_are_up(c) && (commit = TAILQ_FIRST(&c->queue)) != NULL) {
		TAILQ_REMOVE(&c->queue, commit, next);
		c->n_queued--;
		commit_end(commit, BW_EGONE, NULL);
	}
}

static void add_conn(struct commits *c)
{
	static const struct pg_ops ops = { on_up, on_down, NULL };
	struct commit_conn        *conn = &c->conns[c->n_conns++];

	conn->owner = c;
	conn->pg = pg_new(c->loop, c->conninfo, statements, COMMIT_N_STATEMENTS, NULL,
	                  c->timeout_ms, 8, &ops, conn);
	pg_limit_idle(conn->pg, c->timeout_ms);
	pg_go_by_index(conn->pg);
	pg_require_schema(conn->pg);
}

static struct commit_conn *free_conn(struct commits *c)
{
	for (unsigned i = 0; i < c->n_conns; i++)
		if (c->conns[i].commit == NULL && !c->conns[i].is_analyzing &&
		    pg_is_up(c->conns[i].pg))
			return &c->conns[i];
	return NULL;
}

static void start_queued(struct commits *c)
{
	struct commit_conn *conn;
	struct commit      *commit;

	if (c->is_ending)
		return;
	while ((commit = TAILQ_FIRST(&c->queue)) != NULL && (conn = free_conn(c)) != NULL) {
		TAILQ_REMOVE(&c->queue, commit, next);
		c->n_queued--;
		conn->commit = commit;
		commit->conn = conn;
		commit_start(commit);
	}
	if (commit != NULL && c->n_conns < COMMIT_MAX_CONNS &&
	    pg_is_up(c->conns[c->n_conns - 1].pg))
		add_conn(c);
}

void commit_queue(struct commit *commit)
{
	struct commits *c = commit->owner;

	commit->state = COMMIT_QUEUED;
	if (c->is_ending || !commits_are_up(c)) {
		commit_end(commit, BW_EGONE, NULL);
	} else if (c->n_queued >= COMMIT_MAX_QUEUE) {
		commit_end(commit, BW_EBUSY, NULL);
	} else {
		TAILQ_INSERT_TAIL(&c->queue, commit, next);
		c->n_queued++;
		start_queued(c);
	}
}

static void on_analyzed(void *arg, int err, const struct pg_rows *rows,
                        const struct pg_failure *why)
{
	struct commit_conn *conn = arg;

	(void)err; /* another time */
	(void)rows;
	(void)why;
	conn->is_analyzing = false;
	start_queued(conn->owner);
}

/* Plans are kept, and end with the statistics that they were made by. */
static void look_for_growth(struct commits *c, struct commit_conn *conn)
{
	const struct pg_step step = { COMMIT_STATISTICS, NULL };

	if (++c->n_unlooked < LOOK_EVERY)
		return;
	c->n_unlooked = 0;
	conn->is_analyzing = pg_batch(conn->pg, &step, 1, on_analyzed, conn) == BW_OK;
}

void commit_release(struct commit *commit)
{
	struct commit_conn *conn = commit->conn;

	conn->commit = NULL;
	commit->conn = NULL;
	look_for_growth(commit->owner, conn);
	start_queued(commit->owner);
}

void commit_pool_init(struct commits *c)
{
	TAILQ_INIT(&c->queue);
	add_conn(c);
}

void commit_pool_done(struct commits *c)
{
	struct commit *commit;

	c->is_ending = true;
	for (unsigned i = 0; i < c->n_conns; i++)
		pg_free(c->conns[i].pg);
	while ((commit = TAILQ_FIRST(&c->queue)) != NULL) {
		TAILQ_REMOVE(&c->queue, commit, next);
		c->n_queued--;
		commit_end(commit, BW_EGONE, NULL);
	}
}
