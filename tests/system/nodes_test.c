/* Two nodes - gateway, auth and repo each - of one PostgreSQL: a client's session is the same one on both,
 * whichever it was made on; who changes it tells its own listeners, and nobody else does. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"
#include "support/postgres.h"

#define NODES 2

static struct test_postgres *server;
static struct test_instance  node[NODES];
static char                  urls[3][256];

static void begin(void)
{
	static const char *const     names[] = { "DATABASE_URL", "AUTH_DATABASE_URL",
		                                 "REPO_DATABASE_URL" };
	static const char *const     roles[] = { "postgres", "boardwalk_auth", "boardwalk_repo" };
	static const char *const     environment[] = { urls[0], urls[1], urls[2],
		                                       "BOARDWALK_GATEWAY_WORKERS=2", NULL };
	struct test_instance_options options = { .environment = environment,
		                                 .bundle = "sessions",
		                                 .fresh = true };

	server = test_postgres_new_empty();
	for (size_t i = 0; i < 3; i++)
		snprintf(urls[i], sizeof(urls[i]), "%s=%s", names[i],
		         test_postgres_conninfo(server, roles[i]));
	for (size_t i = 0; i < NODES; i++) {
		test_instance_start(&node[i], &options);
		options.joins = true;
	}
}

static void end(void)
{
	for (size_t i = 0; i < NODES; i++)
		test_instance_stop(&node[i]);
	test_postgres_free(server);
}

TestSuite(nodes, .init = begin, .fini = end);

/* ---- a client of both ---- */

static char cookie[64]; /* "" for none */

/* Asks a node, on a connection of its own, with that cookie. The answer: at most 255 octets. */
static int ask_with(unsigned which, const char *with, const char *path, const char *words,
                    char ret_body[256], char ret_cookie[64])
{
	struct http          http;
	struct http_response r;
	char                 text[512];
	const char          *set;
	int n = snprintf(text, sizeof(text), "GET %s?do=%s HTTP/1.1\r\nHost: t\r\n%s%s%s\r\n", path,
	                 words, with[0] ? "Cookie: JSESSIONID=" : "", with, with[0] ? "\r\n" : "");

	http_open(&http, node[which].port);
	cr_assert(http_send(&http, text, (size_t)n));
	http_read(&http, false, &r);
	http_close(&http);
	snprintf(ret_body, 256, "%s", r.size > 0 && r.body[0] == ' ' ? r.body + 1 : "");
	set = http_field(&r, "Set-Cookie");
	if (set != NULL && ret_cookie != NULL)
		sscanf(set, "JSESSIONID=%32[A-Za-z0-9_-]", ret_cookie);
	n = r.status;
	http_response_done(&r);
	return n;
}

static void expect(unsigned which, const char *path, const char *words, const char *answer)
{
	char body[256];
	int  status = ask_with(which, cookie, path, words, body, cookie);

	cr_assert_eq(status, 200, "node %u, %s?%s: %d", which, path, words, status);
	cr_assert_str_eq(body, answer, "node %u, %s?%s: %s, not %s", which, path, words, body,
	                 answer);
}

/* Is the event told on that node, and on no other? */
static void expect_event(unsigned which, const char *event)
{
	unsigned long long limit = test_now_ms() + 15000;

	while (!test_instance_logged(&node[which], event) && test_now_ms() < limit)
		usleep(20000);
	cr_assert(test_instance_logged(&node[which], event), "node %u: no event %s", which, event);
	cr_assert_not(test_instance_logged(&node[1 - which], event), "both: %s", event);
}

/* ---- tests ---- */

Test(nodes, a_session_is_the_same_one_on_both)
{
	char old[64], body[256];

	expect(0, "/foo", "create,new,set.v.one", "there new=true");
	expect(1, "/foo", "peek,new,get.v", "there new=false v=one");
	expect(1, "/foo", "peek,set.v.two,add.n.5", "there n=5");
	expect(0, "/foo", "peek,get.v,add.n.1,get.n", "there v=two n=6 n=6");
	expect(1, "/bar", "create,set.w.other",
	       "there"); /* another context's, behind the same cookie */
	expect(0, "/bar", "peek,get.w", "there w=other");

	strcpy(old, cookie);
	expect(1, "/foo", "peek,change", "there");
	cr_assert_str_neq(cookie, old);
	expect(0, "/foo", "peek,get.v", "there v=two");
	expect(0, "/bar", "peek,get.w", "there w=other");
	cr_assert_eq(ask_with(0, old, "/foo", "peek", body, NULL), 200);
	cr_assert_str_eq(body, "absent", "the old id is dead on the other node, too");

	expect(1, "/foo", "peek,set.v.last,invalidate,peek", "there absent");
	expect(0, "/foo", "peek", "absent");
	expect(0, "/bar", "peek,get.w", "there w=other");
	expect(0, "/foo", "create,new,get.v", "there new=true v=absent");

	expect_event(0, "event added(t1) v=one");
	expect_event(1, "event replaced(t1) v=one");
	expect_event(1, "event created(t2)");
	expect_event(1, "event id(t1) is another");
	expect_event(1, "event id(t2) is another");
	expect_event(1, "event destroyed(t1) v=last");
	expect_event(1, "event removed(t1) v=last");
}

/* One of them tells it, once: how many times it stands in both logs. */
static unsigned count_events(const char *event)
{
	unsigned n = 0;

	for (size_t i = 0; i < NODES; i++) {
		char  path[128], line[1024];
		FILE *in;

		snprintf(path, sizeof(path), "%.63s/log", node[i].root);
		in = fopen(path, "re");
		cr_assert_not_null(in);
		while (fgets(line, sizeof(line), in) != NULL)
			n += strstr(line, event) != NULL;
		fclose(in);
	}
	return n;
}

Test(nodes, sessions_that_end_by_their_time_are_told_of_once)
{
	unsigned long long limit;

	for (int i = 0; i < 10; i++) {
		cookie[0] = '\0';
		expect((unsigned)i % NODES, "/foo", "create,set.v.swept,timeout.1", "there");
	}
	limit = test_now_ms() + 15000;
	while (count_events("event removed(t1) v=swept") < 10 && test_now_ms() < limit)
		usleep(50000);
	cr_assert_eq(count_events("event removed(t1) v=swept"), 10);
	cr_assert_eq(count_events("event destroyed(t1) v=swept"), 10);
	expect(0, "/foo", "peek", "absent");
	expect(1, "/foo", "peek", "absent");
}

struct adder {
	unsigned which;
	bool     ok;
};

static void *add_300(void *arg)
{
	struct adder *a = arg;
	char          body[256];

	a->ok = true;
	for (int i = 0; i < 300 && a->ok; i++)
		a->ok = ask_with(a->which, cookie, "/foo", "peek,add.n.1", body, NULL) == 200;
	return NULL;
}

Test(nodes, increments_on_both_are_not_lost)
{
	struct adder a[NODES] = { { .which = 0 }, { .which = 1 } };
	pthread_t    threads[NODES];

	expect(0, "/foo", "create", "there");
	for (size_t i = 0; i < NODES; i++)
		pthread_create(&threads[i], NULL, add_300, &a[i]);
	for (size_t i = 0; i < NODES; i++) {
		pthread_join(threads[i], NULL);
		cr_assert(a[i].ok);
	}
	expect(0, "/foo", "peek,get.n", "there n=600");
	expect(1, "/foo", "peek,get.n", "there n=600");
}

/* What was acknowledged on a node that is gone is there on the other one. */
Test(nodes, a_session_outlives_its_node)
{
	expect(0, "/foo", "create,set.v.kept", "there");
	cr_assert_eq(kill(test_instance_pid(&node[0], "repo"), SIGKILL), 0);
	cr_assert_eq(test_instance_end(&node[0]), 0);
	expect(1, "/foo", "peek,get.v,set.v.on", "there v=kept");
	expect(1, "/foo", "peek,get.v", "there v=on");
}
