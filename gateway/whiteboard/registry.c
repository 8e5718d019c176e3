/* The service registry of one worker.
 *
 * Events go out strictly one after the other: a registration made while another one's event is being
 * delivered (by an init, or by a listener) is queued and delivered before the outermost call returns,
 * so that every listener sees the same order and none is entered twice at a time.
 *
 * Owns: its services (one reference each while live), their copied properties, the queue.
 * Runs in: the worker's thread, on any stack. Fails with: BW_EINVAL, BW_ESTATE. Logs nothing.
 * Tests: tests/unit/whiteboard/registry_test.c. */
#include "props.h"
#include "registry_impl.h"

#include <base/fatal.h>
#include <stdlib.h>
#include <strings.h>

/* ---- events ---- */

static void deliver(struct registry *r, const struct event *e)
{
	struct bw_service *s = e->service;
	struct listener   *last = r->last_listener;

	if (e->type == REGISTRY_UNREGISTERING ? !s->announced : !s->registry)
		return; /* it came and went before anybody heard of it */
	s->announced = e->type != REGISTRY_UNREGISTERING;
	/* Who starts to listen meanwhile is told of s by registry_listen. */
	for (struct listener *l = r->listeners; l; l = l == last ? NULL : l->next)
		if (l->cb)
			l->cb(l->arg, e->type, s);
}

static void drain(struct registry *r)
{
	struct event *e;

	r->delivering = true;
	while ((e = r->queue) != NULL) {
		deliver(r, e);
		r->queue = e->next;
		service_unref(e->service);
		free(e);
	}
	r->delivering = false;
}

void registry_post(struct registry *r, enum registry_event type, struct bw_service *s)
{
	struct event *e = xcalloc(1, sizeof(*e));

	e->type = type;
	e->service = service_ref(s);
	if (r->queue)
		r->queue_last->next = e;
	else
		r->queue = e;
	r->queue_last = e;
	if (!r->delivering)
		drain(r);
}

/* ---- the registry ---- */

void service_link(struct services *list, struct bw_service *s)
{
	s->next = NULL;
	s->prev = list->last;
	if (list->last)
		list->last->next = s;
	else
		list->first = s;
	list->last = s;
}

void service_unlink(struct services *list, struct bw_service *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		list->first = s->next;
	if (s->next)
		s->next->prev = s->prev;
	else
		list->last = s->prev;
}

struct registry *registry_new(void)
{
	struct registry *r = xcalloc(1, sizeof(*r));

	r->next_id = 1;
	return r;
}

void registry_free(struct registry *r)
{
	if (!r)
		return;
	while (r->live.last)
		registry_unregister(r->live.last);
	while (r->listeners) {
		struct listener *l = r->listeners;

		r->listeners = l->next;
		free(l);
	}
	while (r->exchangers) {
		struct exchanger *x = r->exchangers;

		r->exchangers = x->next;
		free(x);
	}
	free(r);
}

void registry_listen(struct registry *r, registry_listener_cb cb, void *arg)
{
	struct listener    *l = xcalloc(1, sizeof(*l));
	struct bw_service **there;
	size_t              n = 0;
	bool                outermost = !r->delivering;

	l->cb = cb;
	l->arg = arg;
	if (r->last_listener)
		r->last_listener->next = l;
	else
		r->listeners = l;
	r->last_listener = l;

	for (struct bw_service *s = r->live.first; s; s = s->next)
		n++;
	there = xcalloc(n + 1, sizeof(struct bw_service *));
	n = 0;
	for (struct bw_service *s = r->live.first; s; s = s->next)
		if (s->announced)
			there[n++] = service_ref(s);
	r->delivering = true; /* what cb registers is told after all of these */
	for (size_t i = 0; i < n; i++) {
		if (there[i]->registry)
			cb(arg, REGISTRY_REGISTERED, there[i]);
		service_unref(there[i]);
	}
	free(there);
	r->delivering = false;
	if (outermost)
		drain(r);
	else
		r->delivering = true;
}

void registry_unlisten(struct registry *r, registry_listener_cb cb, void *arg)
{
	/* Not freed before the registry: the list may be walked right now. */
	for (struct listener *l = r->listeners; l; l = l->next)
		if (l->cb == cb && l->arg == arg)
			l->cb = NULL;
}

/* Its interfaces, and the table of each. */
static void take_interfaces(struct bw_service *s, const struct bw_interface *as, size_t n)
{
	const char **names = xcalloc(n + 1, sizeof(*names));

	s->types = xcalloc(n, sizeof(*s->types));
	for (size_t i = 0; i < n; i++) {
		names[i] = as[i].name;
		s->types[i] = as[i].type;
	}
	s->classes = props_dup(
		&(struct bw_prop){ "objectClass", BW_PROP_STRINGS, { .strings = names } }, 1);
	free(names);
}

static bool are_interfaces(const struct bw_interface *as, size_t n)
{
	for (size_t i = 0; as && i < n; i++)
		if (!as[i].name || !as[i].type)
			return false;
	return as && n > 0;
}

int registry_register_as(struct registry *r, struct bw_bundle *b, const struct bw_interface *as,
                         size_t n_as, const struct bw_service_object *object,
                         const struct bw_prop *props, size_t n_props,
                         struct bw_service **ret_service)
{
	struct bw_service *s;

	if (!are_interfaces(as, n_as) || !object || !props_ok(props, n_props))
		return BW_EINVAL;
	s = xcalloc(1, sizeof(*s));
	s->refs = 1;
	s->registry = r;
	s->id = r->next_id++;
	s->bundle = b;
	bundle_hold(b);
	s->object = *object;
	s->props = props_dup(props, n_props);
	s->n_props = n_props;
	take_interfaces(s, as, n_as);
	if (ret_service)
		*ret_service = s;
	if (b && b == r->staging) {
		service_link(&r->staged, s);
		s->staged = true;
		return BW_OK;
	}
	service_link(&r->live, s);
	registry_post(r, REGISTRY_REGISTERED, s);
	return BW_OK;
}

int registry_register(struct registry *r, struct bw_bundle *b, const char *const *interfaces,
                      const struct bw_service_object *object, const struct bw_prop *props,
                      size_t n_props, struct bw_service **ret_service)
{
	struct bw_interface *as;
	size_t               n = 0;
	int                  err;

	if (!interfaces || !object)
		return BW_EINVAL;
	while (interfaces[n])
		n++;
	as = xcalloc(n + 1, sizeof(*as));
	for (size_t i = 0; i < n; i++)
		as[i] = (struct bw_interface){ interfaces[i], object->type };
	err = registry_register_as(r, b, as, n, object, props, n_props, ret_service);
	free(as);
	return err;
}

int registry_modify(struct bw_service *s, const struct bw_prop *props, size_t n_props)
{
	if (!s->registry)
		return BW_ESTATE;
	if (!props_ok(props, n_props))
		return BW_EINVAL;
	{
		struct bw_prop *old = s->props;

		s->props = props_dup(props, n_props); /* props may be taken from the old ones */
		s->n_props = n_props;
		free(old);
	}
	if (!s->staged)
		registry_post(s->registry, REGISTRY_MODIFIED, s);
	return BW_OK;
}

void registry_unregister(struct bw_service *s)
{
	struct registry *r = s->registry;

	if (!r)
		return;
	service_unlink(s->staged ? &r->staged : &r->live, s);
	s->registry = NULL;
	if (!s->staged)
		registry_post(r, REGISTRY_UNREGISTERING, s);
	service_unref(s);
}

/* The last registered first, so that a context outlives what was registered for it. */
void registry_unregister_bundle(struct registry *r, struct bw_bundle *b)
{
	struct bw_service *s = r->live.last;

	while (s) {
		if (s->bundle != b) {
			s = s->prev;
			continue;
		}
		registry_unregister(s);
		s = r->live.last; /* bundle code ran: the list may be another one now */
	}
}

/* ---- one service ---- */

struct bw_service *service_ref(struct bw_service *s)
{
	s->refs++;
	return s;
}

void service_unref(struct bw_service *s)
{
	struct bw_bundle *b;

	if (!s || --s->refs > 0)
		return;
	b = s->bundle;
	if (!s->object.make && s->object.release)
		s->object.release(s->object.self, s->object.self);
	free(s->props);
	free(s->classes);
	free(s->types);
	free(s);
	bundle_let_go(b);
}

int64_t service_id(const struct bw_service *s)
{
	return s->id;
}

int32_t service_ranking(const struct bw_service *s)
{
	const struct bw_prop *p = service_prop(s, BW_SERVICE_RANKING);

	return p && p->type == BW_PROP_INT ? p->u.i32 : 0;
}

struct bw_bundle *service_bundle(const struct bw_service *s)
{
	return s->bundle;
}

bool service_is(const struct bw_service *s, const char *interface)
{
	for (const char *const *i = s->classes->u.strings; *i; i++)
		if (strcmp(*i, interface) == 0)
			return true;
	return false;
}

const void *service_type(const struct bw_service *s, const char *interface)
{
	const char *const *names = s->classes->u.strings;

	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], interface) == 0)
			return s->types[i];
	return NULL;
}

const struct bw_service_object *service_object(const struct bw_service *s)
{
	return &s->object;
}

const struct bw_prop *service_prop(const struct bw_service *s, const char *name)
{
	return props_find(s->props, s->n_props, name);
}

size_t service_props(const struct bw_service *s, const struct bw_prop **ret)
{
	*ret = s->props;
	return s->n_props;
}

int service_compare(const struct bw_service *a, const struct bw_service *b)
{
	int32_t ra = service_ranking(a), rb = service_ranking(b);

	if (ra != rb)
		return ra > rb ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

bool service_ldap_lookup(void *service, const char *key, size_t i, struct ldap_value *ret)
{
	const struct bw_service *s = service;

	if (strcasecmp(key, "service.id") == 0) {
		*ret = (struct ldap_value){ .type = LDAP_INTEGER, .integer = s->id };
		return i == 0;
	}
	if (strcasecmp(key, "objectClass") == 0)
		return prop_ldap_value(s->classes, i, ret);
	for (size_t k = 0; k < s->n_props; k++)
		if (strcasecmp(s->props[k].name, key) == 0)
			return prop_ldap_value(&s->props[k], i, ret);
	return false;
}

size_t service_strings(const struct bw_service *s, const char *name, struct bw_str *ret, size_t max)
{
	const struct bw_prop *p = service_prop(s, name);
	size_t                n = 0;

	if (p && p->type == BW_PROP_STRING && max > 0) {
		ret[n++] = prop_trim(p->u.string);
	} else if (p && p->type == BW_PROP_STRINGS) {
		for (; n < max && p->u.strings[n]; n++)
			ret[n] = prop_trim(p->u.strings[n]);
	}
	return n;
}
