/* handlers.c - the authentication handlers, in the order in which they are asked: for a scheme and host,
 * a host, all; there the longest path first, then the higher ranking. Our own are at "/" of all: bearer,
 * form, and Basic behind everything else.
 *
 * Owns: the list, which is made anew when a bundle registers one, and counted: a handler may wait while
 * its bundle goes; its service is held as long. Runs in: the worker's thread. Logs: registrations that
 * make no sense. Fails with: nothing. Tests: tests/unit/engine/handlers_test.c. */
#include "security/handler.h"
#include "security/rule.h"

#include "bundle/bundles.h"
#include "request.h"
#include "whiteboard/registry.h"

#include <base/fatal.h>
#include <base/log.h>
#include <boardwalk/auth.h>
#include <inttypes.h>
#include <stdlib.h>

#define MAX_PATHS 64u /* of one registration */

struct entry {
	struct rule                place; /* borrows a text of the list */
	int                        order; /* of our own behind bundles' of ranking 0 or more */
	int64_t                    id;
	const struct auth_handler *handler;
};

struct auth_handlers {
	unsigned             refs;
	struct entry        *entries;
	size_t               n;
	struct auth_handler *of_bundles; /* services are held */
	size_t               n_of_bundles;
	struct bw_service  **processors; /* held, in order of ranking */
	size_t               n_processors;
};

static struct registry      *registry;
static struct bw_service   **services; /* of either kind, in order of ranking */
static size_t                n_services;
static struct auth_handlers *current;

/* ---- what a bundle has registered ---- */

static const struct bw_auth_handler *table_of(const struct auth_handler *h)
{
	return h->type_of_bundle;
}

/* Whether it has that operation: tables of older bundles are shorter. */
#define HAS(table, member) \
	((table)->size >= offsetof(struct bw_auth_handler, member) + sizeof((table)->member) && \
	 (table)->member != NULL)

enum auth_verdict handlers_put_password(struct bw_str user, struct bw_str password,
                                        struct auth_credentials *ret)
{
	if (user.n == 0 || user.n > AUTH_MAX_USER || password.n > AUTH_MAX_PASSWORD ||
	    !basic_is_text(user))
		return AUTH_FAILED;
	memcpy(ret->octets, user.p, user.n);
	if (password.n > 0)
		memcpy(ret->octets + user.n, password.p, password.n);
	ret->kind = AUTH_PASSWORD;
	ret->user = (struct bw_str){ ret->octets, user.n };
	ret->password = (struct bw_str){ ret->octets + user.n, password.n };
	return AUTH_CREDENTIALS;
}

static enum auth_verdict take(struct bw_req *req, const struct bw_auth_credentials *from,
                              struct auth_credentials *ret)
{
	if (from->bearer.p != NULL) {
		ret->kind = AUTH_BEARER;
		ret->token = request_dup(req, from->bearer);
		return AUTH_CREDENTIALS;
	}
	return handlers_put_password(from->user, from->password, ret);
}

static enum auth_verdict extract(const struct auth_handler *h, struct bw_req *req,
                                 struct auth_credentials *ret)
{
	struct bw_auth_credentials c = { BW_ABSENT, BW_ABSENT, BW_ABSENT };

	switch (table_of(h)->extract(h->self, req, &c)) {
	case BW_AUTH_NOT_MINE:
		return AUTH_NOT_MINE;
	case BW_AUTH_CREDENTIALS:
		return take(req, &c, ret);
	case BW_AUTH_STOP:
		return AUTH_STOP;
	case BW_AUTH_FAILED:
		return AUTH_FAILED;
	}
	log_error(req->id, "authentication handler %s: no verdict", h->type);
	return AUTH_FAILED;
}

static bool request(const struct auth_handler *h, struct bw_req *req,
                    const struct auth_failure *why)
{
	(void)why;
	return HAS(table_of(h), request) && table_of(h)->request(h->self, req);
}

static void drop(const struct auth_handler *h, struct bw_req *req)
{
	if (HAS(table_of(h), drop))
		table_of(h)->drop(h->self, req);
}

static bool succeeded(const struct auth_handler *h, struct bw_req *req,
                      const struct auth_credentials *c, const struct ask_login *login)
{
	(void)c;
	(void)login;
	return HAS(table_of(h), succeeded) && table_of(h)->succeeded(h->self, req);
}

static void failed(const struct auth_handler *h, struct bw_req *req)
{
	if (HAS(table_of(h), failed))
		table_of(h)->failed(h->self, req);
}

static const char *name_of(const struct bw_service *s)
{
	const struct bw_prop *type = service_prop(s, BW_AUTH_TYPE);

	if (type != NULL && type->type == BW_PROP_STRING && type->u.string[0] != '\0')
		return type->u.string;
	return service_bundle(s) != NULL ? service_bundle(s)->name : "boardwalk";
}

static void fill(struct auth_handler *h, struct bw_service *s)
{
	const struct bw_prop *browsers = service_prop(s, BW_AUTH_BROWSER_ONLY);

	*h = (struct auth_handler){
		.type = name_of(s),
		.is_for_browsers =
			browsers != NULL && browsers->type == BW_PROP_BOOL && browsers->u.b,
		.extract = extract,
		.request = request,
		.drop = drop,
		.succeeded = succeeded,
		.failed = failed,
		.type_of_bundle = service_type(s, BW_AUTH_HANDLER),
		.self = service_object(s)->self,
		.service = service_ref(s),
	};
}

/* ---- the list ---- */

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int                 diff = rule_compare_sites(&a->place.site, &b->place.site);

	if (diff == 0)
		diff = (a->place.path.n < b->place.path.n) - (a->place.path.n > b->place.path.n);
	if (diff == 0)
		diff = (a->order < b->order) - (a->order > b->order);
	return diff != 0 ? diff : (a->id > b->id) - (a->id < b->id);
}

static void add(struct auth_handlers *all, const char *path, int order, int64_t id,
                const struct auth_handler *h)
{
	struct entry e = { .order = order, .id = id, .handler = h };
	const char  *problem = rule_parse_place(bw_str(path), &e.place);

	if (problem != NULL) {
		log_error(0, "authentication handler %s: path \"%s\" %s", h->type, path, problem);
		return;
	}
	all->entries = xrealloc(all->entries, (all->n + 1) * sizeof(*all->entries));
	all->entries[all->n++] = e;
}

static void add_service(struct auth_handlers *all, struct bw_service *s)
{
	struct bw_str        paths[MAX_PATHS];
	size_t               n = service_strings(s, BW_AUTH_PATH, paths, MAX_PATHS);
	struct auth_handler *h = &all->of_bundles[all->n_of_bundles++];

	fill(h, s);
	if (n == 0)
		log_error(0, "authentication handler %s: has no path, and is never asked", h->type);
	for (size_t i = 0; i < n; i++) {
		char *path = xstrndup(paths[i].p, paths[i].n);

		add(all, path, service_ranking(s), service_id(s), h);
		free(path);
	}
}

static struct auth_handlers *make(void)
{
	struct auth_handlers *all = xcalloc(1, sizeof(*all));

	all->refs = 1;
	all->of_bundles = xcalloc(n_services + 1, sizeof(*all->of_bundles));
	all->processors = xcalloc(n_services + 1, sizeof(struct bw_service *));
	for (size_t i = 0; i < n_services; i++) {
		if (service_type(services[i], BW_AUTH_HANDLER) != NULL)
			add_service(all, services[i]);
		if (service_type(services[i], BW_AUTH_POST_PROCESSOR) != NULL)
			all->processors[all->n_processors++] = service_ref(services[i]);
	}
	add(all, "/", -1, 1, &bearer_handler);
	add(all, "/", -1, 2, &form_handler);
	add(all, "/", INT32_MIN, INT64_MAX, &basic_handler);
	qsort(all->entries, all->n, sizeof(*all->entries), compare);
	return all;
}

struct auth_handlers *handlers_hold(void)
{
	if (current == NULL)
		current = make();
	current->refs++;
	return current;
}

void handlers_release(struct auth_handlers *all)
{
	if (all == NULL || --all->refs > 0)
		return;
	for (size_t i = 0; i < all->n; i++)
		rule_done(&all->entries[i].place);
	for (size_t i = 0; i < all->n_of_bundles; i++)
		service_unref(all->of_bundles[i].service);
	for (size_t i = 0; i < all->n_processors; i++)
		service_unref(all->processors[i]);
	free(all->entries);
	free(all->of_bundles);
	free(all->processors);
	free(all);
}

const struct auth_handler *handlers_next(const struct auth_handlers *all, const struct bw_req *req,
                                         struct bw_str path, size_t *at)
{
	while (*at < all->n) {
		const struct entry *e = &all->entries[(*at)++];
		struct origin       own;

		if (e->place.site.host.p != NULL && (!rule_site_of(req->scheme, req->host, &own) ||
		                                     !rule_site_has(&e->place.site, &own)))
			continue;
		if (rule_covers(&e->place, path))
			return e->handler;
	}
	return NULL;
}

bool handlers_process(const struct auth_handlers *all, struct bw_req *req, struct bw_str type,
                      struct bw_str user)
{
	for (size_t i = 0; i < all->n_processors; i++) {
		const struct bw_service             *s = all->processors[i];
		const struct bw_auth_post_processor *table =
			service_type(s, BW_AUTH_POST_PROCESSOR);
		int err = table->process(service_object(s)->self, req, type, user);

		if (err == BW_OK)
			continue;
		log_info(req->id, "login refused: vetoed by a post-processor of %s (%d)",
		         name_of(s), err);
		return false;
	}
	return true;
}

/* ---- the registry ---- */

static void forget(const struct bw_service *s)
{
	size_t i = 0;

	while (i < n_services && services[i] != s)
		i++;
	if (i == n_services)
		return;
	memmove(services + i, services + i + 1, (n_services - i - 1) * sizeof(*services));
	n_services--;
}

static void insert(struct bw_service *s)
{
	size_t i = n_services++;

	services = xrealloc(services, n_services * sizeof(*services));
	for (; i > 0 && service_compare(s, services[i - 1]) < 0; i--)
		services[i] = services[i - 1];
	services[i] = s;
}

static void on_event(void *arg, enum registry_event event, struct bw_service *s)
{
	(void)arg;
	if (service_type(s, BW_AUTH_HANDLER) == NULL &&
	    service_type(s, BW_AUTH_POST_PROCESSOR) == NULL)
		return;
	if (event != REGISTRY_REGISTERED)
		forget(s);
	if (event != REGISTRY_UNREGISTERING)
		insert(s);
	handlers_release(current);
	current = NULL; /* made anew when it is asked for */
}

void handlers_init(struct registry *r)
{
	registry = r;
	registry_listen(r, on_event, NULL);
}

void handlers_done(void)
{
	registry_unlisten(registry, on_event, NULL);
	handlers_release(current);
	current = NULL;
	free(services);
	services = NULL;
	n_services = 0;
}
