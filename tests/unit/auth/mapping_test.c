/* Under test: auth/mapping.c, amendment.c. What is refused at the start; what a mapping says is
 * tests/conformance/mapping. */
#include <criterion/criterion.h>
#include <base/log.h>
#include <sys/stat.h>
#include <unistd.h>
#include "auth/mapping.c"

#define MAX 8

static struct mapping *mapping_of(const char *const *entries, const char *const *places,
                                  const char *folder, char *err, size_t err_size)
{
	char                   *items[2][MAX];
	struct conf_list        lists[2] = { { items[0], 0 }, { items[1], 0 } }, none = { NULL, 0 };
	const char *const      *from[2] = { entries, places };
	struct mapping_settings settings = { &lists[0], &lists[1], &none, folder, NULL, false };

	log_init("test", LOG_LEVEL_ERROR);
	for (int i = 0; i < 2; i++)
		for (; lists[i].n < MAX && from[i][lists[i].n] != NULL; lists[i].n++)
			items[i][lists[i].n] = (char *)from[i][lists[i].n];
	return mapping_new(&settings, err, err_size);
}

Test(mapping, refused_at_start)
{
	static const struct {
		const char *entries[MAX], *places[MAX], *says;
	} bad[] = {
		{ { "b:s=[]" }, { NULL }, "auth.service_users: \"b:s=[]\": a list has" },
		{ { "b=u", "c=[ , ]" }, { NULL }, "\"c=[ , ]\": a list has" },
		{ { NULL }, { "b" }, "auth.service_places: \"b\" is not the one" },
		{ { NULL }, { "b=host:" }, "\"b=host:\" is not" },
		{ { NULL }, { "b=elsewhere" }, "\"b=elsewhere\" is not" },
		{ { NULL }, { "b:s=gateway" }, "\"b:s=gateway\" is not" },
		{ { NULL }, { "b=gateway", "b=host:h" }, "\"b=host:h\" is not the one" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char err[256] = "";

		cr_assert_null(mapping_of(bad[i].entries, bad[i].places, NULL, err, sizeof(err)),
		               "row %zu", i);
		cr_assert_not_null(strstr(err, bad[i].says), "row %zu: %s", i, err);
	}
}

static void write_file(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");

	cr_assert_not_null(out);
	fputs(text, out);
	cr_assert_eq(fclose(out), 0);
}

Test(mapping, bad_amendments)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "amendment:\n  ranking: high\n", "expected a whole number" },
		{ "amendment:\n  ranking: 99999999999999999999\n", "expected a whole number" },
		{ "amendment:\n  service_users: [\"b=[]\"]\n", "a.yaml: \"b=[]\": a list has" },
		{ "amendment:\n  colour: blue\n", "a.yaml:2: " },
		{ "auth:\n  socket: /x\n", "a.yaml:1: " },
		{ "- no map\n", "a.yaml" },
	};
	static const char *const none[] = { NULL };
	char                     dir[] = "/tmp/mapping-test.XXXXXX", path[64], err[256] = "";

	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a.yaml", dir);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		write_file(path, bad[i].text);
		cr_assert_null(mapping_of(none, none, dir, err, sizeof(err)), "row %zu", i);
		cr_assert_not_null(strstr(err, bad[i].says), "row %zu: %s", i, err);
	}
	unlink(path);
	rmdir(dir);
	cr_assert_null(mapping_of(none, none, dir, err, sizeof(err)));
	cr_assert_not_null(strstr(err, "auth.service_users_folder"), "%s", err);
}
