/* gateway/engine/select.c: the parts of a choice that no row shows. */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/engine/select.c>
#include <gateway/whiteboard/registry.h>

static struct arena  arena;
static struct record record;

static void start(void)
{
	fake_forget();
	fake_start();
	arena_init(&arena);
	record = (struct record){ .path = BW_STR("/x"), .resource_type = BW_STR("t/one") };
}

static void stop(void)
{
	arena_done(&arena);
	fake_stop();
}

TestSuite(select, .init = start, .fini = stop);

static struct select_query query(const char *method, const char *selectors, const char *extension)
{
	return (struct select_query){ bw_str(method), bw_str(selectors), bw_str(extension),
		                      &record,        fake.types,        0 };
}

static struct bw_service *chosen(const char *method, const char *selectors, const char *extension)
{
	struct select_query   q = query(method, selectors, extension);
	struct mount_servlet *m = NULL;

	return select_servlet(&q, &arena, &m) == SELECT_FOUND ? m->service : NULL;
}

Test(select, fits_names_whole_and_never_an_absent_part)
{
	const struct bw_str parts[N_PARTS] = { [SELECTOR] = BW_STR("s"),
		                               [LABEL] = BW_STR("l"),
		                               [EXTENSION] = BW_ABSENT,
		                               [METHOD] = BW_STR("GET") };
	static const struct {
		const char *name;
		unsigned    line;
		bool        fits;
	} cases[] = {
		{ "s.GET", 10, true }, { "s.GETX", 10, false }, { "s.GE", 10, false },
		{ "sGET", 10, false }, { "s", 10, false },      { "", 10, false },
		{ "GET", 11, true },   { "get", 11, false },    { "l.", 1, false },
		{ "l", 1, false },     { "", 2, false },        { "s.", 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert(eq(int, name_fits(bw_str(cases[i].name), &lines[cases[i].line], parts),
		             cases[i].fits),
		          "%s, line %u", cases[i].name, cases[i].line);
}

Test(select, breaks_ties_by_name_whoever_came_first)
{
	struct bw_service *plain =
		fake_servlet("plain", "resourceTypes=t/one selectors=p extensions=html");
	struct bw_service *get =
		fake_servlet("get", "resourceTypes=t/one selectors=p extensions=html methods=GET");

	cr_assert(chosen("GET", "p", "html") == get, "p.html.GET.servlet before p.html.servlet");
	registry_unregister(get);
	cr_assert(chosen("GET", "p", "html") == plain);
	get = fake_servlet("get", "resourceTypes=t/one selectors=p extensions=html methods=GET");
	registry_unregister(plain);
	fake_servlet("plain", "resourceTypes=t/one selectors=p extensions=html");
	cr_assert(chosen("GET", "p", "html") == get);
}

Test(select, remembers_and_forgets_with_the_mounts)
{
	struct bw_service *one = fake_servlet("one", "resourceTypes=t/one");
	struct bw_service *two;

	cr_assert(chosen("GET", NULL, NULL) == one);
	cr_assert(chosen("GET", NULL, NULL) == one);
	two = fake_servlet("two", "resourceTypes=t/one ranking=1");
	cr_assert(chosen("GET", NULL, NULL) == two);
	registry_unregister(two);
	cr_assert(chosen("GET", NULL, NULL) == one);
	registry_unregister(one);
	cr_assert(chosen("GET", NULL, NULL) == NULL);
}

Test(select, finds_the_servlet_of_an_absolute_type)
{
	static const struct {
		const char        *type;
		enum select_result result;
	} cases[] = {
		{ "/bin/a", SELECT_FOUND },
		{ "/bin/a.servlet", SELECT_FOUND },
		{ "/bin:a", SELECT_FOUND },
		{ "/bin/c:d", SELECT_FOUND },
		{ "/bin/a/", SELECT_FOUND },
		{ "/bin", SELECT_NONE },
		{ "/bin/strict", SELECT_FORBIDDEN },
		{ "/a/.../b", SELECT_BAD_TYPE },
		{ "a/....", SELECT_BAD_TYPE },
		{ "a/..", SELECT_NONE },
		{ "", SELECT_BAD_TYPE },
	};
	struct select_query   q = query("GET", NULL, NULL);
	struct mount_servlet *m;

	fake_servlet("a", "paths=/bin/a");
	fake_servlet("cd", "paths=/bin/c:d");
	fake_servlet("strict", "paths=/bin/strict paths.strict=true methods=POST");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		record.resource_type = bw_str(cases[i].type);
		cr_assert(eq(int, select_servlet(&q, &arena, &m), cases[i].result), "%s",
		          cases[i].type);
	}
}

Test(select, walks_no_deeper_than_paths_can_be)
{
	static char selectors[4000];

	for (size_t i = 0; i + 1 < sizeof(selectors); i++)
		selectors[i] = i % 3 == 2 ? '.' : 'a';
	fake_servlet("deep", "resourceTypes=t/one selectors=aa.aa.aa extensions=x");
	cr_assert(chosen("GET", selectors, "x") != NULL);
	memset(selectors, 'b', sizeof(selectors) - 1);
	cr_assert(chosen("GET", selectors, "x") == NULL);
}

Test(select, asks_error_handlers_by_name_and_extension_alone)
{
	struct select_query q = query("POST", "sel", "html");
	struct bw_service  *whole, *by_name, *by_extension;

	whole = fake_servlet("whole", "resourceTypes=t/one methods=*");
	cr_assert(select_error_handler(&q, &arena, BW_STR("404")) == NULL);
	cr_assert(chosen("POST", "sel", "html") == whole);
	by_name = fake_servlet("n", "resourceTypes=sling/servlet/errorhandler methods=bw.error.io");
	cr_assert(select_error_handler(&q, &arena, BW_STR("bw.error.io"))->service == by_name);
	cr_assert(select_error_handler(&q, &arena, BW_STR("bw.error")) == NULL);
	by_extension = fake_servlet(
		"e", "resourceTypes=sling/servlet/errorhandler methods=404 extensions=html");
	cr_assert(select_error_handler(&q, &arena, BW_STR("404"))->service == by_extension);
	q.extension = BW_STR("txt");
	cr_assert(select_error_handler(&q, &arena, BW_STR("404")) == NULL);
}
