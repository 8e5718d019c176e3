/* Commits over HTTP while repo, a worker, a backend or the whole of PostgreSQL is killed, and while
 * PostgreSQL stands still, holds a lock or has no connection left. Proves: what was acknowledged is there,
 * the rest wholly or not at all, each client is told in words what happened (a 503 with Retry-After), and
 * the tree holds together. BOARDWALK_KILLS: how many.
 *
 * Slots: each client moves a node with a child to and fro and counts it in three places, all in one commit
 * (tests/support/bundles/writes.c). Stirrers: make, move into each other and delete what others make, too. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/postgres.h"

#ifdef BOARDWALK_SANITIZED
#define KILLS "25"
#else
#define KILLS "200"
#endif
#define SLOTS       4u
#define STIRRERS    3u
#define CLIENTS     (SLOTS + STIRRERS)
#define PATIENCE_MS 30000u
#define RETRY_MS    10

static struct test_postgres *server;
static struct test_instance  instance;
static char                  urls[3][256];

/* ---- clients, each a process ---- */

struct client {
	atomic_uint sent, acknowledged; /* of a slot */
	atomic_uint done, told;         /* answers 2xx; 503, 504 and lost connections */
	char        dishonest[512];     /* the first answer that is none of them */
};

static struct shared {
	atomic_bool   stop;
	atomic_bool   loses; /* workers die: a connection may end without an answer */
	struct client clients[CLIENTS];
} * shared;
static pid_t pids[CLIENTS];

static void call_dishonest(struct client *c, const char *path, const struct http_response *r)
{
	if (c->dishonest[0] == '\0')
		snprintf(c->dishonest, sizeof(c->dishonest), "%s: %d, %.300s", path, r->status,
		         r->body);
}

/* A failure says so in words, and a 503 when to come again. */
static bool is_clear(const struct http_response *r)
{
	if (r->status == 0)
		return shared->loses;
	if (r->status == 503)
		return r->size > 0 && http_field(r, "Retry-After") != NULL;
	return r->status == 504 && r->size > 0;
}

/* fine: what else may come, 0-terminated. *ret_number (may be NULL): that of the body. */
static int ask(struct client *c, const char *method, const char *path, const int *fine,
               unsigned *ret_number)
{
	struct http_response r;
	bool                 good;
	int                  status;

	http_ask_once(instance.port, method, path, instance.credentials, &r);
	status = r.status;
	good = is_clear(&r);
	if (status == 200 || status == 204)
		c->done++;
	else if (good)
		c->told++;
	if (status == 0 || status >= 500)
		usleep(RETRY_MS *
		       1000); /* a client that asks at once is one that slows the recovery */
	for (const int *f = fine; *f != 0; f++)
		good = good || *f == status;
	if (!good)
		call_dishonest(c, path, &r);
	if (ret_number != NULL)
		*ret_number = (unsigned)strtoul(r.body, NULL, 10);
	http_response_done(&r);
	return status;
}

/* Not acknowledged: it is there, or it is not. */
static void look_again(struct client *c, unsigned slot)
{
	static const int fine[] = { 200, 0 };
	char             path[64];
	unsigned         n;

	snprintf(path, sizeof(path), "/writes/slot?slot=%u", slot);
	while (!shared->stop)
		if (ask(c, "GET", path, fine, &n) == 200) {
			if (n != c->acknowledged && n != c->sent && c->dishonest[0] == '\0')
				snprintf(c->dishonest, sizeof(c->dishonest),
				         "slot %u: %u acknowledged, %u sent, %u read", slot,
				         c->acknowledged, c->sent, n);
			c->acknowledged = n;
			return;
		}
}

/* 409 and 404 are fine after a failure only: that commit may take effect while this one is made. */
static void run_slot(unsigned slot)
{
	static const int fine[] = { 204, 0 }, after_failure[] = { 204, 404, 409, 0 };
	struct client   *c = &shared->clients[slot];
	bool             failed = false;
	char             path[64];

	while (!shared->stop) {
		c->sent = c->acknowledged + 1;
		snprintf(path, sizeof(path), "/writes/slot?slot=%u&n=%u", slot, c->sent);
		if (ask(c, "POST", path, failed ? after_failure : fine, NULL) == 204) {
			c->acknowledged = c->sent;
			failed = false;
		} else {
			failed = true;
			look_again(c, slot);
		}
	}
}

/* One of 16 places, of which some lie in others after a while. */
static void some_path(char path[96])
{
	unsigned at = (unsigned)random();

	snprintf(path, 96, "/content/w/f%u%.*s%.*s", at % 4, at / 4 % 4 != 0 ? 3 : 0,
	         at / 16 % 2 ? "/c1" : "/c2", at / 32 % 3 == 0 ? 3 : 0,
	         at / 128 % 2 ? "/c1" : "/c2");
}

static void run_stirrer(unsigned i)
{
	static const int fine[] = { 204, 400, 404, 409, 0 };
	char             query[256], from[96], to[96];

	srandom(i);
	while (!shared->stop) {
		long what = random() % 10;

		some_path(from);
		some_path(to);
		if (what < 4)
			snprintf(query, sizeof(query), "/writes/stir?to=%s&name=c%ld", to,
			         1 + random() % 2);
		else if (what < 8 && strstr(from, "/c") != NULL)
			snprintf(query, sizeof(query), "/writes/stir?path=%s&to=%s&name=c%ld", from,
			         to, 1 + random() % 2);
		else if (strstr(from, "/c") != NULL)
			snprintf(query, sizeof(query), "/writes/stir?path=%s", from);
		else
			continue;
		ask(&shared->clients[i], "POST", query, fine, NULL);
	}
}

static void start_clients(void)
{
	fflush(NULL);
	for (unsigned i = 0; i < CLIENTS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (i < SLOTS)
				run_slot(i);
			else
				run_stirrer(i);
			_exit(0);
		}
		cr_assert(gt(int, pids[i], 0));
	}
}

static void stop_clients(void)
{
	shared->stop = true;
	for (unsigned i = 0; i < CLIENTS; i++)
		waitpid(pids[i], NULL, 0);
	for (unsigned i = 0; i < CLIENTS; i++)
		cr_expect(eq(str, shared->clients[i].dishonest, ""), "client %u", i);
}

static unsigned all_acknowledged(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		n += shared->clients[i].acknowledged;
	return n;
}

static unsigned all_told(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CLIENTS; i++)
		n += shared->clients[i].told;
	return n;
}

/* Until so many more are acknowledged; false if they are not in time. */
static bool acknowledged_more(unsigned more)
{
	unsigned           want = all_acknowledged() + more;
	unsigned long long limit = test_now_ms() + PATIENCE_MS;

	while (all_acknowledged() < want && test_now_ms() < limit)
		usleep(5000);
	return all_acknowledged() >= want;
}

/* ---- what is there ---- */

/* The first thing that is wrong, in one snapshot: a path that is not its parent's and its name, a row that
 * has lost what it belongs to, a slot whose commit is there in part. */
#define WRONG \
	"WITH slot AS (SELECT s, '/content/w/a' || s AS a, '/content/w/left' || s AS l," \
	"  '/content/w/right' || s AS r FROM generate_series(0, %u) s)," \
	" n AS (SELECT s, l, r, (c.properties -> 'n' ->> 'l')::bigint AS n FROM slot" \
	"  JOIN repo.tree t ON t.path = a JOIN repo.content c USING (id))" \
	" SELECT 'path ' || t.path FROM repo.tree t LEFT JOIN repo.tree p ON p.id = t.parent" \
	"  WHERE t.path <> CASE WHEN p.id IS NULL THEN '/' ELSE rtrim(p.path, '/') || '/' ||" \
	"   t.name END" \
	" UNION ALL SELECT 'no content ' || t.path FROM repo.tree t" \
	"  WHERE NOT EXISTS (SELECT FROM repo.content c WHERE c.id = t.id)" \
	" UNION ALL SELECT 'row of nothing ' || o.of || ' ' || o.id FROM (" \
	"   SELECT 'content' AS of, id FROM repo.content" \
	"   UNION ALL SELECT 'search', id FROM repo.search" \
	"   UNION ALL SELECT 'identifier', node FROM repo.identifier" \
	"   UNION ALL SELECT 'blob_use', node FROM repo.blob_use" \
	"   UNION ALL SELECT 'ace', node FROM repo.ace WHERE node IS NOT NULL) o" \
	"  WHERE NOT EXISTS (SELECT FROM repo.tree t WHERE t.id = o.id)" \
	" UNION ALL SELECT 'reference of ' || c.id FROM repo.content c" \
	"  WHERE repo.reference_targets(c.properties) IS DISTINCT FROM ARRAY (" \
	"   SELECT r.target FROM repo.reference r WHERE r.node = c.id ORDER BY 1)" \
	" UNION ALL SELECT 'version ' || v.id FROM repo.version v" \
	"  LEFT JOIN repo.version p ON p.id = v.predecessor" \
	"  WHERE p.history <> v.history OR NOT EXISTS (" \
	"   SELECT FROM repo.version_node x WHERE x.version = v.id AND x.below = '')" \
	" UNION ALL SELECT 'base of ' || h.uuid FROM repo.version_history h" \
	"  WHERE h.base IS NOT NULL AND NOT EXISTS (" \
	"   SELECT FROM repo.version v WHERE v.id = h.base AND v.history = h.uuid)" \
	" UNION ALL SELECT 'label ' || b.label FROM repo.version_label b" \
	"  JOIN repo.version v ON v.id = b.version WHERE v.history <> b.history" \
	" UNION ALL SELECT 'slot ' || s FROM slot WHERE s NOT IN (SELECT s FROM n)" \
	" UNION ALL SELECT 'torn slot ' || s FROM n WHERE NOT EXISTS (" \
	"   SELECT FROM repo.tree t JOIN repo.content c USING (id)" \
	"   WHERE t.path = CASE n.n %% 2 WHEN 0 THEN l ELSE r END || '/m/k'" \
	"   AND (c.properties -> 'n' ->> 'l')::bigint = n.n)" \
	"  OR EXISTS (SELECT FROM repo.tree t" \
	"   WHERE t.path = CASE n.n %% 2 WHEN 0 THEN r ELSE l END || '/m')" \
	" LIMIT 1"

static void check_tree(const char *when)
{
	char *wrong = test_postgres_value(server, WRONG, SLOTS - 1);

	cr_assert(eq(str, wrong, ""), "%s", when);
	free(wrong);
}

/* Read while clients go on: between what was acknowledged before and what is sent after. */
static void check_slots(const char *when)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		unsigned least = shared->clients[i].acknowledged, n;
		char    *text = test_postgres_value(
			   server,
			   "SELECT properties -> 'n' ->> 'l' FROM repo.content JOIN repo.tree"
			      " USING (id) WHERE path = '/content/w/a%u'",
			   i);

		n = (unsigned)strtoul(text, NULL, 10);
		cr_assert(n >= least && n <= shared->clients[i].sent,
		          "%s: slot %u: %u, acknowledged %u, sent %u", when, i, n, least,
		          (unsigned)shared->clients[i].sent);
		free(text);
	}
}

/* ---- the instance ---- */

static void make_node(const char *path)
{
	test_postgres_sql(server, "SELECT repo.node_create('/content/w%s', 'nt:unstructured')",
	                  path);
}

/* Repo reads of it in the journal, within 250 ms. */
static void make_content(void)
{
	char path[64];

	make_node("");
	for (unsigned i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "/f%u", i);
		make_node(path);
	}
	for (unsigned i = 0; i < SLOTS; i++) {
		static const char *const names[] = { "/a%u", "/right%u", "/left%u", "/left%u/m",
			                             "/left%u/m/k" };

		for (size_t n = 0; n < sizeof(names) / sizeof(*names); n++) {
			snprintf(path, sizeof(path), names[n], i);
			make_node(path);
		}
		test_postgres_sql(server,
		                  "SELECT repo.property_set(p, 'n', '{\"l\": 0}') FROM unnest("
		                  "ARRAY['/content/w/a%u', '/content/w/left%u/m/k']) p",
		                  i, i);
	}
}

static void begin(void)
{
	static const char *const names[] = { "DATABASE_URL", "AUTH_DATABASE_URL",
		                             "REPO_DATABASE_URL" };
	static const char *const roles[] = { "postgres", "boardwalk_auth", "boardwalk_repo" };
	static const char *const environment[] = { urls[0],
		                                   urls[1],
		                                   urls[2],
		                                   "BOARDWALK_GATEWAY_WORKERS=2",
		                                   "BOARDWALK_REPO_STATEMENT_TIMEOUT_MS=2000",
		                                   NULL };
	const struct test_instance_options options = { .environment = environment,
		                                       .bundle = "writes",
		                                       .fresh = true };

	server = test_postgres_new_empty();
	for (size_t i = 0; i < 3; i++)
		snprintf(urls[i], sizeof(urls[i]), "%s=%s", names[i],
		         test_postgres_conninfo(server, roles[i]));
	test_instance_start(&instance, &options);
	instance.crashes_on_purpose = true;
	make_content();
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
	cr_assert(ne(ptr, shared, MAP_FAILED));
}

static void end(void)
{
	test_instance_stop(&instance);
	test_postgres_free(server);
	munmap(shared, sizeof(*shared));
}

TestSuite(commit_faults, .init = begin, .fini = end);

/* ---- kill -9 ---- */

enum { KILL_REPO, KILL_AUTH, KILL_WORKER, KILL_BACKEND, KILL_SERVER, N_KINDS };
static const char *const kind_names[N_KINDS] = { "repo", "auth", "worker", "backend", "server" };

/* The supervisor starts repo and auth again at once if they have lived for ten seconds, and waits the longer
 * the more often they have not: of ten seconds they are left alone until they are well again. */
#define IN_A_ROW 3u
#define LIVES_MS 10500u

static struct {
	unsigned long long killed_ms;
	unsigned           in_a_row;
} ends[KILL_AUTH + 1];

static bool may_kill(int kind)
{
	if (kind > KILL_AUTH)
		return true;
	if (test_now_ms() - ends[kind].killed_ms >= LIVES_MS)
		ends[kind].in_a_row = 0;
	return ends[kind].in_a_row < IN_A_ROW;
}

static bool kill_process(int kind)
{
	pid_t workers[8] = { 0 }, pid;

	if (kind <= KILL_AUTH) {
		pid = test_instance_pid(&instance, kind_names[kind]);
		ends[kind].killed_ms = test_now_ms();
		ends[kind].in_a_row++;
	} else {
		size_t n = test_instance_workers(&instance, workers, 8);

		pid = n > 0 ? workers[(size_t)random() % n] : 0;
	}
	return pid > 0 && kill(pid, SIGKILL) == 0;
}

static int some_kind(void)
{
	long n = random() % 10;
	int  kind = n < 3   ? KILL_REPO
	            : n < 5 ? KILL_AUTH
	            : n < 7 ? KILL_WORKER
	            : n < 9 ? KILL_BACKEND
	                    : KILL_SERVER;

	return may_kill(kind) ? kind : KILL_BACKEND;
}

static bool kill_one(int kind)
{
	switch (kind) {
	case KILL_BACKEND:
		return test_postgres_kill_backend(server, "boardwalk_repo", (unsigned)random());
	case KILL_SERVER:
		test_postgres_kill(server);
		test_postgres_start(server);
		return true;
	default:
		return kill_process(kind);
	}
}

Test(commit_faults, two_hundred_kills_lose_nothing_and_tear_nothing)
{
	const char        *kills = getenv("BOARDWALK_KILLS");
	unsigned           limit = (unsigned)strtoul(kills ? kills : KILLS, NULL, 10), n = 0;
	unsigned           of_kind[N_KINDS] = { 0 };
	unsigned long long started = test_now_ms();

	srandom(1);
	shared->loses = true;
	start_clients();
	while (n < limit) {
		int  kind = some_kind();
		char when[64];

		cr_assert(acknowledged_more(1), "nothing is acknowledged after kill %u", n);
		usleep((useconds_t)(random() % 150000));
		if (!kill_one(kind))
			continue; /* it is being started again */
		of_kind[kind]++;
		snprintf(when, sizeof(when), "kill %u, %s", ++n, kind_names[kind]);
		check_tree(when);
		check_slots(when);
	}
	cr_expect(acknowledged_more(2 * SLOTS), "nothing is acknowledged in the end");
	stop_clients();
	check_tree("in the end");
	check_slots("in the end");
	printf("%llu ms; %u acknowledged, %u told of a failure;", test_now_ms() - started,
	       all_acknowledged(), all_told());
	for (int kind = 0; kind < N_KINDS; kind++)
		printf(" %s %u", kind_names[kind], of_kind[kind]);
	printf("\n");
	cr_expect(gt(uint, all_told(), limit / 10), "nobody has noticed");
}

/* ---- PostgreSQL is there, and of no use ---- */

static void stop_server(void)
{
	test_postgres_pause(server, true);
}

static void go_on(void)
{
	test_postgres_pause(server, false);
}

static void take_lock(void)
{
	test_postgres_sql(server, "BEGIN");
	test_postgres_sql(server, "LOCK TABLE repo.content IN ACCESS EXCLUSIVE MODE");
}

static void release_lock(void)
{
	test_postgres_sql(server, "ROLLBACK");
}

/* Repo's own connections end, and others take what becomes free: it stands still, or would be faster. */
static void take_connections(void)
{
	pid_t repo_pid = test_instance_pid(&instance, "repo");

	cr_assert(eq(int, kill(repo_pid, SIGSTOP), 0));
	test_postgres_sql(server, "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
	                          " WHERE usename = 'boardwalk_repo'");
	cr_expect(gt(uint, test_postgres_fill(server, "boardwalk_auth"), 50));
	cr_assert(eq(int, kill(repo_pid, SIGCONT), 0));
}

static void release_connections(void)
{
	test_postgres_empty(server);
}

/* Seconds longer than a statement may take: nobody waits for the end of the fault. */
static void suffer(const char *name, void (*start)(void), void (*stop)(void))
{
	unsigned before;

	start_clients();
	cr_assert(acknowledged_more(2 * SLOTS), "%s: nothing is acknowledged before", name);
	start();
	before = all_told();
	for (unsigned long long limit = test_now_ms() + PATIENCE_MS;
	     all_told() < before + CLIENTS && test_now_ms() < limit;)
		usleep(5000);
	cr_expect(all_told() >= before + CLIENTS, "%s: clients are kept waiting", name);
	stop();
	cr_expect(acknowledged_more(2 * SLOTS), "%s: nothing is acknowledged afterwards", name);
	stop_clients();
	check_tree(name);
	check_slots(name);
	printf("%s: %u acknowledged, %u told of a failure\n", name, all_acknowledged(), all_told());
}

Test(commit_faults, a_server_that_stands_still_is_told_of)
{
	suffer("stopped", stop_server, go_on);
}

Test(commit_faults, a_lock_held_by_somebody_else_is_told_of)
{
	suffer("locked", take_lock, release_lock);
}

Test(commit_faults, a_server_without_connections_is_told_of)
{
	suffer("full", take_connections, release_connections);
}
