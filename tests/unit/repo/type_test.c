/* Under test: repo/type.c. Chains follow the first search path that has a link, whoever asks;
 * cycles and endless chains end. */
#include <criterion/criterion.h>
#include <repo/type.h>
#include <stdio.h>

static char  apps[] = "/apps/", libs[] = "/libs/";
static char *search_path[] = { apps, libs };

static struct type_graph *graph_of(const char *const (*links)[2])
{
	struct type_graph *g = type_graph_new(search_path, 2);
	uint64_t           loads = type_loads(g);

	cr_assert(loads > 0);
	type_load_begin(g);
	for (; (*links)[0] != NULL; links++)
		type_load_add(g, bw_str((*links)[0]), bw_str((*links)[1]));
	type_load_end(g);
	cr_assert(type_loads(g) > loads);
	return g;
}

Test(type, chains)
{
	static const char *const links[][2] = {
		{ "/libs/a/one", "a/two" },    { "/apps/a/two", "a/three" },
		{ "/libs/a/two", "a/wrong" },  { "/apps/abs", "/libs/a/one" },
		{ "/apps/nt/folder", "base" }, { "/apps/loop/a", "loop/b" },
		{ "/apps/loop/b", "loop/c" },  { "/apps/loop/c", "loop/a" },
		{ "/apps/self", "self" },      { NULL, NULL },
	};
	static const struct {
		const char *type, *own_super, *chain;
		bool        cycle;
	} cases[] = {
		{ "a/one", NULL, "a/two a/three", false },
		{ "a/three", NULL, "", false },
		{ "a/none", "a/one", "a/one a/two a/three", false },
		{ "a/one", "x", "x", false },
		{ "abs", NULL, "/libs/a/one a/two a/three", false },
		{ "/apps/a/two", NULL, "a/three", false },
		{ "nt:folder", NULL, "base", false },
		{ "loop/a", NULL, "loop/b loop/c loop/a", true },
		{ "other", "loop/a", "loop/a loop/b loop/c loop/a", true },
		{ "self", NULL, "self", true },
		{ "", NULL, "", false },
	};
	struct type_graph *g = graph_of(links);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bw_str chain[TYPE_MAX_CHAIN];
		char          text[256] = "";
		bool          cycle;
		unsigned n = type_chain(g, bw_str(cases[i].type), bw_str(cases[i].own_super), chain,
		                        &cycle);

		for (unsigned k = 0; k < n; k++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			         k > 0 ? " " : "", chain[k].p);
		cr_assert_str_eq(text, cases[i].chain, "%s: %s", cases[i].type, text);
		cr_assert_eq(cycle, cases[i].cycle, "%s", cases[i].type);
	}
	type_graph_free(g);
}

Test(type, long_chains_end)
{
	static const char *const none[][2] = { { NULL, NULL } };
	struct type_graph       *g = graph_of(none);
	struct bw_str            chain[TYPE_MAX_CHAIN];
	char                     path[32], super[32], huge[4096];
	bool                     cycle;

	cr_assert_eq(type_chain(g, BW_STR("a"), BW_ABSENT, chain, &cycle), 0);
	type_load_begin(g);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/apps/t%u", i);
		snprintf(super, sizeof(super), "t%u", i + 1);
		type_load_add(g, bw_str(path), bw_str(super));
	}
	type_load_end(g);
	cr_assert_eq(type_chain(g, BW_STR("t0"), BW_ABSENT, chain, &cycle), TYPE_MAX_CHAIN);
	cr_assert(!cycle && bw_str_eq(chain[TYPE_MAX_CHAIN - 1], BW_STR("t32")));
	memset(huge, 'x', sizeof(huge) - 1);
	huge[sizeof(huge) - 1] = '\0';
	cr_assert_eq(type_chain(g, bw_str(huge), BW_ABSENT, chain, &cycle), 0);
	type_graph_free(g);
}

Test(type, below_search_path)
{
	static const struct {
		const char *path;
		bool        below;
	} cases[] = {
		{ "/apps/x", true },
		{ "/apps", true },
		{ "/libs/x/y", true },
		{ "/", true },
		{ "/app", false },
		{ "/apps2", false },
		{ "/content/apps/x", false },
		{ "/lib", false },
	};
	static const char *const none[][2] = { { NULL, NULL } };
	struct type_graph       *g = graph_of(none);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(type_is_below_search_path(g, bw_str(cases[i].path)), cases[i].below,
		             "%s", cases[i].path);
	type_graph_free(g);
}
