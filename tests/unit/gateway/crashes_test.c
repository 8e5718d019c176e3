/* gateway/bundle/crashes.c, crash_limits.c, mark.c, and the crash handler's part of fiber.c: whoever finds
 * a worker dead knows which bundle's code it was in, a bundle that does so in its start is refused
 * after three times, and a pattern that crashed is answered 503 by the successor for a time that
 * doubles and ends; so is everything behind a preprocessor that did, and an error page that did
 * gives way to the built-in one. */
#include <gateway/bundle/bundles.h>
#include <gateway/bundle/crash_limits.h>
#include <gateway/bundle/crashes.h>
#include <gateway/fiber.h>
#include <gateway/bundle/mark.h>
#include <gateway/request.h>
#include <gateway/shared.h>
#include <gateway/whiteboard/inspect.h>
#include <gateway/whiteboard/listener.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>

#include <base/clock.h>
#include <base/conf.h>
#include <base/fatal.h>
#include <base/log.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/generation.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shared    *shared;
static struct registry  *registry;
static struct generation generation;
static char              folder[64];

static void init(void)
{
	log_init("test", LOG_LEVEL_ERROR);
	shared = shared_map(1);
	strcpy(folder, "/tmp/boardwalk-crashes-XXXXXX");
	cr_assert(mkdtemp(folder) != NULL);
	generation_read(&generation, TEST_BUNDLES "/generation.so");
}

static void done(void)
{
	char *command = xasprintf("rm -r %s", folder);

	crashes_done();
	generation_done(&generation);
	cr_assert(eq(int, system(command), 0));
	free(command);
}

TestSuite(crashes, .init = init, .fini = done);

/* What a worker does, in a process of its own; its wait status. */
static int in_worker(void (*fn)(const void *arg), const void *arg)
{
	int   status;
	pid_t pid = fork();

	if (pid == 0) {
		fiber_report_subject(shared->worker[0].crash_subject,
		                     sizeof(shared->worker[0].crash_subject));
		fiber_report_crashes();
		limits_init(&shared->worker[0]);
		registry = registry_new();
		whiteboard_init(registry);
		bundles_init(registry, &shared->worker[0], 60000);
		fn(arg);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static const char *file_of(const char *words)
{
	static char file[128];
	static int  n;

	snprintf(file, sizeof(file), "%s/%d-%d.so", folder, (int)getpid(), ++n);
	generation_write(&generation, words, file);
	return file;
}

/* ---- outside of a request ---- */

static void install(const void *arg)
{
	char                reason[256];
	struct bundle_order o = { .action = BUNDLE_INSTALL,
		                  .name = "test.generation",
		                  .generation = 17 };

	o.file = file_of(arg);
	if (bundles_prepare(&o, reason, sizeof(reason)) == BW_OK)
		bundles_publish(17);
}

Test(crashes, the_mark_names_the_bundle_and_what_it_did)
{
	static const struct {
		const char *words, *how;
	} rows[] = {
		{ "n=1 load=crash", "crashed in its constructors" },
		{ "n=1 start=crash", "crashed in start" },
		{ "n=1 init=crash", "crashed in init" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char     how[64] = "has ended";
		uint64_t number = 0;

		cr_assert(ne(int, in_worker(install, rows[i].words), 0));
		cr_assert_str_eq(shared->worker[0].mark.bundle, "test.generation");
		cr_assert(crashes_note(&shared->worker[0], 0, &number, how, sizeof(how)));
		cr_assert_str_eq(how, rows[i].how);
		cr_assert(eq(u64, number, 17));
		cr_assert(not(crashes_note(&shared->worker[0], 0, &number, how, sizeof(how))),
		          "it is noted once");
	}
	cr_assert(eq(int, in_worker(install, "n=1"), 0));
	cr_assert(eq(u32, atomic_load(&shared->worker[0].mark.phase), MARK_NONE));
}

/* As the settings name it. */
static void load(const void *arg)
{
	char              *file = (char *)arg;
	struct conf_list   files = { &file, 1 };
	struct bundle_list none = { .n = 0 }, list = crashes_list(&none);

	bundles_load(&files, &list);
}

Test(crashes, a_bundle_of_the_settings_is_refused_after_three)
{
	static const char *const words[] = { "n=1 start=crash", "n=1 load=crash" };
	struct bundle_list       none = { .n = 0 }, list;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char *file = xstrdup(file_of(words[i]));

		for (int k = 0; k < 3; k++) {
			char     how[64] = "has ended";
			uint64_t number = 1;

			cr_assert(ne(int, in_worker(load, file), 0), "%s, round %d", words[i], k);
			cr_assert(crashes_note(&shared->worker[0], 0, &number, how, sizeof(how)));
			cr_assert(eq(u64, number, 0));
		}
		cr_assert(eq(int, in_worker(load, file), 0), "%s: it is tried once more", words[i]);
		list = crashes_list(&none);
		cr_assert(eq(sz, list.n, i + 1));
		cr_assert(eq(int, list.rows[i].state, BUNDLE_REFUSED));
		crashes_list_done(&list);
		free(file);
	}
}

/* ---- while serving ---- */

static int crash(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	abort();
}

static int hello(void *self, struct bw_req *req)
{
	(void)self;
	return response_write(req, "hello", 5);
}

static const struct bw_servlet crashing = { .size = sizeof(crashing), .get = crash },
			       good = { .size = sizeof(good), .get = hello };

static void put(const struct bw_servlet *type, const char *pattern)
{
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	const struct bw_service_object object = { .type = type };
	const struct bw_prop           props[] = { BW_P_STRING(BW_SERVLET_PATTERN, pattern) };

	registry_register(registry, NULL, interfaces, &object, props, 1, NULL);
}

static int  status;
static char retry_after[16];

static void on_stop(struct bw_req *req)
{
	if (req->state != REQ_RESPONDING)
		return;
	status = req->status;
	retry_after[0] = 0;
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (bw_str_eq(req->res_headers[i].name, BW_STR("retry-after")))
			snprintf(retry_after, sizeof(retry_after), "%s",
			         req->res_headers[i].value.p);
	request_release(req);
	request_release(req);
}

static int ask(const char *path)
{
	struct bw_req *req = request_new();

	req->method = BW_STR("GET");
	req->path = req->uri = bw_str(path);
	if (!request_start(req, whiteboard_serve))
		fatalx("no fiber");
	return status;
}

/* Exit status 0: what was asked for was answered as expected; 7: it was not. */
struct question {
	const char *path, *retry_after;
	int         status;
};

static void serve(const void *arg)
{
	const struct question *q = arg;

	fiber_pool_init(4);
	request_on_stop(on_stop);
	put(&crashing, "/boom/*");
	put(&good, "/other");
	if (ask("/other") != 200 || ask(q->path) != q->status ||
	    (q->retry_after && strcmp(retry_after, q->retry_after) != 0))
		_exit(7);
}

static void crash_once(unsigned seconds)
{
	static const struct question q = { "/boom/x", NULL, 200 };
	struct shared_worker        *me = &shared->worker[0];
	char                         how[64] = "has ended";
	uint64_t                     number, now_us;
	int                          ended = in_worker(serve, &q);

	cr_assert(ne(int, WTERMSIG(ended), 0), "it ended with %d", WEXITSTATUS(ended));
	cr_assert_str_eq(me->crash_subject, "default /boom/*");
	now_us = clock_mono_us();
	cr_assert(not(crashes_note(me, 0, &number, how, sizeof(how))), "no bundle is to blame");
	cr_assert_str_eq(how, "has ended");
	cr_assert_str_eq(me->crash_subject, "");
	cr_assert_str_eq(me->limits[0].subject, "default /boom/*");
	cr_assert(ge(u64, me->limits[0].until_us, now_us + seconds * 1000000u));
	cr_assert(le(u64, me->limits[0].until_us, clock_mono_us() + seconds * 1000000u));
}

Test(crashes, a_pattern_that_crashed_is_answered_503_for_a_while)
{
	static const struct question refused = { "/boom/y", NULL, 503 };
	static const unsigned        seconds[] = { 1, 2, 4, 8, 16, 32, 64, 64, 64 };
	struct shared_limit         *l = &shared->worker[0].limits[0];

	for (size_t i = 0; i < sizeof(seconds) / sizeof(*seconds); i++) {
		crash_once(seconds[i]);
		l->until_us += 60000000; /* however slow this machine is */
		cr_assert(eq(int, in_worker(serve, &refused), 0), "after crash %zu", i + 1);
		l->until_us = 0;
	}
	l->crashed_us -= 700000000; /* ten minutes without one */
	crash_once(1);
}

Test(crashes, the_retry_after_is_what_is_left)
{
	static const struct question refused = { "/boom", "40", 503 };
	struct shared_limit         *l = &shared->worker[0].limits[0];

	crash_once(1);
	l->until_us = clock_mono_us() + 39900000;
	cr_assert(eq(int, in_worker(serve, &refused), 0));
}

/* ---- what is no pattern ---- */

/* A request that crashes, and whom it is blamed on; or what the successor answers. */
struct scene {
	void (*build)(void);
	const char *path;
	int         status;
	const char *route; /* what inspect_route says of it; NULL: it is not asked */
};

static bool route_says(const char *path, const char *text)
{
	struct buf json;
	bool       found;

	buf_init(&json);
	inspect_route("GET", path, &json);
	buf_append(&json, "", 1);
	found = strstr((const char *)buf_data(&json), text) != NULL;
	buf_done(&json);
	return found;
}

static void play(const void *arg)
{
	const struct scene *s = arg;

	fiber_pool_init(4);
	request_on_stop(on_stop);
	put(&good, "/other");
	s->build();
	if (ask(s->path) != s->status || (s->route && !route_says(s->path, s->route)))
		_exit(7);
}

static void expect_blame(const struct scene *s, const char *subject)
{
	struct shared_worker *me = &shared->worker[0];
	char                  how[64];
	uint64_t              number;

	cr_assert(ne(int, WTERMSIG(in_worker(play, s)), 0));
	cr_assert_str_eq(me->crash_subject, subject);
	crashes_note(me, 0, &number, how, sizeof(how));
	me->limits[0].until_us += 60000000; /* however slow this machine is */
}

static void expect_status(void (*build)(void), const char *path, int want)
{
	const char        *route = want != 503 ? "\"unavailable\":null"
	                                       : " crashed a worker not long ago\",\"status\":503";
	const struct scene s = { build, path, want, route };

	cr_expect(eq(int, in_worker(play, &s), 0), "%s", path);
}

static void put_page(void)
{
	const char *const              interfaces[] = { BW_SERVLET, NULL };
	const struct bw_service_object object = { .type = &crashing };
	const struct bw_prop           props[] = { BW_P_STRING(BW_SERVLET_ERROR_PAGE, "404"),
		                                   BW_P_STRING(BW_SERVLET_NAME, "lost") };

	registry_register(registry, NULL, interfaces, &object, props, 2, NULL);
}

static int refuse(void *self, struct bw_req *req)
{
	(void)self;
	return response_send_error(req, 404, NULL);
}

static const struct bw_servlet refusing = { .size = sizeof(refusing), .get = refuse };

static void put_page_and_servlet(void)
{
	put_page();
	put(&refusing, "/refused");
}

Test(crashes, an_error_page_gives_way_to_the_built_in_one)
{
	static const struct scene scenes[] = { { put_page, "/nowhere", 404, NULL },
		                               { put_page_and_servlet, "/refused", 404, NULL } };
	struct shared_worker     *me = &shared->worker[0];

	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		memset(me->limits, 0, sizeof(me->limits));
		expect_blame(&scenes[i], "default page lost");
		expect_status(scenes[i].build, scenes[i].path, 404);
		expect_status(scenes[i].build, "/other", 200);
		cr_expect(eq(u64, atomic_load(&me->crashes), i + 1));
	}
}

static int crash_before(void *self, struct bw_req *req, struct bw_chain *chain)
{
	(void)chain;
	return crash(self, req);
}

static int crash_after(void *self, struct bw_req *req, struct bw_chain *chain)
{
	whiteboard_chain_next(chain, req);
	return crash(self, req);
}

static int pass(void *self, struct bw_req *req, struct bw_chain *chain)
{
	(void)self;
	return whiteboard_chain_next(chain, req);
}

static const struct bw_filter before = { .size = sizeof(before), .filter = crash_before },
			      after = { .size = sizeof(after), .filter = crash_after },
			      passing = { .size = sizeof(passing), .filter = pass };

static void put_preprocessor(const struct bw_filter *type)
{
	const char *const              interfaces[] = { BW_PREPROCESSOR, NULL };
	const struct bw_service_object object = { .type = type };

	registry_register(registry, NULL, interfaces, &object, NULL, 0, NULL);
}

static void put_before(void)
{
	put_preprocessor(&before);
}

/* On its way back it is the one that runs, not the servlet nor the preprocessor behind it. */
static void put_after(void)
{
	put_preprocessor(&after);
	put_preprocessor(&passing);
}

Test(crashes, nothing_passes_a_preprocessor_that_crashed)
{
	static const struct scene scenes[] = { { put_before, "/other", 0, NULL },
		                               { put_before, "/nowhere", 0, NULL },
		                               { put_after, "/other", 0, NULL },
		                               { put_after, "/nowhere", 0, NULL } };
	struct shared_worker     *me = &shared->worker[0];

	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		memset(me->limits, 0, sizeof(me->limits));
		expect_blame(&scenes[i], "preprocessor boardwalk");
		expect_status(scenes[i].build, "/other", 503);
		expect_status(scenes[i].build, "/nowhere", 503);
	}
}

static void put_passing(void)
{
	put_preprocessor(&passing);
	put(&crashing, "/boom");
}

Test(crashes, a_preprocessor_is_not_to_blame_for_what_is_behind_it)
{
	static const struct scene scene = { put_passing, "/boom", 0, NULL };

	expect_blame(&scene, "default /boom");
	expect_status(put_passing, "/boom", 503);
	expect_status(put_passing, "/other", 200);
}

static int crash_for_request(void *self, struct bw_req *req)
{
	return crash(self, req);
}

static int crash_for_context(void *self, struct bw_context *c, const char *name,
                             const struct bw_value *value)
{
	(void)c;
	(void)name;
	(void)value;
	return crash(self, NULL);
}

static int set_attribute(void *self, struct bw_req *req)
{
	const struct bw_value v = BW_V_LONG(1);

	(void)self;
	(void)req;
	listener_context_attribute(snapshot_current()->contexts[0]->context, "a", NULL, &v);
	return response_write(req, "ok", 2);
}

static const struct bw_listener at_begin = { .size = sizeof(at_begin),
	                                     .request_initialized = crash_for_request },
				at_end = { .size = sizeof(at_end),
	                                   .request_destroyed = crash_for_request },
				at_attribute = { .size = sizeof(at_attribute),
	                                         .context_attribute_added = crash_for_context };
static const struct bw_servlet setting = { .size = sizeof(setting), .get = set_attribute };

static void put_listener(const char *interface, const struct bw_listener *type)
{
	const char *const              interfaces[] = { interface, NULL };
	const struct bw_service_object object = { .type = type };
	const struct bw_prop           props[] = { BW_P_BOOL(BW_LISTENER, true) };

	registry_register(registry, NULL, interfaces, &object, props, 1, NULL);
}

static void put_at_begin(void)
{
	put_listener(BW_REQUEST_LISTENER, &at_begin);
}

static void put_at_end(void)
{
	put_listener(BW_REQUEST_LISTENER, &at_end);
}

static void put_at_attribute(void)
{
	put_listener(BW_CONTEXT_ATTRIBUTE_LISTENER, &at_attribute);
	put(&setting, "/setting");
}

/* Session listeners are told by the same function as those of a context's attributes. */
Test(crashes, a_listener_that_crashed_is_not_told_for_a_while)
{
	static const struct scene scenes[] = { { put_at_begin, "/other", 0, NULL },
		                               { put_at_end, "/other", 0, NULL },
		                               { put_at_attribute, "/setting", 0, NULL } };
	struct shared_worker     *me = &shared->worker[0];

	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		memset(me->limits, 0, sizeof(me->limits));
		expect_blame(&scenes[i], "listener boardwalk");
		expect_status(scenes[i].build, scenes[i].path, 200);
	}
}

/* More patterns than there is room for: the one that was quiet the longest makes room. */
Test(crashes, there_is_room_for_the_newest)
{
	struct shared_worker *me = &shared->worker[0];
	char                  how[64];
	uint64_t              number;
	char                  pattern[32];

	for (unsigned i = 0; i <= SHARED_LIMITS; i++) {
		snprintf(me->crash_subject, sizeof(me->crash_subject), "default /%u", i);
		crashes_note(me, 0, &number, how, sizeof(how));
		me->limits[i % SHARED_LIMITS].crashed_us += i; /* a clock that stands still */
	}
	limits_init(me);
	cr_assert(limits_find("default", "/0") == NULL);
	for (unsigned i = 1; i <= SHARED_LIMITS; i++) {
		snprintf(pattern, sizeof(pattern), "/%u", i);
		cr_assert(limits_find("default", pattern) != NULL, "%s", pattern);
	}
	cr_assert(limits_find("defaul", "t /1") == NULL);
	cr_assert(limits_find("other", "/1") == NULL);
	limits_init(NULL);
	cr_assert(limits_find("default", "/1") == NULL);
}
