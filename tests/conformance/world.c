/* The whole whiteboard without sockets. Tests: every row file. */
#include "world.h"

#include <base/fatal.h>
#include <gateway/fiber.h>
#include <gateway/path.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct world world;

static struct answer *serving; /* answers whose request is not complete; newest first */

void world_log(char **log, const char *format, ...)
{
	char    text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	*log = **log ? text_printf("%s, %s", *log, text) : text_printf("%s", text);
}

void world_mark(void)
{
	world.life = world.calls = text_printf("%s", "");
	world.count = snapshot_current()->number;
}

/* ---- requests ---- */

struct answer *world_answer(const struct bw_req *req)
{
	struct answer *a = serving;

	while (a && a->req != req)
		a = a->next;
	if (!a)
		fatalx("a request that nobody asked");
	return a;
}

static void append_body(struct answer *a)
{
	struct bw_req *req = a->req;

	if (response_has_body(req))
		a->body = text_printf("%s%.*s", a->body, (int)buf_size(&req->body),
		                      buf_size(&req->body) ? (char *)buf_data(&req->body) : "");
}

/* The transport: remembers what it is given. */
static void on_stop(struct bw_req *req)
{
	struct answer *a = world_answer(req), **at = &serving;

	if (req->state != REQ_RESPONDING)
		return;
	append_body(a);
	a->status = req->status;
	a->truncated = req->truncated;
	a->n_headers = req->n_res_headers;
	a->headers = text_alloc((a->n_headers + 1) * sizeof(*a->headers));
	for (size_t i = 0; i < a->n_headers; i++) {
		struct bw_res_header h = req->res_headers[i];

		a->headers[i].name = bw_str(text_dup(h.name.p, h.name.n));
		a->headers[i].value = bw_str(text_dup(h.value.p, h.value.n));
	}
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->req = NULL;
	request_release(req); /* the transport's share */
	request_release(req); /* the fiber's */
}

/* Takes what a flush waits for, until the request is complete or blocked. */
static void pump(struct answer *a)
{
	while (a->req && a->req->state == REQ_PARKED && a->req->flush) {
		append_body(a);
		request_wake(a->req);
	}
}

static struct bw_str keep(struct bw_req *req, struct bw_str s)
{
	return request_dup(req, s);
}

static struct answer *resume(void)
{
	struct answer *a = serving;

	while (a && a->next)
		a = a->next;
	if (!a)
		fatalx("nothing to resume");
	request_wake(a->req);
	pump(a);
	return a;
}

static bool fill(struct bw_req *req, struct words w)
{
	size_t             at = w.n > 1 && w.items[0][0] != '/' ? 1 : 0;
	struct path_target t;

	req->method = keep(req, bw_str(at ? w.items[0] : "GET"));
	memcpy(req->id_text, "0000000000000001", 17);
	if (path_canonical(&req->arena, bw_str(w.items[at]), &t) != BW_OK)
		return false;
	req->uri = keep(req, t.uri);
	req->query = keep(req, t.query);
	req->path = keep(req, t.path);
	req->headers = arena_alloc(&req->arena, (w.n + 1) * sizeof(*req->headers));
	for (size_t i = at + 1; i < w.n; i++) {
		char *colon = strchr(w.items[i], ':');

		if (!colon)
			fatalx("no header: %s", w.items[i]);
		req->headers[req->n_headers++] =
			(struct bw_res_header){ { w.items[i], (size_t)(colon - w.items[i]) },
			                        bw_str(colon + 1) };
	}
	return true;
}

struct answer *world_request(const char *text)
{
	struct answer *a;
	struct bw_req *req;

	if (strcmp(text, "resume") == 0)
		return resume();
	a = text_alloc(sizeof(*a));
	a->body = text_printf("%s", "");
	req = request_new();
	a->req = req;
	if (!fill(req, text_split(text, " "))) {
		request_set_state(req, REQ_RESPONDING);
		request_release(req);
		request_release(req);
		a->req = NULL;
		a->status = 400;
		return a;
	}
	a->next = serving;
	serving = a;
	if (!request_start(req, whiteboard_serve))
		fatalx("no fiber");
	pump(a);
	return a;
}

/* ---- things ---- */

struct thing *world_thing(const char *label)
{
	struct thing *t = world.things;

	while (t && strcmp(t->label, label) != 0)
		t = t->next;
	if (!t)
		fatalx("no such thing: %s", label);
	return t;
}

static struct bw_prop *prop(struct thing *t, const char *name)
{
	for (size_t i = 0; i < t->n_props; i++)
		if (strcmp(t->props[i].name, name) == 0)
			return &t->props[i];
	if (t->n_props == MAX_PROPS)
		fatalx("too many properties");
	t->props[t->n_props].name = name;
	return &t->props[t->n_props++];
}

static void set_string(struct thing *t, const char *name, const char *value)
{
	*prop(t, name) = (struct bw_prop){ name, BW_PROP_STRING, { .string = value } };
}

/* "int:5", "long:5", "bool:true", "[a, b]" or text. */
static void set_prop(struct thing *t, const char *name, const char *word)
{
	struct bw_prop *p = prop(t, name);

	if (text_begins(word, "int:")) {
		*p = (struct bw_prop)BW_P_INT(name, atoi(word + 4));
	} else if (text_begins(word, "long:")) {
		*p = (struct bw_prop)BW_P_LONG(name, atoll(word + 5));
	} else if (text_begins(word, "bool:")) {
		*p = (struct bw_prop)BW_P_BOOL(name, strcmp(word + 5, "true") == 0);
	} else if (word[0] == '[') {
		struct words list = text_list(word);
		const char **strings = text_alloc((list.n + 1) * sizeof(char *));

		for (size_t i = 0; i < list.n; i++)
			strings[i] = list.items[i];
		*p = (struct bw_prop){ name, BW_PROP_STRINGS, { .strings = strings } };
	} else {
		set_string(t, name, text_value(word));
	}
}

static const char *by_kind(const struct thing *t, const char *servlet, const char *filter)
{
	return t->kind == 'F' ? filter : servlet;
}

/* What a word without a known key means: a pattern, a regular expression, a servlet's name, a code. */
static void set_target(struct thing *t, const char *word)
{
	if (t->kind == 'E')
		set_prop(t, BW_SERVLET_ERROR_PAGE, word);
	else if (t->kind == 'F' && word[0] == '~')
		set_string(t, BW_FILTER_REGEX, text_value(word + 1));
	else if (t->kind == 'F' && word[0] == '@')
		set_string(t, BW_FILTER_SERVLET, text_value(word + 1));
	else
		set_prop(t, by_kind(t, BW_SERVLET_PATTERN, BW_FILTER_PATTERN), word);
}

/* The short keys of the notation. False: not one of them. */
static bool set_short(struct thing *t, const char *key, const char *value)
{
	if (strcmp(key, "sel") == 0)
		set_string(t, BW_CONTEXT_SELECT, text_printf("(%s=%s)", BW_CONTEXT_NAME, value));
	else if (strcmp(key, "rank") == 0)
		*prop(t, BW_SERVICE_RANKING) =
			(struct bw_prop)BW_P_INT(BW_SERVICE_RANKING, atoi(value));
	else if (strcmp(key, "name") == 0)
		set_string(t, by_kind(t, BW_SERVLET_NAME, BW_FILTER_NAME), text_value(value));
	else if (strcmp(key, "page") == 0)
		set_prop(t, BW_SERVLET_ERROR_PAGE, value);
	else if (strcmp(key, "disp") == 0)
		set_prop(t, BW_FILTER_DISPATCHER, value);
	else if (strcmp(key, "do") == 0)
		t->script = text_printf("%s", value);
	else if (strcmp(key, "init") == 0)
		t->on_init = text_printf("%s", value);
	else if (strcmp(key, "bundle") == 0)
		t->bundle = bundles_builtin(value);
	else if (strcmp(key, "as") == 0)
		t->label = text_printf("%s", value);
	else if (strcmp(key, "null") == 0)
		t->null_for = bundles_builtin(value);
	else
		return false;
	return true;
}

static void apply(struct thing *t, const char *word)
{
	const char *equals = word[0] == '"' ? NULL : strchr(word, '=');
	char       *key;

	if (strcmp(word, "init!") == 0) {
		t->init_fails = true;
	} else if (strcmp(word, "factory") == 0) {
		t->factory = true;
	} else if (strcmp(word, "null") == 0) {
		t->factory = t->gives_null = true;
	} else if (equals) {
		key = text_dup(word, (size_t)(equals - word));
		if (set_short(t, key, equals + 1))
			return;
		if (text_begins(key, "w."))
			key = text_printf("osgi.http.whiteboard.%s", key + 2);
		set_prop(t, key, equals + 1);
	} else {
		set_target(t, word);
	}
}

/* Which init parameters a servlet or filter looks for: those it has and some it has not. */
static void want_params(struct thing *t)
{
	static const char *const prefixes[] = { "servlet.init.", "filter.init." };

	t->params.items = text_alloc(2 * (MAX_PROPS + 1) * sizeof(char *));
	for (size_t i = 0; i < t->n_props; i++)
		for (size_t k = 0; k < 2; k++)
			if (text_begins(t->props[i].name, prefixes[k])) {
				t->params.items[t->params.n] =
					text_printf("%s", t->props[i].name + strlen(prefixes[k]));
				t->params.n += 2;
			}
}

static void do_register(struct thing *t)
{
	const char *const        interface = t->kind == 'F'   ? BW_FILTER
	                                     : t->kind == 'C' ? BW_CONTEXT_HELPER
	                                                      : BW_SERVLET;
	struct bw_service_object o = thing_object(t);

	want_params(t);
	if (registry_register(world.registry, t->bundle, (const char *const[]){ interface, NULL },
	                      &o, t->props, t->n_props, &t->service) != BW_OK)
		fatalx("%s cannot be registered", t->label);
	if (t->service) /* its own init may have unregistered it */
		t->id = service_id(t->service);
}

static struct thing *thing_new(char kind, const char *label)
{
	struct thing *t = text_alloc(sizeof(*t));

	t->kind = kind;
	t->label = text_printf("%s", label);
	t->bundle = bundles_builtin("test");
	t->next = world.things;
	world.things = t;
	return t;
}

/* ---- steps ---- */

static void step_context(struct words w)
{
	char         *at = strchr(w.items[1], '@');
	struct thing *t = thing_new(
		'C', text_dup(w.items[1], at ? (size_t)(at - w.items[1]) : strlen(w.items[1])));

	if (t->label[0])
		set_string(t, BW_CONTEXT_NAME, text_value(t->label));
	if (at)
		set_string(t, BW_CONTEXT_PATH, text_value(at + 1));
	for (size_t i = 2; i < w.n; i++)
		apply(t, w.items[i]);
	do_register(t);
}

static void step_service(struct words w)
{
	size_t        n = strlen(w.items[1]);
	struct thing *t;

	if (w.items[1][n - 1] != ':')
		fatalx("no label: %s", w.items[1]);
	t = thing_new(w.items[0][0], text_dup(w.items[1], n - 1));
	for (size_t i = 2; i < w.n; i++)
		apply(t, w.items[i]);
	do_register(t);
}

static void step_modify(struct words w)
{
	struct thing *t = world_thing(w.items[0]);

	for (size_t i = 2; i < w.n; i++)
		apply(t, w.items[i]);
	registry_modify(t->service, t->props, t->n_props);
}

static void step_unregister(const char *label)
{
	struct thing      *t = world_thing(label);
	struct bw_service *s = t->service;

	t->id = service_id(s);
	t->service = NULL;
	registry_unregister(s);
}

void world_step(const char *step)
{
	struct words w = text_split(step, " ");

	if (w.n >= 2 && strcmp(w.items[0], "ctx") == 0)
		step_context(w);
	else if (w.n >= 2 && strlen(w.items[0]) == 1 && strchr("SFEG", w.items[0][0]))
		step_service(w);
	else if (w.n >= 3 && strcmp(w.items[1], "+=") == 0)
		step_modify(w);
	else if (w.n == 1 && w.items[0][0] == '-')
		step_unregister(w.items[0] + 1);
	else if (w.n >= 2 && strcmp(w.items[0], "start") == 0)
		world_request(step + strlen("start "));
	else
		fatalx("no such step: %s", step);
}

static void end_server(void)
{
	while (serving)
		resume();
	if (world.registry) {
		whiteboard_done();
		registry_free(world.registry);
	}
	world.registry = NULL;
}

void world_reset(void)
{
	if (!text_arena.chunk) {
		arena_init(&text_arena);
		fiber_pool_init(64);
		request_on_stop(on_stop);
		objects_start();
	}
	end_server();
	world.registry = registry_new();
	world.things = NULL;
	bundles_use(world.registry);
	whiteboard_init(world.registry);
	world_mark();
}

void world_done(void)
{
	end_server();
	request_pool_done();
	fiber_pool_done();
	arena_done(&text_arena);
}
