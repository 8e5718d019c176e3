/* gateway/engine/mountpaths.c: what cannot be mounted says why; the rules themselves are rows
 * (conformance/engine/reg.rows). */
#include "fake.h"
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/engine/mountpaths.h>
#include <gateway/whiteboard/registry.h>

static int type;

static struct bw_service *service(struct registry *r, const struct bw_prop *props, size_t n)
{
	const char *const              interfaces[] = { "any", NULL };
	const struct bw_service_object object = { .type = &type };
	struct bw_service             *s;

	cr_assert(registry_register(r, NULL, interfaces, &object, props, n, &s) == BW_OK);
	return s;
}

Test(mountpaths, refuses_paths_that_no_request_could_have)
{
	static char too_long[1200];
	const struct {
		const char *path;
		bool        good;
	} cases[] = { { "/bin/x", true },    { "/bin//x", false }, { "/bin/../x", false },
		      { "/bin/./x", false }, { "/bin/x/", true },  { "rel", true },
		      { "/", true },         { too_long, false },  { "/bin/.x", true } };
	struct registry   *r = registry_new();
	struct search_path sp;

	memset(too_long, 'a', sizeof(too_long) - 1);
	too_long[0] = '/';
	search_path_init(&sp, &fake_settings.search_path);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct bw_prop prop = BW_P_STRING(BW_SLING_PATHS, cases[i].path);
		struct mount_paths   paths;
		const char          *reason = NULL;
		bool good = mount_paths_get(&paths, service(r, &prop, 1), &sp, &reason);

		cr_assert(eq(int, good, cases[i].good), "%s", cases[i].path);
		cr_assert(eq(int, reason == NULL, good));
		cr_assert(eq(int, paths.n > 0, good));
		mount_paths_done(&paths);
	}
	search_path_done(&sp);
	registry_free(r);
}

Test(mountpaths, bounds_what_one_registration_can_multiply_to)
{
	static char          texts[80][8];
	static const char   *values[81];
	struct registry     *r = registry_new();
	const struct bw_prop props[] = {
		{ BW_SLING_TYPES, BW_PROP_STRINGS, { .strings = values } },
		{ BW_SLING_EXTENSIONS, BW_PROP_STRINGS, { .strings = values } },
	};
	struct search_path sp;
	struct mount_paths paths;
	const char        *reason = NULL;

	for (int i = 0; i < 80; i++) {
		snprintf(texts[i], sizeof(texts[i]), "v%d", i);
		values[i] = texts[i];
	}
	search_path_init(&sp, &fake_settings.search_path);
	cr_assert(mount_paths_get(&paths, service(r, props, 2), &sp, &reason) == false);
	cr_assert_str_eq(reason, "more than 4096 mount paths");
	values[50] = NULL;
	cr_assert(mount_paths_get(&paths, service(r, props, 2), &sp, &reason));
	cr_assert(eq(sz, paths.n, 2500));
	mount_paths_done(&paths);
	search_path_done(&sp);
	registry_free(r);
}

Test(mountpaths, takes_prefixes_of_every_type_and_drops_repeated_values)
{
	struct registry     *r = registry_new();
	struct search_path   sp;
	struct mount_paths   paths;
	const char          *reason;
	const struct bw_prop cases[][3] = {
		{ BW_P_STRING(BW_SLING_PATHS, "x.servlet"), BW_P_INT("sling.servlet.prefix", 1) },
		{ BW_P_STRING(BW_SLING_PATHS, "x.servlet"), BW_P_LONG("sling.servlet.prefix", -1) },
		{ BW_P_STRINGS(BW_SLING_PATHS, "x.servlet", " x.servlet ", ""),
		  BW_P_STRING("sling.servlet.prefix", "1") },
		{ BW_P_STRING(BW_SLING_PATHS, "x.servlet"),
		  BW_P_BOOL("sling.servlet.prefix", true) },
	};

	search_path_init(&sp, &fake_settings.search_path);
	for (size_t i = 0; i < 4; i++) {
		cr_assert(mount_paths_get(&paths, service(r, cases[i], 2), &sp, &reason));
		cr_assert(eq(sz, paths.n, 1));
		cr_assert_str_eq(paths.items[0].path,
		                 (i < 3 ? "/libs/x.servlet" : "/apps/x.servlet"));
		mount_paths_done(&paths);
	}
	search_path_done(&sp);
	registry_free(r);
}
