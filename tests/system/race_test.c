/* race_test.c - services come and go in a real gateway while clients ask: conformance rows E28, E33, E43
 * and O16 with clients. Proves: a pattern that always has a servlet is always answered, by one that is
 * initialised; a servlet never answers without the filter that came with it; whatever was
 * initialised is destroyed in the end; a picture of the whiteboard is never torn; a server that stops
 * answers what it has begun. Meant for the sanitizers above all.
 *
 * The clients are threads with connections of their own; the gateway has one worker, so that orders and
 * requests meet in it. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/gateway.h>
#include <support/http.h>
#include <support/instance.h>

#define N_CHANGERS 4
#define N_ASKERS   4
#define LIVE_MAX   8 /* servlets that one changer has registered at a time */

#ifdef BOARDWALK_SANITIZED
#define N_CHANGES 600u
#else
#define N_CHANGES 3000u
#endif

static struct test_gateway gateway;
static atomic_bool         over;
static atomic_uint         n_asked, n_wrong;

static void setup(void)
{
	static const char *const bundles[] = { "rows", NULL };

	test_gateway_start(&gateway, &(struct test_gateway_options){
					     .workers = 1,
					     .bundles = bundles,
					     .settings = "  engine: false\n",
				     });
}

static void teardown(void)
{
	cr_expect(test_gateway_stop(&gateway), "the gateway ends well");
}

/* ---- orders ---- */

static void order(struct http *http, const char *name, const char *argument,
                  struct http_response *ret)
{
	char request[512];
	int  n = snprintf(
		 request, sizeof(request),
		 "POST /rows-control/%s HTTP/1.1\r\nHost: race\r\nContent-Length: %zu\r\n\r\n%s",
		 name, strlen(argument), argument);

	http_send(http, request, (size_t)n);
	http_read(http, false, ret);
}

static void step(struct http *http, const char *text)
{
	struct http_response r;

	order(http, "step", text, &r);
	cr_assert(eq(int, r.status, 200), "%s", text);
	http_response_done(&r);
}

/* ---- clients ---- */

struct asker {
	pthread_t   thread;
	const char *path;
	bool (*is_right)(const struct http_response *r);
	unsigned by_base; /* answers of the servlet that is always there */
};

static void *ask_on(void *arg)
{
	struct asker        *a = arg;
	struct http          http;
	struct http_response r;

	http_open(&http, gateway.port);
	while (!atomic_load(&over)) {
		http_ask(&http, "GET", a->path, NULL, &r);
		if (!a->is_right(&r)) {
			fprintf(stderr, "%s: %d %s\n", a->path, r.status, r.body);
			atomic_fetch_add(&n_wrong, 1);
		}
		a->by_base += strcmp(r.body, "base") == 0;
		http_response_done(&r);
		atomic_fetch_add(&n_asked, 1);
	}
	http_close(&http);
	return NULL;
}

static void start_askers(struct asker *askers, const char *path,
                         bool (*is_right)(const struct http_response *r))
{
	atomic_store(&over, false);
	atomic_store(&n_asked, 0);
	atomic_store(&n_wrong, 0);
	for (size_t i = 0; i < N_ASKERS; i++) {
		askers[i] = (struct asker){ .path = path, .is_right = is_right };
		cr_assert(eq(int, pthread_create(&askers[i].thread, NULL, ask_on, &askers[i]), 0));
	}
}

static void join_askers(struct asker *askers)
{
	atomic_store(&over, true);
	for (size_t i = 0; i < N_ASKERS; i++)
		pthread_join(askers[i].thread, NULL);
}

/* ---- O16 ---- */

/* Looks at the records all the while. */
struct watcher {
	pthread_t thread;
	unsigned  n_looks, n_torn;
};

static bool has_pattern(const json_t *record)
{
	const char *first =
		json_string_value(json_array_get(json_object_get(record, "patterns"), 0));

	return first != NULL && strcmp(first, "/a") == 0;
}

static size_t count_of(const json_t *list, bool (*is)(const json_t *record), json_int_t id)
{
	size_t  i, n = 0;
	json_t *record;

	json_array_foreach (list, i, record)
		n += is(record) &&
		     (id == 0 || json_integer_value(json_object_get(record, "serviceId")) == id);
	return n;
}

static bool is_shadowed(const json_t *record)
{
	return has_pattern(record) &&
	       json_integer_value(json_object_get(record, "failureReason")) == 3;
}

/* One servlet has the pattern, all others have lost it, and nobody is in two places. */
static bool is_whole(const json_t *picture)
{
	const json_t *contexts = json_object_get(picture, "servletContextDTOs");
	const json_t *failed = json_object_get(picture, "failedServletDTOs");
	size_t        n_active = 0, i;
	json_t       *record;

	json_array_foreach (contexts, i, record)
		n_active += count_of(json_object_get(record, "servletDTOs"), has_pattern, 0);
	json_array_foreach (failed, i, record) {
		json_int_t id = json_integer_value(json_object_get(record, "serviceId"));
		size_t     k;
		json_t    *c;

		if (!is_shadowed(record) || count_of(failed, has_pattern, id) != 1)
			return false;
		json_array_foreach (contexts, k, c)
			if (count_of(json_object_get(c, "servletDTOs"), has_pattern, id) != 0)
				return false;
	}
	return n_active == 1;
}

static void *watch(void *arg)
{
	struct watcher *w = arg;

	while (!atomic_load(&over)) {
		json_t *all = test_gateway_order(&gateway, "{\"verb\": \"whiteboard\"}");

		w->n_torn += !is_whole(json_array_get(all, 0));
		w->n_looks++;
		json_decref(all);
	}
	return NULL;
}

/* ---- E28 ---- */

struct changer {
	pthread_t thread;
	unsigned  index;
};

/* Registers and unregisters at random; what it registered goes in the end. */
static void *change_on(void *arg)
{
	const struct changer *c = arg;
	struct http           http;
	bool                  live[LIVE_MAX] = { false };
	unsigned              seed = c->index;
	char                  text[128];

	http_open(&http, gateway.port);
	for (unsigned n = 0; n < N_CHANGES; n++) {
		unsigned which = (unsigned)rand_r(&seed) % LIVE_MAX;
		unsigned rank = (unsigned)rand_r(&seed) % 5;

		if (live[which])
			snprintf(text, sizeof(text), "-A%u.%u", c->index, which);
		else
			snprintf(text, sizeof(text), "S A%u.%u: /a rank=%u%s", c->index, which,
			         rank, rank % 2 ? " factory" : "");
		step(&http, text);
		live[which] = !live[which];
	}
	for (unsigned i = 0; i < LIVE_MAX; i++) {
		snprintf(text, sizeof(text), "-A%u.%u", c->index, i);
		if (live[i])
			step(&http, text);
	}
	http_close(&http);
	return NULL;
}

static bool is_of_a_servlet(const struct http_response *r)
{
	return r->status == 200 && (r->body[0] == 'A' || strcmp(r->body, "base") == 0);
}

/* One servlet is alive: base. */
static void expect_alive(struct http *http, const char *number)
{
	struct http_response r;

	order(http, "ask", "alive", &r);
	cr_expect(eq(str, r.body, number));
	http_response_done(&r);
}

Test(race, a_pattern_that_always_has_a_servlet_is_always_answered, .init = setup, .fini = teardown)
{
	struct asker   askers[N_ASKERS];
	struct changer changers[N_CHANGERS];
	struct watcher watcher = { .n_looks = 0 };
	struct http    http;
	unsigned       by_base = 0;

	http_open(&http, gateway.port);
	step(&http, "S base: /a rank=-1");
	start_askers(askers, "/a", is_of_a_servlet);
	cr_assert(eq(int, pthread_create(&watcher.thread, NULL, watch, &watcher), 0));
	for (unsigned i = 0; i < N_CHANGERS; i++) {
		changers[i].index = i;
		cr_assert(eq(int,
		             pthread_create(&changers[i].thread, NULL, change_on, &changers[i]),
		             0));
	}
	for (unsigned i = 0; i < N_CHANGERS; i++)
		pthread_join(changers[i].thread, NULL);
	join_askers(askers);
	pthread_join(watcher.thread, NULL);
	expect_alive(&http, "1");
	printf("%u requests, %u changes, %u looks\n", atomic_load(&n_asked), N_CHANGERS * N_CHANGES,
	       watcher.n_looks);
	cr_expect(eq(uint, watcher.n_torn, 0));
	cr_expect(gt(uint, watcher.n_looks, 10));
	cr_expect(eq(uint, atomic_load(&n_wrong), 0));
	cr_expect(gt(uint, atomic_load(&n_asked), N_CHANGES));
	for (size_t i = 0; i < N_ASKERS; i++)
		by_base += askers[i].by_base;
	cr_expect(lt(uint, by_base, atomic_load(&n_asked)), "the others answered, too");
	http_close(&http);
}

/* ---- E43 ---- */

static bool is_not_the_servlet(const struct http_response *r)
{
	return r->status == 404 || (r->status == 200 && strcmp(r->body, "no") == 0);
}

Test(race, a_servlet_never_answers_without_the_filter_that_came_with_it, .init = setup,
     .fini = teardown)
{
	struct asker askers[N_ASKERS];
	struct http  http;

	http_open(&http, gateway.port);
	step(&http, "S S: /s sel=x");
	step(&http, "F f: /* sel=x do=write(no)");
	start_askers(askers, "/x/s", is_not_the_servlet);
	for (unsigned n = 0; n < N_CHANGES; n++) {
		step(&http, "ctx x@/x");
		step(&http, "-x");
	}
	join_askers(askers);
	expect_alive(&http, "0");
	cr_expect(eq(uint, atomic_load(&n_wrong), 0));
	cr_expect(gt(uint, atomic_load(&n_asked), 100));
	http_close(&http);
}

/* ---- E33 ---- */

#define N_RUNNING 8

static void start_slow(struct http *clients)
{
	static const char request[] = "GET /t/slow?ms=1500 HTTP/1.1\r\nHost: race\r\n\r\n";

	for (size_t i = 0; i < N_RUNNING; i++) {
		http_open(&clients[i], gateway.port);
		cr_assert(http_send(&clients[i], request, strlen(request)));
	}
}

static void expect_answer(struct http *client, int status, const char *body)
{
	struct http_response r;

	http_read(client, false, &r);
	cr_expect(eq(int, r.status, status));
	cr_expect(eq(str, r.body, body));
	http_response_done(&r);
	http_close(client);
}

static void start_test_bundle(void)
{
	static const char *const bundles[] = { "test", NULL };

	test_gateway_start(&gateway, &(struct test_gateway_options){
					     .workers = 1,
					     .bundles = bundles,
					     .settings = "  engine: false\n",
				     });
}

/* The one that asks is among those in flight. */
static void wait_until_running(void)
{
	unsigned long long   limit = test_now_ms() + 10000;
	struct http_response r;
	bool                 all = false;

	while (!all) {
		cr_assert(lt(ullong, test_now_ms(), limit));
		http_ask_once(gateway.port + 1, "GET", "/metrics", NULL, &r);
		cr_assert(eq(int, r.status, 200));
		all = strstr(r.body, "boardwalk_requests_in_flight{worker=\"0\"} 9\n") != NULL;
		http_response_done(&r);
	}
}

Test(race, a_server_that_stops_answers_what_it_has_begun, .init = start_test_bundle,
     .fini = teardown)
{
	struct http          clients[N_RUNNING];
	struct http_response r;

	start_slow(clients);
	wait_until_running();
	kill(gateway.pid, SIGTERM);
	for (size_t i = 0; i < N_RUNNING; i++)
		expect_answer(&clients[i], 200, "slept 1500 ms");
	cr_assert(test_gateway_stop(&gateway), "the first one ends well");
	start_test_bundle();
	http_ask_once(gateway.port, "GET", "/t/slow?ms=0", NULL, &r);
	cr_expect(eq(int, r.status, 200));
	http_response_done(&r);
}
