/* gateway/whiteboard/dispatcher.c: what no row can say: depth, foreign dispatchers, and that everything
 * is as before when a dispatch has returned. */
#include "site.h"

static int                           results[4];
static unsigned                      depth;
static struct bw_request_dispatcher *kept;
static struct bw_str                 got[4];

static int write_t(void *self, struct bw_req *req)
{
	(void)self;
	return response_write(req, "T", 1);
}
static const struct bw_servlet t_type = { .size = sizeof(t_type), .service = write_t };

/* ---- depth ---- */

static int include_itself(void *self, struct bw_req *req)
{
	(void)self;
	depth++;
	results[0] = dispatcher_include(req, dispatcher_of_context(req, BW_STR("/self")));
	return results[0];
}
static const struct bw_servlet self_type = { .size = sizeof(self_type), .service = include_itself };

Test(dispatcher, nests_fifty_deep_and_no_deeper, .init = site_start, .fini = site_stop)
{
	struct bw_req *req;

	site_servlet("/self", &self_type);
	req = site_begin("/self");
	cr_assert(eq(uint, depth, DISPATCHER_DEPTH + 1));
	cr_assert(eq(int, results[0], BW_ECYCLE));
	cr_assert(eq(int, req->status, 500));
	cr_assert(eq(uint, req->nested, 0));
	site_end(req);
}

static int include_wide(void *self, struct bw_req *req);

/* Some of a servlet's own stack, in frames as a compiler allows them. */
static int take_stack(struct bw_req *req, int frames)
{
	volatile char frame[3000];

	frame[0] = frame[sizeof(frame) - 1] = (char)frames;
	if (frames > 0)
		return take_stack(req, frames - 1) + (frame[0] - (char)frames);
	depth++;
	return dispatcher_include(req, dispatcher_of_context(req, BW_STR("/wide")));
}

static int include_wide(void *self, struct bw_req *req)
{
	(void)self;
	results[0] = take_stack(req, 24);
	return results[0];
}
static const struct bw_servlet wide_type = { .size = sizeof(wide_type), .service = include_wide };

Test(dispatcher, stops_before_the_stack_ends, .init = site_start, .fini = site_stop)
{
	struct bw_req *req;

	site_servlet("/wide", &wide_type);
	req = site_begin("/wide");
	cr_assert(depth > 1 && depth < DISPATCHER_DEPTH, "%u", depth);
	cr_assert(eq(int, results[0], BW_ECYCLE));
	cr_assert(eq(int, req->status, 500));
	site_end(req);
}

/* ---- whose it is, and how often ---- */

static int keep_dispatcher(void *self, struct bw_req *req)
{
	(void)self;
	results[0] = dispatcher_include(req, NULL);
	if (kept)
		results[1] = dispatcher_forward(req, kept);
	kept = dispatcher_of_context(req, BW_STR("/t"));
	results[2] = dispatcher_forward(req, kept);
	results[3] = dispatcher_forward(req, kept);
	return response_write(req, "ignored", 7);
}
static const struct bw_servlet keep_type = { .size = sizeof(keep_type),
	                                     .service = keep_dispatcher };

Test(dispatcher, belongs_to_one_request_and_forwards_once, .init = site_start, .fini = site_stop)
{
	struct bw_req *first, *second;

	site_servlet("/t", &t_type);
	site_servlet("/keep", &keep_type);
	first = site_begin("/keep");
	cr_assert(eq(int, results[0], BW_EINVAL));
	cr_assert(eq(int, results[2], BW_OK));
	cr_assert(eq(int, results[3], BW_ESTATE));
	cr_assert(site_body_is(first, "T"));
	second = site_begin("/keep");
	cr_assert(eq(int, results[1], BW_EINVAL));
	cr_assert(site_body_is(second, "T"));
	site_end(second);
	site_end(first);
}

/* ---- text ---- */

static int get_many(void *self, struct bw_req *req)
{
	char                          text[9000];
	struct bw_request_dispatcher *d;

	(void)self;
	memset(text, 'a', sizeof(text));
	text[0] = '/';
	cr_assert(dispatcher_of_context(req, (struct bw_str){ text, sizeof(text) }) == NULL);
	cr_assert(dispatcher_of_request(req, (struct bw_str){ text + 1, sizeof(text) - 1 }) ==
	          NULL);
	cr_assert(dispatcher_of_context(req, (struct bw_str){ text, 8000 }) != NULL);
	cr_assert(dispatcher_of_context(req, BW_ABSENT) == NULL);
	cr_assert(dispatcher_of_request(req, BW_ABSENT) == NULL);
	cr_assert(dispatcher_named(req, BW_ABSENT) == NULL);
	/* The base is decoded text and has to be written as URI text again. */
	d = dispatcher_of_request(req, BW_STR("x?y"));
	cr_assert(d != NULL);
	dispatcher_forward(req, d);
	return BW_OK;
}

static int look(void *self, struct bw_req *req)
{
	(void)self;
	got[0] = request_uri(req);
	got[1] = request_path(req);
	got[2] = request_query(req);
	got[3] = attr_get(req, BW_ATTR_FORWARD "request_uri");
	return BW_OK;
}
static const struct bw_servlet many_type = { .size = sizeof(many_type), .service = get_many };
static const struct bw_servlet look_type = { .size = sizeof(look_type), .service = look };

Test(dispatcher, writes_a_relative_base_as_text, .init = site_start, .fini = site_stop)
{
	static const char uri[] = "/%C3%A9%25%3B%3F/s/";
	struct bw_req    *req;

	site_servlet("/*", &look_type);
	site_servlet("/\303\251%/s/get", &many_type);
	req = site_begin("/%C3%A9%25/s/get");
	cr_assert_str_eq(got[0].p, "/%C3%A9%25/s/x");
	cr_assert_str_eq(got[1].p, "/\303\251%/s/x");
	cr_assert_str_eq(got[2].p, "y");
	cr_assert_str_eq(got[3].p, "/%C3%A9%25/s/get");
	cr_assert(attr_get(req, BW_ATTR_FORWARD "request_uri").p == NULL);
	cr_assert(req->target == NULL && req->extra == NULL && req->origin == NULL);
	site_end(req);
	req = site_begin(uri);
	cr_assert_str_eq(got[1].p, "/\303\251%;?/s/");
	site_end(req);
}

/* ---- whatever is nested ---- */

static uint64_t seed = 11;
static unsigned dispatched, budget;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

/* What a dispatch changes. */
struct state {
	const struct dispatch   *whiteboard;
	const struct req_target *target, *included;
	const struct req_origin *origin;
	const struct req_query  *extra;
	const struct req_attr   *attrs;
	struct bw_str            uri, path, query, sp, pi, name, pattern;
	enum bw_dispatcher       dispatcher;
	unsigned                 nested;
	bool                     forwarded, body_only;
};

static void take_state(const struct bw_req *req, struct state *ret)
{
	memset(ret, 0, sizeof(*ret)); /* the padding is compared, too */
	ret->whiteboard = req->whiteboard;
	ret->target = req->target;
	ret->included = req->included;
	ret->origin = req->origin;
	ret->extra = req->extra;
	ret->attrs = req->attrs;
	ret->uri = request_uri(req);
	ret->path = request_path(req);
	ret->query = request_query(req);
	ret->sp = req->servlet_path;
	ret->pi = req->path_info;
	ret->name = req->servlet_name;
	ret->pattern = req->pattern;
	ret->dispatcher = req->dispatcher;
	ret->nested = req->nested;
	ret->forwarded = req->forwarded;
	ret->body_only = req->body_only;
}

static struct bw_request_dispatcher *any_dispatcher(struct bw_req *req)
{
	static const struct bw_str paths[] = { BW_STR("/any"),         BW_STR("/any/x?a=1"),
		                               BW_STR("/any/y;p=1/z"), BW_STR("any/q?"),
		                               BW_STR("?r"),           BW_STR("../any") };

	if (draw(5) == 0)
		return dispatcher_named(req, BW_STR("any"));
	return dispatcher_of_request(req, paths[draw(6)]);
}

static int do_anything(void *self, struct bw_req *req)
{
	struct state before, after;

	(void)self;
	for (unsigned n = draw(4); n > 0 && budget > 0; n--) {
		struct bw_request_dispatcher *d = any_dispatcher(req);

		budget--;
		if (!d)
			continue;
		dispatched++;
		take_state(req, &before);
		if (draw(2) == 0)
			dispatcher_forward(req, d);
		else
			dispatcher_include(req, d);
		take_state(req, &after);
		cr_assert(memcmp(&before, &after, sizeof(before)) == 0);
		response_write(req, "x", 1);
	}
	return draw(6) == 0 ? BW_EBUSY : draw(6) == 0 ? response_send_error(req, 404, NULL) : BW_OK;
}
static const struct bw_servlet any_type = { .size = sizeof(any_type), .service = do_anything };

Test(dispatcher, puts_everything_back, .init = site_start, .fini = site_stop)
{
	const struct bw_prop props[] = { BW_P_STRING(BW_SERVLET_PATTERN, "/any/*"),
		                         BW_P_STRING(BW_SERVLET_NAME, "any") };

	site_register(BW_SERVLET, &any_type, props, 2);
	for (int i = 0; i < 2000; i++) {
		struct bw_req *req;

		budget = 200;
		req = site_begin("/any/start?q=1");
		cr_assert(req->target == NULL && req->extra == NULL && req->nested == 0);
		cr_assert(req->body_only == false && req->forwarded == false);
		cr_assert(req->status == 200 || req->status == 404 || req->status == 503);
		site_end(req);
	}
	cr_assert(dispatched > 2000, "%u", dispatched);
}

/* ---- attributes of a dispatch ---- */

Test(dispatcher, hides_attributes_in_brackets)
{
	struct bw_req  *req = request_new();
	struct req_attr block[2] = { { .name = BW_STR("a"), .value = BW_STR("inner") },
		                     { .name = BW_STR("b"), .value = BW_ABSENT } };

	attr_set(req, "b", BW_STR("outer"));
	attr_push(req, block, 2);
	cr_assert(bw_str_eq(attr_get(req, "a"), BW_STR("inner")));
	cr_assert(attr_get(req, "b").p == NULL);
	attr_set(req, "b", BW_STR("mine"));
	attr_set(req, "a", BW_ABSENT);
	attr_set(req, "c", BW_STR("stays"));
	cr_assert(attr_get(req, "a").p == NULL);
	attr_pop(req, block, 2);
	cr_assert(attr_get(req, "a").p == NULL);
	cr_assert(bw_str_eq(attr_get(req, "b"), BW_STR("outer")));
	cr_assert(bw_str_eq(attr_get(req, "c"), BW_STR("stays")));
	request_set_state(req, REQ_RESPONDING);
	request_release(req);
	request_release(req);
	request_pool_done();
}
