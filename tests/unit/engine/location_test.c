/* gateway/engine/location.c: two sources of super types make one chain, which always ends. */
#include "fake.h"
#include <base/buf.h>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/engine/location.h>
#include <gateway/whiteboard/registry.h>

static struct arena arena;

static void start(void)
{
	fake_forget();
	fake_start();
	arena_init(&arena);
}

static void stop(void)
{
	arena_done(&arena);
	fake_stop();
}

TestSuite(location, .init = start, .fini = stop);

static struct buf bytes;

/* chain: types parted by blanks. */
static struct record record_of(const char *type, const char *super, const char *chain)
{
	struct record r;
	char          text[1024];
	size_t        at;

	buf_clear(&bytes);
	at = record_begin(&bytes, 1, 1, BW_STR("/x"), BW_STR("nt:base"), bw_str(type),
	                  bw_str(super));
	snprintf(text, sizeof(text), "%s", chain);
	for (char *save, *t = strtok_r(text, " ", &save); t; t = strtok_r(NULL, " ", &save))
		record_put_chain(&bytes, at, bw_str(t));
	record_end(&bytes, at);
	cr_assert(record_get(buf_data(&bytes), buf_size(&bytes), &r) == BW_OK);
	return r;
}

/* The locations below /apps/ alone, without the base type's. */
static void check(const struct record *r, const char *want)
{
	struct locations l;
	char             got[4096] = "";

	locations_get(&arena, r, BASE_TYPE_DEFAULT, 7, &l);
	for (size_t i = 0; i + 2 < l.n; i++) {
		size_t n = strlen(got);

		if (strncmp(l.items[i].p, "/libs/", 6) != 0)
			snprintf(got + n, sizeof(got) - n, "%s%s", n ? " " : "", l.items[i].p);
	}
	cr_assert_str_eq(got, want);
	cr_assert_str_eq(l.items[l.n - 2].p, "/apps/sling/servlet/default");
	cr_assert_str_eq(l.items[l.n - 1].p, "/libs/sling/servlet/default");
}

Test(location, follows_registrations_and_stored_types)
{
	struct record r = record_of("m/sub", NULL, "s/one s/two");

	check(&r, "/apps/m/sub /apps/s/one /apps/s/two");
	fake_servlet("A", "resourceTypes=s/one extensions=x resourceSuperType=s/reg");
	check(&r, "/apps/m/sub /apps/s/one /apps/s/reg");
	fake_servlet("B", "resourceTypes=s/reg extensions=x resourceSuperType=s/two");
	check(&r, "/apps/m/sub /apps/s/one /apps/s/reg /apps/s/two");
	fake_servlet("C", "resourceTypes=m/sub extensions=x resourceSuperType=c/first");
	check(&r, "/apps/m/sub /apps/c/first");
	r = record_of("m/sub", "s/one", "s/one s/two");
	check(&r, "/apps/m/sub /apps/s/one /apps/s/reg /apps/s/two");
	buf_done(&bytes);
}

Test(location, ends_at_a_cycle_and_at_the_base_type)
{
	struct record r = record_of("y/a", NULL, "y/b y/c");

	fake_servlet("A", "resourceTypes=y/c extensions=x resourceSuperType=y/a");
	check(&r, "/apps/y/a /apps/y/b /apps/y/c");
	r = record_of("y/a", "y/a", "y/a");
	check(&r, "/apps/y/a");
	fake_servlet("B", "resourceTypes=sling/servlet/default extensions=x resourceSuperType=y/z");
	r = record_of("y/q", "sling/servlet/default", "sling/servlet/default");
	check(&r, "/apps/y/q /apps/sling/servlet/default");
	buf_done(&bytes);
}

Test(location, cuts_a_chain_that_is_too_long)
{
	char             chain[1024] = "";
	struct record    r;
	struct locations l;

	for (int i = 0; i < 100; i++)
		snprintf(chain + strlen(chain), sizeof(chain) - strlen(chain), "t%d ", i);
	r = record_of("own", NULL, chain);
	locations_get(&arena, &r, BASE_TYPE_DEFAULT, 0, &l);
	cr_assert(eq(sz, l.n, (LOCATION_MAX_TYPES + 1) * 2));
	buf_done(&bytes);
}

Test(location, turns_types_into_paths)
{
	static const char *const cases[][2] = {
		{ "a/b", "a/b" },    { "a:b", "a/b" }, { "a/b/", "a/b" },
		{ "/x:y/", "/x/y" }, { "", "" },       { "/", "/" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert(bw_str_eq(location_type_path(&arena, bw_str(cases[i][0])),
		                    bw_str(cases[i][1])),
		          "%s", cases[i][0]);
}
