/* Under test: auth/journal.c, between a fake connection and fake accounts. Each news is applied once,
 * memory is vouched for from the begin of a read, and not at all while nobody listens. */
#include <criterion/criterion.h>
#include <stdio.h>
#include "auth/journal.c"

/* ---- the fakes ---- */

struct pg_rows {
	unsigned    n;
	const char *snapshot;
	struct {
		const char *seq, *principal, *kind, *name, *actor, *detail;
	} row[4];
};

static const struct pg_ops *ops;
static void                *owner;
static bool                 is_up = true;
static unsigned             n_reads;
static char                 since[64]; /* "-": NULL */
static pg_rows_cb           read_cb;
static void                *read_arg;
static char                 done[256]; /* what the accounts were told */
static uint64_t             trusted;

struct pg *pg_new(struct ev_loop *loop, const char *conninfo, const struct pg_statement *list,
                  size_t n, const char *const *listen, unsigned timeout, unsigned queue,
                  const struct pg_ops *the_ops, void *the_owner)
{
	(void)loop, (void)conninfo, (void)list, (void)n, (void)timeout, (void)queue;
	cr_assert_str_eq(listen[0], "boardwalk_auth");
	ops = the_ops;
	owner = the_owner;
	return NULL;
}

void pg_free(struct pg *pg)
{
	(void)pg;
}

void pg_require_schema(struct pg *pg)
{
	(void)pg;
}

void *pg_owner(const struct pg *pg)
{
	(void)pg;
	return owner;
}

bool pg_is_up(const struct pg *pg)
{
	(void)pg;
	return is_up;
}

int pg_query(struct pg *pg, unsigned statement, const struct pg_param *params, pg_rows_cb cb,
             void *arg)
{
	(void)pg;
	cr_assert_eq(statement, QUERY_NEWS);
	n_reads++;
	snprintf(since, sizeof(since), "%s", params[0].text != NULL ? params[0].text : "-");
	read_cb = cb;
	read_arg = arg;
	return BW_OK;
}

unsigned pg_rows_count(const struct pg_rows *rows)
{
	return rows->n;
}

struct bw_str pg_text(const struct pg_rows *rows, unsigned row, unsigned column)
{
	row %= 4; /* of too many rows the fake has four */
	if (column == 0)
		return bw_str(rows->snapshot);
	static const size_t place_of[] = { [1] = 0, [3] = 2, [4] = 3, [5] = 4, [6] = 5 };

	return bw_str((&rows->row[row].seq)[place_of[column]]);
}

int64_t pg_int(const struct pg_rows *rows, unsigned row, unsigned column)
{
	(void)column;
	return strtoll(rows->row[row % 4].principal, NULL, 10);
}

void accounts_trust(struct accounts *as, uint64_t until_us)
{
	(void)as;
	trusted = until_us;
}

void accounts_drop(struct accounts *as, uint64_t id)
{
	size_t n = strlen(done);

	(void)as;
	snprintf(done + n, sizeof(done) - n, "%d ", (int)id);
}

void accounts_drop_all(struct accounts *as)
{
	(void)as;
	strcat(done, "all ");
}

static char audited[256]; /* event:user:target:change:id of each */

void audit_write(uint64_t request, const struct audit *a)
{
	size_t n = strlen(audited);

	(void)request;
	snprintf(audited + n, sizeof(audited) - n, "%s:%.*s:%.*s:%.*s:%s ", a->event,
	         (int)a->user.n, a->user.p, (int)a->target.n, a->target.p, (int)a->change.n,
	         a->change.p, a->id.p);
}

static unsigned n_forgotten;

void sessions_forget(struct sessions *ss)
{
	(void)ss;
	n_forgotten++;
}

void sessions_revoked(struct sessions *ss, struct bw_str jti)
{
	size_t n = strlen(done);

	(void)ss;
	snprintf(done + n, sizeof(done) - n, "revoked %.*s ", (int)jti.n, jti.p);
}

/* ---- driving ---- */

static struct ev_loop *loop;
static struct journal *j;
static unsigned        n_followed;

static void on_followed(void *arg)
{
	++*(unsigned *)arg;
}

static void set_up(void)
{
	loop = ev_loop_new(EVFLAG_AUTO);
	j = journal_new(loop, "", NULL, NULL, on_followed, &n_followed);
}

static void tear_down(void)
{
	journal_free(j);
	ev_loop_destroy(loop);
}

TestSuite(journal, .init = set_up, .fini = tear_down);

static void answer(struct pg_rows rows)
{
	done[0] = '\0';
	read_cb(read_arg, BW_OK, &rows);
}

static void come_up(void)
{
	ops->on_up(NULL);
	answer((struct pg_rows){ 1, "10:10:", { { 0 } } });
}

Test(journal, begins_with_empty_memory)
{
	uint64_t before = clock_boot_us();

	ops->on_up(NULL);
	cr_assert_eq(n_reads, 1);
	cr_assert_str_eq(since, "-");
	cr_assert_eq(trusted, 0);
	answer((struct pg_rows){ 1, "10:10:", { { 0 } } });
	cr_assert_str_eq(done, "all ");
	cr_assert_geq(trusted, before + JOURNAL_TRUST_US);
	cr_assert_leq(trusted, clock_boot_us() + JOURNAL_TRUST_US);
	cr_assert_eq(n_followed, 1);
	cr_assert_eq(n_forgotten, 1);
}

/* Each change is a line of the audit trail, whoever made it; what auth itself noted is none. */
Test(journal, tells_the_audit_trail)
{
	come_up();
	cr_assert_str_eq(audited, "");
	ops->on_notify(NULL, "boardwalk_auth");
	answer((struct pg_rows){ 3,
	                         "12:14:12",
	                         { { "5", "101", "password", "ada", "root (uid 0)", NULL },
	                           { "6", "102", "place", "bob", NULL, NULL },
	                           { "7", "103", "deleted", NULL, NULL, NULL } } });
	cr_assert_str_eq(audited, "account_changed:root (uid 0):ada:password:101 "
	                          "account_changed:::deleted:103 ");
	cr_assert_str_eq(done, "101 102 all ");
}

Test(journal, applies_news)
{
	come_up();
	ops->on_notify(NULL, "boardwalk_auth");
	cr_assert_str_eq(since, "10:10:");
	answer((struct pg_rows){ 2,
	                         "12:14:12",
	                         { { "5", "101", "password", NULL, NULL, NULL },
	                           { "6", "102", "disabled", NULL, NULL, NULL } } });
	cr_assert_str_eq(done, "101 102 ");
	ops->on_notify(NULL, "boardwalk_auth");
	cr_assert_str_eq(since, "12:14:12");
	answer((struct pg_rows){ 1, "15:15:", { { 0 } } });
	cr_assert_str_eq(done, "", "no news");
	ops->on_notify(NULL, "boardwalk_auth");
	answer((struct pg_rows){ 1, "16:16:", { { "7", "103", "created", NULL, NULL, NULL } } });
	cr_assert_str_eq(done, "all ");
	ops->on_notify(NULL, "boardwalk_auth");
	answer((struct pg_rows){ 1, "17:17:", { { "8", "101", "membership", NULL, NULL, NULL } } });
	cr_assert_str_eq(done, "all ");
}

Test(journal, applies_the_ends_of_sessions)
{
	come_up();
	ops->on_notify(NULL, "boardwalk_auth");
	answer((struct pg_rows){ 2,
	                         "12:12:",
	                         { { "5", "101", "sessions", NULL, NULL, NULL },
	                           { "6", "102", "revoked", NULL, NULL, "an-id" } } });
	cr_assert_str_eq(done, "101 revoked an-id ");
	cr_assert_eq(n_forgotten, 1, "only that of the begin");
}

Test(journal, too_much_news)
{
	come_up();
	ops->on_notify(NULL, "boardwalk_auth");
	answer((struct pg_rows){ MAX_ROWS + 1, "99:99:", { { 0 } } });
	cr_assert_str_eq(done, "all ");
	ops->on_notify(NULL, "boardwalk_auth");
	cr_assert_str_eq(since, "99:99:", "the rest is behind us");
}

/* Two bells during a read: one more read, begun after them. */
Test(journal, bell_during_a_read)
{
	come_up();
	ops->on_notify(NULL, "boardwalk_auth");
	ops->on_notify(NULL, "boardwalk_auth");
	ops->on_notify(NULL, "boardwalk_auth");
	cr_assert_eq(n_reads, 2);
	answer((struct pg_rows){ 1, "11:11:", { { 0 } } });
	cr_assert_eq(n_reads, 3);
	cr_assert_str_eq(since, "11:11:");
	answer((struct pg_rows){ 1, "12:12:", { { 0 } } });
	cr_assert_eq(n_reads, 3);
}

Test(journal, vouches_from_the_begin_of_the_read)
{
	uint64_t began;

	come_up();
	ops->on_notify(NULL, "boardwalk_auth");
	began = clock_boot_us();
	while (clock_boot_us() < began + 5000)
		; /* the answer is under way */
	answer((struct pg_rows){ 1, "11:11:", { { 0 } } });
	cr_assert_leq(trusted, began + JOURNAL_TRUST_US);
}

Test(journal, down)
{
	come_up();
	ops->on_notify(NULL, "boardwalk_auth");
	read_cb(read_arg, BW_EGONE, NULL);
	ops->on_down(NULL, "killed");
	cr_assert_eq(trusted, 0);
	ops->on_up(NULL);
	cr_assert_str_eq(since, "-",
	                 "what was missed meanwhile is not asked for: memory is emptied");
	answer((struct pg_rows){ 1, "20:20:", { { 0 } } });
	cr_assert_str_eq(done, "all ");
	cr_assert_neq(trusted, 0);
	cr_assert_eq(n_followed, 2);
}

Test(journal, failed_read)
{
	uint64_t before;

	come_up();
	before = trusted;
	ops->on_notify(NULL, "boardwalk_auth");
	read_cb(read_arg, BW_ETIME, NULL);
	cr_assert_eq(trusted, before, "not prolonged");
	ops->on_notify(NULL, "boardwalk_auth");
	cr_assert_str_eq(since, "10:10:", "nothing is skipped");
}

Test(journal, polls)
{
	come_up();
	while (n_reads < 2)
		ev_run(loop, EVRUN_ONCE);
	ev_run(loop, EVRUN_ONCE);
	cr_assert_eq(n_reads, 2, "not while one is under way");
	answer((struct pg_rows){ 1, "11:11:", { { 0 } } });
	is_up = false;
	ev_run(loop, EVRUN_ONCE);
	cr_assert_eq(n_reads, 2, "nor while the connection is down");
	is_up = true;
	ev_run(loop, EVRUN_ONCE);
	cr_assert_eq(n_reads, 3);
}
