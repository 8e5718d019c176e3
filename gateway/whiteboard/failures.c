/* What failed, and why, as JSON: the records of OSGi's Failed...DTOs (140.9).
 *
 * Owns: nothing. Runs in: the worker's thread, without a pause. Fails with: nothing.
 * Tests: tests/unit/whiteboard/inspect_test.c, tests/conformance (O). */
#include "records.h"

#include "props.h"

#include <stdlib.h>

const char *record_failure(enum failure_code code)
{
	static const char *const names[] = {
		"UNKNOWN",
		"NO_SERVLET_CONTEXT_MATCHING",
		"SERVLET_CONTEXT_FAILURE",
		"SHADOWED_BY_OTHER_SERVICE",
		"EXCEPTION_ON_INIT",
		"SERVICE_NOT_GETTABLE",
		"VALIDATION_FAILED",
		"SERVICE_IN_USE",
		"SERVLET_WRITE_TO_LOCATION_DENIED",
		"WHITEBOARD_WRITE_TO_DEFAULT_DENIED",
		"SERVLET_READ_FROM_DEFAULT_DENIED",
		"WHITEBOARD_WRITE_TO_LOCATION_DENIED",
	};

	return code < sizeof(names) / sizeof(*names) ? names[code] : names[0];
}

/* One key of the registration's, as it stands there: what failed validation has no other value. */
static void put_as_registered(struct json_out *j, const char *key, const struct reading *r,
                              const char *name)
{
	const struct bw_prop *p = props_find(r->props, r->n_props, name);

	json_out_key(j, key);
	json_out_array(j);
	if (p && p->type == BW_PROP_STRING)
		json_out_text(j, p->u.string);
	for (size_t i = 0; p && p->type == BW_PROP_STRINGS && p->u.strings[i]; i++)
		json_out_text(j, p->u.strings[i]);
	json_out_array_end(j);
}

static void put_failure(struct json_out *j, enum failure_code code)
{
	record_int(j, "failureReason", code);
	json_out_key(j, "failureReasonName");
	json_out_text(j, record_failure(code));
}

/* ---- one of each kind ---- */

static void put_failed_context(struct json_out *j, const struct failure *f)
{
	static const char *const lists[] = { "servletDTOs", "resourceDTOs", "filterDTOs",
		                             "errorPageDTOs", "listenerDTOs" };

	record_str(j, "name", f->reading->name);
	record_str(j, "contextPath", f->reading->path);
	record_params(j, f->reading);
	json_out_key(j, "attributes");
	json_out_object(j);
	json_out_object_end(j);
	record_service(j, f->reading);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		record_strs(j, lists[i], NULL, 0);
}

static void put_lost(struct json_out *j, const char *key, const struct failure *f, const char *prop)
{
	if (f->code == FAILURE_VALIDATION)
		put_as_registered(j, key, f->reading, prop);
	else
		record_strs(j, key, f->items, f->n_items);
}

static void put_failed_servlet(struct json_out *j, const struct failure *f)
{
	record_servlet_head(j, f->reading, f->context_id, BW_ABSENT);
	put_lost(j, "patterns", f, BW_SERVLET_PATTERN);
	record_upload(j, f->reading, NULL);
}

static void put_failed_resource(struct json_out *j, const struct failure *f)
{
	put_lost(j, "patterns", f, BW_RESOURCE_PATTERN);
	record_str(j, "prefix", f->reading->resource_prefix);
	record_int(j, "servletContextId", f->context_id);
	record_service(j, f->reading);
}

/* "404", or "4xx": all of them. False: an error name. */
static bool put_codes(struct json_out *j, struct bw_str item)
{
	int first = (item.p[0] - '0') * 100;

	if (item.p[0] < '0' || item.p[0] > '9')
		return false;
	if (item.n == 3 && (item.p[1] == 'x' || item.p[1] == 'X'))
		for (int code = first; code < first + 100; code++)
			json_out_int(j, code);
	else
		json_out_int(j, atoi(item.p));
	return true;
}

static void put_failed_page(struct json_out *j, const struct failure *f)
{
	record_servlet_head(j, f->reading, f->context_id, BW_ABSENT);
	json_out_key(j, "errorCodes");
	json_out_array(j);
	for (size_t i = 0; i < f->n_items; i++)
		put_codes(j, f->items[i]);
	json_out_array_end(j);
	json_out_key(j, "exceptions");
	json_out_array(j);
	for (size_t i = 0; i < f->n_items; i++)
		if (f->items[i].p[0] > '9')
			json_out_string(j, f->items[i].p, f->items[i].n);
	json_out_array_end(j);
}

static void put_failed_filter(struct json_out *j, const struct failure *f)
{
	const struct reading *r = f->reading;

	record_str(j, "name", r->name);
	put_as_registered(j, "patterns", r, BW_FILTER_PATTERN);
	put_as_registered(j, "servletNames", r, BW_FILTER_SERVLET);
	put_as_registered(j, "regexs", r, BW_FILTER_REGEX);
	if (f->code == FAILURE_VALIDATION)
		put_as_registered(j, "dispatcher", r, BW_FILTER_DISPATCHER);
	else
		record_dispatchers(j, r);
	record_filter_tail(j, r, f->context_id);
}

static void put_failed_listener(struct json_out *j, const struct failure *f)
{
	record_types(j, f->reading);
	record_service(j, f->reading);
	record_int(j, "servletContextId", f->context_id);
}

static void put_failed_preprocessor(struct json_out *j, const struct failure *f)
{
	record_params(j, f->reading);
	record_service(j, f->reading);
}

/* ---- all of them ---- */

void record_failures(struct json_out *j, const struct snapshot *s)
{
	static const struct {
		enum reading_kind kind;
		const char       *key;
		void (*put)(struct json_out *j, const struct failure *f);
	} lists[] = {
		{ READING_CONTEXT, "failedServletContextDTOs", put_failed_context },
		{ READING_SERVLET, "failedServletDTOs", put_failed_servlet },
		{ READING_RESOURCE, "failedResourceDTOs", put_failed_resource },
		{ READING_FILTER, "failedFilterDTOs", put_failed_filter },
		{ READING_ERROR_PAGE, "failedErrorPageDTOs", put_failed_page },
		{ READING_LISTENER, "failedListenerDTOs", put_failed_listener },
		{ READING_PREPROCESSOR, "failedPreprocessorDTOs", put_failed_preprocessor },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		json_out_key(j, lists[i].key);
		json_out_array(j);
		for (size_t k = 0; k < s->n_failures; k++) {
			if (s->failures[k].kind != lists[i].kind)
				continue;
			json_out_object(j);
			lists[i].put(j, &s->failures[k]);
			put_failure(j, s->failures[k].code);
			json_out_object_end(j);
		}
		json_out_array_end(j);
	}
}
