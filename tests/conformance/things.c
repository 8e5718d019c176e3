/* The things of a row: from the notation to registrations, through the host table alone.
 *
 * Steps: ctx NAME@PATH, S LABEL: ..., LABEL += ..., -LABEL. The words behind a label are properties;
 * set_short has the short ones. A new letter is a row of kinds[] in objects.c.
 *
 * Tests: every row file. */
#include "actions.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct things things;

/* Requests and changes by the thousand append to it: so it grows by doubling. */
void things_log(struct log *log, const char *format, ...)
{
	char    text[256];
	va_list args;
	size_t  n;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	n = strlen(text);
	if (log->n + n + 3 > log->room) {
		log->room = 2 * log->room + sizeof(text);
		log->text = realloc(log->text, log->room);
		if (!log->text)
			abort();
	}
	log->n += (size_t)sprintf(log->text + log->n, "%s%s", log->n > 0 ? ", " : "", text);
}

static void log_clear(struct log *log)
{
	free(log->text);
	*log = (struct log){ NULL, 0, 0 };
}

void things_mark(void)
{
	log_clear(&things.life);
	log_clear(&things.calls);
	things.whole = 0;
}

struct thing *things_find(const char *label)
{
	struct thing *t = things.list;

	while (t && strcmp(t->label, label) != 0)
		t = t->next;
	if (!t)
		stage_fail("no such thing: %s", label);
	return t;
}

static struct bw_prop *prop(struct thing *t, const char *name)
{
	for (size_t i = 0; i < t->n_props; i++)
		if (strcmp(t->props[i].name, name) == 0)
			return &t->props[i];
	if (t->n_props == MAX_PROPS)
		stage_fail("too many properties");
	t->props[t->n_props].name = name;
	return &t->props[t->n_props++];
}

static void set_string(struct thing *t, const char *name, const char *value)
{
	*prop(t, name) = (struct bw_prop){ name, BW_PROP_STRING, { .string = value } };
}

static void find_port(void *arg, struct bw_str json)
{
	static const char key[] = "\"org.osgi.service.http.port\":";
	const char       *at = memmem(json.p, json.n, key, sizeof(key) - 1);

	*(int *)arg = at ? atoi(at + sizeof(key) - 1) : 0;
}

/* $port stands for the port that this server's runtime service says. */
static const char *with_port(const char *text)
{
	const char *at = text ? strstr(text, "$port") : NULL;
	int         port;

	if (!at)
		return text;
	bw_runtime_snapshot(find_port, &port);
	return text_printf("%.*s%d%s", (int)(at - text), text, port,
	                   with_port(at + strlen("$port")));
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
		set_string(t, name, with_port(text_value(word)));
	}
}

static const char *by_kind(const struct thing *t, const char *servlet, const char *filter)
{
	return t->kind == 'F' ? filter : servlet;
}

static void add_interface(struct thing *t, const char *interface)
{
	size_t n = 0;

	while (t->interfaces[n])
		n++;
	t->interfaces[n] = interface;
	*prop(t, BW_LISTENER) = (struct bw_prop)BW_P_BOOL(BW_LISTENER, true);
}

/* Patterns, "->", the prefix. */
static void set_resource(struct thing *t, const char *word)
{
	if (strcmp(word, "->") == 0)
		t->has_arrow = true;
	else
		set_prop(t, t->has_arrow ? BW_RESOURCE_PREFIX : BW_RESOURCE_PATTERN, word);
}

/* What a word without a known key means: a listener's interface, a pattern, a regular expression, a servlet's name, a code. */
static void set_target(struct thing *t, const char *word)
{
	if (t->kind == 'L')
		add_interface(t, interface_of(word));
	else if (t->kind == 'E')
		set_prop(t, BW_SERVLET_ERROR_PAGE, word);
	else if (t->kind == 'R')
		set_resource(t, word);
	else if (t->kind == 'F' && word[0] == '~')
		set_string(t, BW_FILTER_REGEX, text_value(word + 1));
	else if (t->kind == 'F' && word[0] == '@')
		set_string(t, BW_FILTER_SERVLET, text_value(word + 1));
	else
		set_prop(t, by_kind(t, BW_SERVLET_PATTERN, BW_FILTER_PATTERN), word);
}

/* "*" is every context but that of the runner itself, which must go on answering. */
static const char *select_by_name(const char *name)
{
	if (strcmp(name, "*") == 0)
		return "(&(" BW_CONTEXT_NAME "=*)(!(" BW_CONTEXT_NAME "=" STAGE_CONTEXT ")))";
	return text_printf("(%s=%s)", BW_CONTEXT_NAME, name);
}

/* The short keys of the notation. False: not one of them. */
static bool set_short(struct thing *t, const char *key, const char *value)
{
	if (strcmp(key, "sel") == 0)
		set_string(t, BW_CONTEXT_SELECT, select_by_name(value));
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
		t->script = script_parse(value);
	else if (strcmp(key, "init") == 0)
		t->on_init = script_parse(value);
	else if (strcmp(key, "root") == 0)
		t->root = text_printf("%s", value);
	else if (strcmp(key, "folder") == 0)
		t->folder = text_printf("%s/%s", ROWS_FILES, value);
	else if (strcmp(key, "bundle") == 0)
		t->bundle = stage_bundle(value);
	else if (strcmp(key, "as") == 0)
		t->label = text_printf("%s", value);
	else if (strcmp(key, "also") == 0)
		t->also = text_list(value);
	else if (strcmp(key, "null") == 0)
		t->null_for = stage_bundle(value);
	else if (strcmp(key, "methods") == 0)
		t->type = thing_table(text_list(value));
	else if (strcmp(key, "modified") == 0)
		t->modified_ms = atoll(value);
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
	static const char *const prefixes[] = { "servlet.init.", "filter.init.",
		                                "preprocessor.init." };

	t->params.items = text_alloc(2 * (MAX_PROPS + 1) * sizeof(char *));
	for (size_t i = 0; i < t->n_props; i++)
		for (size_t k = 0; k < sizeof(prefixes) / sizeof(*prefixes); k++)
			if (text_begins(t->props[i].name, prefixes[k])) {
				t->params.items[t->params.n] =
					text_printf("%s", t->props[i].name + strlen(prefixes[k]));
				t->params.n += 2;
			}
}

static void do_register(struct thing *t)
{
	struct bw_service_object o = thing_object(t);
	struct bw_interface      as[MAX_INTERFACES];
	int                      err;

	want_params(t);
	if (t->also.n > 0)
		err = bw_register_as(t->bundle, as, thing_interfaces(t, as, MAX_INTERFACES), &o,
		                     t->props, t->n_props, &t->service);
	else
		err = bw_register_many(t->bundle, t->interfaces, &o, t->props, t->n_props,
		                       &t->service);
	if (err != BW_OK)
		stage_fail("%s cannot be registered", t->label);
	if (t->service) /* its own init may have unregistered it */
		t->id = bw_service_id(t->service);
}

static struct thing *thing_new(char kind, const char *label)
{
	struct thing *t = text_alloc(sizeof(*t));

	t->kind = kind;
	t->label = text_printf("%s", label);
	t->bundle = stage_bundle("test");
	t->modified_ms = -1;
	if (!thing_kind(t))
		stage_fail("no such kind: %c", kind);
	t->next = things.list;
	things.list = t;
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
		stage_fail("no label: %s", w.items[1]);
	t = thing_new(w.items[0][0], text_dup(w.items[1], n - 1));
	for (size_t i = 2; i < w.n; i++)
		apply(t, w.items[i]);
	do_register(t);
}

static void step_modify(struct words w)
{
	struct thing *t = things_find(w.items[0]);

	for (size_t i = 2; i < w.n; i++)
		apply(t, w.items[i]);
	bw_service_modify(t->service, t->props, t->n_props);
}

static void step_unregister(const char *label)
{
	struct thing      *t = things_find(label);
	struct bw_service *s = t->service;

	if (!s)
		stage_fail("not registered: %s", label);
	t->id = bw_service_id(s);
	t->service = NULL;
	bw_service_unregister(s);
}

void things_step(const char *step)
{
	struct words w = text_split(step, " ");

	if (w.n >= 2 && strcmp(w.items[0], "ctx") == 0)
		step_context(w);
	else if (w.n >= 3 && strcmp(w.items[1], "+=") == 0)
		step_modify(w);
	else if (w.n >= 2 && strlen(w.items[0]) == 1)
		step_service(w);
	else if (w.n == 1 && w.items[0][0] == '-')
		step_unregister(w.items[0] + 1);
	else
		stage_fail("no such step: %s", step);
}

/* ---- the end ---- */

void things_end(struct bw_bundle *bundle)
{
	struct thing *t = things.list;

	while (t) {
		struct bw_service *s = t->service;

		if (!s || (bundle && t->bundle != bundle)) {
			t = t->next;
			continue;
		}
		t->service = NULL;
		bw_service_unregister(s);
		/* A shadowed servlet comes back meanwhile, and its init may register others. */
		t = things.list;
	}
}

void things_forget(void)
{
	if (things.alive > 0)
		stage_fail("%u objects are still alive", things.alive);
	things.list = NULL;
	seen_forget();
	things_mark();
	text_free_all();
}

/* ---- what they remember ---- */

/* argument: "A,name". */
static char *param_of(const char *argument)
{
	struct words        w = text_split(argument, ",");
	const struct thing *t = w.n == 2 ? things_find(w.items[0]) : NULL;
	const char         *name = t ? text_value(w.items[1]) : NULL;

	for (size_t i = 0; name && i + 1 < t->params.n; i += 2)
		if (strcmp(t->params.items[i], name) == 0)
			return t->params.items[i + 1];
	return NULL;
}

bool things_answer(const char *question, const char **ret)
{
	char        *name, *argument;
	struct words w;

	if (strcmp(question, "life") == 0) {
		*ret = things.life.n > 0 ? things.life.text : "";
	} else if (strcmp(question, "calls") == 0) {
		*ret = things.calls.n > 0 ? things.calls.text : "";
	} else if (strcmp(question, "alive") == 0) {
		*ret = text_printf("%u", things.alive);
	} else if (strcmp(question, "whole") == 0) {
		*ret = text_printf("%u", things.whole);
	} else if (!text_call(question, &name, &argument)) {
		return false;
	} else if (strcmp(name, "id") == 0) {
		*ret = text_printf("%lld", (long long)things_find(argument)->id);
	} else if (strcmp(name, "kind") == 0) {
		*ret = text_printf("%c", things_find(argument)->kind);
	} else if (strcmp(name, "made") == 0) {
		*ret = text_printf("%u", things_find(argument)->made);
	} else if (strcmp(name, "released") == 0) {
		*ret = text_printf("%u", things_find(argument)->released);
	} else if (strcmp(name, "paramNames") == 0) {
		*ret = things_find(argument)->param_names;
	} else if (strcmp(name, "param") == 0) {
		*ret = param_of(argument);
	} else if (strcmp(name, "seen") == 0) {
		w = text_split(argument, ",");
		return w.n == 2 && seen_value(w.items[0], w.items[1], ret);
	} else {
		return false;
	}
	return true;
}
