/* events.c - a bundle for system tests of events, all of it below POST /events:
 *
 *   listen   registers a listener; words of the body: path=P, types=A,B, hint=N, external, none (no
 *            resource.paths), number (of a wrong type), slow. Answers with the reason if that failed
 *   told     what it was told since, and forgets it
 *   drop     unregisters it
 *   steps    as in resolver.c: tests/conformance/resolver/steps.h
 *   marks    how many resources named mark-N a listener of this bundle's own has heard of
 *   get      the property n of the resource at the path in the body
 *   storm    sets n of that resource to 1, 2, ... up to the number behind the path, a commit each
 *
 * Paths begin with / and are below /content/events; abs: goes before others. */
#include <conformance/resolver/steps.h>
#include <stdlib.h>
#include <string.h>

#define ROOT      "/content/events"
#define MAX_WORDS 32
#define MAX_TOLD  65536

static struct bw_bundle  *bundle;
static struct bw_service *listener;
static bool               slow;
static char               told[MAX_TOLD];
static size_t             n_told;
static unsigned           marks;

/* ---- listeners ---- */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(told + n_told, MAX_TOLD - n_told, format, args);
	va_end(args);
	if (n > 0 && (size_t)n < MAX_TOLD - n_told)
		n_told += (size_t)n;
}

static void tell_path(const char *before, struct bw_str path)
{
	const size_t n = strlen(ROOT);

	if (path.p == NULL)
		return;
	if (path.n >= n && memcmp(path.p, ROOT, n) == 0 && (path.n == n || path.p[n] == '/'))
		tell("%s%.*s", before, path.n == n ? 1 : (int)(path.n - n),
		     path.n == n ? "/" : path.p + n);
	else
		tell("%sabs:%.*s", before, (int)path.n, path.p);
}

static void tell_change(const struct bw_change *c)
{
	static const char *const kinds[] = { "?", "ADDED", "CHANGED", "REMOVED", "RESYNC" };

	tell("%s", kinds[c->kind]);
	tell_path(" ", c->path);
	for (size_t i = 0; i < c->n_names; i++)
		tell("%c%.*s", i == 0 ? '(' : ',', (int)c->names[i].n, c->names[i].p);
	tell("%s", c->n_names > 0 ? ")" : "");
	tell_path(" <", c->from);
	tell("%s%s", c->subtree ? " +" : "", c->external ? " ext" : "");
	if (c->user.p != NULL && !bw_str_eq(c->user, BW_STR("eventwriter")))
		tell(" by %.*s", (int)c->user.n, c->user.p);
}

/* Those are the test's own. */
static bool is_mark(struct bw_str path)
{
	return path.p != NULL && path.n >= sizeof(ROOT "/mark-") &&
	       memcmp(path.p, ROOT "/mark-", sizeof(ROOT "/mark-") - 1) == 0;
}

/* A service resolver is at hand, and sees what has happened. */
static void look(struct bw_req *job, const struct bw_change *c)
{
	struct bw_resolver *r;
	struct bw_resource *res;
	int                 err = bw_service_resolver(job, bundle, NULL, &r);

	if (err == BW_OK && c->path.p != NULL)
		err = bw_resolver_get(r, c->path, &res);
	if (err != BW_OK && err != BW_ENOTFOUND)
		tell(" (get: %d)", err);
}

static int on_change(void *self, struct bw_req *job, const struct bw_change *const *changes,
                     size_t n)
{
	(void)self;
	if (slow)
		bw_sleep_ms(job, 200);
	for (size_t i = 0; i < n; i++) {
		if (is_mark(changes[i]->path))
			continue;
		tell("%s", i > 0 ? " , " : n_told > 0 ? " ; " : "");
		look(job, changes[i]);
		tell_change(changes[i]);
	}
	bw_res_puts(job, "goes nowhere");
	return bw_res_flush(job) == BW_OK ? BW_OK : BW_EIO;
}

static int on_mark(void *self, struct bw_req *job, const struct bw_change *const *changes, size_t n)
{
	(void)self;
	(void)job;
	for (size_t i = 0; i < n; i++)
		marks += changes[i]->kind == BW_CHANGE_ADDED;
	return BW_OK;
}

static const struct bw_change_listener told_type = { .size = sizeof(told_type),
	                                             .on_change = on_change };
static const struct bw_change_listener mark_type = { .size = sizeof(mark_type),
	                                             .on_change = on_mark };

/* ---- registering one ---- */

static const char *full_path(struct bw_req *req, const char *path)
{
	const char *glob = strncmp(path, "glob:", 5) == 0 ? "glob:" : "";
	char       *full = bw_req_alloc(req, strlen(path) + 64);

	path += strlen(glob);
	if (strncmp(path, "abs:", 4) == 0)
		sprintf(full, "%s%s", glob, path + 4);
	else if (strcmp(path, "/") == 0)
		sprintf(full, "%s%s", glob, ROOT);
	else
		sprintf(full, "%s%s%s", glob, path[0] == '/' ? ROOT : "", path);
	return full;
}

static void split(char *text, const char *by, const char **list, size_t *n)
{
	for (char *save, *w = strtok_r(text, by, &save); w != NULL; w = strtok_r(NULL, by, &save))
		if (*n < MAX_WORDS)
			list[(*n)++] = w;
}

static void tell_failure(void *arg, struct bw_str json)
{
	char       *text = strndup(json.p, json.n);
	const char *failed = strstr(text, "\"failedResourceChangeListeners\":");
	const char *reason = failed != NULL ? strstr(failed, "\"failure\":\"") : NULL;
	const char *end = reason != NULL ? strchr(reason + 11, '"') : NULL;

	if (end != NULL)
		snprintf(arg, 256, "failed: %.*s", (int)(end - reason - 11), reason + 11);
	free(text);
}

static int answer(struct bw_req *req, const char *text)
{
	bw_res_content_type(req, "text/plain;charset=utf-8");
	return bw_res_puts(req, text);
}

static int do_listen(struct bw_req *req, char *body)
{
	static const char *const interfaces[] = { BW_CHANGE_LISTENER, BW_EXTERNAL_CHANGE_LISTENER,
		                                  NULL };
	static const char *const plain[] = { BW_CHANGE_LISTENER, NULL };
	const struct bw_service_object object = { .type = &told_type };
	const char *words[MAX_WORDS + 1], *paths[MAX_WORDS + 1], *types[MAX_WORDS + 1],
		*hints[MAX_WORDS + 1];
	size_t         n_words = 0, n_paths = 0, n_types = 0, n_hints = 0, n_props = 0;
	struct bw_prop props[3];
	bool           external = false, number = false;
	char           failure[256] = "";
	int            err;

	slow = false;
	split(body, " ", words, &n_words);
	for (size_t i = 0; i < n_words; i++) {
		char *w = (char *)words[i];

		if (strncmp(w, "path=", 5) == 0)
			paths[n_paths++] = full_path(req, w + 5);
		else if (strncmp(w, "types=", 6) == 0)
			split(w + 6, ",", types, &n_types);
		else if (strncmp(w, "hint=", 5) == 0)
			hints[n_hints++] = w + 5;
		external |= strcmp(w, "external") == 0;
		number |= strcmp(w, "number") == 0;
		slow |= strcmp(w, "slow") == 0;
	}
	paths[n_paths] = types[n_types] = hints[n_hints] = NULL;
	if (number)
		props[n_props++] = (struct bw_prop)BW_P_INT(BW_RESOURCE_PATHS, 1);
	else if (n_paths > 0)
		props[n_props++] = (struct bw_prop){ BW_RESOURCE_PATHS,
			                             BW_PROP_STRINGS,
			                             { .strings = paths } };
	if (n_types > 0)
		props[n_props++] = (struct bw_prop){ BW_RESOURCE_CHANGE_TYPES,
			                             BW_PROP_STRINGS,
			                             { .strings = types } };
	if (n_hints > 0)
		props[n_props++] = (struct bw_prop){ BW_RESOURCE_PROPERTY_NAMES,
			                             BW_PROP_STRINGS,
			                             { .strings = hints } };
	n_told = 0;
	told[0] = '\0';
	err = bw_register_many(bundle, external ? interfaces : plain, &object, props, n_props,
	                       &listener);
	if (err != BW_OK)
		return err;
	bw_runtime_snapshot(tell_failure, failure);
	return answer(req, failure);
}

static int do_drop(struct bw_req *req, char *body)
{
	(void)body;
	if (listener != NULL)
		bw_service_unregister(listener);
	listener = NULL;
	return answer(req, "");
}

static int do_told(struct bw_req *req, char *body)
{
	int err = answer(req, told);

	(void)body;
	n_told = 0;
	told[0] = '\0';
	return err;
}

static int do_marks(struct bw_req *req, char *body)
{
	char text[16];

	(void)body;
	snprintf(text, sizeof(text), "%u", marks);
	return answer(req, text);
}

/* ---- changes ---- */

static int do_steps(struct bw_req *req, char *body)
{
	char *said = bw_req_alloc(req, 65536);
	int   err = steps_run(req, bundle, ROOT, body, said, 65536);

	return err == BW_OK ? answer(req, said) : err;
}

static int do_get(struct bw_req *req, char *body)
{
	struct bw_resolver *r;
	struct bw_resource *res;
	struct bw_str       value = BW_STR("-");
	char                text[32];
	int                 err = bw_service_resolver(req, bundle, NULL, &r);

	if (err == BW_OK)
		err = bw_resolver_get(r, bw_str(full_path(req, body)), &res);
	if (err == BW_OK)
		err = bw_resource_property(res, "n", 0, NULL, &value);
	if (err != BW_OK && err != BW_ENOTFOUND)
		return err;
	snprintf(text, sizeof(text), "%.*s", (int)value.n, value.p);
	return answer(req, text);
}

static int do_storm(struct bw_req *req, char *body)
{
	char               *blank = strchr(body, ' ');
	long                n = blank != NULL ? strtol(blank, NULL, 10) : 0;
	struct bw_resolver *r;
	struct bw_str       path;
	int                 err = bw_service_resolver(req, bundle, NULL, &r);

	if (blank != NULL)
		*blank = '\0';
	path = bw_str(full_path(req, body));
	for (long i = 1; err == BW_OK && i <= n; i++) {
		struct bw_value value = BW_V_LONG(i);

		err = bw_resolver_set(r, path, "n", &value);
		if (err == BW_OK)
			err = bw_resolver_commit(r);
	}
	return err == BW_OK ? answer(req, "done") : err;
}

static const struct {
	const char *name;
	int (*run)(struct bw_req *req, char *body);
} orders[] = {
	{ "/listen", do_listen }, { "/drop", do_drop },   { "/told", do_told },
	{ "/marks", do_marks },   { "/steps", do_steps }, { "/get", do_get },
	{ "/storm", do_storm },
};

static int post(void *self, struct bw_req *req)
{
	size_t        size = (size_t)bw_req_body_length(req), n = 0, got;
	char         *body = bw_req_alloc(req, size + 1);
	struct bw_str path = bw_req_get(req, BW_REQ_PATH_INFO);
	int           err = BW_OK;

	(void)self;
	for (; err == BW_OK && n < size; n += got)
		err = bw_req_body_read(req, n, body + n, size - n, &got);
	body[n] = '\0';
	if (err != BW_OK)
		return err;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (bw_str_eq(path, bw_str(orders[i].name)))
			return orders[i].run(req, body);
	return bw_res_send_error(req, 404, NULL);
}

/* ---- the bundle ---- */

static const struct bw_servlet servlet = { .size = sizeof(servlet), .post = post };

static int authenticate(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_authenticate(req);
}

static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = authenticate };

static int start(struct bw_bundle *self)
{
	static const char *const              interfaces[] = { BW_EXTERNAL_CHANGE_LISTENER, NULL };
	static const struct bw_service_object object = { .type = &mark_type };
	int                                   err;

	bundle = self;
	err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "events"),
	                          BW_P_STRING(BW_CONTEXT_PATH, "/events"));
	if (err == BW_OK)
		err = bw_register_servlet(self, &servlet, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "events"),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/*"),
		                          BW_P_STRING(BW_AUTH_REQUIREMENTS, "-/events"));
	if (err == BW_OK)
		err = bw_register_many(self, interfaces, &object,
		                       (struct bw_prop[]){ BW_P_STRING(BW_RESOURCE_PATHS,
		                                                       "glob:" ROOT "/mark-*") },
		                       1, NULL);
	return err;
}

BW_BUNDLE("test.events", "1.0.0", start, NULL);
