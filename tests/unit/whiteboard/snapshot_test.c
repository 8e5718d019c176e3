/* gateway/whiteboard/whiteboard.c, build.c, binding.c, snapshot.c under change: the state depends on the set
 * of live services alone; every object is initialised and destroyed in turn, and lives while a snapshot
 * that names it is held; nothing is left when everything has gone. */
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>

#include <base/log.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_THINGS = 1000, MAX_HELD = 16 };

/* A singleton servlet or filter that counts its life. */
struct object {
	int alive; /* contexts it is initialised in */
	int inits;
};

struct thing {
	struct bw_service *service;
	struct object      object;
	char               name[16];
	char               pattern[16];
	const char        *select;
	const char        *interface;
	int                ranking;
};

static struct registry *registry;
static struct thing     things[MAX_THINGS];
static uint64_t         seed = 7;

static unsigned draw(unsigned below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % below;
}

static int on_init(void *self, const struct bw_config *cfg)
{
	struct object *o = self;

	(void)cfg;
	o->alive++;
	o->inits++;
	return BW_OK;
}

static void on_destroy(void *self)
{
	struct object *o = self;

	o->alive--;
}

static const struct bw_servlet        servlet = { .size = sizeof(servlet),
	                                          .init = on_init,
	                                          .destroy = on_destroy };
static const struct bw_filter         filter = { .size = sizeof(filter),
	                                         .init = on_init,
	                                         .destroy = on_destroy };
static const struct bw_context_helper helper = { .size = sizeof(helper) };

static size_t props_of(const struct thing *t, struct bw_prop props[4])
{
	size_t n = 0;

	props[n++] = (struct bw_prop)BW_P_INT(BW_SERVICE_RANKING, t->ranking);
	if (strcmp(t->interface, BW_CONTEXT_HELPER) == 0) {
		props[n++] = (struct bw_prop)BW_P_STRING(BW_CONTEXT_NAME, t->name);
		props[n++] = (struct bw_prop)BW_P_STRING(BW_CONTEXT_PATH, t->pattern);
		return n;
	}
	props[n++] = (struct bw_prop)BW_P_STRING(BW_CONTEXT_SELECT, t->select);
	if (strcmp(t->interface, BW_FILTER) == 0)
		props[n++] = (struct bw_prop)BW_P_STRING(BW_FILTER_PATTERN, t->pattern);
	else
		props[n++] = (struct bw_prop)BW_P_STRING(BW_SERVLET_PATTERN, t->pattern);
	return n;
}

static void add(struct registry *r, struct thing *t, struct bw_service **ret)
{
	struct bw_service_object o = { .self = &t->object };
	struct bw_prop           props[4];
	size_t                   n = props_of(t, props);
	const char *const        interfaces[] = { t->interface, NULL };

	o.type = strcmp(t->interface, BW_SERVLET) == 0  ? (const void *)&servlet
	         : strcmp(t->interface, BW_FILTER) == 0 ? (const void *)&filter
	                                                : (const void *)&helper;
	cr_assert(eq(int, registry_register(r, NULL, interfaces, &o, props, n, ret), BW_OK));
}

static void remove_thing(struct thing *t)
{
	struct bw_service *s = t->service;

	t->service = NULL;
	registry_unregister(s);
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
}

/* ---- many ---- */

static void fill(void)
{
	for (int i = 0; i < MAX_THINGS; i++) {
		things[i].interface = BW_SERVLET;
		things[i].select = "default";
		snprintf(things[i].pattern, sizeof(things[i].pattern), "/p%d/*", i);
		add(registry, &things[i], &things[i].service);
	}
	cr_assert(eq(sz, snapshot_current()->n_bindings, MAX_THINGS));
}

static void expect_empty(uint64_t signature)
{
	const struct snapshot *s = snapshot_current();

	cr_assert(eq(u64, s->signature, signature));
	cr_assert(eq(sz, s->n_bindings, 0));
	cr_assert(eq(sz, s->n_failures, 0));
	cr_assert(eq(sz, s->n_contexts, 1));
	for (int i = 0; i < MAX_THINGS; i++)
		cr_assert(eq(int, things[i].object.alive, 0));
}

Test(snapshot, a_thousand_come_and_go_without_a_trace)
{
	uint64_t signature;

	begin();
	signature = snapshot_current()->signature;
	fill();
	for (int i = MAX_THINGS - 1; i >= 0; i--)
		remove_thing(&things[i]);
	expect_empty(signature);
	fill();
	for (int i = 0; i < MAX_THINGS; i++)
		remove_thing(&things[i]);
	expect_empty(signature);
	fill();
	for (int i = 0; i < MAX_THINGS; i++)
		remove_thing(
			&things[i * 387 % MAX_THINGS]); /* 387 and 1000 have no common factor */
	expect_empty(signature);
	end();
}

/* ---- a function of the set ---- */

enum { FEW = 24 };

static void draw_thing(struct thing *t)
{
	static const char *const patterns[] = { "/a", "/a/*", "/*", "*.x", "/", "/b" };
	static const char *const selects[] = { "default", "c1",
		                               "(osgi.http.whiteboard.context.name=*)" };
	static const char *const paths[] = { "/", "/c", "/c/d" };
	static const char *const names[] = { "default", "c1", "c2" };

	t->interface = draw(4) == 0 ? BW_CONTEXT_HELPER : draw(4) == 0 ? BW_FILTER : BW_SERVLET;
	t->ranking = (int)draw(3);
	t->select = selects[draw(3)];
	strcpy(t->name, names[draw(3)]);
	if (strcmp(t->interface, BW_CONTEXT_HELPER) == 0)
		strcpy(t->pattern, paths[draw(3)]);
	else
		strcpy(t->pattern, patterns[draw(6)]);
}

static int number_of(const struct thing *all, const void *self)
{
	for (int i = 0; i < FEW; i++)
		if (&all[i].object == self)
			return i;
	return -1;
}

static int number_of_id(const struct thing *all, int64_t id)
{
	for (int i = 0; i < FEW; i++)
		if (all[i].service && service_id(all[i].service) == id)
			return i;
	return -1; /* the built-in context */
}

/* What can be seen: who takes which path through which filters, and what failed. */
static void describe(const struct thing *all, char *to, size_t size)
{
	static const char *const paths[] = {
		"/",    "/a",     "/a/b",   "/b",       "/y.x",   "/c",
		"/c/a", "/c/a/b", "/c/d/a", "/c/d/y.x", "/c/d/z", "/zz"
	};
	const struct snapshot *s = snapshot_current();
	size_t                 n = 0;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct snapshot_hit          hit;
		const struct snapshot_chain *chain;

		n += (size_t)snprintf(to + n, size - n, "%s:", paths[i]);
		if (!snapshot_find(s, bw_str(paths[i]), &hit))
			continue;
		n += (size_t)snprintf(to + n, size - n, "%d",
		                      number_of(all, hit.pattern->servlet->self));
		chain = &hit.pattern->servlet->chains[BW_REQUEST];
		for (size_t k = 0; k < chain->n; k++)
			n += (size_t)snprintf(to + n, size - n, "f%d",
			                      number_of(all, chain->steps[k].filter->self));
	}
	for (size_t i = 0; i < s->n_failures; i++) {
		const struct failure *f = &s->failures[i];

		n += (size_t)snprintf(to + n, size - n, " %d=%d(%zu)",
		                      number_of_id(all, f->service_id), f->code, f->n_items);
	}
}

/* By service id, so that what is registered afresh keeps its age among the others. */
static int by_age(const void *a, const void *b)
{
	const struct thing *x = *(struct thing *const *)a, *y = *(struct thing *const *)b;
	int64_t             i = service_id(x->service), k = service_id(y->service);

	return i < k ? -1 : i > k;
}

/* The same services, registered in a fresh server in the order of their age. */
static void describe_afresh(char *to, size_t size)
{
	static struct thing copies[FEW];
	struct thing       *live[FEW];
	size_t              n = 0;
	struct registry    *r = registry_new();

	for (int i = 0; i < FEW; i++) {
		copies[i] = things[i];
		copies[i].object = (struct object){ 0 };
		if (things[i].service)
			live[n++] = &things[i];
	}
	qsort(live, n, sizeof(*live), by_age);
	whiteboard_init(r);
	for (size_t i = 0; i < n; i++)
		add(r, &copies[live[i] - things], &copies[live[i] - things].service);
	describe(copies, to, size);
	whiteboard_done();
	registry_free(r);
}

static void change_one(void)
{
	struct thing  *t = &things[draw(FEW)];
	struct bw_prop props[4];
	size_t         n;

	if (!t->service) {
		draw_thing(t);
		add(registry, t, &t->service);
	} else if (draw(2)) {
		remove_thing(t);
	} else {
		const char *interface = t->interface;

		do
			draw_thing(t);
		while (t->interface != interface);
		n = props_of(t, props);
		cr_assert(eq(int, registry_modify(t->service, props, n), BW_OK));
	}
}

Test(snapshot, the_state_is_a_function_of_the_live_services)
{
	for (int round = 0; round < 60; round++) {
		static char changed[8192], afresh[8192];

		begin();
		for (int i = 0; i < 40; i++)
			change_one();
		describe(things, changed, sizeof(changed));
		for (int i = 0; i < FEW; i++)
			cr_assert(ge(int, things[i].object.alive, 0));
		whiteboard_done();
		for (int i = 0; i < FEW; i++)
			cr_assert(eq(int, things[i].object.alive, 0), "thing %d, round %d", i,
			          round);
		describe_afresh(afresh, sizeof(afresh));
		cr_assert_str_eq(changed, afresh, "round %d:\n%s\n%s", round, changed, afresh);
		for (int i = 0; i < FEW; i++)
			things[i].service = NULL;
		registry_free(registry);
	}
}

/* ---- with requests in flight ---- */

static void expect_alive(const struct snapshot *s)
{
	for (size_t i = 0; i < s->n_bindings; i++)
		cr_assert(gt(int, ((struct object *)s->bindings[i]->self)->alive, 0),
		          "a snapshot names what is not initialised");
}

Test(snapshot, what_a_request_holds_stays_alive)
{
	struct snapshot *held[MAX_HELD] = { NULL };
	struct thing     base = {
		    .interface = BW_SERVLET, .select = "default", .pattern = "/a", .ranking = -1
	};
	struct snapshot_hit hit;

	begin();
	add(registry, &base, &base.service);
	for (int i = 0; i < FEW; i++) {
		things[i].interface = BW_SERVLET;
		things[i].select = "default";
		strcpy(things[i].pattern, "/a");
	}
	for (int turn = 0; turn < 5000; turn++) {
		struct thing     *t = &things[draw(FEW)];
		struct snapshot **h = &held[draw(MAX_HELD)];

		t->ranking = (int)draw(100);
		if (t->service)
			remove_thing(t);
		else
			add(registry, t, &t->service);
		cr_assert(snapshot_find(snapshot_current(), BW_STR("/a"), &hit),
		          "there is always somebody");
		expect_alive(snapshot_current());
		if (*h) {
			expect_alive(*h);
			snapshot_unref(*h);
			*h = NULL;
		} else {
			*h = snapshot_ref(snapshot_current());
		}
	}
	for (int i = 0; i < FEW; i++)
		if (things[i].service)
			remove_thing(&things[i]);
	for (int i = 0; i < MAX_HELD; i++)
		snapshot_unref(held[i]);
	for (int i = 0; i < FEW; i++)
		cr_assert(eq(int, things[i].object.alive, 0));
	cr_assert(eq(int, base.object.alive, 1));
	end();
	cr_assert(eq(int, base.object.alive, 0));
}

/* A singleton whose properties change while a request is inside is not initialised over itself. */
Test(snapshot, a_singleton_is_drained_before_it_starts_anew)
{
	struct thing        t = { .interface = BW_SERVLET, .select = "default", .pattern = "/a" };
	struct snapshot    *held;
	struct snapshot_hit hit;
	struct bw_prop      props[4];

	begin();
	add(registry, &t, &t.service);
	held = snapshot_ref(snapshot_current());
	for (int i = 0; i < 5; i++) {
		snprintf(t.pattern, sizeof(t.pattern), "/b%d", i);
		registry_modify(t.service, props, props_of(&t, props));
		cr_assert(eq(int, t.object.alive, 1));
		cr_assert(eq(int, t.object.inits, 1));
		cr_assert(not(snapshot_find(snapshot_current(), BW_STR("/b4"), &hit)));
	}
	snapshot_unref(held);
	cr_assert(eq(int, t.object.alive, 1));
	cr_assert(eq(int, t.object.inits, 2), "only the last properties were used");
	cr_assert(snapshot_find(snapshot_current(), BW_STR("/b4"), &hit));
	end();
	cr_assert(eq(int, t.object.alive, 0));
}

/* A later start on the same registry begins from nothing and serves the same. */
Test(snapshot, a_stop_and_a_start_serve_the_same)
{
	struct thing        t = { .interface = BW_SERVLET, .select = "c1", .pattern = "/a" };
	struct thing        c = { .interface = BW_CONTEXT_HELPER, .name = "c1", .pattern = "/c" };
	struct snapshot_hit hit;

	begin();
	add(registry, &t, &t.service);
	add(registry, &c, &c.service);
	for (int i = 1; i <= 3; i++) {
		cr_assert(snapshot_find(snapshot_current(), BW_STR("/c/a"), &hit));
		cr_assert(eq(int, t.object.inits, i));
		whiteboard_done();
		cr_assert(eq(int, t.object.alive, 0));
		whiteboard_init(registry);
		cr_assert(eq(int, t.object.alive, 1));
	}
	remove_thing(&t);
	cr_assert(eq(int, t.object.alive, 0));
	end();
}

Test(snapshot, an_object_registered_again_waits_for_its_end)
{
	struct thing        t = { .interface = BW_SERVLET, .select = "default", .pattern = "/a" };
	struct snapshot    *held;
	struct snapshot_hit hit;

	begin();
	add(registry, &t, &t.service);
	held = snapshot_ref(snapshot_current());
	remove_thing(&t);
	add(registry, &t, &t.service);
	cr_assert(eq(int, t.object.inits, 1));
	cr_assert(not(snapshot_find(snapshot_current(), BW_STR("/a"), &hit)));
	snapshot_unref(held);
	cr_assert(eq(int, t.object.inits, 2));
	cr_assert(eq(int, t.object.alive, 1));
	cr_assert(snapshot_find(snapshot_current(), BW_STR("/a"), &hit));
	end();
	cr_assert(eq(int, t.object.alive, 0));
}

/* An object that cannot say which type table it hands over, or hands over one that is too short; that of
 * the first version is long enough. */
Test(snapshot, a_type_that_cannot_be_used_fails)
{
	static const struct bw_servlet short_type = {
		.size = offsetof(struct bw_servlet, last_modified) - 1
	};
	static const struct bw_servlet first_type = { .size = offsetof(struct bw_servlet,
		                                                       last_modified) };
	const char *const              two[] = { BW_SERVLET, BW_FILTER, NULL };
	const char *const              one[] = { BW_SERVLET, NULL };
	struct bw_service_object       fine = { .type = &servlet }, cut = { .type = &short_type },
				 first = { .type = &first_type };
	const struct bw_prop props[] = { BW_P_STRING(BW_SERVLET_PATTERN, "/a") };

	begin();
	registry_register(registry, NULL, two, &fine, props, 1, NULL);
	registry_register(registry, NULL, one, &cut, props, 1, NULL);
	cr_assert(eq(sz, snapshot_current()->n_failures, 2));
	cr_assert(eq(int, snapshot_current()->failures[0].code, FAILURE_VALIDATION));
	cr_assert(eq(int, snapshot_current()->failures[1].code, FAILURE_VALIDATION));
	cr_assert(eq(sz, snapshot_current()->n_bindings, 0));
	registry_register(registry, NULL, one, &first, props, 1, NULL);
	cr_assert(eq(sz, snapshot_current()->n_failures, 2));
	cr_assert(eq(sz, snapshot_current()->n_bindings, 1));
	end();
}

Test(snapshot, listeners_of_one_object_share_a_table)
{
	static const struct bw_listener a = { .size = sizeof(a) }, b = { .size = sizeof(b) };
	const struct bw_interface       two[] = { { BW_REQUEST_LISTENER, &a },
		                                  { BW_SESSION_LISTENER, &b } };
	const struct bw_interface       same[] = { { BW_REQUEST_LISTENER, &a },
		                                   { BW_SESSION_LISTENER, &a } };
	const struct bw_prop            props[] = { BW_P_BOOL(BW_LISTENER, true) };
	struct bw_service_object        o = { .self = NULL };

	begin();
	registry_register_as(registry, NULL, two, 2, &o, props, 1, NULL);
	cr_assert(eq(sz, snapshot_current()->n_failures, 1));
	cr_assert(eq(int, snapshot_current()->failures[0].code, FAILURE_VALIDATION));
	registry_register_as(registry, NULL, same, 2, &o, props, 1, NULL);
	cr_assert(eq(sz, snapshot_current()->n_failures, 1));
	cr_assert(eq(sz, snapshot_current()->n_bindings, 1));
	end();
}
