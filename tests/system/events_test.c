/* Two nodes - gateway, auth and repo each - of one PostgreSQL: what listeners of resource changes
 * are told (the rows of tests/conformance/events), and how soon a change on one node is seen by the
 * other, with bells, without them, and with the connection cut that hears them. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/postgres.h"
#include "support/rows.h"

#define NODES    2
#define MAX_TEXT 65536

static const char config[] = "auth:\n"
			     "  service_users: [\"test.events=eventwriter\"]\n"
			     "gateway:\n"
			     "  workers: 1\n";

static const char content[] = "create service user eventwriter\n"
			      "create path (sling:Folder) /content/events(nt:unstructured)\n"
			      "create path (nt:unstructured) /apps\n"
			      "create path (nt:unstructured) /libs\n"
			      "set ACL on /\n"
			      "  allow jcr:all for eventwriter\n"
			      "end\n";

static struct test_postgres *server;
static struct test_instance  node[NODES];
static struct http           http[NODES];
static char                  urls[3][256];

static void begin(void)
{
	static const char *const     names[] = { "DATABASE_URL", "AUTH_DATABASE_URL",
		                                 "REPO_DATABASE_URL" };
	static const char *const     roles[] = { "postgres", "boardwalk_auth", "boardwalk_repo" };
	static const char *const     environment[] = { urls[0], urls[1], urls[2], NULL };
	struct test_instance_options options = {
		.config = config, .environment = environment, .bundle = "events", .fresh = true
	};

	server = test_postgres_new_empty();
	for (size_t i = 0; i < 3; i++)
		snprintf(urls[i], sizeof(urls[i]), "%s=%s", names[i],
		         test_postgres_conninfo(server, roles[i]));
	for (size_t i = 0; i < NODES; i++) {
		test_instance_start(&node[i], &options);
		options.joins = true;
		http_open(&http[i], node[i].port);
	}
	node[0].database = strchr(urls[0], '=') + 1;
	test_instance_repoinit(&node[0], content);
}

static void end(void)
{
	for (size_t i = 0; i < NODES; i++) {
		http_close(&http[i]);
		test_instance_stop(&node[i]);
	}
	test_postgres_free(server);
}

TestSuite(events, .init = begin, .fini = end);

/* ---- asking a node ---- */

/* Returns the status; what it says goes to said, of MAX_TEXT octets. */
static int try_post(struct http *to, const char *order, const char *body, char *said)
{
	struct http_response response;
	char                *request = malloc(strlen(body) + 256);
	int                  n, status;

	n = sprintf(request, "POST /events/%s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
	            order, strlen(body), body);
	cr_assert(http_send(to, request, (size_t)n));
	http_read(to, false, &response);
	status = response.status;
	cr_assert_lt(response.size, MAX_TEXT);
	snprintf(said, MAX_TEXT, "%s", response.size > 0 ? response.body : "");
	http_response_done(&response);
	free(request);
	return status;
}

static void post(unsigned which, const char *order, const char *body, char *said)
{
	int status = try_post(&http[which], order, body, said);

	cr_assert_eq(status, 200, "%s %s: %d %s", order, body, status, said);
}

/* Steps that succeed; one that orders says so. */
static void steps(unsigned which, const char *text)
{
	char said[MAX_TEXT];

	post(which, "steps", text, said);
	cr_assert(said[0] == '\0' || strcmp(said, "moved") == 0, "%s: %s", text, said);
}

static void wait_for_mark(unsigned marks)
{
	unsigned long long limit = test_now_ms() + 10000;
	char               said[MAX_TEXT];

	do {
		post(0, "marks", "", said);
		cr_assert_lt(test_now_ms(), limit, "%s marks, not %u", said, marks);
	} while (strtoul(said, NULL, 10) < marks);
}

/* Returns when all listeners of node 0 have been told of everything that happened on that node
 * before. A second mark, made once the first was heard, comes in a later answer than the first, and
 * that is delivered when all are through with the one before. */
static void settle(unsigned which)
{
	static unsigned n;
	char            text[64], said[MAX_TEXT];
	unsigned        marks;

	post(0, "marks", "", said);
	marks = (unsigned)strtoul(said, NULL, 10);
	for (unsigned i = 1; i <= 2; i++) {
		snprintf(text, sizeof(text), "create / mark-%u ; commit", ++n);
		steps(which, text);
		wait_for_mark(marks + i);
	}
}

/* ---- rows ---- */

static unsigned failed, passed;

static char *trim(char *text)
{
	char *behind = text + strlen(text);

	while (*text == ' ')
		text++;
	while (behind > text && (behind[-1] == ' ' || behind[-1] == '\n'))
		behind--;
	*behind = '\0';
	return text;
}

/* {/a} becomes the path as an SQL text. */
static void run_sql(const char *text)
{
	char sql[1024], *at = sql;
	bool inside = false;

	for (; *text != '\0' && at < sql + sizeof(sql) - 64; text++) {
		if (*text == '{' && text[1] == '/') {
			at += sprintf(at, "'/content/events");
			inside = true;
		} else if (*text == '}' && inside) {
			*at++ = '\'';
			inside = false;
		} else {
			*at++ = *text;
		}
	}
	*at = '\0';
	test_postgres_sql(server, "SELECT %s", sql);
}

static unsigned run_changes(char *text)
{
	unsigned which = 0;

	for (char *next; text != NULL; text = next) {
		next = strstr(text, " ;; ");
		if (next != NULL) {
			*next = '\0';
			next += 4;
		}
		text = trim(text);
		if (strcmp(text, "-") == 0)
			continue;
		if (strncmp(text, "sql:", 4) == 0) {
			run_sql(text + 4);
		} else if (strncmp(text, "other:", 6) == 0) {
			which = 1;
			steps(1, trim(text + 6));
		} else {
			steps(0, text);
		}
	}
	return which;
}

static void run_row(char *fields[5])
{
	char said[MAX_TEXT], clean[] = "clean / ; commit";

	steps(0, clean);
	run_changes(fields[2]);
	settle(0);
	settle(1); /* the other node sees it, too */
	post(0, "listen", fields[1], said);
	if (said[0] == '\0') {
		settle(run_changes(fields[3]));
		post(0, "told", "", said);
	}
	if (strcmp(said[0] != '\0' ? said : "-", fields[4]) == 0) {
		passed++;
	} else {
		failed++;
		fprintf(stderr, "%s: told %s, not %s\n", fields[0], said, fields[4]);
	}
	post(0, "drop", "", said);
}

static void run_file(const char *path)
{
	FILE *in = fopen(path, "re");
	char  line[2048];

	cr_assert_not_null(in, "%s", path);
	while (fgets(line, sizeof(line), in) != NULL) {
		char    *fields[5], *at = line;
		unsigned n = 0;

		if (line[0] == '#' || line[0] == '\n')
			continue;
		for (; n < 5 && at != NULL; n++) {
			char *bar = n < 4 ? strstr(at, " | ") : NULL;

			if (bar != NULL)
				*bar = '\0';
			fields[n] = trim(at);
			at = bar != NULL ? bar + 3 : NULL;
		}
		cr_assert_eq(n, 5, "%s: a row has five fields", line);
		run_row(fields);
	}
	fclose(in);
}

Test(events, rows)
{
	run_file(rows_file(ROWS "/events/V.rows"));
	cr_assert_eq(failed, 0, "%u of %u rows", failed, failed + passed);
	cr_assert_geq(passed, rows_least(50), "only %u rows", passed);
}

/* ---- one RESYNC ---- */

/* A repo that comes up anew cannot say what has happened meanwhile; nor can a worker. */
Test(events, resync_after_a_restart)
{
	unsigned long long limit;
	char               said[MAX_TEXT];
	pid_t              repo = test_instance_pid(&node[0], "repo");

	post(0, "listen", "path=/a", said);
	steps(0, "create / a ; commit");
	settle(0);
	post(0, "told", "", said);
	cr_assert_str_eq(said, "ADDED /a");
	kill(repo, SIGKILL);
	cr_assert(test_instance_recovered(&node[0], "repo", repo, 10000));
	limit = test_now_ms() + 10000;
	do {
		post(0, "told", "", said);
		cr_assert_lt(test_now_ms(), limit, "no RESYNC");
	} while (said[0] == '\0');
	cr_assert_str_eq(said, "RESYNC");
	steps(0, "set /a p=1 ; commit");
	settle(0);
	post(0, "told", "", said);
	cr_assert_str_eq(said, "CHANGED /a(p)");
}

/* ---- how soon ---- */

#define ROUNDS 60

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Milliseconds from the acknowledgement on node 0 to the first read on node 1 that shows it. */
static int delay(unsigned value)
{
	unsigned long long began;
	char               text[64], wanted[16], said[MAX_TEXT];

	snprintf(text, sizeof(text), "set /p n=l:%u ; commit", value);
	snprintf(wanted, sizeof(wanted), "%u", value);
	steps(0, text);
	began = test_now_ms();
	do {
		post(1, "get", "/p", said);
		cr_assert_lt(test_now_ms() - began, 5000, "%s, not %s", said, wanted);
	} while (strcmp(said, wanted) != 0);
	return (int)(test_now_ms() - began);
}

static void expect_soon(const char *how, void (*before)(void))
{
	int delays[ROUNDS], late = 0;

	steps(0, "create / p ; commit");
	for (unsigned i = 0; i < ROUNDS; i++) {
		if (before != NULL)
			before();
		usleep(i * 7919 % 160000); /* somewhere between two readings */
		delays[i] = delay(i + 1);
		late += delays[i] > 300;
	}
	qsort(delays, ROUNDS, sizeof(delays[0]), compare);
	fprintf(stderr, "%s: %d ms at the median, %d at most\n", how, delays[ROUNDS / 2],
	        delays[ROUNDS - 1]);
	cr_assert_leq(delays[ROUNDS / 2], 100);
	cr_assert_leq(late, 1,
	              "one may have waited for a core"); /* the machine is not ours alone */
}

Test(events, seen_elsewhere_with_bells)
{
	expect_soon("with bells", NULL);
}

Test(events, seen_elsewhere_without_bells)
{
	test_postgres_sql(server, "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC");
	expect_soon("without bells", NULL);
}

static char *others; /* PostgreSQL's processes that do not listen, as an array */

static void cut(void)
{
	test_postgres_sql(
		server,
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = "
		"'boardwalk_repo' AND query LIKE '%%pg_current_snapshot%%' AND pid <> ALL "
		"('%s')",
		others);
}

Test(events, seen_elsewhere_with_the_listening_connection_cut)
{
	others = test_postgres_value(
		server, "SELECT array_agg(pid) FROM pg_stat_activity WHERE usename = "
			"'boardwalk_repo' AND query NOT LIKE '%%pg_current_snapshot%%'");
	expect_soon("cut", cut);
	for (unsigned i = 0; i < NODES; i++)
		cr_assert_not(test_instance_logged(&node[i], "serving again"));
	free(others);
}

/* ---- never an older value ---- */

#define WRITES 10000
#define BLOCK  500

static atomic_uint acknowledged[NODES];
static atomic_bool over;
static atomic_uint reads;
static char        wrong[NODES][256]; /* what a reader has seen; "" for nothing */

#define PAUSE_US    (20 * 1000)
#define MAX_WAIT_MS 20000

/* False: refused, and this client has paused. The readers and writers here leave nobody else a core:
 * the kernel may keep PostgreSQL waiting for seconds, and a node then says that it cannot vouch for
 * what it knows, which is no older value. Whoever asks on at once keeps it that way. */
static bool ask_patiently(unsigned which, struct http *to, const char *order, const char *body,
                          char *said)
{
	int status = try_post(to, order, body, said);

	if (status == 0) {
		http_close(to);
		http_open(to, node[which].port);
	}
	if (status == 200 && strcmp(said, "io.gone") != 0)
		return true;
	usleep(PAUSE_US);
	return false;
}

static void *read_on(void *arg)
{
	unsigned    which = (unsigned)(uintptr_t)arg;
	struct http mine;
	char        said[MAX_TEXT];

	http_open(&mine, node[which].port);
	while (!over) {
		unsigned least = acknowledged[which];

		if (!ask_patiently(which, &mine, "get", "/p", said))
			continue;
		if (strtoul(said, NULL, 10) < least)
			snprintf(wrong[which], sizeof(wrong[which]), "node %u: %.200s after %u",
			         which, said, least);
		reads++;
	}
	http_close(&mine);
	return NULL;
}

/* Returns when the node has acknowledged it. What this node has seen last may be another one's
 * past: a conflict, and the next request sees more. */
static void write_on(unsigned which, unsigned value)
{
	unsigned long long began = test_now_ms();
	char               text[64], said[MAX_TEXT];

	snprintf(text, sizeof(text), "set /p n=l:%u ; commit", value);
	while (!ask_patiently(which, &http[which], "steps", text, said) || said[0] != '\0')
		cr_assert_lt(test_now_ms() - began, MAX_WAIT_MS, "%s", said);
}

/* A read that fills the cache while a write is under way does not leave the older value there. */
Test(events, no_read_after_an_acknowledgement_is_older)
{
	pthread_t readers[NODES];

	steps(0, "create / p n=l:0 ; commit");
	settle(0);
	settle(1);
	for (uintptr_t i = 0; i < NODES; i++)
		pthread_create(&readers[i], NULL, read_on, (void *)i);
	for (unsigned i = 1; i <= WRITES; i++) {
		unsigned which = i / BLOCK % NODES;

		write_on(which, i);
		acknowledged[which] = i;
	}
	over = true;
	for (unsigned i = 0; i < NODES; i++)
		pthread_join(readers[i], NULL);
	for (unsigned i = 0; i < NODES; i++)
		cr_assert_str_eq(wrong[i], "");
	fprintf(stderr, "%u reads beside %u writes\n", reads, WRITES);
	cr_assert_gt(reads, WRITES / 10);
}

/* ---- what the metrics say of the cache ---- */

static unsigned long long metric(const char *name)
{
	struct http_response response;
	char                 line[128];
	const char          *at;
	unsigned long long   value;

	http_ask_once(node[0].port + 1, "GET", "/metrics", NULL, &response);
	snprintf(line, sizeof(line), "\nboardwalk_repo_cache_%s ", name);
	at = response.status == 200 ? strstr(response.body, line) : NULL;
	cr_assert_not_null(at, "no metric %s", name);
	value = strtoull(at + strlen(line), NULL, 10);
	http_response_done(&response);
	return value;
}

/* A read is a miss, the next one a hit. */
Test(events, figures_of_the_cache)
{
	char               said[MAX_TEXT];
	unsigned long long hits, misses, entries;

	steps(0, "create / p n=l:1 ; commit");
	settle(0);
	post(0, "get", "/p", said);
	entries = metric("entries");
	hits = metric("hits_total");
	misses = metric("misses_total");
	cr_assert(entries > 0 && metric("bytes") > 0 && metric("bytes") <= metric("max_bytes"));
	post(0, "get", "/p", said);
	cr_assert_geq(metric("hits_total"), hits + 1);
	post(0, "get", "/nowhere", said);
	cr_assert_geq(metric("misses_total"), misses + 1);
	cr_assert_geq(metric("entries"), entries + 1);
	cr_assert_eq(metric("evictions_total"), 0);
}
