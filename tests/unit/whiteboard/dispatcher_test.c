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
