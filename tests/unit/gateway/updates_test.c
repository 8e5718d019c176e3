/* Bundles updated without a pause under keep-alive clients, over real sockets: no question is lost,
 * none is answered by a servlet that was destroyed, no connection ever sees a lower number after a
 * higher one, and what an update costs in memory and mappings is given back. (In one worker; that
 * all change at once is the system test's.) */
#include <gateway/bundle/bundles.h>
#include <gateway/http/loop.h>
#include <gateway/whiteboard/async.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>

#include <base/buf.h>
#include <base/fatal.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <support/generation.h>
#include <support/http.h>
#include <unistd.h>

#include "server.h"

#ifdef BOARDWALK_SANITIZED
#define UPDATES 1000 /* each costs several times as much, and its memory waits in quarantine */
#else
#define UPDATES 10000
#endif
#define CLIENTS 4
#define REPLY   1024

static char               folder[] = "/tmp/boardwalk-updates-XXXXXX";
static struct registry   *registry;
static struct loop_timer  tend;
static struct loop_fd    *watch;
static int                commands[2]; /* the test's end, the server's */
static struct test_server server;
static atomic_bool        stopping;

/* ---- in the server ---- */

static void on_tend(struct loop_timer *t)
{
	uint32_t again_ms = bundles_tend();

	if (again_ms > 0)
		loop_timer_link(t, again_ms);
}

static void wake(void)
{
	loop_timer_unlink(&tend);
	loop_timer_link(&tend, 0);
}

static void list(char *text)
{
	struct buf json;

	buf_init(&json);
	bundles_describe(&json);
	snprintf(text, REPLY, "%.*s", (int)buf_size(&json), (const char *)buf_data(&json));
	buf_done(&json);
}

/* A generation's number; its file has that name. */
static void update_to(uint64_t n, char *reason)
{
	char                file[128];
	struct bundle_order o = { .name = "test.generation", .file = file };

	snprintf(file, sizeof(file), "%s/%llu.so", folder, (unsigned long long)n);
	o.action = n == 1 ? BUNDLE_INSTALL : BUNDLE_UPDATE;
	o.generation = n;
	if (bundles_prepare(&o, reason, REPLY) == BW_OK)
		bundles_publish(n);
}

/* 0: what is there. */
static void on_command(void *arg)
{
	uint64_t n;
	char     reply[REPLY] = "";

	(void)arg;
	if (recv(commands[1], &n, sizeof(n), 0) != sizeof(n))
		fatal("command");
	if (n == 0)
		list(reply);
	else
		update_to(n, reply);
	if (send(commands[1], reply, sizeof(reply), 0) != sizeof(reply))
		fatal("command");
}

static void begin(struct shared_worker *me)
{
	async_init();
	registry = registry_new();
	whiteboard_init(registry);
	bundles_init(registry, me, 60000);
	tend.on_due = on_tend;
	bundles_on_work(wake);
	watch = loop_fd_watch(commands[1], on_command, NULL);
}

static void end(void)
{
	loop_fd_close(watch);
	bundles_stop();
	whiteboard_done();
	registry_free(registry);
	bundles_done();
	async_done();
	loop_timer_unlink(&tend);
}

/* ---- the clients ---- */

struct client {
	pthread_t thread;
	uint64_t  answers, numbers, last; /* numbers: different ones that it saw */
	char      wrong[128];             /* the first thing that was */
};

static void *ask(void *arg)
{
	static const char     request[] = "GET /gen HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct client        *c = arg;
	struct http          *h = malloc(sizeof(*h));
	struct http_response *r = malloc(sizeof(*r));

	http_open(h, server.port);
	while (!atomic_load(&stopping) && c->wrong[0] == 0) {
		uint64_t n;

		http_send(h, request, strlen(request));
		http_read(h, false, r);
		n = r->status == 200 ? strtoull(r->body, NULL, 10) : 0;
		if (n == 0 || n < c->last)
			snprintf(c->wrong, sizeof(c->wrong), "%d, %.40s after %llu", r->status,
			         r->body ? r->body : "nothing", (unsigned long long)c->last);
		c->numbers += n != c->last;
		c->last = n;
		c->answers++;
		http_response_done(r);
	}
	http_close(h);
	free(h);
	free(r);
	return NULL;
}

/* ---- the test ---- */

static void update(const struct generation *g, uint64_t n)
{
	char file[128], words[32], reason[REPLY];

	snprintf(file, sizeof(file), "%s/%llu.so", folder, (unsigned long long)n);
	snprintf(words, sizeof(words), "n=%llu", (unsigned long long)n);
	generation_write(g, words, file);
	cr_assert(eq(int, (int)send(commands[0], &n, sizeof(n), 0), sizeof(n)));
	cr_assert(eq(int, (int)recv(commands[0], reason, sizeof(reason), 0), sizeof(reason)));
	cr_assert_str_eq(reason, "", "update %llu: it %s", (unsigned long long)n, reason);
	unlink(file);
}

struct size {
	size_t mappings, rss_kib;
};

static struct size size_of_server(void)
{
	char        path[64], line[512];
	struct size s = { 0, 0 };
	FILE       *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)server.pid);
	f = fopen(path, "r");
	while (fgets(line, sizeof(line), f))
		s.mappings++;
	fclose(f);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)server.pid);
	f = fopen(path, "r");
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmRSS: %zu", &s.rss_kib);
	fclose(f);
	return s;
}

/* Its size when no old generation is mapped: requests are in them for a moment after each
 * update. */
static struct size settled(void)
{
	const uint64_t list = 0;
	char           text[REPLY];

	do {
		cr_assert(eq(int, (int)send(commands[0], &list, sizeof(list), 0), sizeof(list)));
		cr_assert(eq(int, (int)recv(commands[0], text, sizeof(text), 0), sizeof(text)));
	} while (strstr(text, "\"mapped\":0") == NULL);
	return size_of_server();
}

Test(updates, ten_thousand_under_load)
{
	struct gateway_settings settings = test_server_settings();
	struct generation       g;
	struct client           clients[CLIENTS] = { 0 };
	struct size             first, last;

	cr_assert(mkdtemp(folder) != NULL);
	generation_read(&g, TEST_BUNDLES "/generation.so");
	cr_assert(eq(int, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, commands), 0));
	test_server_begin = begin;
	test_server_end = end;
	server = test_server_start(&settings, whiteboard_serve);
	update(&g, 1);
	for (size_t i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i].thread, NULL, ask, &clients[i]);
	for (uint64_t n = 2; n <= 100; n++)
		update(&g, n);
	first = settled();
	for (uint64_t n = 101; n <= UPDATES; n++)
		update(&g, n);
	last = settled();
	atomic_store(&stopping, true);
	for (size_t i = 0; i < CLIENTS; i++) {
		pthread_join(clients[i].thread, NULL);
		cr_assert_str_eq(clients[i].wrong, "", "client %zu: %s", i, clients[i].wrong);
		cr_assert(gt(u64, clients[i].numbers, UPDATES / 100), "client %zu saw %llu", i,
		          (unsigned long long)clients[i].numbers);
	}
	cr_assert(le(sz, last.mappings, first.mappings + first.mappings / 10), "%zu, then %zu",
	          first.mappings, last.mappings);
#ifndef BOARDWALK_SANITIZED
	cr_assert(le(sz, last.rss_kib, first.rss_kib + first.rss_kib / 10), "%zu KiB, then %zu",
	          first.rss_kib, last.rss_kib);
#endif
	cr_assert(eq(int, test_server_stop(&server, 10000), 0));
	generation_done(&g);
	rmdir(folder);
}
