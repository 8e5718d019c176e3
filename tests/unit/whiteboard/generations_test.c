/* gateway/bundle/generations.c, footprint.c, whiteboard/exchange.c, stage.c, with shared objects: an
 * update is one step, for the whiteboard, the engine's mounted servlets and the requirement table;
 * whatever fails leaves the old generation as it was; an old one lives as long as a request that
 * began with it, and not longer; what is stopped answers 503 and nothing else does. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/bundle/bundles.h>
#include <gateway/engine/explain.h>
#include <gateway/engine/mount.h>
#include <gateway/fiber.h>
#include <gateway/offload.h>
#include <gateway/request.h>
#include <gateway/security/handler.h>
#include <gateway/security/security.h>
#include <gateway/settings.h>
#include <gateway/shared.h>
#include <gateway/whiteboard/inspect.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>
#include <support/generation.h>

#include <base/conf.h>
#include <base/fatal.h>
#include <base/json.h>
#include <base/log.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG_MS 1000000u

static struct registry  *registry;
static struct generation generation, other, nodelete;
static char              folder[64];
static uint64_t          number; /* of orders */
static char              reason[256];

static struct bw_req *parked[8];
static size_t         n_parked;
static struct answer {
	int  status;
	char body[128], retry_after[16];
} last;

/* ---- requests, in this thread ---- */

int offload_sleep_ms(struct bw_req *req, unsigned ms)
{
	struct req_wait wait = { .cancel = NULL };

	(void)ms;
	parked[n_parked++] = req;
	return request_park(req, &wait);
}

static void on_stop(struct bw_req *req)
{
	if (req->state != REQ_RESPONDING)
		return;
	last = (struct answer){ .status = req->status };
	snprintf(last.body, sizeof(last.body), "%.*s", (int)buf_size(&req->body),
	         (const char *)req->body.mem + req->body.start);
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (bw_str_eq(req->res_headers[i].name, BW_STR("retry-after")))
			snprintf(last.retry_after, sizeof(last.retry_after), "%s",
			         req->res_headers[i].value.p);
	request_release(req);
	request_release(req);
}

/* Valid as long as it is parked. */
static struct bw_req *start(const char *path)
{
	struct bw_req *req = request_new();

	last.status = 0;
	req->method = BW_STR("GET");
	req->path = req->uri = bw_str(path);
	cr_assert(request_start(req, whiteboard_serve));
	return req;
}

static int ask(const char *path)
{
	start(path);
	return last.status;
}

static const char *body_of(const char *path)
{
	cr_assert(eq(int, ask(path), 200), "%s: %d", path, last.status);
	return last.body;
}

static void resume(void)
{
	request_wake(parked[--n_parked]);
}

/* ---- the worker ---- */

static void begin_with(struct shared_worker *me, uint64_t drain_ms)
{
	static struct gateway_settings settings;

	log_init("test", LOG_LEVEL_ERROR);
	strcpy(folder, "/tmp/boardwalk-generations-XXXXXX");
	cr_assert(mkdtemp(folder) != NULL);
	generation_read(&generation, TEST_BUNDLES "/generation.so");
	generation_read(&other, TEST_BUNDLES "/other.so");
	generation_read(&nodelete, TEST_BUNDLES "/nodelete.so");
	fiber_pool_init(16);
	request_on_stop(on_stop);
	registry = registry_new();
	requirements_init(registry, &settings);
	whiteboard_init(registry);
	mount_init(registry, &settings, NULL);
	bundles_init(registry, me, drain_ms);
}

static void begin(void)
{
	begin_with(NULL, LONG_MS);
}

static void end(void)
{
	char *command = xasprintf("rm -r %s", folder);

	bundles_stop();
	mount_done();
	whiteboard_done();
	requirements_done();
	registry_free(registry);
	bundles_done();
	request_pool_done();
	fiber_pool_done();
	generation_done(&generation);
	generation_done(&other);
	generation_done(&nodelete);
	cr_assert(eq(int, system(command), 0));
	free(command);
}

/* A new file with those words; the name is the caller's until the next call. */
static const char *file_of(const struct generation *g, const char *words)
{
	static char file[128];
	static int  n;

	snprintf(file, sizeof(file), "%s/%d.so", folder, ++n);
	generation_write(g, words, file);
	return file;
}

static int prepare(enum bundle_action action, const char *name, const struct generation *g,
                   const char *words)
{
	struct bundle_order o = { .action = action, .name = name, .generation = ++number };

	o.file = words ? file_of(g, words) : NULL;
	reason[0] = 0;
	return bundles_prepare(&o, reason, sizeof(reason));
}

static int prepare_generation(enum bundle_action action, const char *words)
{
	return prepare(action, "test.generation", &generation, words);
}

static void run(enum bundle_action action, const char *words)
{
	int err = prepare_generation(action, words);

	cr_assert(eq(int, err, BW_OK), "%s", reason);
	bundles_publish(number);
	bundles_tend();
}

static void run_other(enum bundle_action action, const char *words)
{
	int err = prepare(action, "test.other", &other, words);

	cr_assert(eq(int, err, BW_OK), "%s", reason);
	bundles_publish(number);
	bundles_tend();
}

/* Lines of our mappings that name a file of the folder. */
static size_t count_mapped(void)
{
	FILE  *f = fopen("/proc/self/maps", "r");
	char   line[512];
	size_t n = 0;

	while (fgets(line, sizeof(line), f))
		n += strstr(line, folder) != NULL;
	fclose(f);
	return n;
}

static bool described(const char *text)
{
	struct buf json;
	bool       found;

	buf_init(&json);
	bundles_describe(&json);
	buf_append(&json, "", 1);
	found = strstr((const char *)buf_data(&json), text) != NULL;
	if (!found)
		fprintf(stderr, "%s\n", (const char *)buf_data(&json));
	buf_done(&json);
	return found;
}

/* ---- update ---- */

Test(generations, an_update_is_one_step)
{
	size_t one;

	begin();
	run(BUNDLE_INSTALL, "n=1");
	one = count_mapped();
	cr_assert_str_eq(body_of("/gen"), "1");
	cr_assert(eq(int, prepare_generation(BUNDLE_UPDATE, "n=2"), BW_OK), "%s", reason);
	cr_assert_str_eq(body_of("/gen"), "1", "what is prepared is not seen");
	bundles_publish(number - 1);
	cr_assert_str_eq(body_of("/gen"), "1", "another order's number is none");
	bundles_publish(number);
	cr_assert_str_eq(body_of("/gen"), "2");
	cr_assert(described("\"state\":\"ACTIVE\""));
	cr_assert(described("\"mapped\":0"));
	cr_assert(eq(sz, count_mapped(), one), "the old one is still mapped");
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(eq(int, ask("/gen"), 404));
	cr_assert(eq(sz, count_mapped(), 0));
	end();
}

/* As the store has them, and so a worker that starts later; of two that take the same path the older one
 * answers. */
Test(generations, are_listed_in_the_order_in_which_they_were_started)
{
	begin();
	run(BUNDLE_INSTALL, "n=1");
	run_other(BUNDLE_INSTALL, "n=1 path=/other");
	cr_assert(described("[{\"name\":\"test.generation\""));
	run(BUNDLE_STOP, NULL);
	cr_assert(described("[{\"name\":\"test.generation\""), "a stop keeps the place");
	run(BUNDLE_UPDATE, "n=2");
	cr_assert(described("[{\"name\":\"test.other\""));
	run(BUNDLE_UNINSTALL, NULL);
	run(BUNDLE_INSTALL, "n=3");
	cr_assert(described("[{\"name\":\"test.other\""));
	cr_assert(described(",{\"name\":\"test.generation\""));
	run(BUNDLE_UNINSTALL, NULL);
	run(BUNDLE_INSTALL, "n=4");
	cr_assert(described(",{\"name\":\"test.generation\""), "it was the last already");
	end();
}

Test(generations, are_stopped_in_the_reverse_order)
{
	char  words[80], path[] = "/tmp/boardwalk-stopped-XXXXXX", order_of[8] = "";
	int   fd = mkstemp(path);
	FILE *in;

	begin();
	snprintf(words, sizeof(words), "n=1 stopped=%s", path);
	run(BUNDLE_INSTALL, words);
	snprintf(words, sizeof(words), "n=2 path=/x stopped=%s", path);
	run_other(BUNDLE_INSTALL, words);
	end();
	in = fdopen(fd, "r");
	cr_assert(fgets(order_of, sizeof(order_of), in) != NULL);
	cr_expect_str_eq(order_of, "21");
	fclose(in);
	unlink(path);
}

/* What was prepared is given back like everything else; the sanitizer looks. */
Test(generations, a_worker_may_end_in_the_middle_of_an_order)
{
	begin();
	run(BUNDLE_INSTALL, "n=1 engine=/bin/x");
	cr_assert(
		eq(int, prepare_generation(BUNDLE_UPDATE, "n=2 engine=/bin/x context=/c"), BW_OK));
	end();
	cr_assert(eq(sz, count_mapped(), 0));
}

Test(generations, one_that_is_dropped_was_never_there)
{
	begin();
	run(BUNDLE_INSTALL, "n=1");
	cr_assert(eq(int, prepare_generation(BUNDLE_UPDATE, "n=2 path=/new"), BW_OK));
	bundles_drop(number);
	bundles_tend();
	cr_assert_str_eq(body_of("/gen"), "1");
	cr_assert(eq(int, ask("/new"), 404));
	cr_assert(described("\"mapped\":0"));
	bundles_publish(number);
	cr_assert_str_eq(body_of("/gen"), "1", "it cannot be published any more");
	end();
}

/* Row E29. */
Test(generations, a_request_completes_with_what_it_began_with)
{
	size_t one;

	begin();
	run(BUNDLE_INSTALL, "n=1");
	one = count_mapped();
	cr_assert(eq(int, ask("/gen/sleep"), 0));
	run(BUNDLE_UPDATE, "n=2");
	cr_assert_str_eq(body_of("/gen"), "2");
	cr_assert(eq(sz, count_mapped(), 2 * one));
	cr_assert(eq(int, ask("/gen/sleep"), 0));
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(eq(int, ask("/gen"), 404));
	bundles_tend();
	cr_assert(eq(sz, count_mapped(), 2 * one), "two requests are inside");
	resume();
	cr_assert_str_eq(last.body, "2");
	bundles_tend();
	cr_assert(eq(sz, count_mapped(), one));
	resume();
	cr_assert_str_eq(last.body, "1");
	bundles_tend();
	cr_assert(eq(sz, count_mapped(), 0));
	end();
}

Test(generations, a_file_that_is_being_sent_keeps_its_bundle)
{
	struct bw_req *req;
	size_t         one;

	begin();
	run(BUNDLE_INSTALL, "n=1 files=/r");
	one = count_mapped();
	req = start("/r/big");
	cr_assert(req->state == REQ_PARKED && req->flush, "its first part waits for the client");
	cr_assert(eq(u64, req->length, 100000));
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(eq(int, ask("/r/big"), 404));
	cr_assert(eq(sz, count_mapped(), one));
	request_wake(req); /* the rest is read from the bundle */
	cr_assert(eq(int, last.status, 200));
	bundles_tend();
	cr_assert(eq(sz, count_mapped(), 0));
	end();
}

Test(generations, what_fails_leaves_the_old_one_alone)
{
	static const struct {
		const char *words, *reason;
		int         err;
	} rows[] = {
		{ "n=2 start=fail", "failed to start (-7)", BW_ESERVLET },
		{ "n=2 init=fail", "cannot initialise test.generation /gen/", BW_ESERVLET },
		{ "n=2 engine=/bin/x init=fail", "cannot initialise", BW_ESERVLET },
	};
	size_t one;

	begin();
	run(BUNDLE_INSTALL, "n=1 engine=/bin/x");
	one = count_mapped();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		int err = prepare_generation(BUNDLE_UPDATE, rows[i].words);

		cr_assert(eq(int, err, rows[i].err), "%s", rows[i].words);
		cr_assert(strncmp(reason, rows[i].reason, strlen(rows[i].reason)) == 0, "%s: %s",
		          rows[i].words, reason);
		cr_assert_str_eq(body_of("/gen"), "1");
		cr_assert(mount_find(BW_STR("/bin/x")) != NULL);
		bundles_tend();
		cr_assert(eq(sz, count_mapped(), one), "%s: it is still mapped", rows[i].words);
	}
	cr_assert(eq(int, prepare(BUNDLE_UPDATE, "test.generation", &other, "n=3"), BW_EINVAL));
	cr_assert_str_eq(reason, "calls itself test.other");
	run(BUNDLE_UPDATE, "n=4");
	cr_assert_str_eq(body_of("/gen"), "4", "and the next one is as good as ever");
	end();
}

Test(generations, orders_that_cannot_be)
{
	struct bundle_order same = { .action = BUNDLE_UPDATE, .name = "test.generation" };
	char                file[128];

	begin();
	bundles_builtin("boardwalk.engine");
	cr_assert(eq(int, prepare(BUNDLE_INSTALL, "boardwalk.engine", &generation, "n=1"),
	             BW_EEXIST));
	cr_assert(eq(int, prepare(BUNDLE_INSTALL, "no name", &generation, "n=1"), BW_EINVAL));
	cr_assert(eq(int, prepare_generation(BUNDLE_UPDATE, "n=1"), BW_ENOTFOUND));
	cr_assert(eq(int, prepare_generation(BUNDLE_STOP, NULL), BW_ENOTFOUND));
	cr_assert(eq(int, prepare_generation(BUNDLE_UNINSTALL, NULL), BW_ENOTFOUND));
	cr_assert(eq(int, prepare_generation(BUNDLE_INSTALL, NULL), BW_EINVAL));
	run(BUNDLE_INSTALL, "n=1");
	cr_assert(eq(int, prepare_generation(BUNDLE_INSTALL, "n=1"), BW_EEXIST));
	cr_assert(eq(int, prepare_generation(BUNDLE_START, "n=1"), BW_ESTATE));
	same.generation = ++number;
	snprintf(file, sizeof(file), "%s", file_of(&generation, "n=2"));
	same.file = file;
	cr_assert(eq(int, bundles_prepare(&same, reason, sizeof(reason)), BW_OK));
	cr_assert(eq(int, prepare_generation(BUNDLE_UPDATE, "n=3"), BW_ESTATE));
	cr_assert_str_eq(reason, "has to wait: another order is in work");
	bundles_publish(same.generation);
	same.generation = ++number;
	cr_assert(eq(int, bundles_prepare(&same, reason, sizeof(reason)), BW_EINVAL));
	cr_assert_str_eq(reason, "is mapped already, and a generation needs a file of its own");
	same.file = TEST_BUNDLES "/major.so";
	cr_assert(eq(int, bundles_prepare(&same, reason, sizeof(reason)), BW_EINVAL));
	cr_assert_str_eq(reason, "is built for another major version of the ABI");
	same.file = "/etc/passwd";
	cr_assert(eq(int, bundles_prepare(&same, reason, sizeof(reason)), BW_EINVAL));
	cr_assert_str_eq(reason, "cannot be loaded: /etc/passwd: invalid ELF header");
	same.file = "/nowhere.so";
	cr_assert(eq(int, bundles_prepare(&same, reason, sizeof(reason)), BW_EINVAL));
	cr_assert_str_eq(reason, "cannot be read");
	cr_assert_str_eq(body_of("/gen"), "2");
	end();
}

static struct mount_servlet *mounted(const char *path)
{
	const struct mount_node *node = mount_find(bw_str(path));

	return node ? mount_node_servlet(node) : NULL;
}

Test(generations, the_engine_and_the_requirements_change_with_it)
{
	const struct mount_servlet *before;

	begin();
	run(BUNDLE_INSTALL, "n=1 engine=/bin/x auth=-/open");
	before = mounted("/bin/x");
	cr_assert(before != NULL);
	cr_assert(not(security_is_required(NULL, BW_STR("/open"))));
	cr_assert(
		eq(int, prepare_generation(BUNDLE_UPDATE, "n=2 engine=/bin/x auth=-/door"), BW_OK));
	cr_assert(mounted("/bin/x") == before, "what is prepared is not mounted");
	cr_assert(security_is_required(NULL, BW_STR("/door")));
	bundles_publish(number);
	cr_assert(mounted("/bin/x") != NULL && mounted("/bin/x") != before);
	cr_assert(security_is_required(NULL, BW_STR("/open")));
	cr_assert(not(security_is_required(NULL, BW_STR("/door"))));
	run(BUNDLE_STOP, NULL);
	cr_assert(mounted("/bin/x") != NULL, "a stand-in is mounted");
	cr_assert(not(security_is_required(NULL, BW_STR("/door"))));
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(mounted("/bin/x") == NULL);
	cr_assert(security_is_required(NULL, BW_STR("/door")));
	end();
}

/* ---- stop and start ---- */

Test(generations, what_is_stopped_answers_503_and_nobody_else_does)
{
	begin();
	run(BUNDLE_INSTALL, "n=1");
	run_other(BUNDLE_INSTALL, "n=other");
	cr_assert_str_eq(body_of("/gen"), "1", "of equal ones the older");
	run(BUNDLE_STOP, NULL);
	cr_assert(eq(int, ask("/gen"), 503));
	cr_assert_str_eq(last.retry_after, "5");
	cr_assert(described("\"state\":\"RESOLVED\""));
	cr_assert(eq(sz, count_mapped() > 0, 1), "the other one is mapped");
	run(BUNDLE_START, "n=2");
	cr_assert_str_eq(body_of("/gen"), "other", "it is the younger now");
	run_other(BUNDLE_STOP, NULL);
	cr_assert(eq(int, ask("/gen"), 503));
	run_other(BUNDLE_UNINSTALL, NULL);
	cr_assert_str_eq(body_of("/gen"), "2");
	run(BUNDLE_STOP, NULL);
	cr_assert(eq(int, prepare_generation(BUNDLE_STOP, NULL), BW_ESTATE));
	run(BUNDLE_UPDATE, "n=3");
	cr_assert_str_eq(body_of("/gen"), "3", "an update starts it");
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(eq(int, ask("/gen"), 404));
	cr_assert(eq(sz, count_mapped(), 0));
	end();
}

Test(generations, a_context_is_stood_in_for_too)
{
	begin();
	run(BUNDLE_INSTALL, "n=1 context=/c");
	run_other(BUNDLE_INSTALL, "n=other path=/c");
	cr_assert_str_eq(body_of("/c/gen"), "1");
	run(BUNDLE_STOP, NULL);
	cr_assert(eq(int, ask("/c/gen"), 503), "it does not fall through to the context at /");
	run(BUNDLE_START, "n=2 context=/c");
	cr_assert_str_eq(body_of("/c/gen"), "2");
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert_str_eq(body_of("/c/gen"), "other");
	end();
}

Test(generations, so_is_a_resource)
{
	begin();
	run(BUNDLE_INSTALL, "n=1 files=/r");
	cr_assert(eq(int, ask("/r/x.txt"), 404), "there is no such file");
	run(BUNDLE_STOP, NULL);
	cr_assert(eq(int, ask("/r/x.txt"), 503));
	run(BUNDLE_START, "n=2 files=/r");
	cr_assert(eq(int, ask("/r/x.txt"), 404));
	end();
}

static bool says(struct buf *json, const char *text)
{
	bool found;

	buf_append(json, "", 1);
	found = strstr((const char *)buf_data(json), text) != NULL;
	if (!found)
		fprintf(stderr, "%s\n", (const char *)buf_data(json));
	buf_done(json);
	return found;
}

static bool route_says(const char *path, const char *text)
{
	struct buf json;

	buf_init(&json);
	inspect_route("GET", path, &json);
	return says(&json, text);
}

static size_t count_stand_ins(void)
{
	struct buf  json;
	size_t      n = 0;
	const char *at;

	buf_init(&json);
	inspect_whiteboard(&json);
	buf_append(&json, "", 1);
	at = (const char *)buf_data(&json);
	while ((at = strstr(at, "\"standIn\":true")) != NULL) {
		n++;
		at++;
	}
	buf_done(&json);
	return n;
}

Test(generations, looking_inside_tells_a_stand_in)
{
	begin();
	run(BUNDLE_INSTALL, "n=1 context=/c");
	run_other(BUNDLE_INSTALL, "n=other");
	cr_expect(route_says("/c/gen", "\"unavailable\":null,\"status\":0"));
	cr_expect(eq(sz, count_stand_ins(), 0));
	run(BUNDLE_STOP, NULL);
	cr_expect(route_says(
		"/c/gen", "\"unavailable\":\"bundle test.generation is stopped\",\"status\":503"));
	cr_expect(route_says("/gen", "\"unavailable\":null,\"status\":0"), "of the other one");
	cr_expect(eq(sz, count_stand_ins(), 2), "the context and the servlet");
	run(BUNDLE_START, "n=2 context=/c");
	cr_expect(route_says("/c/gen", "\"unavailable\":null,\"status\":0"));
	cr_expect(eq(sz, count_stand_ins(), 0));
	end();
}

/* A context that is stopped takes what others have in it along. */
Test(generations, looking_inside_tells_the_stand_in_of_a_context)
{
	static const struct bw_servlet mine = { .size = sizeof(mine) };
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	const struct bw_service_object object = { .type = &mine };
	const struct bw_prop           props[] = { BW_P_STRING(BW_SERVLET_PATTERN, "/mine"),
		                                   BW_P_STRING(BW_CONTEXT_SELECT, "own") };
	struct bw_service             *s;

	begin();
	run(BUNDLE_INSTALL, "n=1 context=/c");
	registry_register(registry, NULL, interfaces, &object, props, 2, &s);
	cr_expect(route_says("/c/mine", "\"unavailable\":null,\"status\":405"));
	run(BUNDLE_STOP, NULL);
	cr_expect(eq(int, ask("/c/mine"), 503));
	cr_expect(route_says(
		"/c/mine", "\"unavailable\":\"bundle test.generation is stopped\",\"status\":503"));
	registry_unregister(s);
	end();
}

static int explain(const char *path, const char *text)
{
	struct buf      json;
	struct json_out j;
	int             status;

	buf_init(&json);
	json_out_init(&j, &json);
	json_out_object(&j);
	status = engine_explain(&j, bw_str(path));
	json_out_object_end(&j);
	cr_expect(says(&json, text), "%s", path);
	return status;
}

Test(generations, looking_inside_tells_what_is_mounted_and_stopped)
{
	begin();
	run(BUNDLE_INSTALL, "n=1 engine=/bin/x");
	cr_expect(eq(int, explain("/bin/x", "\"unavailable\":null"), 0));
	run(BUNDLE_STOP, NULL);
	cr_expect(eq(int, explain("/bin/x", "\"unavailable\":\"bundle test.generation is"), 503));
	cr_expect(eq(int, explain("/bin/x.html", "\"unavailable\":\"bundle test.generation is"), 0),
	          "a longer one may be stored");
	cr_expect(eq(int, explain("/bin/y", "\"servlet\":null,\"bundle\":null,\"path\":null"), 0));
	end();
}

Test(generations, what_stops_may_not_register)
{
	begin();
	run(BUNDLE_INSTALL, "n=1 stop=register");
	run(BUNDLE_STOP, NULL);
	cr_assert(eq(int, ask("/late"), 404));
	cr_assert(described("\"services\":1"));
	end();
}

/* Row E33: the whiteboard stops with a request inside and starts anew, with the same
 * registrations. */
Test(generations, a_whiteboard_that_starts_again_serves_all)
{
	begin();
	run(BUNDLE_INSTALL, "n=1 context=/c");
	run_other(BUNDLE_INSTALL, "n=other");
	ask("/c/gen/sleep");
	whiteboard_done();
	whiteboard_init(registry);
	cr_assert_str_eq(body_of("/c/gen"), "1");
	cr_assert_str_eq(body_of("/gen"), "other");
	resume();
	cr_assert_str_eq(last.body, "1");
	run(BUNDLE_UPDATE, "n=2 context=/c");
	cr_assert_str_eq(body_of("/c/gen"), "2");
	cr_assert(described("\"mapped\":0"));
	end();
}

/* ---- a worker that starts ---- */

Test(generations, a_worker_is_told_what_is_installed)
{
	struct conf_list  none = { NULL, 0 };
	struct buf        footprint;
	struct bundle_row rows[2];

	begin();
	run(BUNDLE_INSTALL, "n=1 context=/c rank=7");
	buf_init(&footprint);
	cr_assert(bundles_footprint("test.generation", &footprint));
	cr_assert(not(bundles_footprint("test.unknown", &footprint)));
	buf_append(&footprint, "", 1);
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(eq(int, ask("/c/gen"), 404));

	rows[0] = (struct bundle_row){ .name = "test.generation",
		                       .generation = 70,
		                       .state = BUNDLE_REFUSED,
		                       .reason = "crashed in start, 3 times in a row",
		                       .footprint = (const char *)buf_data(&footprint) };
	rows[1] = (struct bundle_row){ .name = "test.other", .generation = 71 };
	rows[1].file = file_of(&other, "n=other");
	bundles_load(&none, &(struct bundle_list){ .rows = rows, .n = 2 });
	cr_assert(eq(int, ask("/c/gen"), 503));
	cr_assert_str_eq(body_of("/gen"), "other");
	cr_assert(described("\"state\":\"INSTALLED\",\"reason\":\"crashed in start, 3 times"));
	cr_assert(described("\"generation\":71,\"state\":\"ACTIVE\""));
	run(BUNDLE_UPDATE, "n=2 context=/c");
	cr_assert_str_eq(body_of("/c/gen"), "2");
	buf_done(&footprint);
	end();
}

/* One service that is a context, a servlet and a filter: made ready, exchanged and stood in for as a whole. */
Test(generations, one_service_that_is_several_things)
{
	struct conf_list  none = { NULL, 0 };
	struct buf        footprint;
	struct bundle_row row = { .name = "test.generation",
		                  .generation = 70,
		                  .state = BUNDLE_REFUSED };

	begin();
	run(BUNDLE_INSTALL, "n=1 one=/c");
	cr_assert_str_eq(body_of("/c/gen"), "11");
	run(BUNDLE_UPDATE, "n=2 one=/c");
	cr_assert_str_eq(body_of("/c/gen"), "22");
	buf_init(&footprint);
	cr_assert(bundles_footprint("test.generation", &footprint));
	buf_append(&footprint, "", 1);
	run(BUNDLE_STOP, NULL);
	cr_assert(eq(int, ask("/c/gen"), 503));
	cr_assert(eq(int, ask("/c/other"), 404));
	cr_assert(eq(sz, count_stand_ins(), 2));
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(eq(int, ask("/c/gen"), 404));
	row.footprint = (const char *)buf_data(&footprint);
	bundles_load(&none, &(struct bundle_list){ .rows = &row, .n = 1 });
	cr_assert(eq(int, ask("/c/gen"), 503));
	cr_assert(eq(sz, count_stand_ins(), 2));
	run(BUNDLE_UPDATE, "n=3 one=/c");
	cr_assert_str_eq(body_of("/c/gen"), "33");
	buf_done(&footprint);
	end();
}

/* After an upgrade, say, that changed the ABI: what was installed cannot be started any more. */
Test(generations, what_cannot_be_started_is_stood_in_for)
{
	static const char *const words[] = { NULL, "n=2 start=fail", "n=2 init=fail" };
	static const char *const reasons[] = { "cannot be read", "failed to start",
		                               "cannot initialise test.generation" };
	struct conf_list         none = { NULL, 0 };
	struct buf               footprint;

	begin();
	run(BUNDLE_INSTALL, "n=1");
	buf_init(&footprint);
	cr_assert(bundles_footprint("test.generation", &footprint));
	buf_append(&footprint, "", 1);
	run(BUNDLE_UNINSTALL, NULL);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		struct bundle_row row = { .name = "test.generation", .generation = ++number };

		row.file = words[i] ? file_of(&generation, words[i]) : "/nowhere.so";
		row.footprint = (const char *)buf_data(&footprint);
		bundles_load(&none, &(struct bundle_list){ .rows = &row, .n = 1 });
		cr_assert(eq(int, ask("/gen"), 503));
		cr_assert(described(reasons[i]));
		cr_expect(route_says("/gen", "bundle test.generation is refused: it "));
		cr_expect(eq(sz, count_stand_ins(), 1));
		run(BUNDLE_UPDATE, "n=3");
		cr_assert_str_eq(body_of("/gen"), "3");
		run(BUNDLE_UNINSTALL, NULL);
		cr_assert(eq(sz, count_mapped(), 0));
	}
	buf_done(&footprint);
	end();
}

/* ---- the settings' own ---- */

static void load_setting(char *file, const char *remembered, const struct bundle_row *row)
{
	struct conf_list files = { &file, 1 };

	bundles_load(&files, &(struct bundle_list){ .rows = row,
	                                            .n = row ? 1 : 0,
	                                            .remembered = { NULL, remembered } });
}

Test(generations, a_setting_that_cannot_be_started_is_stood_in_for_as_it_was)
{
	static const char *const words[] = { "n=2 start=fail", NULL };
	struct buf               memory;
	char                    *file;

	begin();
	run_other(BUNDLE_INSTALL, "n=other path=/x");
	file = xstrdup(file_of(&generation, "n=1"));
	load_setting(file, NULL, NULL);
	cr_assert_str_eq(body_of("/gen"), "1");
	buf_init(&memory);
	bundles_remember(&memory);
	buf_append(&memory, "", 1);
	cr_assert(strstr((const char *)buf_data(&memory), file) != NULL);
	run(BUNDLE_UNINSTALL, NULL);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		unlink(file);
		if (words[i]) /* by its name, though it is another file */
			load_setting((char *)(uintptr_t)file_of(&generation, words[i]),
			             (const char *)buf_data(&memory), NULL);
		else /* by its file, though nobody can read its name */
			load_setting(file, (const char *)buf_data(&memory), NULL);
		cr_assert(eq(int, ask("/gen"), 503));
		cr_assert(eq(int, ask("/none"), 404), "the rest goes on");
		cr_assert_str_eq(body_of("/x"), "other");
		cr_assert(described("\"name\":\"test.generation\""));
		run(BUNDLE_UPDATE, "n=3");
		cr_assert_str_eq(body_of("/gen"), "3");
		run(BUNDLE_UNINSTALL, NULL);
	}
	buf_done(&memory);
	free(file);
	end();
}

static int get_exactly(void *self, struct bw_req *req)
{
	(void)self;
	return response_write(req, "exactly", 7);
}

static struct bw_service *register_exactly(const char *pattern)
{
	static const struct bw_servlet type = { .size = sizeof(type), .get = get_exactly };
	const struct bw_prop           prop = BW_P_STRING(BW_SERVLET_PATTERN, pattern);
	struct bw_service             *s = NULL;

	registry_register(registry, NULL, (const char *const[]){ BW_SERVLET, NULL },
	                  &(struct bw_service_object){ .type = &type }, &prop, 1, &s);
	return s;
}

/* Nobody knows what it would have taken, so nothing falls through. */
Test(generations, a_setting_of_which_nothing_is_known_puts_all_in_doubt)
{
	static const char *const memories[] = { NULL, "rubbish", "{\"x\":{\"name\":\"a\"}}" };
	struct bw_service       *exact;

	begin();
	run_other(BUNDLE_INSTALL, "n=other path=/x");
	exact = register_exactly("/y");
	for (size_t i = 0; i < sizeof(memories) / sizeof(*memories); i++) {
		load_setting((char *)(uintptr_t)file_of(&generation, "n=1 start=fail"), memories[i],
		             NULL);
		cr_assert(eq(int, ask("/gen"), 503));
		cr_assert_str_eq(last.retry_after, "5");
		cr_assert(eq(int, ask("/none"), 503));
		cr_assert(eq(int, ask("/x"), 503), "a prefix may have been in its way");
		cr_assert(eq(int, ask("/y"), 200), "what is meant exactly is meant");
		cr_expect(route_says("/x", "bundle test.generation is refused: it failed"));
		run(BUNDLE_UPDATE, "n=2");
		cr_assert_str_eq(body_of("/gen"), "2");
		cr_assert_str_eq(body_of("/x"), "other");
		cr_assert(eq(int, ask("/none"), 404));
		run(BUNDLE_UNINSTALL, NULL);
	}
	registry_unregister(exact);
	end();
}

/* Another worker could not start it. */
Test(generations, what_the_parent_refuses_is_stood_in_for)
{
	struct buf words;

	begin();
	run(BUNDLE_INSTALL, "n=1");
	run_other(BUNDLE_INSTALL, "n=other");
	cr_assert(eq(int, bundles_refuse("test.generation", "is bad", reason, 256), BW_OK));
	bundles_tend();
	cr_assert(eq(int, ask("/gen"), 503));
	cr_assert(eq(sz, count_stand_ins(), 1));
	cr_assert(described("\"version\":null,\"build\":null,\"generation\":1,"
	                    "\"state\":\"INSTALLED\",\"reason\":\"is bad\",\"file\":null"));
	cr_assert(eq(int, bundles_refuse("test.generation", "is worse", reason, 256), BW_OK));
	cr_assert(described("\"reason\":\"is worse\""));
	buf_init(&words);
	bundles_put_refused(&words);
	cr_assert(eq(sz, buf_size(&words), sizeof("test.generation\0001\0is worse")));
	cr_assert(memcmp(buf_data(&words), "test.generation\0001\0is worse", 27) == 0);
	buf_done(&words);
	cr_assert(eq(int, bundles_refuse("test.unknown", "is bad", reason, 256), BW_OK));
	cr_assert(eq(int, prepare_generation(BUNDLE_UPDATE, "n=2"), BW_OK), "%s", reason);
	cr_assert(eq(int, bundles_refuse("test.other", "is bad", reason, 256), BW_ESTATE));
	bundles_publish(number);
	cr_assert_str_eq(body_of("/gen"), "other", "it is the younger now");
	run_other(BUNDLE_STOP, NULL);
	cr_assert(eq(int, bundles_refuse("test.other", "is bad", reason, 256), BW_OK));
	cr_assert(described("\"state\":\"RESOLVED\",\"reason\":null"),
	          "it is stopped, and stays so");
	run_other(BUNDLE_UNINSTALL, NULL);
	cr_assert_str_eq(body_of("/gen"), "2");
	run(BUNDLE_UNINSTALL, NULL);
	cr_assert(eq(sz, count_mapped(), 0));
	end();
}

Test(generations, a_footprint_that_is_none_is_refused)
{
	static const char *const texts[] = {
		"",
		"{}",
		"[1]",
		"[{\"i\":[],\"p\":1}]",
		"[{\"i\":[\"jakarta.servlet.Servlet\"],\"p\":[[\"a\",\"s\",1]]}]",
		"[{\"i\":[\"jakarta.servlet.Servlet\"],\"p\":[[\"a\",\"S\",[1]]]}]",
		"[{\"i\":[\"jakarta.servlet.Servlet\"],\"p\":[[\"a\",\"x\",1]]}]",
		"[{\"i\":[\"jakarta.servlet.Servlet\"],\"p\":[[\"a\"]]}]",
	};
	struct conf_list none = { NULL, 0 };

	begin();
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct bundle_row row = { .name = "test.generation",
			                  .generation = 1,
			                  .state = BUNDLE_STOPPED,
			                  .footprint = texts[i] };

		bundles_load(&none, &(struct bundle_list){ .rows = &row, .n = 1 });
		cr_assert(described("\"services\":0"), "%s", texts[i]);
		run(BUNDLE_UNINSTALL, NULL);
	}
	end();
}

/* ---- what stays ---- */

/* Row E30. */
Test(generations, one_that_does_not_drain_is_kept_and_counted)
{
	struct shared *shared = shared_map(1);

	begin_with(&shared->worker[0], 0);
	run(BUNDLE_INSTALL, "n=1");
	ask("/gen/sleep");
	run(BUNDLE_UPDATE, "n=2");
	cr_assert(eq(sz, bundles_kept(), 1));
	cr_assert(eq(u32, atomic_load(&shared->worker[0].bundles_kept), 1));
	cr_assert_str_eq(body_of("/gen"), "2", "the worker lives");
	resume();
	cr_assert_str_eq(last.body, "1");
	bundles_tend();
	cr_assert(eq(sz, bundles_kept(), 0), "it has drained after all");
	end();
}

Test(generations, sixty_four_that_cannot_be_unmapped_ask_for_a_successor)
{
	struct shared        *shared = shared_map(1);
	struct shared_worker *me = &shared->worker[0];

	begin_with(me, LONG_MS);
	cr_assert(eq(int, prepare(BUNDLE_INSTALL, "test.generation", &nodelete, "n=0"), BW_OK));
	bundles_publish(number);
	for (int i = 1; i <= BUNDLES_KEPT_MAX; i++) {
		cr_assert(eq(u32, atomic_load(&me->wants_successor), 0), "after %d", i);
		cr_assert(eq(int, prepare(BUNDLE_UPDATE, "test.generation", &nodelete, "n=1"),
		             BW_OK));
		bundles_publish(number);
		bundles_tend();
		cr_assert(eq(u32, atomic_load(&me->bundles_kept), (uint32_t)i));
	}
	cr_assert(eq(u32, atomic_load(&me->wants_successor), 1));
	cr_assert_str_eq(body_of("/gen"), "1");
	end();
}

static size_t count_mappings(void)
{
	FILE  *f = fopen("/proc/self/maps", "r");
	size_t n = 0;

	for (int c; (c = getc(f)) != EOF;)
		n += c == '\n';
	fclose(f);
	return n;
}

/* Under the sanitizers: whatever is touched after its unmapping, and whatever is left behind, ends
 * it. */
Test(generations, a_thousand_updates_leave_nothing)
{
	size_t after_100 = 0;

	begin();
	run(BUNDLE_INSTALL, "n=0 engine=/bin/x context=/c");
	for (int i = 1; i <= 1000; i++) {
		char words[64], expected[16];

		snprintf(words, sizeof(words), "n=%d engine=/bin/x context=/c", i);
		if (i % 3 == 0 && n_parked == 0)
			ask("/c/gen/sleep");
		if (i % 10 == 5) {
			cr_assert(eq(
				int,
				prepare_generation(BUNDLE_UPDATE, "n=bad engine=/bin/x init=fail"),
				BW_ESERVLET));
		} else if (i % 10 == 6) {
			run(BUNDLE_STOP, NULL);
			cr_assert(eq(int, ask("/c/gen"), 503));
		}
		run(BUNDLE_UPDATE, words);
		snprintf(expected, sizeof(expected), "%d", i);
		cr_assert_str_eq(body_of("/c/gen"), expected);
		if (i % 3 == 2 && n_parked > 0) {
			resume();
			cr_assert(eq(int, last.status, 200));
			cr_assert(ne(str, last.body, "dead"));
		}
		if (i == 100)
			after_100 = count_mappings();
	}
	while (n_parked > 0)
		resume();
	bundles_tend();
	cr_assert(le(sz, count_mappings(), after_100 + after_100 / 10));
	cr_assert(described("\"mapped\":0"));
	end();
}
