/* What the whiteboard of a real gateway says of itself: the records that `boardwalk ctl whiteboard` shows
 * the operator, asked for over the same socket. A record is found by the id of its service.
 *
 * Owns: the last records and those at the mark. Fails with: exit status 2 if the gateway does not answer.
 * Tests: every row file. */
#include "gateway_impl.h"
#include "stage.h"
#include "world.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define CHANGES "service.changecount"

/* JSON: the answer of each worker. */
static json_t *now, *before; /* NULL: not asked for */

/* ---- asking ---- */

/* No row knows of the context that the runner's orders go to. */
static void remove_own(json_t *record)
{
	json_t *contexts = json_object_get(record, "servletContextDTOs"), *c;
	size_t  i;

	json_array_foreach (contexts, i, c)
		if (strcmp(json_string_value(json_object_get(c, "name")), STAGE_CONTEXT) == 0) {
			json_array_remove(contexts, i);
			return;
		}
}

static json_t *fetch_records(void)
{
	json_t *all = gateway_order("{\"verb\": \"whiteboard\"}"), *record;
	size_t  i;

	json_array_foreach (all, i, record)
		remove_own(record);
	return all;
}

static json_t *records(void)
{
	if (!now)
		now = fetch_records();
	return json_array_get(now, gateway_worker());
}

json_t *world_inspect(void)
{
	return json_incref(records());
}

json_t *world_route(const char *method, const char *target)
{
	json_t *request = json_pack("{s:s, s:[s, s]}", "verb", "route", "args", method, target);
	char   *text = json_dumps(request, JSON_COMPACT);
	json_t *all = gateway_order(text);
	json_t *route = json_incref(json_array_get(all, gateway_worker()));

	json_decref(all);
	json_decref(request);
	free(text);
	return route;
}

void records_forget(void)
{
	json_decref(now);
	now = NULL;
}

void records_mark(void)
{
	records_forget();
	json_decref(before);
	before = fetch_records();
}

void records_done(void)
{
	records_forget();
	json_decref(before);
	before = NULL;
}

bool world_has_mark(void)
{
	return before != NULL;
}

/* ---- what changed ---- */

static json_t *properties_of(json_t *record)
{
	return json_object_get(json_object_get(record, "serviceDTO"), "properties");
}

static uint64_t count_of(json_t *record)
{
	return (uint64_t)json_integer_value(json_object_get(properties_of(record), CHANGES));
}

uint64_t world_count(void)
{
	return count_of(records());
}

uint64_t world_count_before(void)
{
	return count_of(json_array_get(before, gateway_worker()));
}

static json_t *without_count(json_t *record)
{
	json_t *copy = json_deep_copy(record);

	json_object_del(properties_of(copy), CHANGES);
	return copy;
}

bool world_is_as_before(void)
{
	json_t *a = without_count(records());
	json_t *b = without_count(json_array_get(before, gateway_worker()));
	bool    same = json_equal(a, b);

	json_decref(a);
	json_decref(b);
	return same;
}

/* ---- one service ---- */

static bool is_of(const json_t *record, const char *id)
{
	long long number = json_integer_value(json_object_get(record, "serviceId"));

	return strcmp(id, text_printf("%lld", number)) == 0;
}

static const char *id_of(const char *label)
{
	const char *id;

	if (strcmp(label, "builtin") == 0)
		return "-1";
	if (!world_ask(text_printf("id(%s)", label), &id))
		gateway_give_up("no such thing: %s", label);
	return id;
}

static bool has_one(const json_t *list, const char *id)
{
	size_t  i;
	json_t *record;

	json_array_foreach (list, i, record)
		if (is_of(record, id))
			return true;
	return false;
}

/* A servlet that is an error page as well is bound once. */
unsigned world_bindings(const char *label)
{
	const char *id = id_of(label);
	unsigned    n = has_one(json_object_get(records(), "preprocessorDTOs"), id);
	size_t      i;
	json_t     *c;

	json_array_foreach (json_object_get(records(), "servletContextDTOs"), i, c) {
		n += is_of(c, id);
		n += has_one(json_object_get(c, "servletDTOs"), id) ||
		     has_one(json_object_get(c, "errorPageDTOs"), id);
		n += has_one(json_object_get(c, "resourceDTOs"), id);
		n += has_one(json_object_get(c, "filterDTOs"), id);
		n += has_one(json_object_get(c, "listenerDTOs"), id);
	}
	return n;
}

char *world_context_param(const char *label, const char *name)
{
	const char *id = id_of(label), *value;
	size_t      i;
	json_t     *c;

	json_array_foreach (json_object_get(records(), "servletContextDTOs"), i, c) {
		value = json_string_value(json_object_get(json_object_get(c, "initParams"), name));
		if (is_of(c, id) && value)
			return text_printf("%s", value);
	}
	return NULL;
}

/* ---- failures ---- */

static void add_texts(struct words *items, const json_t *list)
{
	size_t  i;
	json_t *item;

	json_array_foreach (list, i, item)
		words_add(items, text_printf("%s", json_string_value(item)));
}

/* A hundred codes of a class in a row were registered as 4xx or 5xx. */
static void add_codes(struct words *items, const json_t *list)
{
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n; i++) {
		int  code = (int)json_integer_value(json_array_get(list, i));
		int  last = (int)json_integer_value(json_array_get(list, i + 99));
		bool is_class = code % 100 == 0 && last == code + 99;

		words_add(items,
		          text_printf(is_class ? "%dxx" : "%d", is_class ? code / 100 : code));
		i += is_class ? 99 : 0;
	}
}

static void add_failure(struct record *r, const char *label, const json_t *record)
{
	const char *path = json_string_value(json_object_get(record, "contextPath"));

	r->label = label;
	r->code = (int)json_integer_value(json_object_get(record, "failureReason"));
	r->context_id = json_integer_value(json_object_get(record, "servletContextId"));
	/* A servlet's patterns are then as registered, for whoever wonders what is wrong with them. */
	if (r->code == 6 && !json_object_get(record, "prefix"))
		return;
	if (path)
		words_add(&r->items, text_printf("%s", path));
	add_texts(&r->items, json_object_get(record, "patterns"));
	add_codes(&r->items, json_object_get(record, "errorCodes"));
	add_texts(&r->items, json_object_get(record, "exceptions"));
}

size_t world_failures(const char *label, struct record **ret)
{
	static const char *const lists[] = { "failedServletContextDTOs", "failedServletDTOs",
		                             "failedResourceDTOs",       "failedFilterDTOs",
		                             "failedErrorPageDTOs",      "failedListenerDTOs",
		                             "failedPreprocessorDTOs" };
	const char              *id = label ? id_of(label) : NULL;
	size_t                   n = 0, room = 0, i;
	json_t                  *record;

	for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
		room += json_array_size(json_object_get(records(), lists[k]));
	*ret = text_alloc((room + 1) * sizeof(**ret));
	for (size_t k = 0; k < sizeof(lists) / sizeof(*lists); k++)
		json_array_foreach (json_object_get(records(), lists[k]), i, record)
			if (!id || is_of(record, id))
				add_failure(&(*ret)[n++], label, record);
	return n;
}
