/* listeners.c - follows the registry and keeps the listeners of resource changes.
 *
 *    registered     properties read -> make -> told from here on; or failed, which is recorded
 *    modified       properties read anew; the object stays
 *    unregistering  off the list; the object is given back when its last call has returned
 *
 * Owns: the listeners (a reference to their service, and the factory's object). Runs in: the
 * worker's thread, on any stack; never waits. Fails with: nothing; a registration that makes no
 * sense is logged. Tests: tests/system/events_test.c, tests/conformance/events. */
#include "bundle/bundles.h"
#include "bundle/crash_limits.h"
#include "bundle/mark.h"
#include "events_impl.h"
#include "settings.h"
#include "whiteboard/inspect.h"
#include "whiteboard/registry.h"
#include <base/fatal.h>
#include <base/json.h>
#include <base/log.h>
#include <inttypes.h>
#include <stdlib.h>

#define SCOPE "listener" /* of fiber_subject */

static struct change_listener *first;
static struct registry        *registry;
static const struct conf_list *search_path;

struct change_listener *listeners_first(void)
{
	return first;
}

struct change_listener *listeners_ref(struct change_listener *l)
{
	l->refs++;
	return l;
}

void listeners_unref(struct change_listener *l)
{
	const struct bw_service_object *o = service_object(l->service);
	struct mark                     before;

	if (--l->refs > 0)
		return;
	before = mark_begin(service_bundle(l->service), MARK_DESTROY);
	if (o->make != NULL && l->object != NULL && o->release != NULL)
		o->release(o->self, l->object);
	mark_end(before);
	interest_done(l);
	service_unref(l->service);
	free(l->name);
	free(l);
}

unsigned listeners_patterns(struct buf *out)
{
	unsigned n = 0, all = 0;

	for (const struct change_listener *l = first; l != NULL; l = l->next)
		for (size_t i = 0; l->failure == NULL && i < l->n_patterns; i++, n++) {
			all |= l->interests;
			event_put_pattern(out, l->interests, bw_str(l->patterns[i]));
		}
	if (n <= EVENT_MAX_PATTERNS)
		return n;
	buf_clear(out);
	event_put_pattern(out, all, BW_STR("/"));
	return 1;
}

/* ---- the registry ---- */

static const char *name_of_bundle(const struct bw_service *s)
{
	return service_bundle(s) != NULL ? service_bundle(s)->name : "boardwalk";
}

static void get_object(struct change_listener *l)
{
	const struct bw_service_object *o = service_object(l->service);
	struct mark                     before = mark_begin(service_bundle(l->service), MARK_INIT);

	l->object = o->make != NULL ? o->make(o->self, service_bundle(l->service)) : o->self;
	mark_end(before);
	if (o->make != NULL && l->object == NULL)
		l->failure = "its factory gave none";
}

static void read_service(struct change_listener *l)
{
	if (interest_read(l, search_path->items, search_path->n) && l->object == NULL)
		get_object(l);
	free(l->name);
	l->name = xasprintf("%s: %s", name_of_bundle(l->service),
	                    l->n_patterns > 0 ? l->patterns[0] : "nothing");
	l->limit = limits_find(SCOPE, l->name);
	if (l->failure != NULL)
		log_error(0, "service %" PRId64 " of %s: no listener of resource changes: %s",
		          service_id(l->service), name_of_bundle(l->service), l->failure);
}

static const struct bw_change_listener *type_of(const struct bw_service *s)
{
	const void *type = service_type(s, BW_CHANGE_LISTENER);

	return type != NULL ? type : service_type(s, BW_EXTERNAL_CHANGE_LISTENER);
}

static struct change_listener **find(const struct bw_service *s)
{
	struct change_listener **at = &first;

	while (*at != NULL && (*at)->service != s)
		at = &(*at)->next;
	return at;
}

static void on_registered(struct bw_service *s)
{
	struct change_listener *l = xcalloc(1, sizeof(*l)), **at = &first;

	l->refs = 1;
	l->service = service_ref(s);
	l->type = type_of(s);
	read_service(l);
	while (*at != NULL && service_compare((*at)->service, s) < 0)
		at = &(*at)->next;
	l->next = *at;
	*at = l;
}

static void on_event(void *arg, enum registry_event event, struct bw_service *s)
{
	struct change_listener **at, *l;

	(void)arg;
	if (type_of(s) == NULL)
		return;
	at = find(s);
	l = *at;
	switch (event) {
	case REGISTRY_REGISTERED:
		on_registered(s);
		break;
	case REGISTRY_MODIFIED:
		read_service(l);
		break;
	case REGISTRY_UNREGISTERING:
		*at = l->next;
		l->next = NULL;
		l->failure = "unregistered";
		listeners_unref(l);
		break;
	}
	subscription_changed();
}

/* ---- the record ---- */

static void put_strings(struct json_out *j, const char *key, char *const *items, size_t n)
{
	json_out_key(j, key);
	json_out_array(j);
	for (size_t i = 0; i < n; i++)
		json_out_text(j, items[i]);
	json_out_array_end(j);
}

static void put_listener(struct json_out *j, const struct change_listener *l)
{
	json_out_object(j);
	json_out_key(j, "serviceId");
	json_out_int(j, service_id(l->service));
	json_out_key(j, "bundle");
	json_out_text(j, name_of_bundle(l->service));
	put_strings(j, "paths", l->patterns, l->n_patterns);
	put_strings(j, "propertyNames", l->hints, l->n_hints);
	json_out_key(j, "external");
	json_out_bool(j, l->interests & EVENT_INTEREST_EXTERNAL);
	if (l->failure != NULL) {
		json_out_key(j, "failureReasonName");
		json_out_text(j, "VALIDATION_FAILED");
		json_out_key(j, "failure");
		json_out_text(j, l->failure);
	}
	json_out_object_end(j);
}

static void put_listeners(struct json_out *j, const char *key, bool failed)
{
	json_out_key(j, key);
	json_out_array(j);
	for (const struct change_listener *l = first; l != NULL; l = l->next)
		if ((l->failure != NULL) == failed)
			put_listener(j, l);
	json_out_array_end(j);
}

static void inspect(struct json_out *j)
{
	put_listeners(j, "resourceChangeListeners", false);
	put_listeners(j, "failedResourceChangeListeners", true);
}

/* ---- life ---- */

void events_init(struct registry *r, const struct gateway_settings *settings)
{
	registry = r;
	search_path = &settings->search_path;
	subscription_init();
	inspect_on_whiteboard(inspect);
	registry_listen(r, on_event, NULL);
}

void events_done(void)
{
	registry_unlisten(registry, on_event, NULL);
	inspect_on_whiteboard(NULL);
	subscription_done();
	while (first != NULL) {
		struct change_listener *l = first;

		first = l->next;
		listeners_unref(l);
	}
}
