/* gateway/whiteboard/listener.c: what needs no request. Who hears, in which order, and until when;
 * that one which fails, or goes away while it is told, disturbs none of the others. Requests are in
 * the J rows. */
#include <gateway/whiteboard/listener.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>

#include <base/log.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

struct ear {
	const char        *label;
	struct bw_service *service;
	int                result;  /* of each of its callbacks */
	bool               one_way; /* unregisters itself when it is told */
	struct ear        *other;   /* registers that one when it is told */
};

static struct registry *registry;
static char             heard[512];

static void say(const char *label, const char *what)
{
	size_t n = strlen(heard);

	snprintf(heard + n, sizeof(heard) - n, "%s%s %s", n ? ", " : "", label, what);
}

#define EXPECT(text) \
	do { \
		cr_assert_str_eq(heard, text, "heard: %s", heard); \
		heard[0] = '\0'; \
	} while (0)

static void add(struct ear *e, const char *interface, int ranking);

static int told(void *self, const char *what)
{
	struct ear        *e = self;
	struct bw_service *s = e->service;

	say(e->label, what);
	if (e->one_way) {
		e->service = NULL;
		registry_unregister(s);
	}
	if (e->other)
		add(e->other, BW_SESSION_LISTENER, 9);
	e->other = NULL;
	return e->result;
}

static int context_initialized(void *self, struct bw_context *context)
{
	(void)context;
	return told(self, "in");
}

static int context_destroyed(void *self, struct bw_context *context)
{
	(void)context;
	say(((struct ear *)self)->label, "out");
	return BW_EIO;
}

static int attribute_added(void *self, struct bw_context *context, const char *name,
                           const struct bw_value *value)
{
	char text[64];

	(void)context;
	snprintf(text, sizeof(text), "added %s=%s", name, (const char *)value);
	return told(self, text);
}

static int attribute_replaced(void *self, struct bw_context *context, const char *name,
                              const struct bw_value *old)
{
	char text[64];

	(void)context;
	snprintf(text, sizeof(text), "replaced %s=%s", name, (const char *)old);
	return told(self, text);
}

static int session_created(void *self, struct bw_session *session)
{
	(void)session;
	return told(self, "created");
}

static int session_attribute_removed(void *self, struct bw_session *session, const char *name,
                                     const struct bw_value *old)
{
	char text[64];

	(void)session;
	snprintf(text, sizeof(text), "removed %s=%s", name, (const char *)old);
	return told(self, text);
}

static int session_id_changed(void *self, struct bw_session *session, struct bw_str old_id)
{
	(void)session;
	return told(self, old_id.p);
}

static const struct bw_listener listener = {
	.size = sizeof(listener),
	.context_initialized = context_initialized,
	.context_destroyed = context_destroyed,
	.context_attribute_added = attribute_added,
	.context_attribute_replaced = attribute_replaced,
	.session_created = session_created,
	.session_attribute_removed = session_attribute_removed,
	.session_id_changed = session_id_changed,
};

static size_t props_of(struct bw_prop props[2], int ranking)
{
	props[0] = (struct bw_prop)BW_P_INT(BW_SERVICE_RANKING, ranking);
	props[1] = (struct bw_prop)BW_P_BOOL(BW_LISTENER, true);
	return 2;
}

static void add(struct ear *e, const char *interface, int ranking)
{
	const char *const        interfaces[] = { interface, NULL };
	struct bw_service_object o = { .type = &listener, .self = e };
	struct bw_prop           props[2];
	size_t                   n = props_of(props, ranking);

	cr_assert(eq(int, registry_register(registry, NULL, interfaces, &o, props, n, &e->service),
	             BW_OK));
}

static struct bw_context *context(void)
{
	return snapshot_current()->contexts[0]->context;
}

static void begin(void)
{
	log_init("test", LOG_LEVEL_ERROR);
	registry = registry_new();
	whiteboard_init(registry);
	heard[0] = '\0';
}

static void end(void)
{
	whiteboard_done();
	registry_free(registry);
}

/* A servlet that says when it is destroyed. */
static void on_destroy(void *self)
{
	say(self, "destroyed");
}

static const struct bw_servlet servlet = { .size = sizeof(servlet), .destroy = on_destroy };

static struct bw_service *add_servlet(void)
{
	const char *const        interfaces[] = { BW_SERVLET, NULL };
	struct bw_service_object o = { .type = &servlet, .self = (void *)"S" };
	struct bw_prop           prop = BW_P_STRING(BW_SERVLET_PATTERN, "/s");
	struct bw_service       *s;

	cr_assert(eq(int, registry_register(registry, NULL, interfaces, &o, &prop, 1, &s), BW_OK));
	return s;
}

/* Another context named default: the built-in one goes, as far as nobody is in it. */
static struct bw_service *take_context_away(void)
{
	static const struct bw_context_helper helper = { .size = sizeof(helper) };
	const char *const                     interfaces[] = { BW_CONTEXT_HELPER, NULL };
	struct bw_service_object              o = { .type = &helper };
	const struct bw_prop                  props[] = { BW_P_STRING(BW_CONTEXT_NAME, "default"),
		                                          BW_P_STRING(BW_CONTEXT_PATH, "/d") };
	struct bw_service                    *s;

	cr_assert(eq(int, registry_register(registry, NULL, interfaces, &o, props, 2, &s), BW_OK));
	return s;
}

#define VALUE(text) ((const struct bw_value *)(text))

Test(listener, hears_in_ranking_order_also_after_a_change_of_it)
{
	struct ear     a = { .label = "a" }, b = { .label = "b" }, c = { .label = "c" };
	struct bw_prop props[2];

	begin();
	add(&a, BW_CONTEXT_ATTRIBUTE_LISTENER, 0);
	add(&b, BW_CONTEXT_ATTRIBUTE_LISTENER, 5);
	add(&c, BW_CONTEXT_ATTRIBUTE_LISTENER, 0);
	listener_context_attribute(context(), "k", NULL, VALUE("1"));
	EXPECT("b added k=1, a added k=1, c added k=1");
	registry_modify(c.service, props, props_of(props, 7));
	listener_context_attribute(context(), "k", VALUE("1"), VALUE("2"));
	EXPECT("c replaced k=1, b replaced k=1, a replaced k=1");
	listener_context_attribute(context(), "k", VALUE("2"), NULL); /* an entry that is NULL */
	EXPECT("");
	end();
}

Test(listener, hears_only_what_it_is_registered_for)
{
	struct ear a = { .label = "a" }, b = { .label = "b" };

	begin();
	cr_assert(not(listener_hears(context(), LISTENS_SESSION | LISTENS_SESSION_ATTRIBUTE)));
	add(&a, BW_SESSION_LISTENER, 0);
	add(&b, BW_SESSION_ATTRIBUTE_LISTENER, 0);
	cr_assert(listener_hears(context(), LISTENS_SESSION));
	cr_assert(not(listener_hears(context(), LISTENS_SESSION_ID)));
	listener_session_created(context(), NULL);
	listener_session_destroyed(context(), NULL);
	listener_session_id_changed(context(), NULL, BW_STR("old"));
	listener_context_attribute(context(), "k", NULL, VALUE("1"));
	listener_session_attribute(context(), NULL, "k", VALUE("3"), NULL);
	EXPECT("a created, b removed k=3");
	end();
}

Test(listener, that_fails_or_goes_or_brings_another_disturbs_nobody)
{
	struct ear late = { .label = "late" };
	struct ear a = { .label = "a", .one_way = true, .result = BW_EIO };
	struct ear b = { .label = "b", .other = &late }, c = { .label = "c" };

	begin();
	add(&a, BW_SESSION_LISTENER, 3);
	add(&b, BW_SESSION_LISTENER, 2);
	add(&c, BW_SESSION_LISTENER, 1);
	listener_session_created(context(), NULL);
	EXPECT("a created, b created, c created"); /* not yet the one that came meanwhile */
	listener_session_created(context(), NULL);
	EXPECT("late created, b created, c created");
	end();
}

Test(listener, hears_of_the_contexts_end_after_its_servlets)
{
	struct ear         a = { .label = "a" }, b = { .label = "b" };
	struct snapshot   *held;
	struct bw_service *other;

	begin();
	add_servlet();
	held = snapshot_ref(snapshot_current()); /* a request: it knows of no listener */
	add(&a, BW_CONTEXT_LISTENER, 0);
	add(&b, BW_CONTEXT_LISTENER, 5);
	EXPECT("a in, b in");
	other = take_context_away();
	/* S is in the new context already, and in the old one until the request has ended. */
	EXPECT("b in, a in");
	snapshot_unref(held);
	EXPECT("S destroyed, b out, a out");
	registry_unregister(other);
	EXPECT("b in, a in, S destroyed, b out, a out");
	end();
}

Test(listener, that_leaves_hears_of_it_at_once)
{
	struct ear         a = { .label = "a" };
	struct snapshot   *held;
	struct bw_service *s;

	begin();
	add_servlet();
	held = snapshot_ref(snapshot_current());
	add(&a, BW_CONTEXT_LISTENER, 0);
	s = a.service;
	EXPECT("a in");
	registry_unregister(s);
	EXPECT("a out");
	snapshot_unref(held);
	end();
}

Test(listener, of_a_context_that_comes_back_has_not_been_away)
{
	struct ear         a = { .label = "a" };
	struct snapshot   *held;
	struct bw_service *other;

	begin();
	add_servlet();
	held = snapshot_ref(snapshot_current());
	add(&a, BW_CONTEXT_LISTENER, 0);
	other = take_context_away();
	EXPECT("a in, a in");
	registry_unregister(other); /* the old one is still there, since the request is in it */
	EXPECT("S destroyed, a out");
	snapshot_unref(held);
	EXPECT("");
	listener_context_attribute(context(), "k", NULL, VALUE("1"));
	end();
	EXPECT("S destroyed, a out");
}
