/* Listeners: telling those who are bound to a context what happens in it.
 *
 * Owns: each context's list of listeners, which refers to their bindings without holding them, and
 * the bindings that outlive their snapshot until the last servlet of a leaving context has ended.
 * Runs in: the worker's thread; request events on the request's fiber. Calls bundle code, which may
 * register services, and so change the lists that are walked: what is walked is a copy.
 * Fails with: nothing. Logs: the errors that listeners return.
 * Tests: tests/conformance (J), tests/unit/whiteboard/listener_test.c. */
#include "listener.h"

#include "attr.h"
#include "snapshot.h"

#include <base/fatal.h>
#include <base/log.h>
#include <bundle/crash_limits.h>
#include <fiber.h>
#include <stdlib.h>

static const char *const interfaces[LISTENER_INTERFACES] = {
	BW_CONTEXT_LISTENER,           BW_CONTEXT_ATTRIBUTE_LISTENER, BW_REQUEST_LISTENER,
	BW_REQUEST_ATTRIBUTE_LISTENER, BW_SESSION_LISTENER,           BW_SESSION_ATTRIBUTE_LISTENER,
	BW_SESSION_ID_LISTENER,
};

unsigned listener_interfaces(const struct bw_service *s)
{
	unsigned set = 0;

	for (size_t i = 0; i < LISTENER_INTERFACES; i++)
		if (service_is(s, interfaces[i]))
			set |= 1u << i;
	return set;
}

const void *listener_table(const struct bw_service *s)
{
	const void *table = NULL;

	for (size_t i = 0; !table && i < LISTENER_INTERFACES; i++)
		table = service_type(s, interfaces[i]);
	return table;
}

bool listener_has_one_table(const struct bw_service *s)
{
	const void *first = listener_table(s);

	for (size_t i = 0; i < LISTENER_INTERFACES; i++)
		if (service_is(s, interfaces[i]) && service_type(s, interfaces[i]) != first)
			return false;
	return true;
}

const char *listener_interface(size_t i)
{
	return interfaces[i];
}

static const struct bw_listener *type_of(const struct binding *b)
{
	return b->reading->type;
}

static void check(const struct reading *r, uint64_t request, const char *event, int err)
{
	if (err < 0)
		log_warning(request, "listener %s failed: %s returned %d", r->name.p, event, err);
}

/* ---- a call ---- */

/* What a crash in a listener is known by: its bundle, all of whose listeners count as one. One that crashed
 * workers is not told for a while: it is asked for nothing that a request would need. False: so it is.
 * Where there is no fiber, a mark tells (binding.c). */
static bool call_begin(const struct reading *r, struct fiber_subject *ret_outer)
{
	const char                *bundle = r->bundle ? r->bundle->name : "boardwalk";
	const struct shared_limit *limit = limits_find(LISTENER_SCOPE, bundle);
	struct fiber              *f = fiber_current();

	if (limit && limits_hold(limit))
		return false;
	if (!f)
		return true;
	*ret_outer = fiber_subject(f);
	fiber_set_subject(f, (struct fiber_subject){ LISTENER_SCOPE, bundle });
	return true;
}

static void call_end(struct fiber_subject outer)
{
	if (fiber_current())
		fiber_set_subject(fiber_current(), outer);
}

/* ---- a context's list ---- */

/* By insertion: it is in order already but for one that came or was ranked anew. */
void listener_sort(struct bw_context *c)
{
	for (size_t i = 1; i < c->n_listeners; i++) {
		struct binding *b = c->listeners[i];
		size_t          k = i;

		for (; k > 0 && reading_compare(b->reading, c->listeners[k - 1]->reading) < 0; k--)
			c->listeners[k] = c->listeners[k - 1];
		c->listeners[k] = b;
	}
}

void listener_attach(struct binding *b)
{
	struct bw_context *c = b->context;

	c->listeners = xrealloc(c->listeners, (c->n_listeners + 1) * sizeof(struct binding *));
	c->listeners[c->n_listeners++] = b;
	listener_sort(c);
	if ((b->reading->listens & LISTENS_CONTEXT) && type_of(b)->context_initialized)
		check(b->reading, 0, "context_initialized",
		      type_of(b)->context_initialized(b->self, c));
}

void listener_detach(struct binding *b)
{
	struct bw_context *c = b->context;
	size_t             i = 0;

	/* Off the list first: nobody may refer to b while its last callback runs. */
	while (c->listeners[i] != b)
		i++;
	memmove(&c->listeners[i], &c->listeners[i + 1],
	        (--c->n_listeners - i) * sizeof(*c->listeners));
	if (c->n_listeners == 0) {
		free(c->listeners);
		c->listeners = NULL;
	}
	if ((b->reading->listens & LISTENS_CONTEXT) && type_of(b)->context_destroyed)
		check(b->reading, 0, "context_destroyed",
		      type_of(b)->context_destroyed(b->self, c));
}

/* ---- the end of a context ---- */

static bool is_active(const struct bw_context *c)
{
	const struct snapshot *s = snapshot_current();

	for (size_t i = 0; s && i < s->n_contexts; i++)
		if (s->contexts[i]->context == c)
			return true;
	return false;
}

bool listener_outlives(struct binding *b)
{
	struct bw_context *c = b->context;
	struct binding   **at = &c->staying;

	if (c->n_clients == 0 || b->reading->retired || is_active(c))
		return false;
	while (*at)
		at = &(*at)->next_staying;
	b->next_staying = NULL;
	*at = b;
	return true;
}

void listener_client_gone(struct bw_context *c)
{
	struct binding *b = c->staying, *next;

	if (--c->n_clients > 0)
		return;
	c->staying = NULL;
	for (; b; b = next) {
		next = b->next_staying;
		binding_unref(b);
	}
}

/* ---- requests ---- */

/* The watchdog names the listener if it never comes back. */
static void note(const struct bw_req *req, const char *text)
{
	if (req->fiber)
		fiber_set_note(req->fiber, text);
}

void listener_request_initialized(const struct snapshot_context *c, struct bw_req *req)
{
	if (c->listens & LISTENS_REQUEST_ATTRIBUTE)
		req->listened = c;
	for (size_t i = 0; i < c->n_listeners; i++) {
		const struct snapshot_listener *l = &c->listeners[i];
		struct fiber_subject            outer;

		if (!(l->reading->listens & LISTENS_REQUEST) || !l->type->request_initialized ||
		    !call_begin(l->reading, &outer))
			continue;
		note(req, l->reading->note);
		check(l->reading, req->id, "request_initialized",
		      l->type->request_initialized(l->self, req));
		call_end(outer);
	}
}

void listener_request_destroyed(const struct snapshot_context *c, struct bw_req *req)
{
	for (size_t i = 0; i < c->n_listeners; i++) {
		const struct snapshot_listener *l = &c->listeners[i];
		struct fiber_subject            outer;

		if (!(l->reading->listens & LISTENS_REQUEST) || !l->type->request_destroyed ||
		    !call_begin(l->reading, &outer))
			continue;
		note(req, l->reading->note);
		check(l->reading, req->id, "request_destroyed",
		      l->type->request_destroyed(l->self, req));
		call_end(outer);
	}
	req->listened = NULL;
}

static void tell_attribute(struct bw_req *req, const char *name, struct bw_str old,
                           struct bw_str new)
{
	const struct snapshot_context *c = req->listened;

	for (size_t i = 0; i < c->n_listeners; i++) {
		const struct snapshot_listener *l = &c->listeners[i];
		struct fiber_subject            outer;
		int (*fn)(void *self, struct bw_req *req, const char *name, struct bw_str value);

		if (!(l->reading->listens & LISTENS_REQUEST_ATTRIBUTE))
			continue;
		fn = !old.p   ? l->type->request_attribute_added
		     : !new.p ? l->type->request_attribute_removed
		              : l->type->request_attribute_replaced;
		if (!fn || !call_begin(l->reading, &outer))
			continue;
		check(l->reading, req->id, "a request attribute's event",
		      fn(l->self, req, name, old.p ? old : new));
		call_end(outer);
	}
}

int listener_set_attr(struct bw_req *req, const char *name, struct bw_str value)
{
	struct bw_str old;
	int           err;

	if (!req->listened)
		return attr_set(req, name, value);
	old = attr_get(req, name);
	err = attr_set(req, name, value);
	if (err == BW_OK && (old.p || value.p))
		tell_attribute(req, name, old, attr_get(req, name));
	return err;
}

/* ---- contexts and sessions ---- */

struct event {
	unsigned           what; /* enum listens */
	const char        *text; /* for the log */
	struct bw_context *context;
	struct bw_session *session;
	struct bw_str      old_id;

	/* Of an attribute: the value that is told, and what became of it. */
	const char            *name;
	const struct bw_value *value;
	enum { ADDED, REPLACED, REMOVED } change;
	int (*call)(const struct bw_listener *l, void *self, const struct event *e);
};

static bool is_listening(const struct binding *b, unsigned what)
{
	return (b->reading->listens & what) && !b->reading->retired && !b->reading->staged;
}

bool listener_hears(const struct bw_context *c, unsigned what)
{
	for (size_t i = 0; i < c->n_listeners; i++)
		if (is_listening(c->listeners[i], what))
			return true;
	return false;
}

static void tell(const struct event *e)
{
	struct bw_context *c = e->context;
	struct binding   **all;
	size_t             n = 0;

	if (!listener_hears(c, e->what))
		return;
	all = xcalloc(c->n_listeners, sizeof(struct binding *));
	for (size_t i = 0; i < c->n_listeners; i++)
		if (is_listening(c->listeners[i], e->what))
			all[n++] = binding_ref(c->listeners[i]);
	for (size_t i = 0; i < n; i++) {
		struct fiber_subject outer;

		if (call_begin(all[i]->reading, &outer)) {
			check(all[i]->reading, 0, e->text,
			      e->call(type_of(all[i]), all[i]->self, e));
			call_end(outer);
		}
		binding_unref(all[i]);
	}
	free(all);
}

static struct event attribute_event(unsigned what, struct bw_context *c, const char *name,
                                    const struct bw_value *old, const struct bw_value *new)
{
	return (struct event){ .what = what,
		               .text = "an attribute's event",
		               .context = c,
		               .name = name,
		               .value = old ? old : new,
		               .change = !old   ? ADDED
		                         : !new ? REMOVED
		                                : REPLACED };
}

static int call_context_attribute(const struct bw_listener *l, void *self, const struct event *e)
{
	int (*const fns[])(void *self, struct bw_context *context, const char *name,
	                   const struct bw_value *value) = {
		[ADDED] = l->context_attribute_added,
		[REPLACED] = l->context_attribute_replaced,
		[REMOVED] = l->context_attribute_removed,
	};

	return fns[e->change] ? fns[e->change](self, e->context, e->name, e->value) : BW_OK;
}

void listener_context_attribute(struct bw_context *c, const char *name, const struct bw_value *old,
                                const struct bw_value *new)
{
	struct event e = attribute_event(LISTENS_CONTEXT_ATTRIBUTE, c, name, old, new);

	e.call = call_context_attribute;
	tell(&e);
}

static int call_created(const struct bw_listener *l, void *self, const struct event *e)
{
	return l->session_created ? l->session_created(self, e->session) : BW_OK;
}

void listener_session_created(struct bw_context *c, struct bw_session *session)
{
	tell(&(struct event){ .what = LISTENS_SESSION,
	                      .text = "session_created",
	                      .context = c,
	                      .session = session,
	                      .call = call_created });
}

static int call_destroyed(const struct bw_listener *l, void *self, const struct event *e)
{
	return l->session_destroyed ? l->session_destroyed(self, e->session) : BW_OK;
}

void listener_session_destroyed(struct bw_context *c, struct bw_session *session)
{
	tell(&(struct event){ .what = LISTENS_SESSION,
	                      .text = "session_destroyed",
	                      .context = c,
	                      .session = session,
	                      .call = call_destroyed });
}

static int call_session_attribute(const struct bw_listener *l, void *self, const struct event *e)
{
	int (*const fns[])(void *self, struct bw_session *session, const char *name,
	                   const struct bw_value *value) = {
		[ADDED] = l->session_attribute_added,
		[REPLACED] = l->session_attribute_replaced,
		[REMOVED] = l->session_attribute_removed,
	};

	return fns[e->change] ? fns[e->change](self, e->session, e->name, e->value) : BW_OK;
}

void listener_session_attribute(struct bw_context *c, struct bw_session *session, const char *name,
                                const struct bw_value *old, const struct bw_value *new)
{
	struct event e = attribute_event(LISTENS_SESSION_ATTRIBUTE, c, name, old, new);

	e.session = session;
	e.call = call_session_attribute;
	tell(&e);
}

static int call_id_changed(const struct bw_listener *l, void *self, const struct event *e)
{
	return l->session_id_changed ? l->session_id_changed(self, e->session, e->old_id) : BW_OK;
}

void listener_session_id_changed(struct bw_context *c, struct bw_session *session,
                                 struct bw_str old_id)
{
	tell(&(struct event){ .what = LISTENS_SESSION_ID,
	                      .text = "session_id_changed",
	                      .context = c,
	                      .session = session,
	                      .old_id = old_id,
	                      .call = call_id_changed });
}
