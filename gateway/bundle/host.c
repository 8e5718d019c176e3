/* The host table: what a bundle may call. Most entries are the gateway's own functions of the same
 * shape; the rest are the few lines between an opaque struct of the API and its fields.
 *
 * Runs in: a request's fiber, or a bundle's start. Tests: tests/unit/whiteboard/bundles_test.c,
 * tests/conformance (whose servlets call through this table). */
#include "bundles.h"
#include "edit/blob.h"
#include "edit/edit.h"
#include "edit/version.h"
#include "forms/cookies.h"
#include "files.h"
#include "forms/head.h"
#include "forms/multipart.h"
#include "offload.h"
#include "forms/params.h"
#include "request.h"
#include "peers/ask_account.h"
#include "peers/resolver.h"
#include "peers/search.h"
#include "security/security.h"
#include "session/session.h"
#include "whiteboard/async.h"
#include "whiteboard/attr.h"
#include "whiteboard/dispatcher.h"
#include "whiteboard/helper.h"
#include "whiteboard/inspect.h"
#include "whiteboard/listener.h"
#include "whiteboard/registry.h"
#include "whiteboard/snapshot.h"
#include "whiteboard/whiteboard.h"

#include <base/buf.h>
#include <base/log.h>

static struct registry *registry; /* of this worker */

void bundles_use(struct registry *r)
{
	registry = r;
}

static int service_register(struct bw_bundle *b, const char *const *interfaces,
                            const struct bw_service_object *object, const struct bw_prop *props,
                            size_t n_props, struct bw_service **ret_service)
{
	if (b->life >= LIFE_LEAVING)
		return BW_ESTATE; /* a request or a job that outlived its bundle's place */
	return registry_register(registry, b, interfaces, object, props, n_props, ret_service);
}

static int service_register_as(struct bw_bundle *b, const struct bw_interface *as, size_t n_as,
                               const struct bw_service_object *object, const struct bw_prop *props,
                               size_t n_props, struct bw_service **ret_service)
{
	if (b->life >= LIFE_LEAVING)
		return BW_ESTATE;
	return registry_register_as(registry, b, as, n_as, object, props, n_props, ret_service);
}

static struct bw_str req_get(const struct bw_req *req, enum bw_req_field field)
{
	switch (field) {
	case BW_REQ_METHOD:
		return req->method;
	case BW_REQ_URI:
		return request_uri(req);
	case BW_REQ_QUERY:
		return request_query(req);
	case BW_REQ_PATH:
		return request_path(req);
	case BW_REQ_CONTEXT_PATH:
		return req->context_path;
	case BW_REQ_SERVLET_PATH:
		return req->servlet_path;
	case BW_REQ_PATH_INFO:
		return req->path_info;
	case BW_REQ_SCHEME:
		return req->scheme;
	case BW_REQ_HOST:
		return req->host;
	case BW_REQ_REMOTE_ADDR:
		return req->remote_addr;
	case BW_REQ_REMOTE_USER:
		return req->remote_user;
	case BW_REQ_AUTH_TYPE:
		return req->auth_type;
	case BW_REQ_SERVLET_NAME:
		return req->servlet_name;
	case BW_REQ_PATTERN:
		return req->pattern;
	case BW_REQ_MATCH_VALUE:
		return req->match_value;
	case BW_REQ_ID:
		return bw_str(req->id_text);
	case BW_REQ_RESOURCE_PATH:
		return req->resource_path;
	case BW_REQ_SELECTORS:
		return req->selectors;
	case BW_REQ_EXTENSION:
		return req->extension;
	case BW_REQ_SUFFIX:
		return req->suffix;
	}
	return BW_ABSENT; /* a field that this version does not know */
}

static enum bw_dispatcher req_dispatcher(const struct bw_req *req)
{
	return req->dispatcher;
}

static int64_t req_body_length(const struct bw_req *req)
{
	return (int64_t)req->body_length;
}

static int req_body_read(struct bw_req *req, uint64_t offset, void *buf, size_t n, size_t *ret_n)
{
	return request_body_read(req, offset, buf, n, ret_n);
}

static void *req_alloc(struct bw_req *req, size_t n)
{
	return arena_alloc(&req->arena, n);
}

static int res_get_status(const struct bw_req *req)
{
	return req->status;
}

static bool res_committed(const struct bw_req *req)
{
	return req->committed;
}

static struct bw_resource *req_resource(struct bw_req *req)
{
	return req->resource;
}

/* The API's levels are the log's own; what is in between counts as the next quieter one. */
static enum log_level level_of(int level)
{
	if (level <= LOG_LEVEL_ERROR)
		return LOG_LEVEL_ERROR;
	if (level <= LOG_LEVEL_WARNING)
		return LOG_LEVEL_WARNING;
	return level <= LOG_LEVEL_INFO ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
}

static void write_log(struct bw_bundle *b, struct bw_req *req, int level, struct bw_str text)
{
	if (log_enabled(level_of(level)))
		log_printf(level_of(level), req ? req->id : 0, "%s: %.*s", b->name, (int)text.n,
		           text.p);
}

static int64_t runtime_change_count(void)
{
	return (int64_t)snapshot_current()->number;
}

static void tell_and_free(struct buf *json, void (*tell)(void *arg, struct bw_str json), void *arg)
{
	tell(arg, (struct bw_str){ (const char *)buf_data(json), buf_size(json) });
	buf_done(json);
}

static void runtime_snapshot(void (*tell)(void *arg, struct bw_str json), void *arg)
{
	struct buf json;

	buf_init(&json);
	inspect_whiteboard(&json);
	tell_and_free(&json, tell, arg);
}

static int runtime_route(const char *method, const char                    *target,
                         void (*tell)(void *arg, struct bw_str json), void *arg)
{
	struct buf json;
	int        err;

	buf_init(&json);
	err = inspect_route(method, target, &json);
	tell_and_free(&json, tell, arg);
	return err;
}

const struct bw_host *bundles_host(void)
{
	static const struct bw_host host = {
		.size = sizeof(host),
		.service_register = service_register,
		.service_modify = registry_modify,
		.service_unregister = registry_unregister,
		.req_get = req_get,
		.req_header = request_header,
		.req_dispatcher = req_dispatcher,
		.req_body_length = req_body_length,
		.req_body_read = req_body_read,
		.req_attr = attr_get,
		.req_set_attr = listener_set_attr,
		.req_alloc = req_alloc,
		.res_status = response_status,
		.res_get_status = res_get_status,
		.res_header = response_header,
		.res_write = response_write,
		.res_flush = response_flush,
		.res_committed = res_committed,
		.res_send_error = response_send_error,
		.req_fail = response_fail,
		.req_fail_because = response_fail_because,
		.req_authenticate = security_authenticate,
		.chain_next = whiteboard_chain_next,
		.req_resolver = resolver_of_request,
		.service_resolver = resolver_of_service,
		.resolver_user = resolver_user,
		.resolver_get = resolver_get,
		.resource_field = resource_field,
		.resource_property = resource_property,
		.resolver_children = resolver_children,
		.req_resource = req_resource,
		.log = write_log,
		.offload = offload_run,
		.sleep_ms = offload_sleep_ms,
		.context_dispatcher = dispatcher_of_context,
		.req_get_dispatcher = dispatcher_of_request,
		.context_named_dispatcher = dispatcher_named,
		.forward = dispatcher_forward,
		.include = dispatcher_include,
		.req_start_async = async_start,
		.async_set_timeout = async_set_timeout,
		.async_listen = async_listen,
		.async_run = async_run,
		.async_complete = async_complete,
		.async_dispatch = async_dispatch,
		.async_release = async_release,
		.req_context = context_of_request,
		.context_get = context_get_field,
		.context_param = context_param,
		.context_param_name = context_param_name,
		.context_attr = context_attr,
		.context_attr_name = context_attr_name,
		.context_set_attr = context_set_attr,
		.context_mime_type = context_mime_type,
		.context_resource = context_resource,
		.context_real_path = context_real_path,
		.context_resource_paths = context_resource_paths,
		.file_embedded = embedded_find,
		.file_embedded_paths = embedded_paths,
		.file_open = file_open,
		.file_read = file_read,
		.file_close = file_close,
		.service_id = service_id,
		.req_header_values = head_values,
		.req_header_names = head_names,
		.req_header_int = head_int,
		.req_header_date = head_date,
		.req_url = head_url,
		.req_attr_names = attr_names,
		.req_param = params_get,
		.req_param_values = params_values,
		.req_param_names = params_names,
		.req_params = params_all,
		.req_cookie = cookies_get,
		.req_cookies = cookies_all,
		.res_add_cookie = cookies_add,
		.req_parts = multipart_parts,
		.req_part = multipart_part,
		.part_get = multipart_get,
		.part_header = multipart_header,
		.part_headers = multipart_headers,
		.part_size = multipart_size,
		.part_read = multipart_read,
		.req_session = session_of_request,
		.session_id = session_id,
		.session_info = session_info,
		.session_set_timeout = session_set_timeout,
		.session_get = session_get,
		.session_name = session_name,
		.session_set = session_set,
		.session_add = session_add,
		.session_invalidate = session_invalidate,
		.session_change_id = session_change_id,
		.runtime_change_count = runtime_change_count,
		.runtime_snapshot = runtime_snapshot,
		.runtime_route = runtime_route,
		.editing = &resolver_editing,
		.service_register_as = service_register_as,
		.res_reset = response_take_back,
		.res_get_header = response_get_header,
		.searching = &resolver_searching,
		.blobs = &resolver_blobs,
		.access = &resolver_access,
		.versioning = &resolver_versioning,
		.req_csrf_token = security_csrf_token,
		.authentication = &security_authentication,
		.accounts = &resolver_accounts,
	};

	return &host;
}
