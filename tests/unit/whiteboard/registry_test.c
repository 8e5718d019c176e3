/* gateway/whiteboard/registry.c and props.c: what is copied, in which order events go out when listeners
 * and objects register and unregister themselves meanwhile, who holds a service, how it compares. */
#include <gateway/whiteboard/props.c>
#include <gateway/whiteboard/registry.c>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

static char log_text[512];
static char x[] = "x", y[] = "y"; /* listeners */

static void note(const char *format, long long id)
{
	size_t n = strlen(log_text);

	snprintf(log_text + n, sizeof(log_text) - n, format, id);
}

static const struct bw_servlet        type = { .size = sizeof(type) };
static const struct bw_service_object object = { .type = &type };
static const char *const              servlet[] = { BW_SERVLET, NULL };

static struct bw_service *add(struct registry *r, const struct bw_prop *props, size_t n)
{
	struct bw_service *s = NULL;

	cr_assert(eq(int, registry_register(r, NULL, servlet, &object, props, n, &s), BW_OK));
	return s;
}

static void on_event(void *arg, enum registry_event event, struct bw_service *s)
{
	static const char *const formats[] = { "%s+%lld ", "%s*%lld ", "%s-%lld " };
	size_t                   n = strlen(log_text);

	snprintf(log_text + n, sizeof(log_text) - n, formats[event], (const char *)arg,
	         (long long)service_id(s));
}

Test(registry, copies_all_properties)
{
	char               name[] = "a", text[] = "one", item[] = "two";
	const char        *list[] = { item, "three", NULL };
	struct bw_prop     props[] = { BW_P_STRING(name, text),
		                       { "b", BW_PROP_STRINGS, { .strings = list } },
		                       BW_P_INT("c", -5),
		                       BW_P_LONG("d", 1LL << 40),
		                       BW_P_BOOL("e", true) };
	struct registry   *r = registry_new();
	struct bw_service *s = add(r, props, 5);
	struct bw_str      got[4];

	name[0] = text[0] = item[0] = '!';
	list[1] = NULL;
	cr_assert_str_eq(service_prop(s, "a")->u.string, "one");
	cr_assert(service_prop(s, "A") == NULL, "names are exact here");
	cr_assert(eq(sz, service_strings(s, "b", got, 4), 2));
	cr_assert(bw_str_eq(got[1], BW_STR("three")));
	cr_assert(eq(sz, service_strings(s, "b", got, 1), 1));
	cr_assert(eq(sz, service_strings(s, "c", got, 4), 0));
	cr_assert(eq(int, service_prop(s, "c")->u.i32, -5));
	cr_assert(eq(i64, service_prop(s, "d")->u.i64, 1LL << 40));
	cr_assert(service_prop(s, "e")->u.b);
	registry_free(r);
}

Test(registry, strings_lose_their_outer_blanks)
{
	struct bw_prop     props[] = { BW_P_STRING("one", "  a b\t"),
		                       BW_P_STRINGS("list", " x", "  ", "y ") };
	struct registry   *r = registry_new();
	struct bw_service *s = add(r, props, 2);
	struct bw_str      got[3];

	cr_assert(eq(sz, service_strings(s, "one", got, 3), 1));
	cr_assert(bw_str_eq(got[0], BW_STR("a b")));
	cr_assert(eq(sz, service_strings(s, "list", got, 3), 3));
	cr_assert(bw_str_eq(got[0], BW_STR("x")) && got[1].n == 0 &&
	          bw_str_eq(got[2], BW_STR("y")));
	registry_free(r);
}

Test(registry, refuses_what_cannot_be_a_service)
{
	struct registry         *r = registry_new();
	const struct bw_prop     twice[] = { BW_P_INT("key", 1), BW_P_INT("KEY", 2) };
	const struct bw_prop     no_text[] = { BW_P_STRING("a", NULL) };
	const struct bw_prop     no_name[] = { BW_P_INT(NULL, 1) };
	const struct bw_prop     no_type[] = { { "a", 0, { .i32 = 1 } } };
	struct bw_service_object untyped = { .type = NULL };
	struct bw_service       *s = NULL;

	cr_assert(eq(int, registry_register(r, NULL, servlet, &object, twice, 2, &s), BW_EINVAL));
	cr_assert(eq(int, registry_register(r, NULL, servlet, &object, no_text, 1, &s), BW_EINVAL));
	cr_assert(eq(int, registry_register(r, NULL, servlet, &object, no_name, 1, &s), BW_EINVAL));
	cr_assert(eq(int, registry_register(r, NULL, servlet, &object, no_type, 1, &s), BW_EINVAL));
	cr_assert(eq(int, registry_register(r, NULL, servlet, &untyped, NULL, 0, &s), BW_EINVAL));
	cr_assert(
		eq(int, registry_register(r, NULL, servlet + 1, &object, NULL, 0, &s), BW_EINVAL));
	cr_assert(s == NULL);
	s = add(r, NULL, 0);
	cr_assert(eq(int, registry_modify(s, twice, 2), BW_EINVAL));
	registry_free(r);
}

Test(registry, each_interface_has_its_table)
{
	struct registry          *r = registry_new();
	static const int          one, other;
	const struct bw_interface as[] = {
		{ BW_SERVLET, &one }, { BW_FILTER, &other }, { BW_FILTER, NULL }, { NULL, &one }
	};
	struct bw_service_object untyped = { .type = NULL };
	struct bw_service       *s = NULL;

	cr_assert(eq(int, registry_register_as(r, NULL, as, 0, &untyped, NULL, 0, &s), BW_EINVAL));
	cr_assert(eq(int, registry_register_as(r, NULL, as, 3, &untyped, NULL, 0, &s), BW_EINVAL));
	cr_assert(eq(int, registry_register_as(r, NULL, as + 3, 1, &untyped, NULL, 0, &s),
	             BW_EINVAL));
	cr_assert(
		eq(int, registry_register_as(r, NULL, NULL, 1, &untyped, NULL, 0, &s), BW_EINVAL));
	cr_assert(eq(int, registry_register_as(r, NULL, as, 1, NULL, NULL, 0, &s), BW_EINVAL));
	cr_assert(s == NULL);
	cr_assert(eq(int, registry_register_as(r, NULL, as, 2, &untyped, NULL, 0, &s), BW_OK));
	cr_assert(service_type(s, BW_SERVLET) == &one);
	cr_assert(service_type(s, BW_FILTER) == &other);
	cr_assert(service_type(s, BW_PREPROCESSOR) == NULL);
	registry_free(r);
}

Test(registry, a_late_listener_is_told_what_is_there)
{
	struct registry   *r = registry_new();
	struct bw_service *a = add(r, NULL, 0), *b = add(r, NULL, 0);

	registry_unregister(a);
	registry_listen(r, on_event, x);
	registry_modify(b, NULL, 0);
	add(r, NULL, 0);
	registry_unregister(b);
	cr_assert_str_eq(log_text, "x+2 x*2 x+3 x-2 ");
	registry_free(r);
}

/* Registers a second service when it hears of the first, and takes the first back. */
static void on_event_register(void *arg, enum registry_event event, struct bw_service *s)
{
	on_event(x, event, s);
	if (event == REGISTRY_REGISTERED && service_id(s) == 1) {
		add(arg, NULL, 0);
		registry_unregister(s);
		note("(nested done) ", 0);
	}
}

Test(registry, nested_events_wait_for_the_one_they_arose_in)
{
	struct registry *r = registry_new();

	registry_listen(r, on_event_register, r);
	registry_listen(r, on_event, y);
	add(r, NULL, 0);
	/* y hears of 1 before it hears of 2, and of no end before its beginning. */
	cr_assert_str_eq(log_text, "x+1 (nested done) y+1 x+2 y+2 x-1 y-1 ");
	registry_free(r);
}

static void on_event_fleeting(void *arg, enum registry_event event, struct bw_service *s)
{
	on_event(x, event, s);
	if (event == REGISTRY_REGISTERED && service_id(s) == 1)
		registry_unregister(add(arg, NULL, 0));
}

Test(registry, what_came_and_went_unheard_is_never_told)
{
	struct registry *r = registry_new();

	registry_listen(r, on_event_fleeting, r);
	add(r, NULL, 0);
	cr_assert_str_eq(log_text, "x+1 ");
	registry_free(r);
}

/* Stops listening, itself and the one after it. */
static void on_event_stop(void *arg, enum registry_event event, struct bw_service *s)
{
	on_event(x, event, s);
	registry_unlisten(arg, on_event_stop, arg);
	registry_unlisten(arg, on_event, y);
}

Test(registry, who_unlistens_hears_no_more)
{
	struct registry *r = registry_new();

	registry_listen(r, on_event_stop, r);
	registry_listen(r, on_event, y);
	add(r, NULL, 0);
	add(r, NULL, 0);
	cr_assert_str_eq(log_text, "x+1 ");
	registry_free(r);
}

static void on_release(void *self, void *obj)
{
	(void)obj;
	note("released %lld ", *(int *)self);
}

Test(registry, a_held_service_outlives_its_registration)
{
	int                      self = 7;
	struct bw_service_object o = { .type = &type, .self = &self, .release = on_release };
	struct registry         *r = registry_new();
	struct bw_service       *s;

	cr_assert(eq(int, registry_register(r, NULL, servlet, &o, NULL, 0, &s), BW_OK));
	service_ref(s);
	registry_unregister(s);
	cr_assert_str_eq(log_text, "");
	cr_assert(eq(int, registry_modify(s, NULL, 0), BW_ESTATE));
	registry_unregister(s); /* again: nothing */
	service_unref(s);
	cr_assert_str_eq(log_text, "released 7 ");
	registry_free(r);
}

Test(registry, order_is_ranking_then_age)
{
	static const struct bw_prop low[] = { BW_P_INT(BW_SERVICE_RANKING, INT32_MIN) };
	static const struct bw_prop high[] = { BW_P_INT(BW_SERVICE_RANKING, INT32_MAX) };
	static const struct bw_prop wide[] = { BW_P_LONG(BW_SERVICE_RANKING, 100) };
	static const struct bw_prop text[] = { BW_P_STRING(BW_SERVICE_RANKING, "100") };
	struct registry            *r = registry_new();
	struct bw_service          *l = add(r, low, 1), *z = add(r, NULL, 0), *h = add(r, high, 1);
	struct bw_service          *w = add(r, wide, 1), *t = add(r, text, 1);

	cr_assert(lt(int, service_compare(h, l), 0));
	cr_assert(gt(int, service_compare(l, h), 0));
	cr_assert(lt(int, service_compare(z, w), 0),
	          "a 64-bit ranking counts as 0, so age decides");
	cr_assert(lt(int, service_compare(w, t), 0));
	cr_assert(eq(int, service_compare(z, z), 0));
	cr_assert(eq(int, service_ranking(w), 0));
	registry_free(r);
}

Test(registry, ldap_sees_properties_class_and_id)
{
	struct bw_prop props[] = { BW_P_STRINGS("Color", "blue", "red"), BW_P_INT("n", 9),
		                   BW_P_BOOL("b", true), BW_P_LONG("l", 5000000000) };
	static const struct {
		const char *filter;
		bool        matches;
	} rows[] = {
		{ "(color=red)", true },
		{ "(color=green)", false },
		{ "(&(n>=9)(n<=9))", true },
		{ "(n>=10)", false },
		{ "(b=TRUE)", true },
		{ "(l>=4999999999)", true },
		{ "(service.id=1)", true },
		{ "(objectClass=jakarta.servlet.Servlet)", true },
		{ "(objectclass=jakarta.servlet.Filter)", false },
		{ "(!(none=x))", true },
	};
	struct registry   *r = registry_new();
	struct bw_service *s = add(r, props, 4);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ldap_filter *f = ldap_parse(rows[i].filter, NULL, 0);

		cr_assert(f != NULL, "%s", rows[i].filter);
		cr_assert(ldap_match(f, service_ldap_lookup, s) == rows[i].matches, "%s",
		          rows[i].filter);
		ldap_free(f);
	}
	registry_free(r);
}

Test(registry, a_bundle_is_taken_back_last_first)
{
	struct registry  *r = registry_new();
	struct bw_bundle  bundles[2] = { { .name = "1" }, { .name = "2" } };
	struct bw_bundle *b1 = &bundles[0], *b2 = &bundles[1];

	registry_listen(r, on_event, x);
	for (int i = 0; i < 4; i++)
		registry_register(r, i == 1 ? b2 : b1, servlet, &object, NULL, 0, NULL);
	log_text[0] = '\0';
	registry_unregister_bundle(r, b1);
	cr_assert_str_eq(log_text, "x-4 x-3 x-1 ");
	registry_free(r);
}
