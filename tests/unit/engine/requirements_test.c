/* gateway/security/requirements.c: rules follow their registrations, and many are as quick as few; what
 * a rule covers is rows (conformance/security/requirements.rows). */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/security/requirements.c>
#include <stdio.h>

static struct registry *registry;
static char            *operator_rules[] = { (char *)"+/closed", (char *)"-/closed/door" };

static void start(void)
{
	struct gateway_settings settings = fake_settings;

	log_init("test", LOG_LEVEL_ERROR);
	settings.requirements = (struct conf_list){ operator_rules, 2 };
	registry = registry_new();
	requirements_init(registry, &settings);
}

static void stop(void)
{
	requirements_done();
	registry_free(registry);
}

TestSuite(requirements, .init = start, .fini = stop);

static bool needed(const char *path)
{
	return security_is_required(NULL, bw_str(path));
}

static struct bw_service *add(const char *rule)
{
	const char *const        interfaces[] = { "any", NULL };
	struct bw_service_object object = { .type = &registry };
	const struct bw_prop     prop = BW_P_STRING(BW_AUTH_REQUIREMENTS, rule);
	struct bw_service       *s;

	cr_assert(registry_register(registry, NULL, interfaces, &object, &prop, 1, &s) == BW_OK);
	return s;
}

Test(requirements, follow_their_registration)
{
	const struct bw_prop other = BW_P_STRING(BW_AUTH_REQUIREMENTS, "+/b");
	const struct bw_prop none = BW_P_STRING("x", "y");
	struct bw_service   *s = add("+/a");

	cr_assert(needed("/a") && !needed("/b"));
	cr_assert(registry_modify(s, &other, 1) == BW_OK);
	cr_assert(needed("/b") && !needed("/a"));
	cr_assert(registry_modify(s, &none, 1) == BW_OK);
	cr_assert(needed("/a") == false && needed("/b") == false);
	cr_assert(registry_modify(s, &other, 1) == BW_OK);
	registry_unregister(s);
	cr_assert(needed("/b") == false);
	cr_assert(needed("/closed/x") && !needed("/closed/door/x"), "the operator's stay");
}

Test(requirements, needed_wins_among_registrations_in_any_order)
{
	struct bw_service *open = add("-/a"), *closed = add("+/a");

	cr_assert(needed("/a"));
	registry_unregister(closed);
	cr_assert(needed("/a") == false);
	registry_unregister(open);
	add("+/a");
	add("-/a");
	cr_assert(needed("/a"));
}

Test(requirements, decide_by_the_longest_of_many)
{
	char rule[64], path[64];

	for (int i = 0; i < 500; i++) {
		snprintf(rule, sizeof(rule), "%c/p%d/%0*d", i % 2 ? '+' : '-', i % 10, i % 20 + 1,
		         i);
		add(rule);
	}
	for (int i = 0; i < 500; i++) {
		snprintf(path, sizeof(path), "/p%d/%0*d", i % 10, i % 20 + 1, i);
		cr_assert(eq(int, needed(path), i % 2), "%s", path);
		strcat(path, ".html/suffix");
		cr_assert(eq(int, needed(path), i % 2), "%s", path);
		snprintf(path, sizeof(path), "/p%d/%0*dx", i % 10, i % 20 + 1, i);
		cr_assert(needed(path) == false, "%s", path);
	}
	cr_assert(needed("/") == false && needed("") == false);
}

Test(requirements, say_what_is_wrong_with_a_rule)
{
	static const struct {
		const char *rule, *path;
	} cases[] = {
		{ "+/a", "/a" },    { "-/a/b//", NULL }, { " \t+/a \t", "/a" },  { "/a.b", "/a.b" },
		{ "+", NULL },      { "a", NULL },       { "http://h/a", "/a" }, { "//h", "" },
		{ "+/a?b", NULL },  { "+/a;b", NULL },   { "+/a\\b", NULL },     { "+/a\n", NULL },
		{ "+/../a", NULL }, { "+/a/..", NULL },  { "+/./a", NULL },      { "+/.a", "/.a" },
		{ "+/a//b", NULL }, { "+/", NULL },      { "+/a/", "/a" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rule rule;
		const char *problem = rule_parse(bw_str(cases[i].rule), &rule);

		cr_assert(eq(int, problem == NULL, cases[i].path != NULL), "%s: %s", cases[i].rule,
		          problem ? problem : "");
		if (problem == NULL) {
			cr_assert(bw_str_eq(rule.path, bw_str(cases[i].path)), "%s", cases[i].rule);
			rule_done(&rule);
		}
	}
}

Test(requirements, stop_the_start_on_a_rule_of_the_operator, .exit_code = 1)
{
	static char            *rules[] = { (char *)"+/x", (char *)"-/x/" };
	struct gateway_settings settings = fake_settings;

	settings.requirements = (struct conf_list){ rules, 2 };
	requirements_init(registry, &settings);
}
