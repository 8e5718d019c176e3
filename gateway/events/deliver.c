/* deliver.c - calls the listeners with the events of one answer, each on a fiber of its own, so
 * that one that waits holds up the next answer and nobody in this one.
 *
 *    deliver --a listener--> fiber: its events of a commit -> on_change, of the next commit ...
 *            --another one-> fiber: ...                                          |
 *    done  <---------------------------------------------- the last one has ended '
 *
 * There is no request; a struct bw_req stands for one, so that all that waits for something works
 * here, too. It has no transport, and ends after a minute: calls that wait answer BW_ETIME from
 * then on.
 * Owns: deliveries. Runs in: the worker's thread, on_change on a fiber. Fails with: nothing; logs
 * what listeners return. Tests: tests/system/events_test.c, tests/conformance/events. */
#include "bundle/crash_limits.h"
#include "events_impl.h"
#include "fiber.h"
#include "http/loop.h"
#include "peers/resolver.h"
#include "request.h"
#include "whiteboard/registry.h"
#include <base/fatal.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#define MAX_MS   60000u
#define RETRY_MS 100u

/* One listener's part of the delivery. */
struct job {
	struct loop_timer timer; /* first: on_due gets its address */
	LIST_ENTRY(job) link;
	struct change_listener *listener;
	struct bw_req          *req; /* NULL: has not begun */
};

static struct {
	const uint8_t *events;
	size_t         n;
	LIST_HEAD(, job) jobs; /* that have not ended */
	void (*done)(void);
} delivery;

bool deliver_is_under_way(void)
{
	return !LIST_EMPTY(&delivery.jobs);
}

/* ---- one commit ---- */

static const struct bw_change *change_of(struct arena *a, const struct event *e)
{
	struct bw_change *c = arena_zalloc(a, sizeof(*c));
	struct bw_str    *names = arena_alloc(a, e->n_names * sizeof(*names));
	const uint8_t    *at = e->names;

	for (unsigned i = 0; i < e->n_names; i++)
		names[i] = event_next_name(&at);
	c->kind = (enum bw_change_kind)e->kind;
	c->external = e->flags & EVENT_EXTERNAL;
	c->subtree = e->flags & EVENT_SUBTREE;
	c->path = e->path.n > 0 ? e->path : BW_ABSENT;
	c->from = e->from.n > 0 ? e->from : BW_ABSENT;
	c->user = e->user.n > 0 ? e->user : BW_ABSENT;
	c->n_names = e->n_names;
	c->names = names;
	return c;
}

static void call(const struct change_listener *l, struct bw_req *req,
                 const struct bw_change *const *changes, size_t n)
{
	int err;

	if (n == 0 || l->failure != NULL) /* unregistered meanwhile */
		return;
	err = l->type->on_change(l->object, req, changes, n);
	if (err < 0)
		log_warning(req->id, "listener %s: on_change returned %d", l->name, err);
}

/* From *at on, up to the end of a commit or of the answer. */
static void tell_commit(const struct change_listener *l, struct bw_req *req, size_t *at)
{
	const struct bw_change **changes = NULL;
	size_t                   n = 0;
	struct event             e = { .flags = 0 };

	while (*at < delivery.n && !(e.flags & EVENT_LAST)) {
		if (event_get(delivery.events + *at, delivery.n - *at, &e) != BW_OK)
			fatalx("malformed EVENTS");
		*at += e.size;
		if (e.kind != EVENT_RESYNC && !interest_wants(l, &e))
			continue;
		if ((n & (n - 1)) == 0) /* room for a power of two */
			changes = xrealloc(changes, (n > 0 ? 2 * n : 1) * sizeof(*changes));
		changes[n++] = change_of(&req->arena, &e);
	}
	call(l, req, changes, n);
	free(changes);
}

/* ---- a job ---- */

static void serve(struct bw_req *req)
{
	struct job                   *job = req->job;
	const struct change_listener *l = job->listener;

	fiber_set_note(req->fiber, l->name);
	fiber_set_subject(req->fiber, (struct fiber_subject){ "listener", l->name });
	for (size_t at = 0; at < delivery.n;)
		tell_commit(l, req, &at);
	resolvers_close(req);
	fiber_set_subject(req->fiber, (struct fiber_subject){ NULL, NULL });
	fiber_set_note(req->fiber, NULL);
}

static void end(struct job *job)
{
	loop_timer_unlink(&job->timer);
	listeners_unref(job->listener);
	LIST_REMOVE(job, link);
	free(job);
	if (!deliver_is_under_way())
		delivery.done();
}

/* In place of the transport's: on the loop's stack, or on that of whoever woke the fiber. */
static void on_stop(struct bw_req *req)
{
	struct job *job = req->job;

	if (req->state != REQ_RESPONDING)
		return;
	request_release(req); /* the transport's share, and the fiber's */
	request_release(req);
	end(job);
}

static void begin(struct job *job)
{
	struct bw_req *req = request_new();

	req->id = loop_now_us();
	snprintf(req->id_text, sizeof(req->id_text), "%016llx", (unsigned long long)req->id);
	req->method = BW_STR("GET");
	req->uri = req->path = BW_STR("/");
	req->closed = true; /* what is written goes nowhere */
	req->on_stop = on_stop;
	req->job = job;
	job->req = req;
	loop_timer_link(&job->timer, MAX_MS);
	if (request_start(req, serve))
		return;
	job->req = NULL; /* there is no stack now */
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	loop_timer_unlink(&job->timer);
	loop_timer_link(&job->timer, RETRY_MS);
}

static void on_due(struct loop_timer *t)
{
	struct job *job = (struct job *)t;

	if (job->req == NULL) {
		begin(job);
		return;
	}
	log_warning(job->req->id, "listener %s takes more than a minute", job->listener->name);
	request_abort(job->req, true);
}

void deliver_abort(void)
{
	struct job *job, *next;

	for (job = LIST_FIRST(&delivery.jobs); job != NULL; job = next) {
		next = LIST_NEXT(job, link);
		if (job->req != NULL)
			request_abort(job->req, false);
		else
			end(job);
	}
}

bool deliver(const uint8_t *events, size_t n, void (*done)(void))
{
	delivery.events = events;
	delivery.n = n;
	delivery.done = done;
	for (struct change_listener *l = listeners_first(); l != NULL; l = l->next) {
		struct job *job;

		if (l->failure != NULL)
			continue;
		if (l->limit != NULL && limits_hold(l->limit)) {
			log_error(0, "listener %s crashed a worker not long ago: not called",
			          l->name);
			continue;
		}
		job = xcalloc(1, sizeof(*job));
		job->timer.on_due = on_due;
		job->listener = listeners_ref(l);
		LIST_INSERT_HEAD(&delivery.jobs, job, link);
		loop_timer_link(&job->timer, 0);
	}
	return deliver_is_under_way();
}
