/* gateway/engine under gateway/whiteboard/async.c: mounted servlets start asynchronous work, which is
 * completed, dispatched, forwarded to, times out and fails, and ends in the engine's error handlers. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/fiber.h>
#include <gateway/request.h>
#include <gateway/peers/resolver.h>
#include <gateway/whiteboard/async.h>
#include <gateway/whiteboard/dispatcher.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>
#include <support/fake_loop.h>

static struct registry *registry;
static struct bw_async *kept; /* of the last start that went well */
static int              started, forwarded, included;
static unsigned         destroyed;
static const char      *forward_to;
static bool             ended; /* the last request's fiber has */

/* ---- servlets ---- */

static int start(void *self, struct bw_req *req)
{
	(void)self;
	started = async_start(req, &kept);
	if (started != BW_OK)
		return started;
	return response_write(req, "started,", 8);
}

static int start_and_fail(void *self, struct bw_req *req)
{
	start(self, req);
	return BW_EBUSY;
}

static int start_once(void *self, struct bw_req *req)
{
	if (req->dispatcher == BW_ASYNC)
		return response_write(req, "again,", 6);
	return start(self, req);
}

static int forward(void *self, struct bw_req *req)
{
	(void)self;
	forwarded = dispatcher_forward(req, dispatcher_of_context(req, bw_str(forward_to)));
	return forwarded;
}

static int write_page(void *self, struct bw_req *req)
{
	(void)self;
	return response_write(req, req->resource->record.path.p, req->resource->record.path.n);
}

static int handle_error(void *self, struct bw_req *req)
{
	(void)self;
	return response_write(req, "handled", 7);
}

static void count_destroy(void *self)
{
	(void)self;
	destroyed++;
}

static struct bw_service *mount(const char *key, const char *value, bool async,
                                int (*service)(void *, struct bw_req *))
{
	static struct bw_servlet       types[16];
	static size_t                  n;
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	const struct bw_prop           props[] = { BW_P_STRING(key, value),
		                                   BW_P_BOOL(BW_SERVLET_ASYNC, async) };
	const struct bw_service_object object = { .type = &types[n] };
	struct bw_service             *s;

	types[n++] = (struct bw_servlet){ .size = sizeof(struct bw_servlet),
		                          .service = service,
		                          .destroy = count_destroy };
	cr_assert(registry_register(registry, bundles_builtin("fake"), interfaces, &object, props,
	                            2, &s) == BW_OK);
	return s;
}

static void mount_handler(void)
{
	static const struct bw_servlet type = { .size = sizeof(type), .service = handle_error };
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	const struct bw_prop props[] = { BW_P_STRING(BW_SLING_TYPES, "sling/servlet/errorhandler"),
		                         BW_P_STRING(BW_SLING_METHODS, "default") };
	const struct bw_service_object object = { .type = &type };

	cr_assert(registry_register(registry, bundles_builtin("fake"), interfaces, &object, props,
	                            2, NULL) == BW_OK);
}

/* ---- requests ---- */

static void on_stop(struct bw_req *req)
{
	if (req->state != REQ_RESPONDING)
		return;
	ended = true;
	request_release(req); /* the fiber's share */
}

static void begin(void)
{
	fake_forget();
	registry = fake_start();
	fiber_pool_init(8);
	request_on_stop(on_stop);
	async_init();
	fake_content("/content/page", "t/page", NULL);
	mount(BW_SLING_TYPES, "t/page", false, write_page);
	mount_handler();
}

static void end(void)
{
	fake_stop();
	async_done();
	fiber_pool_done();
}

TestSuite(engine_async, .init = begin, .fini = end);

/* Runs until it ends or waits. */
static struct bw_req *ask(const char *target)
{
	struct bw_req *req = fake_request("GET", target, NULL);

	ended = false;
	req->state = REQ_NEW;
	cr_assert(request_start(req, whiteboard_serve));
	return req;
}

static void wait_for_end(void)
{
	while (!ended)
		fake_loop_turn(1000);
}

static void check(struct bw_req *req, int status, const char *body)
{
	wait_for_end();
	cr_assert(eq(int, req->status, status));
	cr_assert(buf_size(&req->body) == strlen(body) &&
	                  memcmp(buf_data(&req->body), body, strlen(body)) == 0,
	          "%.*s, not %s", (int)buf_size(&req->body), (char *)buf_data(&req->body), body);
	request_release(req);
	async_release(kept);
	kept = NULL;
}

/* ---- tests ---- */

static void write_later(struct bw_req *req, void *arg)
{
	response_write(req, arg, strlen(arg));
}

Test(engine_async, completes_after_the_servlet)
{
	struct bw_req *req;

	mount(BW_SLING_PATHS, "/bin/later", true, start);
	req = ask("/bin/later");
	cr_assert(not(ended));
	cr_assert_str_eq(fiber_subject(req->fiber).scope, "servlet",
	                 "it is the servlet that may crash");
	async_run(kept, write_later, "later");
	async_complete(kept);
	check(req, 200, "started,later");
}

Test(engine_async, needs_the_property)
{
	struct bw_req *req;

	mount(BW_SLING_PATHS, "/bin/later", false, start);
	req = ask("/bin/later");
	cr_assert(eq(int, started, BW_ESTATE));
	check(req, 500, "handled");
}

Test(engine_async, ends_in_the_engines_error_handlers)
{
	struct bw_req *req;

	mount(BW_SLING_PATHS, "/bin/later", true, start);
	mount(BW_SLING_PATHS, "/bin/fails", true, start_and_fail);
	req = ask("/bin/later");
	async_set_timeout(kept, 1);
	async_run(kept, write_later, "dropped");
	check(req, 500, "handled");
	check(ask("/bin/fails"), 503, "handled");
}

Test(engine_async, is_dispatched_to_other_content)
{
	struct bw_req *req;

	mount(BW_SLING_PATHS, "/bin/later", true, start);
	mount(BW_SLING_PATHS, "/bin/once", true, start_once);
	req = ask("/bin/later");
	async_dispatch(kept, BW_STR("/content/page.html"));
	check(req, 200, "started,/content/page");

	req = ask("/bin/later");
	async_dispatch(kept, BW_STR("/content/missing.html"));
	check(req, 404, "handled");

	req = ask("/bin/once");
	async_dispatch(kept, BW_ABSENT);
	check(req, 200, "started,again,");
}

static void include_page(struct bw_req *req, void *arg)
{
	struct fiber_subject before = fiber_subject(req->fiber);

	(void)arg;
	included = dispatcher_include(req, dispatcher_of_context(req, BW_STR("/content/page")));
	cr_assert(fiber_subject(req->fiber).pattern == before.pattern);
}

Test(engine_async, includes_while_it_waits)
{
	struct bw_req *req;

	mount(BW_SLING_PATHS, "/bin/later", true, start);
	req = ask("/bin/later");
	async_run(kept, include_page, NULL);
	async_run(kept, write_later, ",after");
	async_complete(kept);
	check(req, 200, "started,/content/page,after");
	cr_assert(eq(int, included, BW_OK));
}

Test(engine_async, is_started_behind_a_forward)
{
	struct bw_req *req;

	mount(BW_SLING_PATHS, "/bin/later", true, start);
	mount(BW_SLING_PATHS, "/bin/front", true, forward);
	mount(BW_SLING_PATHS, "/bin/hasty", false, forward);
	forward_to = "/bin/later";
	req = ask("/bin/front");
	cr_assert(not(ended));
	async_run(kept, write_later, "later");
	async_complete(kept);
	check(req, 200, "started,later");
	cr_assert(eq(int, forwarded, BW_OK));

	check(ask("/bin/hasty"), 500, "handled"); /* which does not support it itself */
	cr_assert(eq(int, started, BW_ESTATE));
}

Test(engine_async, keeps_the_servlet_to_its_end)
{
	struct bw_service *s = mount(BW_SLING_PATHS, "/bin/later", true, start);
	struct bw_req     *req = ask("/bin/later");

	registry_unregister(s);
	cr_assert(eq(uint, destroyed, 0));
	async_run(kept, write_later, "later");
	async_complete(kept);
	check(req, 200, "started,later");
	cr_assert(eq(uint, destroyed, 1));
	check(ask("/bin/later"), 404, "handled");
}
