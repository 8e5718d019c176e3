/* The whiteboard while it serves: requests on real fibers park in filters and servlets, in any number and
 * order, while services come, go and change. No request is lost or refused, none meets an object that is
 * not initialised, each that entered a context leaves it, and in the end everything was destroyed. */
#include <gateway/fiber.h>
#include <gateway/request.h>
#include <gateway/whiteboard/inspect.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>

#include <base/log.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <jansson.h>
#include <stdio.h>

enum { THINGS = 20, MAX_PARKED = 200, STEPS = 60000 };

struct thing {
	struct bw_service *service;
	bool               is_filter, is_factory;
	int                alive, inside; /* initialised; requests that are in it */
};

static struct registry *registry;
static struct thing     things[THINGS];
static struct thing     base; /* always there */
static struct bw_req   *parked[MAX_PARKED];
static size_t           n_parked;
static unsigned         answered, entered, left;
static uint64_t         seed = 99;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

/* ---- the objects ---- */

static int on_init(void *self, const struct bw_config *cfg)
{
	struct thing *t = self;

	(void)cfg;
	cr_assert(t->is_factory || t->alive == 0, "one object is initialised twice");
	t->alive++;
	return BW_OK;
}

static void on_destroy(void *self)
{
	struct thing *t = self;

	t->alive--;
	/* A factory's thing counts several objects as one, so only a singleton can be told here. */
	cr_assert(t->is_factory || t->inside == 0, "destroyed with %d requests inside", t->inside);
}

static int maybe_park(struct thing *t, struct bw_req *req)
{
	struct req_wait wait = { .cancel = NULL };
	int             err = BW_OK;

	cr_assert(gt(int, t->alive, 0), "a request is in what is not initialised");
	if (draw(3) == 0 && n_parked < MAX_PARKED) {
		t->inside++;
		parked[n_parked++] = req;
		err = request_park(req, &wait);
		t->inside--;
		cr_assert(gt(int, t->alive, 0), "it was destroyed under a request");
	}
	return err;
}

static int on_service(void *self, struct bw_req *req)
{
	int err = maybe_park(self, req);

	return err != BW_OK ? err : response_write(req, "ok", 2);
}

static int on_filter(void *self, struct bw_req *req, struct bw_chain *chain)
{
	int err = maybe_park(self, req);

	if (err == BW_OK)
		err = whiteboard_chain_next(chain, req);
	return err != BW_OK ? err : maybe_park(self, req);
}

static int on_handle(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	entered++;
	return BW_OK;
}

static void on_finish(void *self, struct bw_req *req)
{
	(void)self;
	(void)req;
	left++;
}

static void *on_make(void *self, struct bw_bundle *for_bundle)
{
	(void)for_bundle;
	return self;
}

static const struct bw_servlet servlet = {
	.size = sizeof(servlet), .init = on_init, .destroy = on_destroy, .service = on_service
};
static const struct bw_filter filter = {
	.size = sizeof(filter), .init = on_init, .destroy = on_destroy, .filter = on_filter
};
static const struct bw_context_helper helper = { .size = sizeof(helper),
	                                         .handle_security = on_handle,
	                                         .finish_security = on_finish };

/* ---- what happens ---- */

static size_t draw_props(const struct thing *t, struct bw_prop props[3])
{
	static const char *const patterns[] = { "/a", "/*", "*.x", "/b" };
	const char              *pattern = t == &base ? "/" : patterns[draw(4)];

	props[0] = (struct bw_prop)BW_P_INT(BW_SERVICE_RANKING, t == &base ? -1 : (int)draw(100));
	props[1] = (struct bw_prop)BW_P_STRING(BW_CONTEXT_SELECT, "c");
	props[2] = (struct bw_prop)BW_P_STRING(
		t->is_filter ? BW_FILTER_PATTERN : BW_SERVLET_PATTERN, pattern);
	return 3;
}

static void change(struct thing *t)
{
	const char *const        interfaces[] = { t->is_filter ? BW_FILTER : BW_SERVLET, NULL };
	struct bw_service_object object = { .self = t };
	struct bw_prop           props[3];
	size_t                   n = draw_props(t, props);
	struct bw_service       *s = t->service;

	object.type = t->is_filter ? (const void *)&filter : (const void *)&servlet;
	if (t->is_factory)
		object.make = on_make;
	if (!s) {
		registry_register(registry, NULL, interfaces, &object, props, n, &t->service);
	} else if (draw(2)) {
		registry_modify(s, props, n);
	} else {
		t->service = NULL;
		registry_unregister(s);
	}
}

static void on_stop(struct bw_req *req)
{
	if (req->state != REQ_RESPONDING)
		return;
	cr_assert(eq(int, req->status, 200));
	cr_assert(eq(sz, buf_size(&req->body), 2));
	answered++;
	request_release(req);
	request_release(req);
}

static void ask(void)
{
	static const char *const paths[] = { "/a", "/a/b", "/b", "/y.x", "/other" };
	struct bw_req           *req = request_new();

	req->method = BW_STR("GET");
	req->path = req->uri = bw_str(paths[draw(5)]);
	cr_assert(request_start(req, whiteboard_serve));
}

static void resume(void)
{
	size_t         i = draw((unsigned)n_parked);
	struct bw_req *req = parked[i];

	parked[i] = parked[--n_parked];
	request_wake(req);
}

/* Whatever is going on, what is shown is whole: each servlet of the context, and each failure. */
static void look(void)
{
	const struct snapshot *s = snapshot_current();
	size_t                 active = 0;
	struct buf             b;
	json_t                *j, *list;

	buf_init(&b);
	inspect_whiteboard(&b);
	j = json_loadb((char *)buf_data(&b), buf_size(&b), JSON_REJECT_DUPLICATES, NULL);
	buf_done(&b);
	cr_assert(j != NULL, "no JSON");
	list = json_object_get(json_array_get(json_object_get(j, "servletContextDTOs"), 0),
	                       "servletDTOs");
	for (const struct snapshot_servlet *v = s->contexts[0]->servlets; v; v = v->next)
		active++;
	cr_assert(eq(sz, json_array_size(list), active));
	cr_assert(eq(sz, json_array_size(json_object_get(j, "failedServletDTOs")), s->n_failures));
	json_decref(j);
}

static void begin(void)
{
	static const struct bw_service_object object = { .type = &helper };
	const char *const                     interfaces[] = { BW_CONTEXT_HELPER, NULL };
	const struct bw_prop                  props[] = { BW_P_STRING(BW_CONTEXT_NAME, "c"),
		                                          BW_P_STRING(BW_CONTEXT_PATH, "/") };

	log_init("test", LOG_LEVEL_ERROR);
	fiber_pool_init(MAX_PARKED + 8);
	request_on_stop(on_stop);
	registry = registry_new();
	whiteboard_init(registry);
	registry_register(registry, NULL, interfaces, &object, props, 2, NULL);
	for (int i = 0; i < THINGS; i++) {
		things[i].is_filter = i % 4 == 0;
		things[i].is_factory = i % 3 == 0;
	}
	change(&base);
}

Test(stress, services_come_and_go_under_requests)
{
	unsigned asked = 0;

	begin();
	for (int i = 0; i < STEPS; i++) {
		unsigned what = draw(4);

		if (what == 0) {
			change(&things[draw(THINGS)]);
		} else if (what == 1 && n_parked > 0) {
			resume();
		} else if (n_parked < MAX_PARKED) {
			ask();
			asked++;
		}
		if (i % 500 == 0)
			look();
	}
	for (int i = 0; i < THINGS; i++)
		while (things[i].service)
			change(&things[i]);
	while (n_parked > 0)
		resume();
	cr_assert(eq(u32, answered, asked));
	cr_assert(eq(u32, entered, asked));
	cr_assert(eq(u32, left, asked));
	for (int i = 0; i < THINGS; i++)
		cr_assert(eq(int, things[i].alive, 0), "thing %d", i);
	cr_assert(eq(int, base.alive, 1));
	whiteboard_done();
	cr_assert(eq(int, base.alive, 0));
	registry_free(registry);
	request_pool_done();
	fiber_pool_done();
}
