/* management.c - /health/live, /health/ready and /metrics, and what others add (console.c), on a listener
 * of their own, so that on the public one these are paths like any other.
 *
 * live: the loop turns, or nobody would answer. ready: a handle was minted and a resource read within the
 * last second; the first to ask makes the probe, who comes meanwhile waits for its result.
 *
 * Owns: the last verdict of the probe. Runs in: a request's fiber; waiters are woken from the loop.
 * Fails with: 404 for other paths, 405 for other methods, 503 while not ready.
 * Tests: tests/unit/gateway/management_test.c. */
#include "management.h"

#include "http/loop.h"
#include "request.h"
#include "shared.h"

#include <base/fatal.h>
#include <stdlib.h>

#define REMEMBER_US      1000000u
#define REMEMBER_AWAY_US 20000u /* whoever waits to be ready shall not wait for us */

enum { PAGES_MAX = 8 };

struct page {
	struct bw_str   path;
	management_page serve;
};

struct waiter {
	struct req_wait wait;
	struct bw_req  *req;
	struct waiter  *next;
};

static struct {
	const struct shared *shared;
	management_probe     probe;
	management_metrics   more_metrics; /* NULL: none */
	bool                 probing;
	uint64_t             known_us; /* when the verdict was made; 0: never */
	const char          *away;
	struct waiter       *waiters;
	struct loop_timer    wake;
	struct page          pages[PAGES_MAX];
	size_t               n_pages;
} state;

/* ---- ready ----------------------------------------------------------------------------------- */

static void forget_waiter(struct req_wait *w)
{
	struct waiter **p = &state.waiters;

	while (*p != (struct waiter *)w)
		p = &(*p)->next;
	*p = (*p)->next;
}

static void add_waiter(struct waiter *w)
{
	struct waiter **p = &state.waiters;

	while (*p != NULL)
		p = &(*p)->next;
	*p = w;
}

/* A fiber may not run another's continuation, which may call libh2o: so this comes from a timer. If the
 * prober left without a verdict, the first to wake probes and the others wait anew, behind those
 * that are woken here. */
static void on_wake(struct loop_timer *t)
{
	size_t n = 0;

	(void)t;
	for (const struct waiter *w = state.waiters; w != NULL; w = w->next)
		n++;
	for (; n > 0 && state.waiters != NULL; n--) {
		struct waiter *w = state.waiters;

		state.waiters = w->next;
		request_wake(w->req);
	}
}

static bool is_known(void)
{
	uint64_t limit_us = state.away == NULL ? REMEMBER_US : REMEMBER_AWAY_US;

	return state.known_us != 0 && loop_now_us() - state.known_us < limit_us;
}

static void make_probe(struct bw_req *req)
{
	const char *away;

	state.probing = true;
	away = state.probe(req);
	state.probing = false;
	if (request_check(req) == BW_OK) {
		state.away = away;
		state.known_us = loop_now_us();
	}
	if (state.waiters != NULL)
		loop_timer_link(&state.wake, 0);
}

/* Who has crashed is no reason to send clients elsewhere: the others accept in its place. At the first
 * start everybody is waited for. */
static bool is_away(const struct shared_worker *w)
{
	return !atomic_load_explicit(&w->ready, memory_order_relaxed) &&
	       (atomic_load_explicit(&w->accepting, memory_order_relaxed) ||
	        !atomic_load_explicit(&w->started, memory_order_relaxed));
}

/* The probe speaks for this worker; the others say for themselves that both peers have greeted. */
static const char *who_is_away(void)
{
	if (state.away != NULL)
		return state.away;
	for (uint32_t i = 0; i < state.shared->n_workers; i++)
		if (is_away(&state.shared->worker[i]))
			return "a worker is not connected yet";
	return NULL;
}

static void serve_ready(struct bw_req *req)
{
	const char *away;

	while (!is_known()) {
		struct waiter w = { .wait.cancel = forget_waiter, .req = req };

		if (!state.probing) {
			make_probe(req);
			if (request_check(req) != BW_OK)
				return;
			continue;
		}
		add_waiter(&w);
		if (request_park(req, &w.wait) != BW_OK)
			return;
	}
	response_header(req, "content-type", BW_STR("text/plain;charset=utf-8"), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
	away = who_is_away();
	if (away == NULL) {
		response_write(req, "ready\n", 6);
		return;
	}
	response_status(req, 503);
	response_header(req, "retry-after", BW_STR("1"), true);
	response_write(req, away, strlen(away));
	response_write(req, "\n", 1);
}

/* ---- live ------------------------------------------------------------------------------------ */

static void serve_live(struct bw_req *req)
{
	response_header(req, "content-type", BW_STR("text/plain;charset=utf-8"), true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
	response_write(req, "live\n", 5);
}

/* ---- metrics --------------------------------------------------------------------------------- */

#define FIELD32(f) .offset = offsetof(struct shared_worker, f), .wide = false
#define FIELD64(f) .offset = offsetof(struct shared_worker, f), .wide = true

/* One row per family; a row without help goes on with the family above it. */
static const struct metric {
	const char *name, *type, *help;
	size_t      offset;
	bool        wide;  /* 64 bits */
	const char *label; /* besides worker */
} metrics[] = {
	{ "boardwalk_requests_total", "counter", "Requests received.", FIELD64(requests), NULL },
	{ "boardwalk_responses_total", "counter", "Responses by class of status.",
	  FIELD64(responses[2]), ",class=\"2xx\"" },
	{ "boardwalk_responses_total", NULL, NULL, FIELD64(responses[3]), ",class=\"3xx\"" },
	{ "boardwalk_responses_total", NULL, NULL, FIELD64(responses[4]), ",class=\"4xx\"" },
	{ "boardwalk_responses_total", NULL, NULL, FIELD64(responses[5]), ",class=\"5xx\"" },
	{ "boardwalk_requests_in_flight", "gauge", "Requests being served.", FIELD32(in_requests),
	  NULL },
	{ "boardwalk_connections_total", "counter", "Connections accepted.", FIELD64(connections),
	  NULL },
	{ "boardwalk_connections_open", "gauge", "Connections open.", FIELD64(connections_open),
	  NULL },
	{ "boardwalk_requests_aborted_total", "counter",
	  "Requests whose client left or whose time was up.", FIELD64(aborted), NULL },
	{ "boardwalk_requests_refused_total", "counter",
	  "Requests refused at the edge for their framing, size or target.", FIELD64(refused),
	  NULL },
	{ "boardwalk_handles_open", "gauge", "Resolver handles not closed yet.",
	  FIELD64(handles_open), NULL },
	{ "boardwalk_resolvers_left_total", "counter",
	  "Clones of resolvers that were left open and ended with their requests.",
	  FIELD64(resolvers_left), NULL },
	{ "boardwalk_bundles_kept", "gauge",
	  "Old generations of bundles that could not be unmapped.", FIELD32(bundles_kept), NULL },
	{ "boardwalk_crashes_total", "counter",
	  "Crashes and endless loops while serving a request, by known code.", FIELD64(crashes),
	  NULL },
	{ "boardwalk_accepting", "gauge",
	  "1 while the worker accepts from its own socket; others do in its place until then.",
	  FIELD32(accepting), NULL },
	{ "boardwalk_peers_ready", "gauge", "1 while auth and repo have greeted.", FIELD32(ready),
	  NULL },
};

static uint64_t value_of(const struct shared_worker *w, const struct metric *m)
{
	const char *field = (const char *)w + m->offset;

	if (m->wide)
		return atomic_load_explicit((const _Atomic uint64_t *)field, memory_order_relaxed);
	return atomic_load_explicit((const _Atomic uint32_t *)field, memory_order_relaxed);
}

static void serve_metrics(struct bw_req *req)
{
	const struct shared *s = state.shared;
	struct buf           b;

	buf_init(&b);
	buf_printf(&b,
	           "# HELP boardwalk_build_info What runs here.\n"
	           "# TYPE boardwalk_build_info gauge\n"
	           "boardwalk_build_info{version=\"" BOARDWALK_VERSION "\"} 1\n"
	           "# HELP boardwalk_worker_restarts_total Workers replaced after they died.\n"
	           "# TYPE boardwalk_worker_restarts_total counter\n"
	           "boardwalk_worker_restarts_total %llu\n",
	           (unsigned long long)atomic_load_explicit(&s->restarts, memory_order_relaxed));
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		const struct metric *m = &metrics[i];

		if (m->help != NULL)
			buf_printf(&b, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name,
			           m->type);
		for (uint32_t w = 0; w < s->n_workers; w++)
			buf_printf(&b, "%s{worker=\"%u\"%s} %llu\n", m->name, w,
			           m->label ? m->label : "",
			           (unsigned long long)value_of(&s->worker[w], m));
	}
	if (state.more_metrics != NULL)
		state.more_metrics(req, &b);
	response_header(req, "content-type", BW_STR("text/plain; version=0.0.4; charset=utf-8"),
	                true);
	response_write(req, buf_data(&b), buf_size(&b));
	buf_done(&b);
}

void management_on_metrics(management_metrics put)
{
	state.more_metrics = put;
}

/* ---- which ----------------------------------------------------------------------------------- */

void management_add(struct bw_str path, management_page serve)
{
	if (state.n_pages == PAGES_MAX)
		fatalx("management: too many pages");
	state.pages[state.n_pages++] = (struct page){ path, serve };
}

void management_init(const struct shared *shared, management_probe probe)
{
	memset(&state, 0, sizeof(state));
	state.shared = shared;
	state.probe = probe;
	state.wake.on_due = on_wake;
	management_add(BW_STR("/health/live"), serve_live);
	management_add(BW_STR("/health/ready"), serve_ready);
	management_add(BW_STR("/metrics"), serve_metrics);
}

void management_serve(struct bw_req *req)
{
	for (size_t i = 0; i < state.n_pages; i++) {
		if (!bw_str_eq(req->path, state.pages[i].path))
			continue;
		if (bw_str_eq(req->method, BW_STR("GET")) ||
		    bw_str_eq(req->method, BW_STR("HEAD"))) {
			state.pages[i].serve(req);
			return;
		}
		response_header(req, "allow", BW_STR("GET, HEAD"), true);
		response_builtin_page(req, 405);
		return;
	}
	response_builtin_page(req, 404);
}
