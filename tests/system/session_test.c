/* HTTP sessions of a whole instance: the rows of tests/conformance/session, and what takes more
 * than a row: processes that are killed, and what a read costs. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/liar.h"
#include "support/postgres.h"
#include "support/rows.h"

#include <wire/session.h>

static const char *const two_workers[] = { "BOARDWALK_GATEWAY_WORKERS=2", NULL };

static const struct test_instance_options options = { .environment = two_workers,
	                                              .bundle = "sessions" };
static struct test_instance               instance;

static void begin(void)
{
	test_instance_start(&instance, &options);
}

static void end(void)
{
	test_instance_stop(&instance);
}

TestSuite(session, .init = begin, .fini = end);

/* ---- a client ---- */

struct client {
	struct http http;
	char        cookie[64], old[64]; /* what it sends, "" for none; what it sent before */
	char        body[1024];
	enum { NOTHING, SET, GONE } got;
	int status;
};

static void client_open(struct client *c)
{
	c->cookie[0] = c->old[0] = '\0';
	http_open(&c->http, instance.port);
}

static void take_cookie(struct client *c, const char *header)
{
	char   id[64] = "";
	size_t n = strcspn(header, ";");

	cr_assert(strncmp(header, "JSESSIONID=", 11) == 0, "%s", header);
	cr_assert_lt(n, sizeof(id) + 11);
	memcpy(id, header + 11, n - 11);
	cr_assert_not_null(strstr(header, "; Path=/; "), "%s", header);
	cr_assert_not_null(strstr(header, "; HttpOnly"), "%s", header);
	cr_assert_not_null(strstr(header, "; SameSite=Lax"), "%s", header);
	c->got = strstr(header, "; Max-Age=0") != NULL ? GONE : SET;
	cr_assert_eq(strlen(id), c->got == SET ? 32 : 0, "%s", header);
	strcpy(c->old, c->cookie);
	strcpy(c->cookie, id);
}

static void send_question(struct client *c, const char *context, const char *words)
{
	char text[1024];
	int  n = snprintf(text, sizeof(text), "GET %s?do=%s HTTP/1.1\r\nHost: t\r\n%s%s%s\r\n",
	                  context, words, c->cookie[0] ? "Cookie: a=b; JSESSIONID=" : "", c->cookie,
                         c->cookie[0] ? "; c=d\r\n" : "");

	if (http_send(&c->http, text, (size_t)n))
		return;
	http_close(&c->http);
	http_open(&c->http, instance.port);
	cr_assert(http_send(&c->http, text, (size_t)n));
}

static int read_answer(struct client *c)
{
	struct http_response r;
	const char          *cookie;

	http_read(&c->http, false, &r);
	c->status = r.status;
	c->got = NOTHING;
	snprintf(c->body, sizeof(c->body), "%s", r.size > 0 && r.body[0] == ' ' ? r.body + 1 : "");
	cookie = http_field(&r, "Set-Cookie");
	if (cookie != NULL)
		take_cookie(c, cookie);
	cr_assert(r.status != 503 || http_field(&r, "Retry-After") != NULL);
	http_response_done(&r);
	return c->status;
}

/* The status; the answer is in c. */
static int ask(struct client *c, const char *context, const char *words)
{
	send_question(c, context, words);
	return read_answer(c);
}

/* Asks and compares the answer. */
static void expect(struct client *c, const char *context, const char *words, const char *answer)
{
	cr_assert_eq(ask(c, context, words), 200, "%s?%s: %d", context, words, c->status);
	cr_assert_str_eq(c->body, answer, "%s?%s: %s, not %s", context, words, c->body, answer);
}

/* As soon as everything serves again. */
static void expect_soon(struct client *c, const char *context, const char *words,
                        const char *answer)
{
	unsigned long long limit = test_now_ms() + 15000;

	while (ask(c, context, words) != 200) {
		cr_assert(c->status == 0 || c->status == 503 || c->status == 504, "%d", c->status);
		cr_assert(test_now_ms() < limit);
		http_close(&c->http);
		usleep(10000);
		while (!http_try_open(&c->http, instance.port))
			usleep(10000);
	}
	cr_assert_str_eq(c->body, answer, "%s?%s: %s, not %s", context, words, c->body, answer);
}

/* ---- events, from the log ---- */

static char *read_log(void)
{
	char   path[128];
	FILE  *f;
	char  *text = calloc(1, 1u << 22);
	size_t n;

	snprintf(path, sizeof(path), "%s/log", instance.root);
	f = fopen(path, "re");
	cr_assert_not_null(f);
	n = fread(text, 1, (1u << 22) - 1, f);
	fclose(f);
	text[n] = '\0';
	return text;
}

/* How often it stands there. */
static unsigned logged(const char *what)
{
	char    *log = read_log();
	unsigned n = 0;

	for (char *at = log; (at = strstr(at, what)) != NULL; at++)
		n++;
	free(log);
	return n;
}

static bool logged_soon(const char *what, unsigned times)
{
	unsigned long long limit = test_now_ms() + 15000;

	while (logged(what) < times && test_now_ms() < limit)
		usleep(20000);
	return logged(what) == times;
}

/* Those since the last time, joined by " ; ". A line of the client's own worker is waited for: what
 * that worker has logged before is there then. */
static void new_events(struct client *c, char *out, size_t size)
{
	static size_t seen;
	static int    mark;
	char          words[64], line[64], *log, *at;

	snprintf(words, sizeof(words), "create,set.mark%d.1,invalidate", ++mark);
	snprintf(line, sizeof(line), "removed(t1) mark%d=1", mark);
	{
		struct client other = { .http = c->http };

		ask(&other, "/foo", words);
		c->http = other.http;
	}
	cr_assert(logged_soon(line, 1), "%s is not logged", line);
	log = read_log();
	out[0] = '\0';
	for (at = log + seen; (at = strstr(at, "event ")) != NULL; at++) {
		size_t n = strcspn(at + 6, "\"\n"), have = strlen(out);

		snprintf(out + have, size - have, "%s%.*s", have > 0 ? " ; " : "", (int)n, at + 6);
	}
	seen = strlen(log);
	free(log);
	/* What the mark itself has led to. */
	snprintf(line, sizeof(line), "created(t1) ; added(t1) mark%d=1", mark);
	at = strstr(out, line);
	cr_assert_not_null(at, "%s", out);
	*at = '\0';
	if (at - out >= 3 && strcmp(at - 3, " ; ") == 0)
		at[-3] = '\0';
}

/* ---- two workers ---- */

static int pid_of(struct client *c)
{
	int pid = 0;

	cr_assert_eq(ask(c, "/foo", "pid"), 200);
	cr_assert_eq(sscanf(c->body, "pid=%d", &pid), 1, "%s", c->body);
	return pid;
}

/* A connection of the same client to another worker. */
static void open_elsewhere(const struct client *c, struct client *ret, int pid)
{
	for (int i = 0; i < 200; i++) {
		client_open(ret);
		strcpy(ret->cookie, c->cookie);
		if (pid_of(ret) != pid)
			return;
		http_close(&ret->http);
	}
	cr_assert_fail("200 connections to one of two workers");
}

struct repeated {
	struct client client;
	const char   *path, *words;
	int           n;
	bool          ok;
};

static void *repeat(void *arg)
{
	struct repeated *r = arg;

	r->ok = true;
	for (int i = 0; i < r->n && r->ok; i++)
		r->ok = ask(&r->client, r->path, r->words) == 200;
	return NULL;
}

/* "1000 /foo peek,add.n.1": so often from each of two connections to different workers, at a time. */
static void ask_both(const struct client *c, const char *text)
{
	static struct repeated r[2];
	char                   path[64], words[256];
	int                    n;
	pthread_t              threads[2];

	cr_assert_eq(sscanf(text, "%d %63s %255s", &n, path, words), 3, "%s", text);
	client_open(&r[0].client);
	strcpy(r[0].client.cookie, c->cookie);
	open_elsewhere(c, &r[1].client, pid_of(&r[0].client));
	for (int i = 0; i < 2; i++) {
		r[i].path = path;
		r[i].words = words;
		r[i].n = n;
		pthread_create(&threads[i], NULL, repeat, &r[i]);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		cr_assert(r[i].ok, "%s: %d", text, r[i].client.status);
		http_close(&r[i].client.http);
	}
}

/* ---- another bundle ---- */

/* The whole instance stops; the next one has another bundle in the same contexts. */
static void start_heir(struct client *c)
{
	struct test_instance_options heir = options;
	char                         path[1024];

	http_close(&c->http);
	cr_assert_eq(
		test_instance_cli(&instance, NULL, NULL,
	                          (const char *[]){ "bundle", "uninstall", "test.sessions", NULL }),
		0);
	cr_assert_eq(test_instance_end(&instance), 0);
	heir.bundle = "heir";
	snprintf(path, sizeof(path), "%s/bundles/sessions.so", instance.root);
	cr_assert_eq(unlink(path), 0);
	snprintf(path, sizeof(path), "cp %s/tests/bundles/heir.so %s/bundles/", BOARDWALK_BUILD,
	         instance.root);
	cr_assert_eq(system(path), 0);
	cr_assert(test_instance_up(&instance, &heir));
	http_open(&c->http, instance.port);
	cr_assert(test_instance_logged(&instance, "test.heir"));
	expect_soon(c, "/foo", "commit", "");
}

/* ---- rows ---- */

static char *trim(char *s)
{
	char *last;

	s += strspn(s, " \t\n");
	last = s + strlen(s);
	while (last > s && strchr(" \t\n", last[-1]) != NULL)
		*--last = '\0';
	return s;
}

/* The next of what stands between " ; "; NULL: no more. */
static char *next_item(char **rest)
{
	char *item = *rest, *at = item != NULL ? strstr(item, " ; ") : NULL;

	if (at != NULL)
		*at = '\0';
	*rest = at != NULL ? at + 3 : NULL;
	return item != NULL ? trim(item) : NULL;
}

/* What is written with a name in the row. */
static void replace(char *text, const char *value, const char *name)
{
	char *at = value[0] != '\0' ? strstr(text, value) : NULL;
	char  rest[1024];

	if (at == NULL)
		return;
	snprintf(rest, sizeof(rest), "%s", at + strlen(value));
	sprintf(at, "%s%s", name, rest);
}

/* What a client does besides asking. False: it asks. */
static bool is_other(struct client *c, const char *step, const char *argument)
{
	if (strcmp(step, "wait") == 0) {
		usleep((useconds_t)atoi(argument) * 1000); /* the time that the row is about */
	} else if (strcmp(step, "send") == 0) {
		strcpy(c->cookie, strcmp(argument, "$old") == 0 ? c->old : argument);
	} else if (strcmp(step, "forget") == 0) {
		strcpy(c->old, c->cookie);
		c->cookie[0] = '\0';
	} else if (strcmp(step, "elsewhere") == 0) {
		struct client before = *c;

		open_elsewhere(&before, c, pid_of(&before));
		http_close(&before.http);
	} else if (strcmp(step, "both") == 0) {
		ask_both(c, argument);
	} else if (strcmp(step, "heir") == 0) {
		start_heir(c);
	} else {
		return false;
	}
	return true;
}

static bool is_request(struct client *c, char *step)
{
	char *argument = strchr(step, ' '), path[256];

	if (argument != NULL)
		*argument++ = '\0';
	if (is_other(c, step, argument))
		return false;
	cr_assert_not_null(argument, "%s", step);
	snprintf(path, sizeof(path) - 64, "%s", step);
	replace(path, "$old", c->old);
	ask(c, path, argument);
	return true;
}

static const char *answer_of(struct client *c)
{
	static char text[1200];
	char       *pid = strstr(c->body, "pid=");

	replace(c->body, c->cookie, "$id");
	replace(c->body, c->old, "$id"); /* retired by this answer */
	if (pid != NULL)
		sprintf(pid, "pid=$pid");
	snprintf(text, sizeof(text), "%s%s%s", c->status == 200 ? "" : "failed ", c->body,
	         c->got == SET    ? " set"
	         : c->got == GONE ? " gone"
	                          : "");
	return text;
}

static unsigned failed;

static void compare(const char *id, const char *what, const char *got, const char *wanted)
{
	if (strcmp(got, wanted) == 0)
		return;
	fprintf(stderr, "%s, %s: got \"%s\", wanted \"%s\"\n", id, what, got, wanted);
	failed++;
}

static void run_row(char *line)
{
	static struct client c;
	static bool          open;
	char                *id = trim(strsep(&line, "|")), *steps = strsep(&line, "|");
	char                *answers = strsep(&line, "|"), *events, *step;
	static char          got[128 * 1024]; /* some rows have thousands of events */

	cr_assert(answers != NULL && line != NULL, "%s has too few columns", id);
	events = trim(line);
	steps = trim(steps);
	if (strncmp(steps, "then ", 5) == 0) {
		steps += 5;
	} else {
		if (open)
			http_close(&c.http);
		client_open(&c);
		open = true;
	}
	while ((step = next_item(&steps)) != NULL) {
		char        request[512];
		const char *wanted;

		snprintf(request, sizeof(request), "%s", step);
		if (!is_request(&c, step))
			continue;
		wanted = next_item(&answers);
		compare(id, request, answer_of(&c), wanted != NULL ? wanted : "(no answer)");
	}
	if (answers != NULL)
		compare(id, "answers", "", answers);
	new_events(&c, got, sizeof(got));
	if (strcmp(events, "*") != 0)
		compare(id, "events", got[0] != '\0' ? got : "-", events);
}

Test(session, rows)
{
	FILE    *f = fopen(rows_file(ROWS "/session/L.rows"), "re");
	char     line[2048];
	unsigned n = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (*trim(line) == '\0' || *trim(line) == '#')
			continue;
		run_row(line);
		n++;
	}
	fclose(f);
	cr_assert_geq(n, rows_least(28), "only %u rows", n);
	cr_assert_eq(failed, 0, "%u of %u rows' answers are not as wanted", failed, n);
}

/* ---- time ---- */

/* Sessions end while no client asks: each is told of once, by one of the workers. */
Test(session, swept_sessions_are_told_of_once)
{
	struct client c;

	for (int i = 0; i < 20; i++) {
		client_open(&c);
		expect(&c, "/bar", "create,set.v.swept,timeout.1", "there");
		http_close(&c.http);
	}
	cr_assert(logged_soon("event destroyed(t2) v=swept", 20));
	cr_assert(logged_soon("event removed(t2) v=swept", 20));
	cr_assert_eq(logged("event destroyed(t2)"), 20);
	cr_assert_eq(logged("could be changed"), 0);
}

/* ---- what survives ---- */

Test(session, acknowledged_survives_the_death_of_any_process)
{
	static const char *const names[] = { "repo", "gateway", "postgres", "auth" };
	struct client            c;
	char                     words[64], wanted[64];

	client_open(&c);
	expect(&c, "/foo", "create", "there");
	for (int i = 0; i < 4; i++) {
		pid_t pid = test_instance_pid(&instance, names[i]);

		snprintf(words, sizeof(words), "peek,add.n.1,set.v.%s", names[i]);
		snprintf(wanted, sizeof(wanted), "there n=%d", i + 1);
		expect(&c, "/foo", words, wanted);
		cr_assert_eq(kill(pid, SIGKILL), 0);
		cr_assert(test_instance_recovered(&instance, names[i], pid, 15000), "%s", names[i]);
		snprintf(wanted, sizeof(wanted), "there n=%d v=%s", i + 1, names[i]);
		expect_soon(&c, "/foo", "peek,get.n,get.v", wanted);
		expect_soon(&c, "/foo", "peek,set.w.1", "there"); /* it writes, too */
	}
	http_close(&c.http);
}

/* Killed while increments come: what was acknowledged counts, and what was not at most once. */
Test(session, repo_killed_among_increments)
{
	struct client c;
	long          acknowledged = 0, tried = 0, n = 0;
	pid_t         pid = test_instance_pid(&instance, "repo");

	client_open(&c);
	expect(&c, "/foo", "create,add.n.0", "there n=0");
	for (bool killed = false; acknowledged < 300;) {
		if (!killed && acknowledged == 100) {
			cr_assert_eq(kill(pid, SIGKILL), 0);
			killed = true;
		}
		tried++;
		if (ask(&c, "/foo", "peek,add.n.1") != 200) {
			cr_assert_eq(c.status, 503);
			continue;
		}
		acknowledged++;
		cr_assert_eq(sscanf(c.body, "there n=%ld", &n), 1, "%s", c.body);
		cr_assert(n >= acknowledged && n <= tried, "%ld, %ld acknowledged, %ld tried", n,
		          acknowledged, tried);
	}
	http_close(&c.http);
}

/* While repo is away a session's request is a 503; one without keeps working. */
Test(session, without_repo_503)
{
	struct client c, other;
	pid_t         pid = test_instance_pid(&instance, "repo");

	client_open(&c);
	client_open(&other);
	expect(&c, "/foo", "create", "there");
	cr_assert_eq(kill(pid, SIGSTOP), 0);
	send_question(&c, "/foo", "peek");
	cr_assert_gt(pid_of(&other), 0);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(read_answer(&c), 503);
	expect_soon(&c, "/foo", "peek", "there");
	http_close(&c.http);
	http_close(&other.http);
}

/* ---- a gateway in the hands of an attacker ---- */

static struct liar        liar;
static struct liar_answer told;

static void connect_to_repo(void)
{
	char path[128];

	test_instance_socket(&instance, "repo/repo.sock", path, sizeof(path));
	cr_assert(liar_open(&liar, path, NULL, "boardwalk-gateway"));
}

/* How many sessions repo tells of when it is asked for this hash. */
static unsigned load(uint8_t hash[SESSION_HASH_SIZE], size_t n)
{
	Bw__Wire__SessionLoad m = BW__WIRE__SESSION_LOAD__INIT;

	m.id = (ProtobufCBinaryData){ n, hash };
	m.context = (ProtobufCBinaryData){ 2, (uint8_t *)"t1" };
	liar_ask(&liar, liar.repo, WIRE_SESSION_LOAD, &m.base, &told);
	return told.err == BW_OK ? told.m.u->session_data.count : 0;
}

/* It finds the sessions whose ids it knows, and no others; nothing lists them. */
Test(session, a_lying_gateway_finds_what_it_can_name)
{
	uint8_t                hash[SESSION_HASH_SIZE];
	Bw__Wire__SessionWatch watch = BW__WIRE__SESSION_WATCH__INIT;
	struct client          c;

	client_open(&c);
	expect(&c, "/foo", "create,set.v.secret", "there");
	connect_to_repo();
	session_id_hash(bw_str(c.cookie), hash);
	cr_assert_eq(load(hash, sizeof(hash)), 1, "who has the id may use the session");
	hash[31] ^= 1;
	cr_assert_eq(load(hash, sizeof(hash)), 0);
	memset(hash, 0, sizeof(hash));
	cr_assert_eq(load(hash, sizeof(hash)), 0);
	watch.max = SESSION_BATCH; /* brings those that have ended: none has */
	liar_ask(&liar, liar.repo, WIRE_SESSION_WATCH, &watch.base, &told);
	cr_assert_eq(told.err, BW_ETIME);
	load(hash, 31);
	cr_assert_eq(told.err, BW_EGONE, "half a hash is no question");
	liar_close(&liar);
	cr_assert(logged_soon("malformed question about a session", 1));
	expect(&c, "/foo", "peek,get.v", "there v=secret");
	http_close(&c.http);
}

/* ---- what a read costs ---- */

/* A thousand requests that read their session: no transaction number is drawn, and nothing is
 * written to the log of the database. */
Test(session_of_the_operators_server, reading_does_not_commit)
{
	static const char  state[] = "SELECT pg_snapshot_xmax(pg_current_snapshot()) || ' ' || "
				     "pg_current_wal_insert_lsn()";
	static char        urls[3][256];
	static const char *environment[] = { urls[0], urls[1], urls[2],
		                             "BOARDWALK_GATEWAY_WORKERS=2", NULL };
	static const char *const     names[] = { "DATABASE_URL", "AUTH_DATABASE_URL",
		                                 "REPO_DATABASE_URL" };
	static const char *const     roles[] = { "postgres", "boardwalk_auth", "boardwalk_repo" };
	struct test_instance_options with = options;
	struct test_postgres        *server = test_postgres_new_empty();
	struct client                c;
	char                        *before, *after;

	for (size_t i = 0; i < 3; i++)
		snprintf(urls[i], sizeof(urls[i]), "%s=%s", names[i],
		         test_postgres_conninfo(server, roles[i]));
	with.environment = environment;
	with.fresh = true;
	test_instance_start(&instance, &with);
	client_open(&c);
	expect(&c, "/foo", "create,set.v.1", "there");
	expect(&c, "/bar", "create,set.v.2", "there");
	test_postgres_sql(server, "CHECKPOINT");
	expect(&c, "/foo", "peek,get.v", "there v=1");
	before = test_postgres_value(server, state);
	for (int i = 0; i < 500; i++) {
		expect(&c, "/foo", "peek,get.v", "there v=1");
		expect(&c, "/bar", "peek,get.v", "there v=2");
	}
	after = test_postgres_value(server, state);
	cr_assert_str_eq(before, after, "%s, then %s", before, after);
	free(before);
	free(after);
	http_close(&c.http);
	test_instance_stop(&instance);
	test_postgres_free(server);
}
