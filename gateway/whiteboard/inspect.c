/* The runtime's record as JSON (RuntimeDTO of OSGi 140.9): this server, what is active in each
 * context, and what failed.
 *
 * Owns: nothing. Runs in: the worker's thread, without a pause. Fails with: nothing.
 * Tests: tests/unit/whiteboard/inspect_test.c, tests/conformance (O). */
#include "inspect.h"

#include "records.h"
#include "runtime.h"

/* ---- which records a servlet has ---- */

/* Without patterns of its own it can be reached by name; with them, it is one that holds some. */
static bool is_servlet(const struct snapshot_servlet *s)
{
	return (s->reading->kinds & READING_SERVLET) &&
	       (s->n_patterns > 0 || s->reading->n_patterns == 0);
}

static bool is_page(const struct snapshot_servlet *s)
{
	const struct snapshot_context *c = s->context;

	for (size_t i = 0; i < c->n_error_names; i++)
		if (c->error_names[i].page == s)
			return true;
	for (int code = READING_CODE_MIN; c->codes && code <= READING_CODE_MAX; code++)
		if (c->codes[code - READING_CODE_MIN] == s)
			return true;
	return false;
}

static bool is_any(const struct snapshot_servlet *s)
{
	(void)s;
	return true;
}

static void put_servlets(struct json_out *j, const char *key, const struct snapshot_servlet *first,
                         bool (*is_one)(const struct snapshot_servlet *s),
                         void (*put)(struct json_out *j, const struct snapshot_servlet *s))
{
	json_out_key(j, key);
	json_out_array(j);
	for (const struct snapshot_servlet *s = first; s; s = s->next)
		if (is_one(s))
			put(j, s);
	json_out_array_end(j);
}

/* ---- contexts ---- */

static void put_item(struct json_out *j, const struct bw_value *v, size_t i)
{
	struct bw_str s;

	switch (v->type) {
	case BW_VALUE_LONG:
		json_out_int(j, v->is_list ? v->u.i64s[i] : v->u.i64);
		break;
	case BW_VALUE_DOUBLE:
		json_out_double(j, v->is_list ? v->u.f64s[i] : v->u.f64);
		break;
	case BW_VALUE_BOOLEAN:
		json_out_bool(j, v->is_list ? v->u.bools[i] : v->u.b);
		break;
	default:
		s = v->is_list ? v->u.strings[i] : v->u.string;
		json_out_string(j, s.p, s.n);
		break;
	}
}

static void put_attributes(struct json_out *j, const struct bw_context *c)
{
	struct bw_str name;

	json_out_key(j, "attributes");
	json_out_object(j);
	for (size_t i = 0; (name = attrs_name(&c->attrs, i)).p; i++) {
		const struct bw_value *v = attrs_find(&c->attrs, name.p);

		json_out_key(j, name.p);
		if (v->is_list)
			json_out_array(j);
		for (size_t k = 0; k < (v->is_list ? v->n : 1); k++)
			put_item(j, v, k);
		if (v->is_list)
			json_out_array_end(j);
	}
	json_out_object_end(j);
}

static void put_context(struct json_out *j, const struct snapshot_context *c)
{
	const struct reading *r = c->context->reading;

	json_out_object(j);
	record_str(j, "name", r->name);
	record_str(j, "contextPath", c->path);
	record_params(j, r);
	put_attributes(j, c->context);
	record_service(j, r);
	put_servlets(j, "servletDTOs", c->servlets, is_servlet, record_servlet);
	put_servlets(j, "resourceDTOs", c->resources, is_any, record_resource);
	json_out_key(j, "filterDTOs");
	json_out_array(j);
	for (size_t i = 0; i < c->n_filters; i++)
		record_filter(j, c->filters[i]->reading, r->id);
	json_out_array_end(j);
	put_servlets(j, "errorPageDTOs", c->servlets, is_page, record_page);
	json_out_key(j, "listenerDTOs");
	json_out_array(j);
	for (size_t i = 0; i < c->n_listeners; i++)
		record_listener(j, c->listeners[i].reading, r->id);
	json_out_array_end(j);
	json_out_object_end(j);
}

/* ---- all of it ---- */

static void put_prop(struct json_out *j, const struct bw_prop *p)
{
	json_out_key(j, p->name);
	switch (p->type) {
	case BW_PROP_STRING:
		json_out_text(j, p->u.string);
		break;
	case BW_PROP_STRINGS:
		json_out_array(j);
		for (size_t i = 0; p->u.strings[i]; i++)
			json_out_text(j, p->u.strings[i]);
		json_out_array_end(j);
		break;
	case BW_PROP_INT:
		json_out_int(j, p->u.i32);
		break;
	case BW_PROP_LONG:
		json_out_int(j, p->u.i64);
		break;
	case BW_PROP_BOOL:
		json_out_bool(j, p->u.b);
		break;
	}
}

/* The whiteboard's own: no bundle can ask the registry for it, so nobody uses it. */
static void put_runtime_service(struct json_out *j)
{
	const struct bw_prop *props;
	size_t                n = runtime_props(&props);

	json_out_key(j, "serviceDTO");
	json_out_object(j);
	record_int(j, "id", 0);
	record_int(j, "bundle", 0);
	json_out_key(j, "properties");
	json_out_object(j);
	for (size_t i = 0; i < n; i++)
		put_prop(j, &props[i]);
	json_out_object_end(j);
	record_strs(j, "usingBundles", NULL, 0);
	json_out_object_end(j);
}

static void (*put_more)(struct json_out *j); /* NULL: nothing */

void inspect_on_whiteboard(void (*put)(struct json_out *j))
{
	put_more = put;
}

void inspect_whiteboard(struct buf *to)
{
	const struct snapshot *s = snapshot_current();
	struct json_out        j;

	json_out_init(&j, to);
	json_out_object(&j);
	put_runtime_service(&j);
	json_out_key(&j, "preprocessorDTOs");
	json_out_array(&j);
	for (size_t i = 0; i < s->n_preprocessors; i++)
		record_preprocessor(&j, s->preprocessors[i]->reading);
	json_out_array_end(&j);
	json_out_key(&j, "servletContextDTOs");
	json_out_array(&j);
	for (size_t i = 0; i < s->n_contexts; i++)
		put_context(&j, s->contexts[i]);
	json_out_array_end(&j);
	record_failures(&j, s);
	if (put_more)
		put_more(&j);
	json_out_object_end(&j);
}
