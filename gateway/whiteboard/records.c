/* Records of what is active, as JSON with the names and fields of OSGi's DTOs (140.9).
 *
 * Owns: nothing. Runs in: the worker's thread. Fails with: nothing.
 * Tests: tests/unit/whiteboard/inspect_test.c, tests/conformance (O). */
#include "records.h"

#include "filter.h"
#include "listener.h"
#include "whiteboard.h"

#include <base/buf.h>
#include <bundle/crash_limits.h>
#include <forms/multipart.h>
#include <shared.h>

/* ---- fields ---- */

void record_str(struct json_out *j, const char *key, struct bw_str value)
{
	json_out_key(j, key);
	json_out_string(j, value.p, value.n);
}

void record_int(struct json_out *j, const char *key, int64_t value)
{
	json_out_key(j, key);
	json_out_int(j, value);
}

void record_bool(struct json_out *j, const char *key, bool value)
{
	json_out_key(j, key);
	json_out_bool(j, value);
}

void record_strs(struct json_out *j, const char *key, const struct bw_str *items, size_t n)
{
	json_out_key(j, key);
	json_out_array(j);
	for (size_t i = 0; i < n; i++)
		json_out_string(j, items[i].p, items[i].n);
	json_out_array_end(j);
}

static void put_patterns(struct json_out *j, const struct pattern *patterns, size_t n)
{
	json_out_key(j, "patterns");
	json_out_array(j);
	for (size_t i = 0; i < n; i++)
		json_out_string(j, patterns[i].text.p, patterns[i].text.n);
	json_out_array_end(j);
}

void record_params(struct json_out *j, const struct reading *r)
{
	json_out_key(j, "initParams");
	json_out_object(j);
	for (size_t i = 0; i < r->n_params; i++)
		record_str(j, r->params[i].name.p, r->params[i].value);
	json_out_object_end(j);
}

/* The registration of a record; last, so that an object that is failed can go on. */
void record_service(struct json_out *j, const struct reading *r)
{
	record_int(j, "serviceId", r->id);
	record_str(j, "bundle", r->bundle ? bw_str(r->bundle->name) : BW_STR("boardwalk"));
	if (bundle_is_stood_in_for(r->bundle))
		record_bool(j, "standIn", true);
}

/* Without the numbers of services, in which workers differ that answer alike. */
bool record_unavailable(struct json_out *j, const struct shared_limit *limit,
                        const struct bw_bundle *b)
{
	struct buf text;
	bool       is_so = true;

	buf_init(&text);
	if (limit && limits_hold(limit))
		buf_printf(&text, "%s crashed a worker not long ago", limit->subject);
	else if (!bundle_is_stood_in_for(b))
		is_so = false;
	else if (b->state == BUNDLE_STOPPED)
		buf_printf(&text, "bundle %s is stopped", b->name);
	else
		buf_printf(&text, "bundle %s is refused%s%s", b->name, b->failure ? ": it " : "",
		           b->failure ? b->failure : "");
	json_out_key(j, "unavailable");
	json_out_string(j, is_so ? (const char *)buf_data(&text) : NULL, buf_size(&text));
	buf_done(&text);
	return is_so;
}

/* ---- servlets, error pages, resources ---- */

void record_servlet_head(struct json_out *j, const struct reading *r, int64_t context_id,
                         struct bw_str info)
{
	record_str(j, "name", r->name);
	record_str(j, "servletInfo", info);
	record_bool(j, "asyncSupported", r->async);
	record_params(j, r);
	record_int(j, "servletContextId", context_id);
	record_service(j, r);
}

static void put_held(struct json_out *j, const struct snapshot_servlet *servlet)
{
	json_out_key(j, "patterns");
	json_out_array(j);
	for (size_t i = 0; i < servlet->n_patterns; i++)
		json_out_string(j, servlet->patterns[i]->text.p, servlet->patterns[i]->text.n);
	json_out_array_end(j);
}

static int64_t context_id(const struct snapshot_servlet *servlet)
{
	return servlet->context->context->reading->id;
}

/* As registered; zeros and nothing of one that takes no parts. The last two are ours, not OSGi's. */
void record_upload(struct json_out *j, const struct reading *servlet, const struct upload *bound)
{
	const struct reading_upload *u = &servlet->upload;

	record_bool(j, "multipartEnabled", u->enabled);
	record_int(j, "multipartFileSizeThreshold", u->threshold);
	record_str(j, "multipartLocation", u->location);
	record_int(j, "multipartMaxFileSize", u->max_file_size);
	record_int(j, "multipartMaxRequestSize", u->max_request_size);
	record_int(j, "multipartMaxFileCount", u->max_file_count);
	record_str(j, "multipartFolder", bw_str(bound ? bound->location : NULL));
}

void record_servlet(struct json_out *j, const struct snapshot_servlet *servlet)
{
	json_out_object(j);
	record_servlet_head(j, servlet->reading, context_id(servlet), servlet_info(servlet->type));
	put_held(j, servlet);
	record_upload(j, servlet->reading, servlet->upload);
	json_out_object_end(j);
}

void record_resource(struct json_out *j, const struct snapshot_servlet *resource)
{
	json_out_object(j);
	put_held(j, resource);
	record_str(j, "prefix", resource->reading->resource_prefix);
	record_int(j, "servletContextId", context_id(resource));
	record_service(j, resource->reading);
	json_out_object_end(j);
}

/* A page for a whole class is listed with each code of it that it has. */
void record_page(struct json_out *j, const struct snapshot_servlet *page)
{
	const struct snapshot_context *c = page->context;

	json_out_object(j);
	record_servlet_head(j, page->reading, context_id(page), servlet_info(page->type));
	json_out_key(j, "exceptions");
	json_out_array(j);
	for (size_t i = 0; i < c->n_error_names; i++)
		if (c->error_names[i].page == page)
			json_out_string(j, c->error_names[i].name.p, c->error_names[i].name.n);
	json_out_array_end(j);
	json_out_key(j, "errorCodes");
	json_out_array(j);
	for (int code = READING_CODE_MIN; c->codes && code <= READING_CODE_MAX; code++)
		if (c->codes[code - READING_CODE_MIN] == page)
			json_out_int(j, code);
	json_out_array_end(j);
	json_out_object_end(j);
}

/* ---- filters, listeners, preprocessors ---- */

void record_dispatchers(struct json_out *j, const struct reading *r)
{
	json_out_key(j, "dispatcher");
	json_out_array(j);
	for (enum bw_dispatcher type = BW_REQUEST; type <= BW_ERROR; type++)
		if (r->dispatchers & 1u << type)
			json_out_text(j, filter_dispatcher_name(type));
	json_out_array_end(j);
}

void record_filter_tail(struct json_out *j, const struct reading *r, int64_t context)
{
	record_bool(j, "asyncSupported", r->async);
	record_params(j, r);
	record_service(j, r);
	record_int(j, "servletContextId", context);
}

void record_filter(struct json_out *j, const struct reading *r, int64_t context)
{
	json_out_object(j);
	record_str(j, "name", r->name);
	put_patterns(j, r->patterns, r->n_patterns);
	record_strs(j, "servletNames", r->servlet_names, r->n_servlet_names);
	json_out_key(j, "regexs");
	json_out_array(j);
	for (size_t i = 0; i < r->n_regexes; i++)
		json_out_text(j, r->regexes[i].text);
	json_out_array_end(j);
	record_dispatchers(j, r);
	record_filter_tail(j, r, context);
	json_out_object_end(j);
}

void record_types(struct json_out *j, const struct reading *r)
{
	json_out_key(j, "types");
	json_out_array(j);
	for (size_t i = 0; i < LISTENER_INTERFACES; i++)
		if (r->listens & 1u << i)
			json_out_text(j, listener_interface(i));
	json_out_array_end(j);
}

void record_listener(struct json_out *j, const struct reading *r, int64_t context)
{
	json_out_object(j);
	record_types(j, r);
	record_service(j, r);
	record_int(j, "servletContextId", context);
	json_out_object_end(j);
}

void record_preprocessor(struct json_out *j, const struct reading *r)
{
	json_out_object(j);
	record_params(j, r);
	record_service(j, r);
	json_out_object_end(j);
}
