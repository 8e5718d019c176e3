/* mount.c - follows the registry and keeps the tree of mounted servlets.
 *
 *    registered    read paths -> make -> init -> points into the tree -> generation + 1
 *    modified      the points are made anew; the object stays as it is, init is not repeated
 *    unregistering points out of the tree -> generation + 1 -> last call leaves -> destroy -> release
 *
 * A service that names neither paths nor types is none of ours. The registry delivers one event at a
 * time, also when an init registers something itself, so the tree is never changed in the middle of
 * a change. In an exchange of generations the new one's servlets were initialised before, and the old
 * one's are destroyed after it.
 *
 * Owns: nodes, points, mounted servlets (a reference to their service, and the factory's object).
 * Runs in: the worker's thread, on any stack; never waits. Fails with: nothing; a servlet that cannot
 * be mounted is logged, once per event. Tests: tests/unit/engine/mount_test.c, conformance/engine. */
#include <base/conf.h>
#include <base/fatal.h>
#include <base/log.h>
#include <boardwalk/whiteboard.h>
#include <inttypes.h>
#include <stdlib.h>
#include "bundle/bundles.h"
#include "bundle/crash_limits.h"
#include "engine/mount.h"
#include "engine/tree.h"
#include "bundle/mark.h"
#include "settings.h"
#include "whiteboard/registry.h"

static struct search_path    search_path;
static struct bw_context    *engine_context;
static struct registry      *registry;
static struct mount_servlet *servlets; /* mounted, the newest first */
static struct mount_servlet *staged;   /* initialised, of a bundle's unpublished generation */
static struct mount_servlet *leaving;  /* unmounted, destroyed when the exchange is over */
static bool                  exchanging;

const struct search_path *mount_search_path(void)
{
	return &search_path;
}

/* ---- the conditions of strict path servlets ---- */

static void condition_done(struct mount_condition *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->items[i]);
	free(c->items);
	*c = (struct mount_condition){ NULL, 0, false };
}

static void condition_read(struct mount_condition *c, const struct bw_service *s, const char *name)
{
	struct bw_str values[64];
	size_t        n = service_strings(s, name, values, 64);

	condition_done(c);
	c->must_be_empty = n == 1 && bw_str_eq(values[0], BW_STR(".EMPTY."));
	c->items = xcalloc(n > 0 ? n : 1, sizeof(*c->items));
	for (size_t i = 0; i < n; i++)
		if (values[i].n > 0)
			c->items[c->n++] = xstrndup(values[i].p, values[i].n);
}

static bool is_true(const struct bw_service *s, const char *name)
{
	const struct bw_prop *p = service_prop(s, name);

	return p != NULL && ((p->type == BW_PROP_BOOL && p->u.b) ||
	                     (p->type == BW_PROP_STRING && strcasecmp(p->u.string, "true") == 0));
}

static void read_conditions(struct mount_servlet *m)
{
	m->strict = is_true(m->service, "sling.servlet.paths.strict");
	m->async = is_true(m->service, BW_SERVLET_ASYNC);
	condition_read(&m->extensions, m->service, BW_SLING_EXTENSIONS);
	condition_read(&m->selectors, m->service, BW_SLING_SELECTORS);
	condition_read(&m->methods, m->service, BW_SLING_METHODS);
}

/* ---- the servlet object ---- */

struct init_config {
	struct bw_config         config; /* first: init gets a pointer to it */
	const struct bw_service *service;
};

/* servlet.init.NAME, if it is a single string. */
static struct bw_str init_param(const struct bw_config *config, const char *name)
{
	const struct init_config *c = (const struct init_config *)config;
	char                      key[256];
	const struct bw_prop     *prop;

	if (snprintf(key, sizeof(key), "servlet.init.%s", name) >= (int)sizeof(key))
		return BW_ABSENT;
	prop = service_prop(c->service, key);
	return prop != NULL && prop->type == BW_PROP_STRING ? bw_str(prop->u.string) : BW_ABSENT;
}

static struct bw_str init_param_name(const struct bw_config *config, size_t i)
{
	static const char        prefix[] = BW_SERVLET_INIT;
	const struct bw_service *s = ((const struct init_config *)config)->service;
	const struct bw_prop    *props;
	size_t                   n = service_props(s, &props);

	for (size_t k = 0; k < n; k++)
		if (props[k].type == BW_PROP_STRING &&
		    strncmp(props[k].name, prefix, sizeof(prefix) - 1) == 0 && i-- == 0)
			return bw_str(props[k].name + sizeof(prefix) - 1);
	return BW_ABSENT;
}

static bool is_named(const struct bw_service *s, struct bw_str *ret)
{
	return (service_strings(s, "sling.core.servletName", ret, 1) > 0 && ret->n > 0) ||
	       (service_strings(s, BW_SERVLET_NAME, ret, 1) > 0 && ret->n > 0);
}

static char *name_of(const struct bw_service *s)
{
	struct bw_str     name;
	struct bw_bundle *bundle = service_bundle(s);

	if (is_named(s, &name))
		return xstrndup(name.p, name.n);
	return xasprintf("%s/%" PRId64, bundle != NULL ? bundle->name : "", service_id(s));
}

/* The service's number is another one in the next worker. Without a name it is the bundle and what it is
 * mounted for that say which one crashed: "acme.shop /bin/cart", "acme.shop acme/cart print GET". */
static char *subject_of(const struct bw_service *s)
{
	static const char *const what[] = { BW_SLING_PATHS, BW_SLING_TYPES, BW_SLING_SELECTORS,
		                            BW_SLING_EXTENSIONS, BW_SLING_METHODS };
	struct bw_str            values[8], name;
	struct bw_bundle        *bundle = service_bundle(s);
	struct buf               text;
	char                    *ret;

	if (is_named(s, &name))
		return xstrndup(name.p, name.n);
	buf_init(&text);
	buf_printf(&text, "%s", bundle != NULL ? bundle->name : "boardwalk");
	for (size_t i = 0; i < sizeof(what) / sizeof(*what); i++) {
		size_t n = service_strings(s, what[i], values, 8);

		for (size_t k = 0; k < n && k < 8; k++)
			buf_printf(&text, " %.*s", (int)values[k].n, values[k].p);
	}
	ret = xstrndup((const char *)buf_data(&text), buf_size(&text));
	buf_done(&text);
	return ret;
}

static bool call_init(struct mount_servlet *m)
{
	struct init_config c = {
		.config = { bw_str(m->name), engine_context, service_bundle(m->service), init_param,
		            init_param_name },
		.service = m->service,
	};
	int rc = m->type->init != NULL ? m->type->init(m->object, &c.config) : BW_OK;

	if (rc != BW_OK)
		log_error(0, "servlet %s: init failed with %d, not mounted", m->name, rc);
	return rc == BW_OK;
}

/* Gives the object back; destroy only after an init that succeeded. */
static void servlet_free(struct mount_servlet *m, bool initialised)
{
	const struct bw_service_object *o = service_object(m->service);
	struct mark before = mark_begin(service_bundle(m->service), MARK_DESTROY);

	if (initialised && m->type->destroy != NULL)
		m->type->destroy(m->object);
	if (o->make != NULL && m->object != NULL && o->release != NULL)
		o->release(o->self, m->object);
	mark_end(before);
	condition_done(&m->extensions);
	condition_done(&m->selectors);
	condition_done(&m->methods);
	service_unref(m->service);
	free(m->name);
	free(m->subject);
	free(m);
}

static struct mount_servlet *servlet_new(struct bw_service *s)
{
	const struct bw_service_object *o = service_object(s);
	struct mount_servlet           *m = xcalloc(1, sizeof(*m));
	struct mark                     before;
	bool                            ok = false;

	m->service = service_ref(s);
	m->type = service_type(s, BW_SERVLET);
	m->refs = 1;
	m->name = name_of(s);
	m->subject = subject_of(s);
	m->limit = limits_find(MOUNT_SCOPE, m->subject);
	before = mark_begin(service_bundle(s), MARK_INIT);
	m->object = o->make != NULL ? o->make(o->self, service_bundle(s)) : o->self;
	if (o->make != NULL && m->object == NULL)
		log_error(0, "servlet %s: its factory gave none, not mounted", m->name);
	else
		ok = call_init(m);
	mark_end(before);
	if (ok)
		return m;
	servlet_free(m, false);
	return NULL;
}

void mount_servlet_ref(struct mount_servlet *m)
{
	m->refs++;
}

void mount_servlet_unref(struct mount_servlet *m)
{
	if (--m->refs == 0)
		servlet_free(m, true);
}

/* ---- events ---- */

static struct mount_servlet **find_servlet(const struct bw_service *s)
{
	struct mount_servlet **at = &servlets;

	while (*at != NULL && (*at)->service != s)
		at = &(*at)->next;
	return at;
}

static void warn_of_methods(const struct mount_servlet *m)
{
	if (m->extensions.n > 0 && m->methods.n == 1 && strcmp(m->methods.items[0], "*") == 0)
		log_warning(0, "servlet %s: with extensions, methods=* serves GET and HEAD only",
		            m->name);
}

static void put_points(struct mount_servlet *m, const struct mount_paths *paths)
{
	read_conditions(m);
	for (size_t i = 0; i < paths->n; i++)
		tree_add(m, bw_str(paths->items[i].path), paths->items[i].marker);
	warn_of_methods(m);
	log_debug(0, "servlet %s: mounted at %s and %zu more", m->name, paths->items[0].path,
	          paths->n - 1);
}

static void unmount(struct mount_servlet **at)
{
	struct mount_servlet *m = *at;

	*at = m->next;
	tree_remove_all(m);
	log_debug(0, "servlet %s: unmounted", m->name);
	if (!exchanging) {
		mount_servlet_unref(m);
		return;
	}
	m->next = leaving;
	leaving = m;
}

/* The mount paths of s; false, having said why, if it has none that could be used. */
static bool read_paths(const struct bw_service *s, struct mount_paths *ret)
{
	struct bw_str methods[2];
	const char   *reason = NULL;

	*ret = (struct mount_paths){ NULL, 0, 0 };
	if (!service_is(s, BW_SERVLET))
		return false;
	if (service_strings(s, BW_SLING_METHODS, methods, 2) == 1 &&
	    bw_str_eq(methods[0], BW_STR(".EMPTY.")))
		reason = ".EMPTY. is no method";
	else if (mount_paths_get(ret, s, &search_path, &reason))
		return ret->n > 0;
	log_error(0, "service %" PRId64 ": not mounted: %s", service_id(s), reason);
	return false;
}

/* The one that was made ready for s, or a new one. */
static struct mount_servlet *get_servlet(struct bw_service *s)
{
	for (struct mount_servlet **at = &staged, *m; (m = *at) != NULL; at = &m->next) {
		if (m->service == s) {
			*at = m->next;
			return m;
		}
	}
	return servlet_new(s);
}

static void on_registered(struct bw_service *s, const struct mount_paths *paths)
{
	struct mount_servlet *m = get_servlet(s);

	if (m == NULL)
		return;
	m->next = servlets;
	servlets = m;
	put_points(m, paths);
}

static void on_modified(struct bw_service *s, const struct mount_paths *paths)
{
	struct mount_servlet **at = find_servlet(s);

	if (*at == NULL) {
		if (paths->n > 0)
			on_registered(s, paths);
	} else if (paths->n == 0) {
		unmount(at);
	} else {
		tree_remove_all(*at);
		put_points(*at, paths);
	}
}

static void on_event(void *arg, enum registry_event event, struct bw_service *s)
{
	struct mount_servlet **at;
	struct mount_paths     paths;

	(void)arg;
	switch (event) {
	case REGISTRY_REGISTERED:
		if (read_paths(s, &paths))
			on_registered(s, &paths);
		mount_paths_done(&paths);
		break;
	case REGISTRY_MODIFIED:
		read_paths(s, &paths);
		on_modified(s, &paths);
		mount_paths_done(&paths);
		break;
	case REGISTRY_UNREGISTERING:
		at = find_servlet(s);
		if (*at != NULL)
			unmount(at);
		break;
	}
}

/* ---- exchanging generations ---- */

static bool on_stage(void *arg, struct bw_service *const *services, size_t n,
                     const struct bw_bundle *from, char *reason, size_t size)
{
	(void)arg;
	(void)from;
	for (size_t i = 0; i < n; i++) {
		struct mount_servlet *m;
		struct mount_paths    paths;
		bool                  ours = read_paths(services[i], &paths);

		mount_paths_done(&paths);
		if (!ours)
			continue;
		m = servlet_new(services[i]);
		if (m == NULL) {
			snprintf(reason, size, "cannot initialise the servlet of service %" PRId64,
			         service_id(services[i]));
			return false;
		}
		m->next = staged;
		staged = m;
	}
	return true;
}

static void on_begin(void *arg)
{
	(void)arg;
	exchanging = true;
}

static void drop_all(struct mount_servlet **list)
{
	struct mount_servlet *m;

	while ((m = *list) != NULL) {
		*list = m->next;
		mount_servlet_unref(m);
	}
}

static void on_end(void *arg)
{
	(void)arg;
	exchanging = false;
	drop_all(&staged);
	drop_all(&leaving);
}

/* ---- life ---- */

static const struct registry_exchange exchange = { .stage = on_stage,
	                                           .begin = on_begin,
	                                           .end = on_end };

void mount_init(struct registry *r, const struct gateway_settings *settings,
                struct bw_context *context)
{
	engine_context = context;
	registry = r;
	search_path_init(&search_path, &settings->search_path);
	registry_listen(r, on_event, NULL);
	registry_listen_exchange(r, &exchange, NULL);
}

void mount_done(void)
{
	registry_unlisten(registry, on_event, NULL);
	registry_unlisten_exchange(registry, &exchange);
	while (servlets != NULL)
		unmount(&servlets);
	tree_done();
	search_path_done(&search_path);
}
