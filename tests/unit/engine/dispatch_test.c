/* gateway/engine under gateway/whiteboard/dispatcher.c: content that is forwarded to or included from its
 * own context is resolved by the path of the dispatch, and the one that asked finds its own resource
 * again. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/request.h>
#include <gateway/peers/resolver.h>
#include <gateway/whiteboard/dispatcher.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>

static struct registry *registry;
static struct bw_req   *req;

/* What the front servlet does with which path, and what came of it. */
static int (*front_calls)(struct bw_req *req, struct bw_request_dispatcher *d);
static const char *front_path;
static int         front_got;
static unsigned    front_served;

/* What the content's servlet saw. */
static struct bw_str seen_resource, seen_selectors, seen_extension, seen_path;

static int serve_front(void *self, struct bw_req *r)
{
	(void)self;
	front_served++;
	response_write(r, "<", 1);
	front_got = front_calls(r, dispatcher_of_context(r, bw_str(front_path)));
	response_write(r, ">", 1);
	return front_got;
}

static int serve_content(void *self, struct bw_req *r)
{
	(void)self;
	seen_resource = r->resource->record.path;
	seen_selectors = r->selectors;
	seen_extension = r->extension;
	seen_path = request_path(r);
	response_status(r, 202);
	return response_write(r, "content", 7);
}

static int fail(void *self, struct bw_req *r)
{
	(void)self;
	(void)r;
	return BW_EBUSY;
}

static void mount(const char *key, const char *value, int (*service)(void *, struct bw_req *))
{
	static struct bw_servlet       types[8];
	static size_t                  n;
	static struct bw_bundle       *bundle;
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	const struct bw_prop           props[] = { BW_P_STRING(key, value) };
	const struct bw_service_object object = { .type = &types[n] };

	types[n++] = (struct bw_servlet){ .size = sizeof(struct bw_servlet), .service = service };
	cr_assert(registry_register(registry, bundle, interfaces, &object, props, 1, NULL) ==
	          BW_OK);
}

static void start(void)
{
	fake_forget();
	registry = fake_start();
	fake_content("/content", NULL, NULL);
	fake_content("/content/page", "t/page", NULL);
	fake_content("/content/broken", "t/broken", NULL);
	mount(BW_SLING_PATHS, "/bin/front", serve_front);
	mount(BW_SLING_TYPES, "t/page", serve_content);
	mount(BW_SLING_TYPES, "t/broken", fail);
	fake_servlet("DGET", "resourceTypes=sling/servlet/default methods=GET");
}

static void stop(void)
{
	if (req != NULL)
		fake_request_free(req);
	fake_stop();
}

TestSuite(dispatch, .init = start, .fini = stop);

static void serve(const char *target)
{
	req = fake_request("GET", target, NULL);
	whiteboard_serve(req);
}

static bool body_is(const char *text)
{
	return buf_size(&req->body) == strlen(text) &&
	       memcmp(buf_data(&req->body), text, strlen(text)) == 0;
}

Test(dispatch, includes_content)
{
	front_calls = dispatcher_include;
	front_path = "/content/page.a.html?x";
	serve("/bin/front.json");
	cr_assert(eq(int, front_got, BW_OK));
	cr_assert(body_is("<content>"));
	cr_assert(eq(int, req->status, 200));
	cr_assert_str_eq(seen_resource.p, "/content/page");
	cr_assert_str_eq(seen_selectors.p, "a");
	cr_assert_str_eq(seen_extension.p, "html");
	cr_assert_str_eq(seen_path.p, "/bin/front.json", "the getters are the includer's");
	cr_assert_str_eq(req->resource_path.p, "/bin/front");
	cr_assert_str_eq(req->extension.p, "json");
	cr_assert_str_eq(req->resource->record.path.p, "/bin/front");
	cr_assert(eq(uint, fake.asked_auth, 0));
}

Test(dispatch, forwards_to_content)
{
	front_calls = dispatcher_forward;
	front_path = "/content/page.b.txt";
	serve("/bin/front.json");
	cr_assert(body_is("content"));
	cr_assert(eq(int, req->status, 202));
	cr_assert_str_eq(seen_resource.p, "/content/page");
	cr_assert_str_eq(seen_selectors.p, "b");
	cr_assert_str_eq(seen_path.p, "/content/page.b.txt");
	cr_assert_str_eq(req->resource->record.path.p, "/bin/front");
}

Test(dispatch, included_content_that_is_missing_is_nothing)
{
	front_calls = dispatcher_include;
	front_path = "/content/none.html";
	serve("/bin/front");
	cr_assert(eq(int, front_got, BW_OK));
	cr_assert(body_is("<>"));
	cr_assert(eq(int, req->status, 200));
}

Test(dispatch, forwarded_content_that_is_missing_is_404)
{
	front_calls = dispatcher_forward;
	front_path = "/content/none.html";
	serve("/bin/front");
	cr_assert(eq(int, req->status, 404));
}

Test(dispatch, error_of_content_travels_to_who_asked)
{
	front_calls = dispatcher_include;
	front_path = "/content/broken";
	serve("/bin/front");
	cr_assert(eq(int, front_got, BW_EBUSY));
	cr_assert(eq(int, req->status, 503));
	fake_request_free(req);
	front_calls = dispatcher_forward;
	serve("/bin/front");
	cr_assert(eq(int, front_got, BW_EBUSY));
	cr_assert(eq(int, req->status, 503));
}

Test(dispatch, content_that_includes_itself_ends)
{
	front_calls = dispatcher_include;
	front_path = "/bin/front";
	serve("/bin/front");
	cr_assert(eq(int, front_got, BW_ECYCLE));
	cr_assert(eq(uint, front_served, DISPATCHER_DEPTH + 1));
	cr_assert(eq(int, req->status, 500));
}
