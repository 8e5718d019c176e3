/* gateway/bundle/bundles.c, library.c: a good bundle starts and serves; one that is odd in a single way is refused for that
 * reason, what it registered is taken back, and the others go on; the stop takes everything back. */
#include <gateway/bundle/bundles.h>

#include <base/buf.h>
#include <base/conf.h>
#include <base/fatal.h>
#include <base/log.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/whiteboard.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static struct registry *begin(void)
{
	struct registry *r = registry_new();

	log_init("test", LOG_LEVEL_ERROR);
	whiteboard_init(r);
	bundles_init(r, NULL, 1000000);
	return r;
}

static void end(struct registry *r)
{
	bundles_stop();
	whiteboard_done();
	registry_free(r);
	bundles_done();
}

/* *names: of a test bundle, or a path. */
static void load(const char *const *names, size_t n)
{
	char            *files[8];
	struct conf_list list = { files, n };

	for (size_t i = 0; i < n; i++)
		files[i] = names[i][0] == '/' ? xstrdup(names[i])
		                              : xasprintf("%s/%s.so", TEST_BUNDLES, names[i]);
	bundles_load(&list, NULL);
	for (size_t i = 0; i < n; i++)
		free(files[i]);
}

static bool serves(const char *path)
{
	struct snapshot_hit hit;

	return snapshot_find(snapshot_current(), bw_str(path), &hit);
}

/* One of what bundles_describe says about the last one that was loaded, "" if it is null; good until the
 * next call. */
static const char *described(const char *member)
{
	static json_t *all;
	struct buf     text;
	const char    *value;

	json_decref(all);
	buf_init(&text);
	bundles_describe(&text);
	all = json_loadb((const char *)buf_data(&text), buf_size(&text), 0, NULL);
	buf_done(&text);
	value = json_string_value(
		json_object_get(json_array_get(all, json_array_size(all) - 1), member));
	return value ? value : "";
}

static const char *refusal(void)
{
	return described("reason");
}

Test(bundles, a_good_one_serves_until_the_stop)
{
	struct registry *r = begin();

	load((const char *const[]){ "good" }, 1);
	cr_assert_str_eq(refusal(), "");
	cr_assert_str_eq(described("name"), "odd.good");
	cr_assert_str_eq(described("version"), "1.0.0");
	cr_assert_str_eq(described("state"), "ACTIVE");
	cr_assert(serves("/odd"));
	bundles_stop();
	cr_assert(not(serves("/odd")));
	end(r);
}

Test(bundles, one_of_an_earlier_minor_version_serves)
{
	struct registry *r = begin();

	load((const char *const[]){ "old" }, 1);
	cr_assert_str_eq(refusal(), "");
	cr_assert(serves("/odd"));
	bundles_stop();
	end(r);
}

Test(bundles, what_is_odd_is_refused_and_the_rest_goes_on)
{
	static const struct {
		const char *name, *reason;
	} rows[] = {
		{ "magic", "has no bundle descriptor" },
		{ "major", "is built for another major version of the ABI" },
		{ "minor", "is built for a newer minor version of the ABI" },
		{ "short", "has a descriptor that is too short" },
		{ "unsorted", "has embedded files that are not in the order of their names" },
		{ "name", "has no valid symbolic name" },
		{ "fails", "failed to start" },
		{ "unexported", "exports no boardwalk_bundle" },
		{ "missing", "cannot be read" },
		{ "/usr", "is no regular file" },
		{ "/etc/passwd", "cannot be loaded" },
	};
	struct registry *r = begin();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		load(&rows[i].name, 1);
		cr_assert(strncmp(refusal(), rows[i].reason, strlen(rows[i].reason)) == 0, "%s: %s",
		          rows[i].name, refusal());
		cr_assert_str_eq(described("state"), "INSTALLED");
		cr_assert(not(serves("/odd")), "%s serves", rows[i].name);
	}
	load((const char *const[]){ "fails", "good" }, 2);
	cr_assert_str_eq(refusal(), "");
	cr_assert(serves("/odd"));
	load((const char *const[]){ "good" }, 1);
	cr_assert_str_eq(refusal(), "is mapped already, and a generation needs a file of its own");
	load((const char *const[]){ "generation", "nodelete" }, 2);
	cr_assert_str_eq(refusal(), "has the symbolic name of another bundle");
	cr_assert(serves("/odd"));
	cr_assert(serves("/gen"));
	end(r);
}

/* Loads the file in a worker of its own. */
static void look_at(const char *file, const char *reason)
{
	struct registry *r = begin();

	load(&file, 1);
	cr_assert(strncmp(refusal(), reason, strlen(reason)) == 0, "%s", refusal());
	end(r);
}

Test(bundles, a_file_that_others_can_change_is_not_loaded)
{
	char file[] = "/tmp/boardwalk-bundle-XXXXXX";
	int  fd = mkstemp(file);

	cr_assert(ge(int, fd, 0));
	look_at(file, "cannot be loaded"); /* an empty file of our own is looked at */
	fchmod(fd, 0620);
	look_at(file, "can be written by others");
	fchmod(fd, 0602);
	look_at(file, "can be written by others");
	fchmod(fd, 0600);
	if (geteuid() == 0) {
		cr_assert(eq(int, fchown(fd, 12345, 0), 0));
		look_at(file, "belongs to another user");
	}
	close(fd);
	unlink(file);
}

Test(bundles, a_builtin_one_is_made_once)
{
	struct bw_bundle *a = bundles_builtin("boardwalk.engine");

	cr_assert(a == bundles_builtin("boardwalk.engine"));
	cr_assert(a != bundles_builtin("boardwalk.other"));
	cr_assert_str_eq(a->name, "boardwalk.engine");
}

/* ---- embedded files ---- */

Test(bundles, the_files_of_a_folder_are_in_its_object)
{
	static const struct {
		const char *name, *data;
	} rows[] = {
		{ "www/a.txt", "hello" },        { "www/d/b.txt", "in d" },
		{ "www/empty.txt", "" },         { "www/i.html", "<h1>x</h1>" },
		{ "www/noext", "no extension" },
	};
	struct registry          *r = begin();
	const struct bw_embedded *e;
	struct snapshot_hit       hit;

	load((const char *const[]){ "files" }, 1);
	cr_assert_str_eq(refusal(), "");
	cr_assert(snapshot_find(snapshot_current(), BW_STR("/files/x"), &hit));
	e = hit.pattern->servlet->reading->bundle->descriptor->embedded;
	cr_assert(eq(sz, e->n, 5));
	for (size_t i = 0; i < 5; i++) {
		cr_assert_str_eq(e->files[i].name, rows[i].name);
		cr_assert(eq(sz, e->files[i].n, strlen(rows[i].data)));
		cr_assert_str_eq(e->files[i].data, rows[i].data); /* a NUL is behind it */
		cr_assert(eq(i64, e->files[i].modified_ms, 1000000000000));
	}
	end(r);
}
