/* gateway/engine/engine.c, resolve.c and errors.c: what a client is answered when there is no servlet,
 * no resource, no permission, no peer, or a servlet that fails. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/engine/engine.h>
#include <gateway/peers/resolver.h>
#include <gateway/whiteboard/attr.h>
#include <gateway/whiteboard/inspect.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>
#include <stdlib.h>

static struct registry *registry;
static struct bw_req   *req; /* the last one served */

static void start(void)
{
	fake_forget();
	registry = fake_start();
}

static void stop(void)
{
	if (req != NULL)
		fake_request_free(req);
	fake_stop();
}

TestSuite(engine, .init = start, .fini = stop);

static int serve(const char *method, const char *target)
{
	if (req != NULL)
		fake_request_free(req);
	req = fake_request(method, target, NULL);
	whiteboard_serve(req);
	return req->status;
}

static const char *header(const char *name)
{
	struct bw_str value = fake_response_header(req, name);

	return value.p != NULL ? value.p : "-";
}

Test(engine, asks_nobody_for_the_very_path_of_a_servlet)
{
	fake_servlet("hello", "paths=/bin/hello");
	cr_assert(serve("GET", "/bin/hello") == 200);
	cr_assert_str_eq(fake_called, "hello");
	cr_assert(serve("POST", "/bin/hello/") == 200);
	cr_assert(eq(uint, fake.asked_auth + fake.asked_repo, 0));
	cr_assert(bw_str_eq(resource_field(req->resource, BW_RESOURCE_PATH), BW_STR("/bin/hello")));
	cr_assert(bw_str_eq(req->resource_path, BW_STR("/bin/hello")));
	cr_assert(bw_str_eq(req->suffix, BW_STR("/")));
	cr_assert(req->resource_path.p[req->resource_path.n] == '\0');
	cr_assert(req->resource->resolver == req->resolver && req->resolver->handle.p == NULL);
}

Test(engine, lets_the_longer_of_stored_and_mounted_win)
{
	fake_servlet("hello", "paths=/bin/hello");
	fake_servlet("type", "resourceTypes=t/one");
	cr_assert(serve("GET", "/bin/hello.html") == 200);
	cr_assert_str_eq(fake_called, "hello");
	cr_assert(eq(uint, fake.asked_repo, 1));
	fake_content("/bin/hello", "t/one", NULL);
	serve("GET", "/bin/hello.html");
	cr_assert_str_eq(fake_called, "hello", "mounted hides stored");
	fake_content("/bin/hello.html", "t/one", NULL);
	serve("GET", "/bin/hello.html");
	cr_assert_str_eq(fake_called, "type");
	serve("GET", "/bin/hello.a.txt");
	cr_assert_str_eq(fake_called, "hello");
	cr_assert(bw_str_eq(req->selectors, BW_STR("a")) &&
	          bw_str_eq(req->extension, BW_STR("txt")));
	cr_assert(req->selectors.p[1] == '\0' && req->extension.p[3] == '\0');
}

Test(engine, answers_by_itself_where_nobody_is_registered)
{
	static const struct {
		const char *method, *target;
		int         status;
		const char *allow;
	} cases[] = {
		{ "GET", "/nowhere", 404, "-" },
		{ "HEAD", "/nowhere.html", 404, "-" },
		{ "POST", "/nowhere", 405, "OPTIONS" },
		{ "DELETE", "/c/x", 405, "POST, OPTIONS" },
		{ "GET", "/c/x", 404, "-" },
		{ "OPTIONS", "/c/x", 200, "POST, OPTIONS" },
		{ "OPTIONS", "/c/y.html", 200, "GET, HEAD, OPTIONS" },
		{ "PUT", "/c/y.html", 405, "GET, HEAD, OPTIONS" },
		{ "BREW", "/c/y.html", 405, "GET, HEAD, OPTIONS" },
		{ "TRACE", "/c/y.html", 405, "GET, HEAD, PATCH, POST, PUT, DELETE, OPTIONS" },
		{ "GET", "/c/y.a..b.html", 400, "-" },
		{ "GET", "/c/bad", 500, "-" },
	};

	fake_content("/c/x", "t/post", NULL);
	fake_content("/c/y", "t/html", NULL);
	fake_content("/c/bad", "t/.../x", NULL);
	fake_servlet("post", "resourceTypes=t/post methods=POST");
	fake_servlet("html", "resourceTypes=t/html extensions=html");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int status = serve(cases[i].method, cases[i].target);

		cr_assert(eq(int, status, cases[i].status), "%s %s", cases[i].method,
		          cases[i].target);
		cr_assert_str_eq(header("allow"), cases[i].allow, "%s %s", cases[i].method,
		                 cases[i].target);
		cr_assert_str_eq(fake_called, "", "%s %s", cases[i].method, cases[i].target);
	}
}

Test(engine, answers_what_the_peers_could_not)
{
	static const struct {
		int error, status;
	} cases[] = { { BW_EGONE, 503 },  { BW_EBUSY, 503 },    { BW_ETIME, 504 },
		      { BW_EPROTO, 500 }, { BW_EEXPIRED, 500 }, { BW_EIO, 500 } };

	fake_servlet("all", "resourceTypes=sling/servlet/default methods=*");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.repo = cases[i].error;
		cr_assert(eq(int, serve("GET", "/c/x"), cases[i].status));
		cr_assert_str_eq(header("retry-after"), cases[i].status == 503 ? "1" : "-");
		cr_assert_str_eq(fake_called, "");
	}
}

Test(engine, needs_credentials_where_the_resource_itself_does)
{
	const char *const        interfaces[] = { "rules", NULL };
	struct bw_service_object object = { .type = &registry };
	const struct bw_prop     rules[] = { BW_P_STRINGS(BW_AUTH_REQUIREMENTS, "+/secret",
		                                          "-/secret/open.html") };

	cr_assert(registry_register(registry, NULL, interfaces, &object, rules, 1, NULL) == BW_OK);
	fake_content("/alias", "t/one", NULL);
	fake_content("/secret/open", "t/one", NULL);
	fake_servlet("all", "resourceTypes=sling/servlet/default methods=*");
	cr_assert(serve("GET", "/alias.html") == 200);
	cr_assert(serve("GET", "/secret/open") == 401);
	cr_assert(serve("GET", "/secret/open.html") == 200, "the operator opened this one page");
	fake.resource_path = BW_STR("/secret/x");
	cr_assert(serve("GET", "/alias.html") == 401);
	cr_assert_str_eq(fake_called, "");
	cr_assert_str_eq(header("www-authenticate"),
	                 "Basic realm=\"Boardwalk\", charset=\"UTF-8\"");
}

Test(engine, serves_nobody_in_a_context_that_authenticates_nobody)
{
	static const struct bw_context_helper open_to_all = { .size = sizeof(open_to_all) };
	const char *const                     interfaces[] = { BW_CONTEXT_HELPER, NULL };
	struct bw_service_object              object = { .type = &open_to_all };
	const struct bw_prop props[] = { BW_P_STRING(BW_CONTEXT_NAME, "org.apache.sling"),
		                         BW_P_STRING(BW_CONTEXT_PATH, "/"),
		                         BW_P_INT(BW_SERVICE_RANKING, 10) };
	struct bw_service   *s;

	fake_servlet("hello", "paths=/bin/hello");
	cr_assert(registry_register(registry, NULL, interfaces, &object, props, 3, &s) == BW_OK);
	cr_assert(serve("GET", "/bin/hello") == 503);
	cr_assert_str_eq(fake_called, "");
	registry_unregister(s);
	cr_assert(serve("GET", "/bin/hello") == 200);
}

static struct bw_service *own_service;
static bool               is_destroyed;

static int leave(void *self, struct bw_req *r)
{
	(void)self;
	registry_unregister(own_service);
	cr_assert(is_destroyed == false, "it is still in here");
	return response_write(r, "bye", 3);
}

static void note_destroyed(void *self)
{
	(void)self;
	is_destroyed = true;
}

Test(engine, destroys_a_servlet_that_takes_itself_away_after_its_call)
{
	static const struct bw_servlet leaver = { .size = sizeof(leaver),
		                                  .service = leave,
		                                  .destroy = note_destroyed };
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	struct bw_service_object       object = { .type = &leaver };
	const struct bw_prop           props[] = { BW_P_STRING(BW_SLING_PATHS, "/bin/leave") };

	registry_register(registry, NULL, interfaces, &object, props, 1, &own_service);
	cr_assert(serve("GET", "/bin/leave") == 200);
	cr_assert(is_destroyed);
	cr_assert(bw_str_eq(resource_field(req->resource, BW_RESOURCE_TYPE),
	                    BW_STR("/bin/leave.servlet")),
	          "the resource is the request's");
	cr_assert(serve("GET", "/bin/leave") == 404);
}

Test(engine, follows_changes_of_stored_super_types)
{
	fake_servlet("super", "resourceTypes=t/super extensions=html");
	fake_content("/c/x", "t/one", NULL);
	cr_assert(serve("GET", "/c/x.html") == 404);
	cr_assert(serve("GET", "/c/x.html") == 404);
	fake_content("/apps/t/one", NULL, "t/super");
	cr_assert(serve("GET", "/c/x.html") == 200);
	cr_assert(serve("GET", "/c/x.html") == 200);
	fake_remove_content("/apps/t/one");
	cr_assert(serve("GET", "/c/x.html") == 404);
}

/* ---- error handlers ---- */

static int (*handler_does)(struct bw_req *r);

static int handler_service(void *self, struct bw_req *r)
{
	(void)self;
	return handler_does(r);
}

static const struct bw_servlet handler = {
	.size = sizeof(struct bw_servlet),
	.service = handler_service,
};

static void mount_handler(const char *methods)
{
	const char *const        interfaces[] = { BW_SERVLET, NULL };
	struct bw_service_object object = { .type = &handler };
	const struct bw_prop props[] = { BW_P_STRING(BW_SLING_TYPES, "sling/servlet/errorhandler"),
		                         BW_P_STRING(BW_SLING_METHODS, methods) };

	cr_assert(registry_register(registry, NULL, interfaces, &object, props, 2, NULL) == BW_OK);
}

static int tell(struct bw_req *r)
{
	static const char *const names[] = { "status_code", "message",      "request_uri",
		                             "method",      "query_string", "exception_type" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char          name[64];
		struct bw_str value;

		snprintf(name, sizeof(name), "jakarta.servlet.error.%s", names[i]);
		value = attr_get(r, name);
		if (value.p != NULL)
			response_write(r, value.p, value.n);
		response_write(r, " ", 1);
	}
	return response_write(r, r->method.p, r->method.n);
}

static const char *body(void)
{
	static char text[512];

	snprintf(text, sizeof(text), "%.*s", (int)buf_size(&req->body),
	         (char *)buf_data(&req->body));
	return text;
}

Test(engine, leaves_the_paths_of_whiteboard_servlets_to_them)
{
	static const struct bw_context_helper open_to_all = { .size = sizeof(open_to_all) };
	const char *const                     context[] = { BW_CONTEXT_HELPER, NULL };
	const char *const                     interfaces[] = { BW_SERVLET, NULL };
	struct bw_service_object              helper = { .type = &open_to_all };
	struct bw_service_object              object = { .type = &handler };
	const struct bw_prop plain[] = { BW_P_STRING(BW_SERVLET_PATTERN, "/plain") };
	const struct bw_prop own[] = { BW_P_STRING(BW_CONTEXT_NAME, "own"),
		                       BW_P_STRING(BW_CONTEXT_PATH, "/") };
	const struct bw_prop in_own[] = { BW_P_STRING(BW_SERVLET_PATTERN, "/own"),
		                          BW_P_STRING(BW_CONTEXT_SELECT, "own") };

	handler_does = tell;
	registry_register(registry, NULL, interfaces, &object, plain, 1, NULL);
	registry_register(registry, NULL, context, &helper, own, 2, NULL);
	registry_register(registry, NULL, interfaces, &object, in_own, 2, NULL);
	cr_assert(serve("GET", "/plain") == 200 && req->resolver == NULL);
	cr_assert(serve("GET", "/own") == 200 && req->resolver == NULL);
	cr_assert(serve("GET", "/plain/x") == 404 && req->resolver != NULL);
}

Test(engine, hands_a_status_to_its_handler_with_the_status_set)
{
	handler_does = tell;
	mount_handler("404");
	cr_assert(serve("GET", "/no%20where.html?q=1") == 404);
	cr_assert_str_eq(body(), "404  /no%20where.html GET q=1  GET");
	cr_assert_str_eq(header("content-type"), "-", "headers are reset");
	fake_servlet("all", "resourceTypes=sling/servlet/default methods=*");
	fake_fails_with = 404;
	cr_assert(serve("POST", "/x") == 404);
	cr_assert_str_eq(body(), "404 on purpose /x POST   GET");
	cr_assert(bw_str_eq(req->method, BW_STR("POST")), "the method is the client's again");
	fake_fails_with = 410;
	cr_assert(serve("GET", "/x") == 410);
	cr_assert(strstr(body(), "410 Gone") != NULL, "the built-in page: nobody handles it");
}

Test(engine, hands_a_returned_error_to_the_nearest_name)
{
	handler_does = tell;
	fake_servlet("all", "resourceTypes=sling/servlet/default methods=*");
	mount_handler("500");
	fake_fails_with = BW_ETIME;
	cr_assert(serve("GET", "/x") == 504);
	cr_assert(strstr(body(), "504 Gateway Timeout") != NULL, "a status handler is not asked");
	mount_handler("bw.error");
	fake_fails_with = BW_ETIME;
	cr_assert(serve("GET", "/x") == 504);
	cr_assert_str_eq(body(), "504 out of time /x GET  bw.error.io.timeout GET");
	fake.repo = BW_EGONE;
	cr_assert(serve("GET", "/x") == 503);
	cr_assert_str_eq(body(), "503 the other side is gone /x GET  bw.error.io.gone GET");
}

static int own_error(struct bw_req *r)
{
	return response_fail(r, "acme.billing.declined", "card refused");
}

static int fail(struct bw_req *r)
{
	response_write(r, "half", 4);
	return BW_EIO;
}

static int send_another(struct bw_req *r)
{
	return response_send_error(r, 502, NULL);
}

Test(engine, gives_up_on_a_handler_that_fails)
{
	handler_does = fail;
	mount_handler("404");
	cr_assert(serve("GET", "/nowhere") == 404);
	cr_assert(strstr(body(), "404 Not Found") != NULL && strstr(body(), "half") == NULL);
	handler_does = send_another;
	cr_assert(serve("GET", "/nowhere") == 404, "the first status stands");
	cr_assert(strstr(body(), "404 Not Found") != NULL);
	handler_does = own_error;
	cr_assert(serve("GET", "/nowhere") == 404);
}

Test(engine, keeps_the_headers_that_belong_to_a_status)
{
	handler_does = tell;
	mount_handler("405");
	cr_assert(serve("POST", "/nowhere") == 405);
	cr_assert_str_eq(header("allow"), "OPTIONS");
	cr_assert_str_eq(body(), "405  /nowhere POST   GET");
	mount_handler("bw.error");
	fake.repo = BW_EBUSY;
	cr_assert(serve("GET", "/nowhere") == 503);
	cr_assert_str_eq(header("retry-after"), "1");
	cr_assert_str_eq(header("allow"), "-");
}

Test(engine, climbs_from_an_own_name_to_the_root)
{
	static const char *const steps[] = { "bw.error", "acme", "acme.billing",
		                             "acme.billing.declined" };
	const char *const        interfaces[] = { BW_SERVLET, NULL };
	struct bw_service_object object = { .type = &handler };
	const struct bw_prop     props[] = { BW_P_STRING(BW_SLING_TYPES, "t/fails") };

	handler_does = own_error;
	fake_content("/fails", "t/fails", NULL);
	cr_assert(registry_register(registry, NULL, interfaces, &object, props, 1, NULL) == BW_OK);
	cr_assert(serve("GET", "/fails") == 500);
	cr_assert_str_eq(fake_called, "");
	for (size_t i = 0; i < 4; i++) {
		char properties[128];

		snprintf(properties, sizeof(properties),
		         "resourceTypes=sling/servlet/errorhandler methods=%s", steps[i]);
		fake_servlet(steps[i], properties);
		cr_assert(serve("GET", "/fails") == 500);
		cr_assert_str_eq(fake_called, steps[i]);
	}
}

/* ---- looking inside ---- */

static void expect_route(const char *target, const char *want)
{
	struct buf b;

	buf_init(&b);
	inspect_route("GET", target, &b);
	buf_append(&b, "", 1);
	cr_expect(strstr((char *)buf_data(&b), want) != NULL, "%s", (char *)buf_data(&b));
	buf_done(&b);
}

Test(engine, explains_what_it_would_do_with_a_path)
{
	struct bw_service *s = fake_servlet("X", "paths=/bin/x");

	expect_route("/bin/x",
	             "\"path\":\"/bin/x\",\"note\":\"the servlet mounted at this very path");
	expect_route("/bin/x.a.html",
	             "\"path\":\"/bin/x\",\"note\":\"the mounted servlet answers, unless");
	expect_route("/bin/x", "\"unavailable\":null},\"status\":0,");
	expect_route("/bin/y.html", "\"engine\":{\"servlet\":null,\"bundle\":null,\"path\":null,"
	                            "\"note\":\"the resource's type");
	registry_unregister(s);
	expect_route("/bin/x", "\"engine\":{\"servlet\":null");
}
