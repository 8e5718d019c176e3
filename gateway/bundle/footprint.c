/* What a bundle leaves standing while it is stopped or refused: stand-ins for its registrations.
 *
 * A stand-in is an ordinary service with the properties of the one it stands for, so it has its
 * pattern, context and rank, and is mounted at its paths and types; its object answers 503.
 * Contexts are stood in for as well: otherwise what is under them would fall through to a context
 * that asks nobody for credentials. So are authentication requirements. A resource becomes a
 * servlet with its patterns; filters, listeners, preprocessors and error pages just go.
 *
 * As text a footprint is one JSON array, an object per service: { "i": [interfaces], "p": [[name,
 * type, value], ...] }, type s string, S strings, i int, l long, b boolean.
 *
 * Owns: nothing. Runs in: the loop's stack; the stand-ins in requests' fibers. Fails with: false
 * for text that is none of ours. Tests: tests/unit/whiteboard/generations_test.c. */
#include "generations.h"
#include "request.h"
#include "whiteboard/registry.h"

#include <base/buf.h>
#include <base/fatal.h>
#include <jansson.h>
#include <stdlib.h>

#define STAND_IN    "boardwalk.StandIn" /* carries requirements alone */
#define RETRY_AFTER "5"

/* ---- what answers ---- */

static int answer(void *self, struct bw_req *req)
{
	(void)self;
	response_header(req, "retry-after", BW_STR(RETRY_AFTER), true);
	return response_send_error(req, 503, "This part of the server is stopped.");
}

static int answer_for_context(void *self, struct bw_req *req)
{
	int err = answer(self, req);

	return err != BW_OK ? err : BW_DECLINED;
}

static const struct bw_servlet        servlet = { .size = sizeof(servlet), .service = answer };
static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = answer_for_context };
static const int                      nothing;

/* ---- from a service to what stands in for it ---- */

/* A registration, its properties borrowed; what was made of them is in the arrays. */
struct stand_in {
	struct bw_interface as[2];
	size_t              n_as;
	struct bw_prop     *props; /* heap */
	size_t              n;
	const char        **patterns; /* heap; of a resource */
};

static size_t count_strings(const struct bw_prop *p)
{
	size_t n = 0;

	if (p && p->type == BW_PROP_STRING)
		return 1;
	while (p && p->type == BW_PROP_STRINGS && p->u.strings[n])
		n++;
	return n;
}

static size_t put_strings(const struct bw_prop *p, const char **to)
{
	size_t n = count_strings(p);

	if (n > 0 && p->type == BW_PROP_STRING)
		to[0] = p->u.string;
	else if (n > 0)
		memcpy(to, p->u.strings, n * sizeof(*to));
	return n;
}

static bool is_dropped(const char *name, bool resource)
{
	return strcmp(name, BW_SERVLET_ERROR_PAGE) == 0 || strcmp(name, BW_RESOURCE_PATTERN) == 0 ||
	       strcmp(name, BW_RESOURCE_PREFIX) == 0 ||
	       (resource && strcmp(name, BW_SERVLET_PATTERN) == 0);
}

static const struct bw_prop *find(const struct bw_prop *props, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(props[i].name, name) == 0)
			return &props[i];
	return NULL;
}

/* False: nothing stands in for it. */
static bool make(struct stand_in *s, bool is_context, bool is_servlet, const struct bw_prop *props,
                 size_t n)
{
	const struct bw_prop *pattern = find(props, n, BW_RESOURCE_PATTERN),
			     *own = is_servlet ? find(props, n, BW_SERVLET_PATTERN) : NULL;
	bool   resource = count_strings(pattern) > 0 && find(props, n, BW_RESOURCE_PREFIX);
	size_t n_patterns;

	if (!is_context && !is_servlet && !resource && !find(props, n, BW_AUTH_REQUIREMENTS))
		return false;
	*s = (struct stand_in){ .n_as = 0 };
	if (is_context)
		s->as[s->n_as++] = (struct bw_interface){ BW_CONTEXT_HELPER, &context };
	if (is_servlet || resource)
		s->as[s->n_as++] = (struct bw_interface){ BW_SERVLET, &servlet };
	if (s->n_as == 0)
		s->as[s->n_as++] = (struct bw_interface){ STAND_IN, &nothing };
	s->props = xcalloc(n + 1, sizeof(*s->props));
	for (size_t i = 0; i < n; i++)
		if (!is_dropped(props[i].name, resource))
			s->props[s->n++] = props[i];
	if (!resource)
		return true;
	s->patterns = xcalloc(count_strings(pattern) + count_strings(own) + 1, sizeof(char *));
	n_patterns = put_strings(own, s->patterns);
	put_strings(pattern, s->patterns + n_patterns);
	s->props[s->n++] =
		(struct bw_prop){ BW_SERVLET_PATTERN, BW_PROP_STRINGS, { .strings = s->patterns } };
	return true;
}

static void stand_in_done(struct stand_in *s)
{
	free(s->props);
	free(s->patterns);
}

static bool make_of(struct stand_in *s, const struct bw_service *of)
{
	const struct bw_prop *props;
	size_t                n = service_props(of, &props);

	return make(s, service_is(of, BW_CONTEXT_HELPER), service_is(of, BW_SERVLET), props, n);
}

static int put(struct registry *r, struct bw_bundle *b, const struct stand_in *s,
               const struct bw_service *of)
{
	return registry_stage_stand_in(r, b, of, s->as, s->n_as, s->props, s->n);
}

/* ---- stop ---- */

struct staging {
	struct registry  *registry;
	struct bw_bundle *bundle;
};

static void stage_one(void *arg, const struct bw_service *of)
{
	struct staging *st = arg;
	struct stand_in s;

	if (!make_of(&s, of))
		return;
	put(st->registry, st->bundle, &s, of);
	stand_in_done(&s);
}

void footprint_stage(struct registry *r, struct bw_bundle *stand_in, const struct bw_bundle *of)
{
	struct staging st = { r, stand_in };

	registry_each(r, of, stage_one, &st);
}

/* ---- to text ---- */

static json_t *strings_to_json(const char *const *strings)
{
	json_t *list = json_array();

	for (; *strings; strings++)
		json_array_append_new(list, json_string(*strings));
	return list;
}

/* NULL: it is no UTF-8, and so nothing a request could match. */
static json_t *prop_to_json(const struct bw_prop *p)
{
	switch (p->type) {
	case BW_PROP_STRING:
		return json_pack("[sss]", p->name, "s", p->u.string);
	case BW_PROP_STRINGS:
		return json_pack("[sso]", p->name, "S", strings_to_json(p->u.strings));
	case BW_PROP_INT:
		return json_pack("[ssi]", p->name, "i", (int)p->u.i32);
	case BW_PROP_LONG:
		return json_pack("[ssI]", p->name, "l", (json_int_t)p->u.i64);
	case BW_PROP_BOOL:
		return json_pack("[ssb]", p->name, "b", (int)p->u.b);
	}
	return NULL;
}

static void write_one(void *arg, const struct bw_service *of)
{
	struct stand_in s;
	json_t         *interfaces, *props;

	if (!make_of(&s, of))
		return;
	interfaces = json_array();
	props = json_array();
	for (size_t i = 0; i < s.n_as; i++)
		json_array_append_new(interfaces, json_string(s.as[i].name));
	for (size_t i = 0; i < s.n; i++) {
		json_t *p = prop_to_json(&s.props[i]);

		if (p)
			json_array_append_new(props, p);
	}
	json_array_append_new(arg, json_pack("{so so}", "i", interfaces, "p", props));
	stand_in_done(&s);
}

void footprint_write(struct registry *r, const struct bw_bundle *b, struct buf *json)
{
	json_t *all = json_array();
	char   *dump;

	registry_each(r, b, write_one, all);
	dump = json_dumps(all, JSON_COMPACT);
	if (!dump)
		fatalx("out of memory");
	buf_append(json, dump, strlen(dump));
	free(dump);
	json_decref(all);
}

/* ---- from text ---- */

/* *ret borrows from j; strings is heap. */
static bool prop_from_json(json_t *j, struct bw_prop *ret, const char ***ret_strings)
{
	const char *name, *type;
	json_t     *value, *item;
	size_t      i;

	*ret_strings = NULL;
	if (json_unpack(j, "[sso!]", &name, &type, &value) != 0)
		return false;
	*ret = (struct bw_prop){ .name = name };
	if (strcmp(type, "s") == 0 && json_is_string(value)) {
		ret->type = BW_PROP_STRING;
		ret->u.string = json_string_value(value);
	} else if (strcmp(type, "i") == 0 && json_is_integer(value)) {
		ret->type = BW_PROP_INT;
		ret->u.i32 = (int32_t)json_integer_value(value);
	} else if (strcmp(type, "l") == 0 && json_is_integer(value)) {
		ret->type = BW_PROP_LONG;
		ret->u.i64 = json_integer_value(value);
	} else if (strcmp(type, "b") == 0 && json_is_boolean(value)) {
		ret->type = BW_PROP_BOOL;
		ret->u.b = json_is_true(value);
	} else if (strcmp(type, "S") == 0 && json_is_array(value)) {
		ret->type = BW_PROP_STRINGS;
		ret->u.strings = *ret_strings = xcalloc(json_array_size(value) + 1, sizeof(char *));
		json_array_foreach (value, i, item)
			if (((*ret_strings)[i] = json_string_value(item)) == NULL)
				return false;
	} else {
		return false;
	}
	return true;
}

static bool is_interface(json_t *interfaces, const char *name)
{
	json_t *item;
	size_t  i;

	json_array_foreach (interfaces, i, item)
		if (json_is_string(item) && strcmp(json_string_value(item), name) == 0)
			return true;
	return false;
}

static bool register_one(struct registry *r, struct bw_bundle *b, json_t *j)
{
	json_t         *interfaces = json_object_get(j, "i"), *list = json_object_get(j, "p");
	size_t          n = json_array_size(list), i;
	struct bw_prop *props = xcalloc(n + 1, sizeof(*props));
	const char   ***strings = xcalloc(n + 1, sizeof(*strings));
	struct stand_in s;
	bool            ok = json_is_array(interfaces) && json_is_array(list);

	for (i = 0; ok && i < n; i++)
		ok = prop_from_json(json_array_get(list, i), &props[i], &strings[i]);
	if (ok && make(&s, is_interface(interfaces, BW_CONTEXT_HELPER),
	               is_interface(interfaces, BW_SERVLET), props, n)) {
		ok = put(r, b, &s, NULL) == BW_OK;
		stand_in_done(&s);
	}
	for (i = 0; i < n; i++)
		free(strings[i]);
	free(strings);
	free(props);
	return ok;
}

bool footprint_register(struct registry *r, struct bw_bundle *stand_in, const char *json)
{
	json_t *all = json_loads(json, JSON_REJECT_DUPLICATES, NULL), *item;
	bool    ok = json_is_array(all);
	size_t  i;

	if (ok)
		json_array_foreach (all, i, item)
			ok = register_one(r, stand_in, item) && ok;
	json_decref(all);
	return ok;
}
