/* engine.c - the content way: one whiteboard servlet at / of the context org.apache.sling.
 *
 *    handle_security      security_authenticate: who asks, and may this path be asked without a name
 *    resolve              path -> resource, and the rest of the path into selectors, extension, suffix
 *    check_requirement    once more with the resource's own path
 *    select               resource type -> servlet
 *    call                 400 for a path nobody means, else the servlet
 *    finish               error handlers; if the servlet has started something asynchronous, after that
 *
 * One function per step, so that engine filters, includes and forwards find their place between them.
 *
 * Owns: its two registrations, and through mount.c the mounted servlets. Runs in: requests' fibers;
 * waits for auth, repo and servlets. Fails with: BW_E* of those, which the whiteboard turns into an
 * error page. Tests: tests/unit/engine/engine_test.c, tests/conformance/engine. */
#include <base/fatal.h>
#include <base/log.h>
#include "bundle/bundles.h"
#include "bundle/crash_limits.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/explain.h"
#include "engine/mount.h"
#include "engine/resolve.h"
#include "engine/select.h"
#include "fiber.h"
#include "request.h"
#include "peers/resolver.h"
#include "security/security.h"
#include "settings.h"
#include "whiteboard/async.h"
#include "whiteboard/dispatch.h"
#include "whiteboard/inspect.h"
#include "whiteboard/registry.h"
#include "whiteboard/whiteboard.h"

static struct bw_context *context; /* of the engine servlet, as its init was told */
static struct bw_service *context_service, *servlet_service;

/* ---- the steps ---- */

/* Strings that a servlet sees end in a NUL: slices from the middle of the path are copied. */
static struct bw_str printable(struct bw_req *req, struct bw_str s)
{
	struct bw_str path = request_dispatch_path(req);

	return s.p == NULL || s.p + s.n == path.p + path.n ? s : request_dup(req, s);
}

static void publish(struct bw_req *req, const struct resolution *found)
{
	req->resource = found->resource;
	req->resource_path = printable(req, found->path_info.resource_path);
	req->selectors = printable(req, found->path_info.selectors);
	req->extension = printable(req, found->path_info.extension);
	req->suffix = found->path_info.suffix;
}

/* An alias or a mapping may have led to a resource whose own path needs credentials although the path
 * in the URL does not: then it does need them. Where the resource's path is the beginning of the
 * URL's, the URL has been asked about already, and a rule that opens one page (/a/b.html) stands. */
static bool lacks_credentials(const struct bw_req *req, const struct resolution *found)
{
	struct bw_str path = found->resource->record.path;

	return req->resolver->kind == RESOLVER_ANONYMOUS &&
	       !bw_str_eq(path, found->path_info.resource_path) && security_is_required(req, path);
}

static void set_subject(const struct bw_req *req, struct fiber_subject subject, const char *note)
{
	if (req->fiber == NULL)
		return;
	fiber_set_subject(req->fiber, subject);
	fiber_set_note(req->fiber, note);
}

static void release_servlet(void *arg)
{
	mount_servlet_unref(arg);
}

/* The end of the engine's part of a request whose servlet goes on. */
struct unfinished {
	struct req_later     later; /* first: finish_later gets here */
	struct fiber_subject before;
	const struct record *record;
	uint64_t             types;
};

static int finish_later(struct bw_req *req, const struct req_later *later, int rc)
{
	const struct unfinished *u = (const struct unfinished *)later;

	set_subject(req, u->before, "engine");
	return errors_finish(req, rc, u->record, u->types);
}

/* What m has started is not through: until then it is m that may crash, and must not go. */
static void go_on_later(struct bw_req *req, struct mount_servlet *m, const struct resolution *found,
                        struct fiber_subject before)
{
	struct unfinished *u = arena_alloc(&req->arena, sizeof(*u));

	*u = (struct unfinished){ .later = { finish_later, m->name },
		                  .before = before,
		                  .record = &found->resource->record,
		                  .types = found->types };
	/* Of forwards the outermost comes last, and it is the one that the client asked for. */
	req->later = &u->later;
	arena_on_done(&req->arena, release_servlet, m);
}

/* While the servlet runs its name is what a crash or a stuck worker is reported with. */
static int call(struct bw_req *req, struct mount_servlet *m, const struct resolution *found)
{
	struct fiber_subject before = { NULL, NULL };
	bool                 was_open = async_is_open(req); /* of one that includes this */
	int                  rc;

	if (m->limit != NULL && limits_answer(m->limit, req))
		return BW_OK;
	mount_servlet_ref(m);
	if (req->fiber != NULL)
		before = fiber_subject(req->fiber);
	set_subject(req, (struct fiber_subject){ MOUNT_SCOPE, m->subject }, m->name);
	if (!m->async)
		dispatch_forbid_async(req);
	rc = servlet_call(m->type, m->object, req);
	if (!was_open && async_is_open(req)) {
		go_on_later(req, m, found, before);
		return rc;
	}
	set_subject(req, before, "engine");
	mount_servlet_unref(m);
	return rc;
}

static int call_selected(struct bw_req *req, const struct resolution *found)
{
	struct select_query q = {
		.method = req->method,
		.selectors = found->path_info.selectors,
		.extension = found->path_info.extension,
		.record = &found->resource->record,
		.types = found->types,
		.request = req->id,
	};
	struct mount_servlet *m;
	enum select_result    result = select_servlet(&q, &req->arena, &m);

	if (!pathinfo_is_valid(&found->path_info)) {
		response_send_error(req, 400, NULL);
		return BW_OK;
	}
	switch (result) {
	case SELECT_FOUND:
		return call(req, m, found);
	case SELECT_NONE:
		return errors_no_servlet(req, q.record, q.types);
	case SELECT_FORBIDDEN:
		response_send_error(req, 403, NULL);
		return BW_OK;
	case SELECT_BAD_TYPE:
		log_error(req->id, "%s: its resource type cannot be a path", q.record->path.p);
		response_send_error(req, 500, NULL);
		return BW_OK;
	}
	return BW_ESTATE;
}

/* ---- the servlet ---- */

static int service(void *self, struct bw_req *req)
{
	struct resolution found;
	int               rc;

	(void)self;
	if (req->resolver == NULL) {
		log_error(req->id, "the context of the engine has authenticated nobody");
		response_builtin_page(req, 503);
		return BW_OK;
	}
	if (bw_str_eq(req->method, BW_STR("TRACE")))
		return errors_refuse_method(req, "GET, HEAD, PATCH, POST, PUT, DELETE, OPTIONS");
	rc = resolve_request(req, &found);
	if (rc != BW_OK)
		return errors_finish(req, rc, NULL, found.types);
	publish(req, &found);
	if (lacks_credentials(req, &found)) {
		security_challenge(req, "this resource needs credentials");
		return BW_OK;
	}
	rc = call_selected(req, &found);
	if (async_is_open(req))
		return rc; /* finish_later */
	return errors_finish(req, rc, &found.resource->record, found.types);
}

static int init(void *self, const struct bw_config *config)
{
	(void)self;
	context = config->context;
	return BW_OK;
}

static int handle_security(void *self, struct bw_req *req)
{
	(void)self;
	return security_authenticate(req);
}

static const struct bw_servlet engine_servlet = {
	.size = sizeof(struct bw_servlet),
	.init = init,
	.service = service,
};

static const struct bw_context_helper engine_context = {
	.size = sizeof(struct bw_context_helper),
	.handle_security = handle_security,
};

/* ---- life ---- */

static struct bw_service *register_as(struct registry *r, struct bw_bundle *b,
                                      const char *interface, const void *type,
                                      const struct bw_prop *props, size_t n)
{
	const char *const              interfaces[] = { interface, NULL };
	const struct bw_service_object object = { .type = type };
	struct bw_service             *s = NULL;
	int rc = registry_register(r, b, interfaces, &object, props, n, &s);

	if (rc != BW_OK)
		fatalx("engine: cannot register %s: %d", interface, rc);
	return s;
}

void engine_init(struct registry *r, const struct gateway_settings *settings)
{
	/* Every path is the engine's, so its context is the last one that is asked. */
	static const struct bw_prop context_props[] = {
		BW_P_STRING(BW_CONTEXT_NAME, "org.apache.sling"),
		BW_P_STRING(BW_CONTEXT_PATH, "/"),
		BW_P_INT(BW_SERVICE_RANKING, INT32_MIN),
	};
	static const struct bw_prop servlet_props[] = {
		BW_P_STRING(BW_SERVLET_NAME, "org.apache.sling.engine"),
		BW_P_STRING(BW_SERVLET_PATTERN, "/"),
		BW_P_BOOL(BW_SERVLET_ASYNC, true), /* as far as the mounted one is */
		BW_P_STRING(BW_CONTEXT_SELECT,
		            "(osgi.http.whiteboard.context.name=org.apache.sling)"),
	};
	struct bw_bundle *b = bundles_builtin("boardwalk.engine");

	context_service = register_as(r, b, BW_CONTEXT_HELPER, &engine_context, context_props, 3);
	servlet_service = register_as(r, b, BW_SERVLET, &engine_servlet, servlet_props, 4);
	mount_init(r, settings, context);
	inspect_on_route(&engine_servlet, engine_explain);
}

void engine_done(void)
{
	inspect_on_route(NULL, NULL);
	mount_done();
	select_done();
	registry_unregister(servlet_service);
	registry_unregister(context_service);
}
