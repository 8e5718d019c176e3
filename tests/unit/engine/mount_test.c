/* gateway/engine/mount.c and tree.c: servlets come and go with their registrations; each object is
 * initialised once and destroyed after its last call. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/engine/mount.h>
#include <gateway/whiteboard/registry.h>
#include <stdlib.h>

static unsigned made, released, inits, destroys;
static int      init_result;
static char     init_name[64], init_value[64];

static int counting_init(void *self, const struct bw_config *config)
{
	(void)self;
	inits++;
	snprintf(init_name, sizeof(init_name), "%s", config->name.p);
	snprintf(init_value, sizeof(init_value), "%s",
	         config->param(config, "colour").p ? config->param(config, "colour").p : "-");
	cr_assert(config->param(config, "missing").p == NULL);
	cr_assert(config->param(config, "colour").p == NULL ||
	          strcmp(config->param_name(config, 0).p, "colour") == 0);
	cr_assert(config->param_name(config, 1).p == NULL);
	return init_result;
}

static void counting_destroy(void *self)
{
	cr_assert(self != NULL);
	destroys++;
}

static int nothing(void *self, struct bw_req *req)
{
	(void)self, (void)req;
	return BW_OK;
}

static const struct bw_servlet counting = {
	.size = sizeof(struct bw_servlet),
	.init = counting_init,
	.destroy = counting_destroy,
	.service = nothing,
};

static void *make(void *self, struct bw_bundle *b)
{
	(void)b;
	if (self == NULL)
		return NULL;
	made++;
	return malloc(1);
}

static void release(void *self, void *object)
{
	(void)self;
	released++;
	free(object);
}

static struct registry *registry;

static void start(void)
{
	fake_forget();
	registry = fake_start();
}

TestSuite(mount, .init = start, .fini = fake_stop);

static struct bw_service *add(const struct bw_prop *props, size_t n, void *self)
{
	const char *const        interfaces[] = { BW_SERVLET, NULL };
	struct bw_service_object object = { &counting, self, make, release };
	struct bw_service       *s;

	cr_assert(registry_register(registry, NULL, interfaces, &object, props, n, &s) == BW_OK);
	return s;
}

static const char *who_answers(const char *path)
{
	const struct mount_node    *node = mount_find(bw_str(path));
	const struct mount_servlet *m = node ? mount_node_servlet(node) : NULL;

	return m ? m->name : "-";
}

static const struct bw_prop one_path[] = {
	BW_P_STRING(BW_SLING_PATHS, "/bin/one"),
	BW_P_STRING("sling.core.servletName", "one"),
	BW_P_STRING("servlet.init.colour", "red"),
};

Test(mount, initialises_once_and_destroys_when_the_registration_goes)
{
	uint64_t           before = mount_generation();
	struct bw_service *s = add(one_path, 3, &registry);

	cr_assert_str_eq(who_answers("/bin/one"), "one");
	cr_assert_str_eq(who_answers("/bin/one.servlet"), "one");
	cr_assert_str_eq(init_name, "one");
	cr_assert_str_eq(init_value, "red");
	cr_assert(made == 1 && inits == 1 && destroys == 0);
	cr_assert(gt(u64, mount_generation(), before));
	before = mount_generation();
	registry_unregister(s);
	cr_assert(destroys == 1 && released == 1);
	cr_assert(mount_find(BW_STR("/bin/one")) == NULL, "no node is left");
	cr_assert(mount_find(BW_STR("/bin")) == NULL, "nor its folder");
	cr_assert(mount_find(BW_STR("/")) == NULL, "nor the root");
	cr_assert(gt(u64, mount_generation(), before));
}

/* Its service has another number in each worker. */
Test(mount, what_has_no_name_crashes_as_what_it_is_mounted_for)
{
	const struct bw_prop path[] = { BW_P_STRING(BW_SLING_PATHS, "/bin/three") };
	const struct bw_prop type[] = { BW_P_STRING(BW_SLING_PATHS, "/bin/four"),
		                        BW_P_STRING(BW_SLING_TYPES, "acme/cart"),
		                        BW_P_STRINGS(BW_SLING_METHODS, "GET", "POST") };

	for (int round = 0; round < 2; round++) {
		struct bw_service *s = add(path, 1, &registry), *t = add(type, 3, &registry);

		cr_assert_str_eq(mount_node_servlet(mount_find(BW_STR("/bin/three")))->subject,
		                 "boardwalk /bin/three");
		cr_assert_str_eq(mount_node_servlet(mount_find(BW_STR("/bin/four")))->subject,
		                 "boardwalk /bin/four acme/cart GET POST");
		registry_unregister(s);
		registry_unregister(t);
	}
	add(one_path, 3, &registry);
	cr_assert_str_eq(mount_node_servlet(mount_find(BW_STR("/bin/one")))->subject, "one");
}

Test(mount, destroys_only_after_the_last_call_has_left)
{
	struct bw_service    *s = add(one_path, 3, &registry);
	struct mount_servlet *m = mount_node_servlet(mount_find(BW_STR("/bin/one")));

	mount_servlet_ref(m);
	mount_servlet_ref(m);
	registry_unregister(s);
	cr_assert_str_eq(who_answers("/bin/one"), "-");
	mount_servlet_unref(m);
	cr_assert(destroys == 0 && released == 0);
	mount_servlet_unref(m);
	cr_assert(destroys == 1 && released == 1);
}

Test(mount, mounts_nothing_when_init_or_the_factory_fails)
{
	init_result = BW_EIO;
	add(one_path, 3, &registry);
	cr_assert_str_eq(who_answers("/bin/one"), "-");
	cr_assert(made == 1 && released == 1 && destroys == 0, "given back, not destroyed");
	init_result = BW_OK;
	add(one_path, 3, NULL);
	cr_assert_str_eq(who_answers("/bin/one"), "-");
	cr_assert(inits == 1);
}

Test(mount, lets_the_best_ranked_answer_and_falls_back)
{
	struct bw_service *low = fake_servlet("low", "paths=/rk");
	struct bw_service *high = fake_servlet("high", "paths=/rk ranking=7");
	struct bw_service *later = fake_servlet("later", "paths=/rk");

	cr_assert_str_eq(who_answers("/rk"), who_answers("/rk.servlet"));
	cr_assert(mount_node_servlet(mount_find(BW_STR("/rk")))->service == high);
	registry_unregister(high);
	cr_assert(mount_node_servlet(mount_find(BW_STR("/rk")))->service == low, "the older one");
	registry_unregister(low);
	cr_assert(mount_node_servlet(mount_find(BW_STR("/rk")))->service == later);
	registry_unregister(later);
	cr_assert(mount_find(BW_STR("/rk")) == NULL);
}

Test(mount, moves_without_a_second_init_when_properties_change)
{
	const struct bw_prop        other[] = { BW_P_STRING(BW_SLING_PATHS, "/bin/two"),
		                                BW_P_STRING("sling.servlet.paths.strict", "true"),
		                                BW_P_STRING(BW_SLING_EXTENSIONS, ".EMPTY.") };
	const struct bw_prop        none[] = { BW_P_STRING("x", "y") };
	struct bw_service          *s = add(one_path, 3, &registry);
	const struct mount_servlet *m;

	cr_assert(registry_modify(s, other, 3) == BW_OK);
	cr_assert_str_eq(who_answers("/bin/one"), "-");
	cr_assert_str_eq(who_answers("/bin/two"), "one", "the name init was told");
	m = mount_node_servlet(mount_find(BW_STR("/bin/two")));
	cr_assert(m->strict && m->extensions.must_be_empty);
	cr_assert(inits == 1 && destroys == 0);
	cr_assert(registry_modify(s, none, 1) == BW_OK);
	cr_assert_str_eq(who_answers("/bin/two"), "-");
	cr_assert(destroys == 1);
	cr_assert(registry_modify(s, one_path, 3) == BW_OK);
	cr_assert_str_eq(who_answers("/bin/one"), "one");
	cr_assert(inits == 2 && destroys == 1);
}

Test(mount, shows_a_node_as_a_resource)
{
	const struct mount_node *node;
	struct record_prop       prop;
	struct record            r;
	struct arena             a;

	fake_servlet("sub", "paths=/bin/x.html resourceSuperType=base/t");
	arena_init(&a);
	node = mount_find(BW_STR("/bin/x.html"));
	mount_node_record(node, &a, &r);
	cr_assert(bw_str_eq(r.path, BW_STR("/bin/x.html")));
	cr_assert(bw_str_eq(r.name, BW_STR("x.html")));
	cr_assert(bw_str_eq(r.resource_type, BW_STR("/bin/x.html.servlet")));
	cr_assert(bw_str_eq(r.super_type, BW_STR("base/t")));
	cr_assert(bw_str_eq(record_chain(&r, 0), BW_STR("base/t")));
	cr_assert(record_prop(&r, BW_STR("sling:resourceType"), &prop));
	cr_assert(bw_str_eq(record_value(&r, &prop, 0), BW_STR("/bin/x.html.servlet")));
	cr_assert(record_prop(&r, BW_STR("sling:resourceSuperType"), &prop));
	cr_assert(record_prop(&r, BW_STR("sling:none"), &prop) == false);
	mount_node_record(mount_find(BW_STR("/bin/x.html.servlet")), &a, &r);
	cr_assert(bw_str_eq(r.resource_type, BW_STR("/bin/x.html.servlet")), "not doubled");
	arena_done(&a);
}

Test(mount, keeps_a_marker_apart_from_servlets)
{
	fake_servlet("sub", "resourceTypes=m/sub extensions=html resourceSuperType=m/sup");
	cr_assert(mount_find(BW_STR("/apps/m/sub")) != NULL);
	cr_assert(mount_node_servlet(mount_find(BW_STR("/apps/m/sub"))) == NULL);
	cr_assert(bw_str_eq(mount_node_super_type(mount_find(BW_STR("/apps/m/sub"))),
	                    BW_STR("m/sup")));
}

Test(mount, finds_each_of_many_and_nothing_else)
{
	static struct bw_service *services[2000];
	char                      path[64];
	struct bw_prop            props[] = { BW_P_STRING(BW_SLING_PATHS, path) };

	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "/bin/%d/servlet%d", i % 7, i);
		services[i] = add(props, 1, &registry);
	}
	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "/bin/%d/servlet%d", i % 7, i);
		cr_assert(mount_node_servlet(mount_find(bw_str(path)))->service == services[i]);
	}
	cr_assert(mount_find(BW_STR("/bin/0/servlet1")) == NULL);
	cr_assert(mount_node_servlet(mount_find(BW_STR("/bin"))) == NULL);
	for (int i = 0; i < 2000; i += 2)
		registry_unregister(services[i]);
	for (int i = 0; i < 2000; i++) {
		snprintf(path, sizeof(path), "/bin/%d/servlet%d", i % 7, i);
		cr_assert(eq(int, mount_find(bw_str(path)) != NULL, i % 2));
	}
}

Test(mount, ignores_what_is_no_servlet_of_the_engine)
{
	const char *const        interfaces[] = { "other", NULL };
	struct bw_service_object object = { .type = &counting, .self = &registry };
	const struct bw_prop     empty[] = { BW_P_STRING(BW_SLING_METHODS, ".EMPTY."),
		                             BW_P_STRING(BW_SLING_PATHS, "/bin/one") };

	cr_assert(registry_register(registry, NULL, interfaces, &object, one_path, 3, NULL) ==
	          BW_OK);
	add(one_path + 1, 1, &registry);
	add(empty, 2, &registry);
	cr_assert(inits == 0 && made == 0);
	cr_assert(mount_find(BW_STR("/bin/one")) == NULL);
}
