/* Items about what the whiteboard shows of itself.
 *
 *   runtime(PATH)=v             of the whole: runtime(servletContextDTOs/0/name)=default
 *   record(A,LIST,PATH)=v       of A's one record in that list, in whatever context:
 *                               record(A,servletDTOs,name)=A
 *   records(A,LIST)=2           how many it has there
 *   route(/a,PATH)=v            of the answer to a route: route(/a,servletDTO/name)=A,
 *                               route(POST /a,status)=405
 *   routed(/a)=A                who would answer; routed(/a)=- nobody
 *   chain(/a)=[f, g]            the filters that would run
 *   multipart(A)="true 10240 - -1 -1 50"    what the record of servlet A says of parts: taken at all, threshold,
 *                               location, largest part and body, how many; folder(A)=spool, where
 *                               they go
 *   keep                        remembers what is shown: kept(A,LIST,PATH) is its record()
 *
 * A PATH is members and indices with / between them. Values are written as in rows: - is null or
 * nothing, "" empty, [a, b], {k: v}; @A is the id of A. builtin is the built-in context. Tests:
 * every row file. */
#include "inspected.h"

#include "world.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *kept;

/* ---- values ---- */

static char *value_text(const json_t *v)
{
	const char *key, *between = "";
	char       *text;
	json_t     *item;
	size_t      i;

	switch (v ? json_typeof(v) : JSON_NULL) {
	case JSON_STRING:
		return text_printf("%s", *json_string_value(v) ? json_string_value(v) : "\"\"");
	case JSON_INTEGER:
		return text_printf("%lld", (long long)json_integer_value(v));
	case JSON_REAL:
		return text_printf("%g", json_real_value(v));
	case JSON_TRUE:
		return text_printf("true");
	case JSON_FALSE:
		return text_printf("false");
	case JSON_NULL:
		return text_printf("-");
	case JSON_ARRAY:
		text = text_printf("[");
		json_array_foreach (v, i, item) {
			text = text_printf("%s%s%s", text, between, value_text(item));
			between = ", ";
		}
		return text_printf("%s]", text);
	case JSON_OBJECT:
		text = text_printf("{");
		json_object_foreach ((json_t *)v, key, item) {
			text = text_printf("%s%s%s: %s", text, between, key, value_text(item));
			between = ", ";
		}
		return text_printf("%s}", text);
	}
	return NULL;
}

static const json_t *walk(const json_t *j, const char *path)
{
	struct words w = text_split(path, "/");

	for (size_t i = 0; j && i < w.n; i++)
		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(w.items[i]))
		                     : json_object_get(j, w.items[i]);
	return j;
}

static long long id_of(const char *label)
{
	const char *id;

	if (strcmp(label, "builtin") == 0)
		return -1;
	return world_ask(text_printf("id(%s)", label), &id) && id ? atoll(id) : 0;
}

static char *compare(const json_t *j, const char *path, const char *want)
{
	char *got = value_text(walk(j, path));

	if (want[0] == '@')
		want = text_printf("%lld", id_of(want + 1));
	return strcmp(got, want) == 0 ? NULL : got;
}

/* ---- records ---- */

/* Every record of that id in lists of that name, wherever they are. */
static void collect(const json_t *j, const char *list, long long id, const json_t **ret, size_t *n)
{
	const char *key;
	json_t     *item, *record;
	size_t      i;

	json_object_foreach ((json_t *)j, key, item) {
		json_array_foreach (item, i, record) {
			json_t *its_id = json_object_get(record, "serviceId");

			if (strcmp(key, list) == 0 && json_integer_value(its_id) == id) {
				*ret = record;
				(*n)++;
			}
			collect(record, list, id, ret, n);
		}
	}
}

static char *check_record(const json_t *j, struct words w, const char *want)
{
	const json_t *record = NULL;
	size_t        n = 0;

	if (w.n != 3)
		return text_printf("takes a label, a list and a path");
	collect(j, w.items[1], id_of(w.items[0]), &record, &n);
	return n == 1 ? compare(record, w.items[2], want) : text_printf("%zu records", n);
}

static char *check_records(const json_t *j, struct words w, const char *want)
{
	const json_t *record = NULL;
	size_t        n = 0;
	char         *got;

	if (w.n != 2)
		return text_printf("takes a label and a list");
	collect(j, w.items[1], id_of(w.items[0]), &record, &n);
	got = text_printf("%zu", n);
	return strcmp(got, want) == 0 ? NULL : got;
}

/* ---- parts of requests ---- */

static const json_t *servlet_record(const json_t *j, const char *label)
{
	const json_t *record = NULL;
	size_t        n = 0;

	collect(j, "servletDTOs", id_of(label), &record, &n);
	return record;
}

static char *check_multipart(const json_t *j, const char *label, const char *want)
{
	static const char *const keys[] = { "multipartEnabled",        "multipartFileSizeThreshold",
		                            "multipartLocation",       "multipartMaxFileSize",
		                            "multipartMaxRequestSize", "multipartMaxFileCount" };
	const json_t            *record = servlet_record(j, label);
	char                    *got = text_printf("%s", "");

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		got = text_printf("%s%s%s", got, i > 0 ? " " : "",
		                  value_text(json_object_get(record, keys[i])));
	return strcmp(got, text_value(want)) == 0 ? NULL : got;
}

/* "spool" stands for the folder that the server was given. */
static char *check_folder(const json_t *j, const char *label, const char *want)
{
	const char *spool = world_spool();
	char       *got = value_text(json_object_get(servlet_record(j, label), "multipartFolder"));

	if (text_begins(got, spool))
		got = text_printf("spool%s", got + strlen(spool));
	return strcmp(got, want) == 0 ? NULL : got;
}

/* ---- routes ---- */

/* "/a" or "POST /a" */
static json_t *route_of(const char *text)
{
	struct words w = text_split(text, " ");

	return w.n == 2 ? world_route(w.items[0], w.items[1]) : world_route("GET", w.items[0]);
}

static char *check_routed(const json_t *j, const char *want)
{
	const json_t *id = walk(j, "servletDTO/serviceId");

	if (!id)
		id = walk(j, "resourceDTO/serviceId");
	if (strcmp(want, "-") == 0 ? !id : id && json_integer_value(id) == id_of(want))
		return NULL;
	return id ? text_printf("service %s", value_text(id)) : text_printf("nobody");
}

static char *check_chain(const json_t *j, const char *want)
{
	const json_t *filters = walk(j, "filterDTOs");
	struct words  labels = text_list(want);
	bool          same = json_array_size(filters) == labels.n;

	for (size_t i = 0; same && i < labels.n; i++)
		same = json_integer_value(walk(json_array_get(filters, i), "serviceId")) ==
		       id_of(labels.items[i]);
	return same ? NULL : value_text(filters);
}

static char *check_route(const char *name, struct words w, const char *want)
{
	json_t *j = w.n > 0 ? route_of(w.items[0]) : NULL;
	char   *got;

	if (!j)
		got = text_printf("no route");
	else if (strcmp(name, "routed") == 0)
		got = check_routed(j, want);
	else if (strcmp(name, "chain") == 0)
		got = check_chain(j, want);
	else
		got = w.n == 2 ? compare(j, w.items[1], want) : text_printf("takes a path");
	json_decref(j);
	return got;
}

/* ---- items ---- */

static char *keep(void)
{
	json_decref(kept);
	kept = world_inspect();
	return kept ? NULL : text_printf("nothing is shown");
}

bool inspected_is(const char *item)
{
	static const char *const begins[] = { "runtime(", "record(",    "records(",
		                              "route(",   "routed(",    "chain(",
		                              "kept(",    "multipart(", "folder(" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (text_begins(item, begins[i]))
			return true;
	return strcmp(item, "keep") == 0;
}

char *inspected_check(const char *item)
{
	const char  *equals = strstr(item, ")=");
	char        *name, *argument, *got;
	struct words w;
	json_t      *j;

	if (strcmp(item, "keep") == 0)
		return keep();
	if (!equals || !text_call(text_dup(item, (size_t)(equals + 1 - item)), &name, &argument))
		return text_printf("no such item: %s", item);
	w = text_split(argument, ",");
	equals += strlen(")=");
	if (strcmp(name, "kept") == 0)
		return check_record(kept, w, equals);
	if (name[0] == 'c' || strncmp(name, "route", 5) == 0)
		return check_route(name, w, equals);
	j = world_inspect();
	if (strcmp(name, "runtime") == 0)
		got = compare(j, argument, equals);
	else if (strcmp(name, "records") == 0)
		got = check_records(j, w, equals);
	else if (strcmp(name, "multipart") == 0)
		got = check_multipart(j, argument, equals);
	else if (strcmp(name, "folder") == 0)
		got = check_folder(j, argument, equals);
	else
		got = check_record(j, w, equals);
	json_decref(j);
	return got;
}
