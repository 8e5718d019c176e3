/* Watchers of the change count: services registered under BW_RUNTIME_WATCHER.
 *
 * Nobody is called from inside a change: the first one starts a timer, and what follows within its 10 ms is
 * told together. So a watcher may register services itself, and one that does at each call makes the loop
 * turn a hundred times a second, not for ever.
 *
 * Owns: the list, a reference to each service and what its factory made. Runs in: the loop's stack; calls
 * bundle code, which may register and unregister watchers. Fails with: nothing. Logs: a watcher that
 * cannot be used. Tests: tests/unit/whiteboard/inspect_test.c, tests/conformance (O10). */
#include "watch.h"

#include "snapshot.h"

#include <base/fatal.h>
#include <base/log.h>
#include <boardwalk/runtime.h>
#include <bundle/mark.h>
#include <http/loop.h>
#include <stdlib.h>

#define MERGE_MS 10

struct watcher {
	struct watcher    *next;
	struct bw_service *service; /* referenced */
	void              *self;
	bool               is_leaving; /* unregistered while it, or another, is being called */
};

static struct watcher   *watchers; /* by registration */
static struct loop_timer timer;
static bool              telling;

static void call(const struct watcher *w, int64_t count)
{
	const struct bw_runtime_watcher *type = service_type(w->service, BW_RUNTIME_WATCHER);
	/* One that crashes does so in each worker that starts, as an init would. */
	struct mark before = mark_begin(service_bundle(w->service), MARK_INIT);

	type->changed(w->self, count);
	mark_end(before);
}

static void watcher_free(struct watcher *w)
{
	const struct bw_service_object *o = service_object(w->service);

	if (o->make && w->self && o->release)
		o->release(o->self, w->self);
	service_unref(w->service);
	free(w);
}

static void free_leaving(void)
{
	struct watcher **at = &watchers, *w;

	while ((w = *at) != NULL) {
		if (!w->is_leaving) {
			at = &w->next;
			continue;
		}
		*at = w->next;
		watcher_free(w);
	}
}

static void on_due(struct loop_timer *t)
{
	int64_t count = (int64_t)snapshot_current()->number;

	(void)t;
	telling = true;
	for (struct watcher *w = watchers; w; w = w->next)
		if (!w->is_leaving)
			call(w, count);
	telling = false;
	free_leaving();
}

static void add(struct bw_service *s)
{
	const struct bw_runtime_watcher *type = service_type(s, BW_RUNTIME_WATCHER);
	const struct bw_service_object  *o = service_object(s);
	struct watcher                 **at = &watchers, *w;
	struct mark                      before;

	if (!type)
		return;
	if (type->size < sizeof(*type) || !type->changed) {
		log_warning(0,
		            "service %lld cannot watch: its table is no struct bw_runtime_watcher",
		            (long long)service_id(s));
		return;
	}
	w = xcalloc(1, sizeof(*w));
	w->service = service_ref(s);
	before = mark_begin(service_bundle(s), MARK_INIT);
	w->self = o->make ? o->make(o->self, service_bundle(s)) : o->self;
	mark_end(before);
	w->is_leaving = o->make && !w->self;
	while (*at)
		at = &(*at)->next;
	*at = w;
	if (!telling)
		free_leaving();
}

static void remove_of(const struct bw_service *s)
{
	for (struct watcher *w = watchers; w; w = w->next)
		if (w->service == s)
			w->is_leaving = true;
	if (!telling)
		free_leaving();
}

static void on_event(void *arg, enum registry_event event, struct bw_service *s)
{
	(void)arg;
	if (event == REGISTRY_REGISTERED)
		add(s);
	else if (event == REGISTRY_UNREGISTERING)
		remove_of(s);
}

void watch_changed(void)
{
	if (watchers && timer.due_us == 0)
		loop_timer_link(&timer, MERGE_MS);
}

void watch_init(struct registry *r)
{
	timer.on_due = on_due;
	registry_listen(r, on_event, NULL);
}

void watch_done(struct registry *r)
{
	registry_unlisten(r, on_event, NULL);
	if (watchers)
		loop_timer_unlink(&timer);
	for (struct watcher *w = watchers; w; w = w->next)
		w->is_leaving = true;
	free_leaving();
}
