/* site.h - a whiteboard with a few servlets, and requests served by it on fibers without sockets. For
 * async_test.c and dispatcher_test.c. */
#pragma once
#include <base/log.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fiber.h>
#include <gateway/whiteboard/async.h>
#include <gateway/whiteboard/attr.h>
#include <gateway/whiteboard/dispatcher.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>
#include <path.h>
#include <support/fake_loop.h>

#pragma GCC diagnostic ignored "-Wunused-function"

static struct registry *site_registry;
static bool             site_ended; /* the last request's fiber has */

static void site_on_stop(struct bw_req *req)
{
	if (req->state != REQ_RESPONDING)
		return;
	site_ended = true;
	request_release(req); /* the fiber's share */
}

static void site_start(void)
{
	log_init("test", LOG_LEVEL_ERROR);
	fiber_pool_init(8);
	request_on_stop(site_on_stop);
	async_init();
	site_registry = registry_new();
	whiteboard_init(site_registry);
}

static void site_stop(void)
{
	whiteboard_done();
	registry_free(site_registry);
	async_done();
	request_pool_done();
	fiber_pool_done();
}

static struct bw_bundle *site_bundle(void)
{
	static struct bw_bundle bundle = { .name = "test" };

	return &bundle;
}

static void site_register(const char *interface, const void *type, const struct bw_prop *props,
                          size_t n)
{
	const char *const              interfaces[] = { interface, NULL };
	const struct bw_service_object object = { .type = type };

	cr_assert(eq(int,
	             registry_register(site_registry, site_bundle(), interfaces, &object, props, n,
	                               NULL),
	             BW_OK));
}

/* What a pattern is served with; the servlet is asynchronous. */
static void site_servlet(const char *pattern, const struct bw_servlet *type)
{
	const struct bw_prop props[] = { BW_P_STRING(BW_SERVLET_PATTERN, pattern),
		                         BW_P_BOOL(BW_SERVLET_ASYNC, true) };

	site_register(BW_SERVLET, type, props, 2);
}

/* Runs until the request ends or is parked. The transport's share is the caller's: site_end. */
static struct bw_req *site_begin(const char *target)
{
	struct bw_req     *req = request_new();
	struct path_target t;

	cr_assert(
		eq(int, path_canonical(&req->arena, request_dup(req, bw_str(target)), &t), BW_OK));
	req->method = BW_STR("GET");
	req->uri = t.uri;
	req->query = t.query;
	req->path = t.path;
	site_ended = false;
	cr_assert(request_start(req, whiteboard_serve));
	return req;
}

static void site_wait(void)
{
	while (!site_ended)
		fake_loop_turn(1000);
}

static void site_end(struct bw_req *req)
{
	cr_assert(site_ended);
	request_release(req);
}

static bool site_body_is(const struct bw_req *req, const char *text)
{
	return buf_size(&req->body) == strlen(text) &&
	       memcmp(buf_data(&req->body), text, strlen(text)) == 0;
}
