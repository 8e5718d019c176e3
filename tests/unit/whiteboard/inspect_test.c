/* gateway/whiteboard/inspect.c, records.c, failures.c, route.c: what they write is JSON with OSGi's
 * names, it is true of the snapshot, and route.c gives a reason for each who lost. */
#include <gateway/whiteboard/inspect.h>
#include <gateway/whiteboard/runtime.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>

#include <base/log.h>
#include <boardwalk/listener.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <boardwalk/runtime.h>
#include <jansson.h>
#include <stdlib.h>
#include <tests/support/fake_loop.h>

static struct registry *registry;

static int fail(void *self, const struct bw_config *cfg)
{
	(void)self;
	(void)cfg;
	return BW_EIO;
}

static int get(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	return BW_OK;
}

static const struct bw_servlet        servlet = { .size = sizeof(servlet), .get = get };
static const struct bw_servlet        bad_servlet = { .size = sizeof(servlet), .init = fail };
static const struct bw_filter         filter = { .size = sizeof(filter) };
static const struct bw_filter         bad_filter = { .size = sizeof(filter), .init = fail };
static const struct bw_listener       listener = { .size = sizeof(listener) };
static const struct bw_context_helper helper = { .size = sizeof(helper) };

#define ADD(type, interfaces, ...) \
	add(type, (const char *const[]){ interfaces, NULL }, \
	    (const struct bw_prop[]){ __VA_ARGS__ }, \
	    sizeof((const struct bw_prop[]){ __VA_ARGS__ }) / sizeof(struct bw_prop))
#define BOTH(a, b)   a, b
#define PATTERN(...) BW_P_STRINGS(BW_SERVLET_PATTERN, __VA_ARGS__)
#define NAME(name)   BW_P_STRING(BW_SERVLET_NAME, name)
#define RANKING(n)   BW_P_INT(BW_SERVICE_RANKING, n)
#define SELECT(name) BW_P_STRING(BW_CONTEXT_SELECT, name)

static struct bw_service *add(const void *type, const char *const *interfaces,
                              const struct bw_prop *props, size_t n)
{
	struct bw_service_object o = { .type = type };
	struct bw_service       *s;

	cr_assert(eq(int, registry_register(registry, NULL, interfaces, &o, props, n, &s), BW_OK));
	return s;
}

static void begin(void)
{
	log_init("test", LOG_LEVEL_ERROR);
	registry = registry_new();
	whiteboard_init(registry);
}

static void end(void)
{
	whiteboard_done();
	registry_free(registry);
	runtime_done();
}

TestSuite(inspect, .init = begin, .fini = end);

/* ---- who watches ---- */

static int64_t  told;
static unsigned tellings;

static void on_changed(void *self, int64_t count)
{
	(void)self;
	told = count;
	tellings++;
}

static void turn_until_told(void)
{
	for (int i = 0; i < 100 && told != (int64_t)snapshot_current()->number; i++)
		fake_loop_turn(10);
}

Test(inspect, a_watcher_is_told_of_changes_together)
{
	static const struct bw_runtime_watcher watcher = { .size = sizeof(watcher),
		                                           .changed = on_changed };
	static const struct bw_runtime_watcher cut = { .size = sizeof(watcher) - 1,
		                                       .changed = on_changed };
	struct bw_service *w = ADD(&watcher, BW_RUNTIME_WATCHER, BW_P_STRING("a", "b")), *a;

	ADD(&cut, BW_RUNTIME_WATCHER, BW_P_STRING("a", "b"));
	fake_loop_turn(20);
	cr_assert(eq(u32, tellings, 0), "who watches is no change");
	a = ADD(&servlet, BW_SERVLET, PATTERN("/a"));
	ADD(&servlet, BW_SERVLET, PATTERN("/b"));
	registry_unregister(a);
	cr_assert(eq(u32, tellings, 0), "nobody is called from inside of a change");
	turn_until_told();
	cr_assert(eq(u32, tellings, 1));
	cr_assert(eq(i64, told, (int64_t)snapshot_current()->number));
	registry_unregister(w);
	ADD(&servlet, BW_SERVLET, PATTERN("/c"));
	fake_loop_turn(20);
	cr_assert(eq(u32, tellings, 1));
}

/* ---- reading it ---- */

static json_t *parse(struct buf *b)
{
	json_error_t error;
	json_t      *j = json_loadb((char *)buf_data(b), buf_size(b), 0, &error);

	cr_assert(j != NULL, "%s: %.*s", error.text, (int)buf_size(b), (char *)buf_data(b));
	buf_done(b);
	return j;
}

static json_t *whiteboard(void)
{
	struct buf b;

	buf_init(&b);
	inspect_whiteboard(&b);
	return parse(&b);
}

static json_t *route(const char *method, const char *target, int want)
{
	struct buf b;

	buf_init(&b);
	cr_assert(eq(int, inspect_route(method, target, &b), want));
	return parse(&b);
}

/* What is at a path like "servletContextDTOs/0/name"; borrowed. */
static json_t *at(json_t *j, const char *path)
{
	char *text = strdup(path), *rest = text, *word;

	while (j && (word = strsep(&rest, "/")) != NULL)
		j = json_is_array(j) ? json_array_get(j, (size_t)atoi(word))
		                     : json_object_get(j, word);
	free(text);
	return j;
}

static void expect(json_t *j, const char *path, const char *want)
{
	json_t *found = at(j, path);
	char   *got = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT) : strdup("nothing");

	cr_expect_str_eq(got, want, "%s: %s", path, got);
	free(got);
}

static void expect_size(json_t *j, const char *path, size_t want)
{
	cr_expect(at(j, path) && json_array_size(at(j, path)) == want, "%s has %zu", path,
	          json_array_size(at(j, path)));
}

/* ---- records ---- */

Test(inspect, an_empty_server_has_one_context_and_no_list_is_absent)
{
	static const char *const lists[] = { "preprocessorDTOs",       "failedServletContextDTOs",
		                             "failedServletDTOs",      "failedResourceDTOs",
		                             "failedFilterDTOs",       "failedErrorPageDTOs",
		                             "failedListenerDTOs",     "failedPreprocessorDTOs",
		                             "serviceDTO/usingBundles" };
	json_t                  *j = whiteboard();

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		expect(j, lists[i], "[]");
	expect_size(j, "servletContextDTOs", 1);
	expect(j, "servletContextDTOs/0",
	       "{\"name\":\"default\",\"contextPath\":\"\",\"initParams\":{},\"attributes\":{},"
	       "\"serviceId\":-1,\"bundle\":\"boardwalk\",\"servletDTOs\":[],\"resourceDTOs\":[],"
	       "\"filterDTOs\":[],\"errorPageDTOs\":[],\"listenerDTOs\":[]}");
	json_decref(j);
}

Test(inspect, the_runtime_service_says_where_it_listens)
{
	static const struct {
		const char *listen, *endpoints, *port;
	} rows[] = {
		{ "127.0.0.1:8080", "[\"/\",\"http://127.0.0.1:8080/\"]", "8080" },
		{ "[::1]:81", "[\"/\",\"http://[::1]:81/\"]", "81" },
		{ "*:8080", "[\"/\"]", "8080" },
		{ ":8080", "[\"/\"]", "8080" },
		{ "127.0.0.1:0", "[\"/\"]", "nothing" },
		{ NULL, "[\"/\"]", "nothing" },
	};
	struct bw_service *s;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_t *j;

		runtime_init(rows[i].listen);
		j = whiteboard();
		expect(j, "serviceDTO/id", "0");
		expect(j, "serviceDTO/properties/service.changecount", "1");
		expect(j, "serviceDTO/properties/osgi.http.endpoint", rows[i].endpoints);
		expect(j, "serviceDTO/properties/org.osgi.service.http.port", rows[i].port);
		json_decref(j);
	}
	runtime_init("127.0.0.1:8080");
	s = ADD(&servlet, BW_SERVLET, PATTERN("/a"),
	        BW_P_STRING(BW_WHITEBOARD_TARGET,
	                    "(&(org.osgi.service.http.port>=8000)(service.changecount>=1)"
	                    "(osgi.http.endpoint=http://127.0.0.1:8080/))"));
	cr_expect(eq(sz, snapshot_current()->n_bindings, 1));
	registry_unregister(s);
	ADD(&servlet, BW_SERVLET, PATTERN("/a"),
	    BW_P_STRING(BW_WHITEBOARD_TARGET, "(org.osgi.service.http.port=81)"));
	cr_expect(eq(sz, snapshot_current()->n_bindings, 0));
}

Test(inspect, what_is_active_stands_in_its_context)
{
	json_t *j, *c;

	ADD(&helper, BW_CONTEXT_HELPER, BW_P_STRING(BW_CONTEXT_NAME, "c"),
	    BW_P_STRING(BW_CONTEXT_PATH, "/c"), BW_P_STRING("context.init.k", "v"));
	ADD(&servlet, BW_SERVLET, PATTERN("/b", "/a/*"), NAME("S"), SELECT("c"),
	    BW_P_STRING("servlet.init.k", "v"), BW_P_INT("servlet.init.n", 3));
	ADD(&servlet, BW_SERVLET, NAME("E"), SELECT("c"), BW_P_BOOL(BW_MULTIPART_ENABLED, true),
	    BW_P_STRING(BW_MULTIPART_LOCATION, "/tmp"),
	    BW_P_STRING(BW_MULTIPART_MAX_FILE_SIZE, "7"),
	    BW_P_STRINGS(BW_SERVLET_ERROR_PAGE, "404", "acme.x"));
	ADD(&servlet, BW_SERVLET, SELECT("c"), BW_P_STRING(BW_SERVLET_ERROR_PAGE, "4xx"));
	ADD(&filter, BW_FILTER, SELECT("c"), BW_P_STRING(BW_FILTER_NAME, "F"),
	    BW_P_STRING(BW_FILTER_PATTERN, "/*"), BW_P_STRING(BW_FILTER_REGEX, "/x.*"),
	    BW_P_STRING(BW_FILTER_SERVLET, "S"),
	    BW_P_STRINGS(BW_FILTER_DISPATCHER, "error", "request"));
	ADD(&listener, BOTH(BW_REQUEST_LISTENER, BW_SESSION_LISTENER), SELECT("c"),
	    BW_P_BOOL(BW_LISTENER, true));
	ADD(&filter, BW_PREPROCESSOR, BW_P_STRING("preprocessor.init.k", "v"));
	ADD(&servlet, "acme.Thing", SELECT("c"), BW_P_STRING(BW_RESOURCE_PATTERN, "/r/*"),
	    BW_P_STRING(BW_RESOURCE_PREFIX, "/www"));

	j = whiteboard();
	c = at(j, "servletContextDTOs/0"); /* the longer path is searched first */
	expect(c, "name", "\"c\"");
	expect(c, "contextPath", "\"/c\"");
	expect(c, "serviceId", "1");
	expect(c, "initParams", "{\"k\":\"v\"}");
	expect_size(c, "servletDTOs", 2);
	expect(c, "servletDTOs/0/name", "\"S\"");
	expect(c, "servletDTOs/0/patterns", "[\"/b\",\"/a/*\"]");
	expect(c, "servletDTOs/0/initParams", "{\"k\":\"v\"}");
	expect(c, "servletDTOs/0/asyncSupported", "false");
	expect(c, "servletDTOs/0/servletContextId", "1");
	expect(c, "servletDTOs/0/serviceId", "2");
	expect(c, "servletDTOs/1/name", "\"E\"");
	expect(c, "servletDTOs/1/patterns", "[]");
	expect(c, "servletDTOs/0/multipartEnabled", "false");
	expect(c, "servletDTOs/0/multipartFileSizeThreshold", "0");
	expect(c, "servletDTOs/0/multipartLocation", "null");
	expect(c, "servletDTOs/0/multipartMaxFileSize", "0");
	expect(c, "servletDTOs/0/multipartMaxRequestSize", "0");
	expect(c, "servletDTOs/1/multipartEnabled", "true");
	expect(c, "servletDTOs/1/multipartFileSizeThreshold", "10240");
	expect(c, "servletDTOs/1/multipartLocation", "\"/tmp\"");
	expect(c, "servletDTOs/1/multipartMaxFileSize", "7");
	expect(c, "servletDTOs/1/multipartMaxRequestSize", "-1");
	expect(c, "servletDTOs/1/multipartMaxFileCount", "50");
	expect(c, "servletDTOs/1/multipartFolder", "\"/tmp\"");
	expect_size(c, "errorPageDTOs", 2);
	expect(c, "errorPageDTOs/0/errorCodes", "[404]");
	expect(c, "errorPageDTOs/0/exceptions", "[\"acme.x\"]");
	expect_size(c, "errorPageDTOs/1/errorCodes", 99);
	expect(c, "errorPageDTOs/1/errorCodes/98", "499");
	expect(c, "filterDTOs/0/patterns", "[\"/*\"]");
	expect(c, "filterDTOs/0/regexs", "[\"/x.*\"]");
	expect(c, "filterDTOs/0/servletNames", "[\"S\"]");
	expect(c, "filterDTOs/0/dispatcher", "[\"REQUEST\",\"ERROR\"]");
	expect(c, "filterDTOs/0/servletContextId", "1");
	expect(c, "listenerDTOs/0/types",
	       "[\"" BW_REQUEST_LISTENER "\",\"" BW_SESSION_LISTENER "\"]");
	expect_size(c, "listenerDTOs", 1);
	expect(c, "resourceDTOs/0",
	       "{\"patterns\":[\"/r/*\"],\"prefix\":\"/"
	       "www\",\"servletContextId\":1,\"serviceId\":8,"
	       "\"bundle\":\"boardwalk\"}");
	expect(j, "preprocessorDTOs/0/initParams", "{\"k\":\"v\"}");
	expect(j, "servletContextDTOs/1/name", "\"default\"");
	expect_size(j, "servletContextDTOs/1/servletDTOs", 0);
	json_decref(j);
}

Test(inspect, attributes_of_a_context_are_plain_data)
{
	const bool         flags[] = { true, false };
	struct bw_context *c = snapshot_current()->contexts[0]->context;
	json_t            *j;

	context_set_attr(c, "int", &BW_V_LONG(-7));
	context_set_attr(c, "text", &BW_V_STRING(BW_STR("a\"b")));
	context_set_attr(c, "real", &BW_V_DOUBLE(0.5));
	context_set_attr(
		c, "list",
		&(struct bw_value){
			.type = BW_VALUE_BOOLEAN, .is_list = true, .n = 2, .u.bools = flags });
	j = whiteboard();
	expect(j, "servletContextDTOs/0/attributes",
	       "{\"int\":-7,\"text\":\"a\\\"b\",\"real\":0.5,\"list\":[true,false]}");
	json_decref(j);
}

Test(inspect, what_failed_stands_in_its_own_list_with_the_reason)
{
	json_t *j;

	ADD(&helper, BW_CONTEXT_HELPER, BW_P_STRING(BW_CONTEXT_NAME, "a b"),
	    BW_P_STRING(BW_CONTEXT_PATH, "/x"));
	ADD(&servlet, BW_SERVLET, PATTERN("/ok", "bad"), NAME("V"));
	ADD(&servlet, BW_SERVLET, PATTERN("/n"), NAME("N"), SELECT("nope"));
	ADD(&bad_servlet, BW_SERVLET, PATTERN("/i"), NAME("I"));
	ADD(&servlet, BW_SERVLET, PATTERN("/s"), NAME("S1"));
	ADD(&servlet, BW_SERVLET, PATTERN("/s", "/t"), NAME("S2"));
	ADD(&filter, BW_FILTER, BW_P_STRING(BW_FILTER_PATTERN, "/a"),
	    BW_P_STRING(BW_FILTER_DISPATCHER, "NOPE"));
	ADD(&servlet, BW_SERVLET, BW_P_STRING(BW_SERVLET_ERROR_PAGE, "5xx"), SELECT("nope"));
	ADD(&listener, BW_REQUEST_LISTENER, BW_P_STRING(BW_LISTENER, "blah"));
	ADD(&bad_filter, BW_PREPROCESSOR, RANKING(1));
	ADD(&servlet, "acme.Thing", BW_P_STRING(BW_RESOURCE_PATTERN, "/r/*"),
	    BW_P_STRING(BW_RESOURCE_PREFIX, "/www/"));

	j = whiteboard();
	expect(j, "failedServletContextDTOs/0/name", "\"a b\"");
	expect(j, "failedServletContextDTOs/0/contextPath", "\"/x\"");
	expect(j, "failedServletContextDTOs/0/failureReason", "6");
	expect(j, "failedServletContextDTOs/0/servletDTOs", "[]");
	expect_size(j, "failedServletDTOs", 4);
	expect(j, "failedServletDTOs/0/patterns", "[\"/ok\",\"bad\"]");
	expect(j, "failedServletDTOs/0/failureReasonName", "\"VALIDATION_FAILED\"");
	expect(j, "failedServletDTOs/0/servletContextId", "0");
	expect(j, "failedServletDTOs/1/failureReasonName", "\"NO_SERVLET_CONTEXT_MATCHING\"");
	expect(j, "failedServletDTOs/2/failureReasonName", "\"EXCEPTION_ON_INIT\"");
	expect(j, "failedServletDTOs/2/servletContextId", "-1");
	expect(j, "failedServletDTOs/3/name", "\"S2\"");
	expect(j, "failedServletDTOs/3/patterns", "[\"/s\"]");
	expect(j, "failedServletDTOs/3/failureReason", "3");
	expect(j, "failedFilterDTOs/0/dispatcher", "[\"NOPE\"]");
	expect_size(j, "failedErrorPageDTOs/0/errorCodes", 100);
	expect(j, "failedListenerDTOs/0/types", "[\"" BW_REQUEST_LISTENER "\"]");
	expect(j, "failedPreprocessorDTOs/0/failureReason", "4");
	expect(j, "failedResourceDTOs/0/prefix", "\"/www/\"");
	expect(j, "servletContextDTOs/0/servletDTOs/1/name", "\"S2\"");
	expect(j, "servletContextDTOs/0/servletDTOs/1/patterns", "[\"/t\"]");
	json_decref(j);
}

/* ---- routes ---- */

Test(inspect, a_route_is_the_way_of_a_request)
{
	json_t *j;

	ADD(&helper, BW_CONTEXT_HELPER, BW_P_STRING(BW_CONTEXT_NAME, "c"),
	    BW_P_STRING(BW_CONTEXT_PATH, "/c"));
	ADD(&servlet, BW_SERVLET, PATTERN("/*"), NAME("S"), SELECT("c"));
	ADD(&filter, BW_FILTER, SELECT("c"), BW_P_STRING(BW_FILTER_PATTERN, "/x"));
	ADD(&filter, BW_FILTER, SELECT("c"), BW_P_STRING(BW_FILTER_SERVLET, "S"), RANKING(5));
	ADD(&filter, BW_FILTER, SELECT("c"), BW_P_STRING(BW_FILTER_PATTERN, "/y"));
	ADD(&filter, BW_PREPROCESSOR, RANKING(1));

	j = route("GET", "/c/y/../x?q=1", BW_OK);
	expect(j, "path", "\"/c/x\"");
	expect(j, "status", "0");
	expect(j, "servletContextId", "1");
	expect(j, "context", "\"c\"");
	expect(j, "pattern", "\"/*\"");
	expect(j, "servletDTO/name", "\"S\"");
	expect(j, "resourceDTO", "null");
	expect_size(j, "filterDTOs", 2);
	expect(j, "filterDTOs/0/serviceId", "4");
	expect(j, "filterDTOs/1/serviceId", "3");
	expect_size(j, "preprocessorDTOs", 1);
	json_decref(j);

	j = route("POST", "/c/x", BW_OK);
	expect(j, "status", "405");
	json_decref(j);
	j = route("get", "/c/x", BW_OK);
	expect(j, "status", "501");
	json_decref(j);
	j = route("GET", "/x", BW_OK);
	expect(j, "status", "404");
	expect(j, "servletContextId", "0");
	expect(j, "servletDTO", "null");
	expect(j, "filterDTOs", "[]");
	expect(j, "others/0/code", "\"NO_PATTERN_MATCHES\"");
	expect(j, "others/0/context", "\"default\"");
	json_decref(j);
	j = route("GET", "/%2e%2e/x", BW_EINVAL);
	expect(j, "status", "400");
	json_decref(j);
}

static void expect_other(json_t *j, const char *name, const char *code, const char *reason)
{
	size_t  i;
	json_t *other;

	json_array_foreach (json_object_get(j, "others"), i, other) {
		const char *got = json_string_value(json_object_get(other, "reason"));
		const char *who = json_string_value(json_object_get(other, "name"));

		if (strcmp(who ? who : "a resource", name) != 0)
			continue;
		cr_expect_str_eq(json_string_value(json_object_get(other, "code")), code, "%s",
		                 name);
		cr_expect(strstr(got, reason) != NULL, "%s: %s", name, got);
		return;
	}
	cr_expect(false, "%s is not among the others", name);
}

Test(inspect, each_who_lost_is_told_why)
{
	json_t *j;

	ADD(&helper, BW_CONTEXT_HELPER, BW_P_STRING(BW_CONTEXT_NAME, "empty"),
	    BW_P_STRING(BW_CONTEXT_PATH, "/c/x"));
	ADD(&helper, BW_CONTEXT_HELPER, BW_P_STRING(BW_CONTEXT_NAME, "c"),
	    BW_P_STRING(BW_CONTEXT_PATH, "/c"));
	ADD(&helper, BW_CONTEXT_HELPER, BW_P_STRING(BW_CONTEXT_NAME, "later"),
	    BW_P_STRING(BW_CONTEXT_PATH, "/c"));
	ADD(&helper, BW_CONTEXT_HELPER, BW_P_STRING(BW_CONTEXT_NAME, "c"),
	    BW_P_STRING(BW_CONTEXT_PATH, "/c"));
	ADD(&servlet, BW_SERVLET, PATTERN("/x"), NAME("winner"), RANKING(3), SELECT("c"));
	ADD(&servlet, BW_SERVLET, PATTERN("/x"), NAME("lower"), RANKING(-1), SELECT("c"));
	ADD(&servlet, BW_SERVLET, PATTERN("/x"), NAME("younger"), RANKING(3), SELECT("c"));
	ADD(&servlet, BW_SERVLET, PATTERN("/*"), NAME("prefix"), RANKING(9), SELECT("c"));
	ADD(&servlet, BW_SERVLET, PATTERN("/y"), NAME("elsewhere"), SELECT("c"));
	ADD(&bad_servlet, BW_SERVLET, PATTERN("/x"), NAME("broken"), RANKING(7), SELECT("c"));
	ADD(&servlet, BW_SERVLET, PATTERN("/x"), NAME("nowhere"), SELECT("nope"));
	ADD(&servlet, BW_SERVLET, PATTERN("/x"), NAME("late"), SELECT("later"));
	ADD(&servlet, BW_SERVLET, PATTERN("/c/x"), NAME("shorter"));
	ADD(&bad_filter, BW_FILTER, BW_P_STRING(BW_FILTER_PATTERN, "/*"),
	    BW_P_STRING(BW_FILTER_NAME, "guard"), SELECT("c"));
	ADD(&servlet, "acme.Thing", SELECT("c"), BW_P_STRING(BW_RESOURCE_PATTERN, "/"),
	    BW_P_STRING(BW_RESOURCE_PREFIX, "/www"));

	j = route("GET", "/c/x", BW_OK);
	expect(j, "servletDTO/name", "\"winner\"");
	expect_other(j, "empty", "NO_PATTERN_MATCHES", "no pattern in it takes /");
	expect_other(j, "lower", "SHADOWED_BY_OTHER_SERVICE",
	             "winner has this pattern: it is ranked "
	             "higher (3 against -1)");
	expect_other(j, "younger", "SHADOWED_BY_OTHER_SERVICE", "registered earlier");
	expect_other(j, "prefix", "LESS_SPECIFIC", "an exact pattern goes before a prefix");
	expect_other(j, "broken", "EXCEPTION_ON_INIT", "its init returned an error");
	expect_other(j, "nowhere", "NO_SERVLET_CONTEXT_MATCHING", "takes no active context");
	expect_other(j, "late", "CONTEXT_SEARCHED_LATER",
	             "context c is searched before: it is ranked "
	             "the same and was registered earlier");
	expect_other(j, "shorter", "CONTEXT_SEARCHED_LATER", "its path /c is longer");
	expect_other(j, "guard", "EXCEPTION_ON_INIT", "its init returned an error");
	expect_other(j, "a resource", "LESS_SPECIFIC", "an exact pattern goes before the default");
	expect_other(j, "c", "SHADOWED_BY_OTHER_SERVICE",
	             "boardwalk:context c has this name: it is ranked the same and was registered "
	             "earlier");
	expect_size(j, "others", 11);
	json_decref(j);
}
