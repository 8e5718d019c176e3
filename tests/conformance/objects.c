/* The callbacks of a row's things: each notes that it was called and runs the thing's script (actions.c).
 * kinds[] says which letter of the notation stands for which interface and callbacks.
 * Tests: every row file. */
#include "actions.h"
#include "contexts.h"

#include <stdlib.h>

struct object {
	struct thing *thing;
};

struct thing *thing_of(void *self)
{
	return ((struct object *)self)->thing;
}

char *text_of(struct bw_str s)
{
	return s.p ? text_dup(s.p, s.n) : NULL;
}

/* ---- the callbacks ---- */

static int run(struct thing *t, char letter, struct bw_req *req, struct bw_chain *chain);

static int on_init(void *self, const struct bw_config *cfg)
{
	struct thing *t = thing_of(self);
	struct bw_str name;

	things_log(&things.life, "init %s", t->label);
	for (size_t i = 0; i + 1 < t->params.n; i += 2)
		t->params.items[i + 1] = text_of(cfg->param(cfg, t->params.items[i]));
	t->param_names = text_printf("%s", "");
	for (size_t i = 0; (name = cfg->param_name(cfg, i)).p; i++)
		t->param_names = text_printf("%s%s%s", t->param_names, i ? "," : "", name.p);
	t->context = cfg->context;
	if (t->on_init)
		script_run(t->on_init, t, NULL, NULL);
	if (t->init_fails)
		return BW_EIO;
	things.alive++;
	return BW_OK;
}

static void on_destroy(void *self)
{
	things.alive--;
	things_log(&things.life, "destroy %s", thing_of(self)->label);
}

static int on_service(void *self, struct bw_req *req)
{
	struct thing *t = thing_of(self);

	things_log(&things.calls, "%s", t->label);
	see(req);
	return run(t, 'S', req, NULL);
}

/* Its answer would be that of GET, but for the log. */
static int on_head(void *self, struct bw_req *req)
{
	things_log(&things.calls, "HEAD");
	return on_service(self, req);
}

static int64_t on_last_modified(void *self, struct bw_req *req)
{
	(void)req;
	return thing_of(self)->modified_ms;
}

static int go_through(struct thing *t, char letter, struct bw_req *req, struct bw_chain *chain)
{
	int err;

	things_log(&things.calls, "%s", t->label);
	err = run(t, letter, req, chain);
	things_log(&things.calls, "%s", t->label);
	return err;
}

static int on_filter(void *self, struct bw_req *req, struct bw_chain *chain)
{
	return go_through(thing_of(self), 'F', req, chain);
}

/* Is in the way of everything, also of what the runner itself asks. */
static int on_preprocess(void *self, struct bw_req *req, struct bw_chain *chain)
{
	return stage_is_own(req) ? bw_chain_next(chain, req)
	                         : go_through(thing_of(self), 'P', req, chain);
}

static int on_handle(void *self, struct bw_req *req)
{
	struct thing *t = thing_of(self);

	things_log(&things.calls, "handle");
	return run(t, 'C', req, NULL);
}

static void on_finish(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	things_log(&things.calls, "finish");
}

static void *on_make(void *self, struct bw_bundle *for_bundle)
{
	struct thing  *t = self;
	struct object *o;

	if (t->gives_null || (t->null_for && t->null_for == for_bundle))
		return NULL;
	o = malloc(sizeof(*o));
	if (!o)
		abort();
	o->thing = t;
	t->made++;
	things.alive++;
	return o;
}

static void on_release(void *self, void *object)
{
	((struct thing *)self)->released++;
	things.alive--;
	free(object);
}

/* ---- kinds ---- */

static const struct bw_servlet servlet_type = {
	.size = sizeof(servlet_type),
	.init = on_init,
	.destroy = on_destroy,
	.service = on_service,
};
/* The same with a method table: GET only. */
static const struct bw_servlet get_type = {
	.size = sizeof(get_type),
	.init = on_init,
	.destroy = on_destroy,
	.get = on_service,
	.last_modified = on_last_modified,
	.info = "one that is got",
};
static const struct bw_filter filter_type = {
	.size = sizeof(filter_type),
	.init = on_init,
	.destroy = on_destroy,
	.filter = on_filter,
};
static const struct bw_filter preprocessor_type = {
	.size = sizeof(preprocessor_type),
	.init = on_init,
	.destroy = on_destroy,
	.filter = on_preprocess,
};
static const struct bw_context_helper helper_type = {
	.size = sizeof(helper_type),
	.handle_security = on_handle,
	.finish_security = on_finish,
	.get_mime_type = on_get_mime_type,
	.get_resource = on_get_resource,
	.get_real_path = on_get_real_path,
	.get_resource_paths = on_get_resource_paths,
};
static const size_t resource_type = sizeof(resource_type); /* nobody looks at it */

static const struct kind {
	char        letter;
	const char *interface;
	const void *type;
	const char *script; /* unless it has a do= */
} kinds[] = {
	{ 'C', BW_CONTEXT_HELPER, &helper_type, "" },
	{ 'S', BW_SERVLET, &servlet_type, "label" },
	{ 'E', BW_SERVLET, &servlet_type, "label" },
	{ 'G', BW_SERVLET, &get_type, "label" },
	{ 'F', BW_FILTER, &filter_type, "label+chain+label" },
	{ 'R', "boardwalk.test.Resource", &resource_type, "" },
	{ 'P', BW_PREPROCESSOR, &preprocessor_type, "chain" },
	{ 'W', BW_RUNTIME_WATCHER, &watcher_type, "" },
	{ 'L', NULL, &listener_type, "" }, /* the interfaces are its words */
};

const void *thing_table(struct words methods)
{
	struct bw_servlet *t = text_alloc(sizeof(*t));
	const struct {
		const char *name;
		int (**entry)(void *self, struct bw_req *req);
		int (*fn)(void *self, struct bw_req *req);
	} entries[] = {
		{ "GET", &t->get, on_service },         { "HEAD", &t->head, on_head },
		{ "POST", &t->post, on_service },       { "PUT", &t->put, on_service },
		{ "PATCH", &t->patch, on_service },     { "DELETE", &t->delete, on_service },
		{ "OPTIONS", &t->options, on_service },
	};

	*t = get_type;
	t->get = NULL;
	for (size_t i = 0; i < methods.n; i++)
		for (size_t k = 0; k < sizeof(entries) / sizeof(*entries); k++)
			if (strcmp(methods.items[i], entries[k].name) == 0)
				*entries[k].entry = entries[k].fn;
	return t;
}

static const struct kind *find_kind(char letter)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].letter == letter)
			return &kinds[i];
	return NULL;
}

/* do= is what it does as the kind that it is first; as the others it does what they do by themselves. */
static int run(struct thing *t, char letter, struct bw_req *req, struct bw_chain *chain)
{
	const struct kind *own = find_kind(t->kind), *called = find_kind(letter);

	return script_run(own->interface == called->interface ? t->script
	                                                      : script_parse(called->script),
	                  t, req, chain);
}

size_t thing_interfaces(const struct thing *t, struct bw_interface *ret, size_t max)
{
	const void *own = t->type ? t->type : find_kind(t->kind)->type;
	size_t      n = 0;

	for (; n < max && t->interfaces[n]; n++)
		ret[n] = (struct bw_interface){ t->interfaces[n], own };
	for (size_t i = 0; n < max && i < t->also.n; i++) {
		const char        *word = t->also.items[i];
		const struct kind *kind = word[1] ? NULL : find_kind(word[0]);

		if (kind)
			ret[n++] = (struct bw_interface){ kind->interface, kind->type };
		else
			ret[n++] = (struct bw_interface){ interface_of(word), &listener_type };
	}
	return n;
}

bool thing_kind(struct thing *t)
{
	const struct kind *kind = find_kind(t->kind);

	if (!kind)
		return false;
	t->interfaces[0] = kind->interface;
	t->script = script_parse(kind->script);
	return true;
}

struct bw_service_object thing_object(struct thing *t)
{
	struct bw_service_object o = { .type = t->type ? t->type : find_kind(t->kind)->type };
	struct object           *single;

	if (t->factory) {
		o.self = t;
		o.make = on_make;
		o.release = on_release;
		return o;
	}
	single = text_alloc(sizeof(*single));
	single->thing = t;
	o.self = single;
	return o;
}
