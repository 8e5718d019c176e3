/* The engine against its rows: requests go through the whiteboard, the authenticator (everything is
 * open) and the real engine to stub servlets; auth and repo are fakes that answer at once.
 *
 * Usage: conformance_engine FILE... ; the files explain their lines. Fails if a row fails, if a line
 * is not understood, or if there was none. */
#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <gateway/engine/location.h>
#include <gateway/engine/mountpaths.h>
#include <gateway/peers/resolver.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/whiteboard.h>
#include <stdlib.h>
#include "unit/engine/fake.h"

#define MAX_FIELDS 9

static unsigned passed, failed;
static bool     is_started;

static void verdict(const char *id, bool good, const char *detail)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	printf("%s: %s\n", id, detail);
}

/* ---- lines ---- */

/* Cuts a line at " | "; returns the number of fields. */
static size_t split(char *line, char *fields[MAX_FIELDS])
{
	size_t n = 0;

	for (char *at = line; at != NULL && n < MAX_FIELDS; n++) {
		char *bar = strstr(at, " | ");

		fields[n] = at;
		if (bar != NULL)
			*bar = '\0';
		at = bar != NULL ? bar + 3 : NULL;
	}
	return n;
}

static const char *field_or_null(const char *field)
{
	return strcmp(field, "-") != 0 ? field : NULL;
}

static void new_fixture(void)
{
	if (is_started)
		fake_stop();
	fake_forget();
	fake_start();
	is_started = true;
}

/* ---- requests ---- */

/* What the row's columns would say about a request that has been served. */
static void describe(const struct bw_req *req, char *out, size_t size)
{
	const struct bw_resource *res = req->resource;
	const char               *kind = "";

	if (res != NULL && res->missing)
		kind = bw_str_eq(res->record.resource_type, BW_STR("sling:nonexisting"))
		               ? "missing "
		               : "star ";
	snprintf(out, size, "%s%s | %s | %s | %s | %s | %d", kind, res ? res->record.path.p : "-",
	         req->selectors.p ? req->selectors.p : "-",
	         req->extension.p ? req->extension.p : "-", req->suffix.p ? req->suffix.p : "-",
	         fake_called[0] ? fake_called : "-", req->status);
}

/* row | id | METHOD target | resource | selectors | extension | suffix | servlet | status */
static void run_row(char *f[MAX_FIELDS])
{
	char           want[1024], got[1024], detail[2200];
	char          *target = strchr(f[2], ' ');
	struct bw_req *req;
	bool           nobody = strncmp(f[7], "none", 4) == 0 || strcmp(f[7], "built-in") == 0;

	*target++ = '\0';
	req = fake_request(f[2], target, NULL);
	if (req == NULL) {
		verdict(f[1], false, "the target is not canonical");
		return;
	}
	whiteboard_serve(req);
	snprintf(want, sizeof(want), "%s | %s | %s | %s | %s | %s", f[3], f[4], f[5], f[6],
	         nobody ? "-" : f[7], f[8]);
	describe(req, got, sizeof(got));
	fake_request_free(req);
	snprintf(detail, sizeof(detail), "\n  want %s\n  got  %s", want, got);
	verdict(f[1], strcmp(want, got) == 0, detail);
}

/* error | id | status | target | handler */
static void run_error(char *f[MAX_FIELDS])
{
	struct bw_req *req = fake_request("GET", f[3], NULL);
	const char    *want = strcmp(f[4], "-") == 0 ? "DGET" : f[4]; /* DGET is who fails */
	char           detail[256];

	fake_fails_with = atoi(f[2]);
	whiteboard_serve(req);
	snprintf(detail, sizeof(detail), "want %s, got %s with %d", want, fake_called, req->status);
	verdict(f[1], strcmp(want, fake_called) == 0 && req->status == atoi(f[2]), detail);
	fake_request_free(req);
}

/* ---- mounts and locations ---- */

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorted and joined by blanks; the texts are not changed. */
static void join(const char **texts, size_t n, bool sorted, char *out, size_t size)
{
	size_t at = 0;

	if (sorted)
		qsort(texts, n, sizeof(*texts), compare_texts);
	out[0] = '\0';
	for (size_t i = 0; i < n && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s", i ? " " : "", texts[i]);
}

static void compare_lists(const char *id, char *want, const char **got, size_t n, bool sorted)
{
	const char *texts[64];
	size_t      n_texts = 0;
	char        left[4096], right[4096], detail[8300];

	for (char *save, *t = strtok_r(want, " ", &save); t; t = strtok_r(NULL, " ", &save))
		if (strcmp(t, "-") != 0)
			texts[n_texts++] = t;
	join(texts, n_texts, sorted, left, sizeof(left));
	join(got, n, sorted, right, sizeof(right));
	snprintf(detail, sizeof(detail), "\n  want %s\n  got  %s", left, right);
	verdict(id, strcmp(left, right) == 0, detail);
}

/* mount | id | properties | paths */
static void run_mount(char *f[MAX_FIELDS])
{
	struct bw_service *s = fake_servlet(f[1], f[2]);
	struct search_path sp;
	struct mount_paths paths;
	const char        *reason = NULL, *got[64];

	search_path_init(&sp, &fake_settings.search_path);
	if (!mount_paths_get(&paths, s, &sp, &reason)) {
		verdict(f[1], false, reason);
	} else {
		for (size_t i = 0; i < paths.n; i++)
			got[i] = paths.items[i].path;
		compare_lists(f[1], f[3], got, paths.n, true);
		mount_paths_done(&paths);
	}
	search_path_done(&sp);
	registry_unregister(s);
}

/* locations | id | type | super type | paths in order */
static void run_locations(char *f[MAX_FIELDS])
{
	struct bw_req   *req;
	struct locations list;
	const char      *got[64];

	fake_remove_content("/");
	fake_content("/", field_or_null(f[2]), field_or_null(f[3]));
	req = fake_request("GET", "/", NULL);
	whiteboard_serve(req);
	locations_get(&req->arena, &req->resource->record, BASE_TYPE_DEFAULT, 0, &list);
	for (size_t i = 0; i < list.n; i++)
		got[i] = list.items[i].p;
	compare_lists(f[1], f[4], got, list.n, false);
	fake_request_free(req);
}

/* ---- files ---- */

static void run_line(const char *file, unsigned number, char *line)
{
	static const struct {
		const char *word;
		size_t      n_fields;
		void (*run)(char *f[MAX_FIELDS]);
	} kinds[] = {
		{ "row", 9, run_row },
		{ "error", 5, run_error },
		{ "mount", 4, run_mount },
		{ "locations", 5, run_locations },
	};
	char  *f[MAX_FIELDS];
	size_t n;

	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0' || line[0] == '#')
		return;
	n = split(line, f);
	if (n == 3 && strcmp(f[0], "fixture") == 0) {
		new_fixture();
		return;
	}
	if (n == 4 && strcmp(f[0], "content") == 0) {
		fake_content(f[1], field_or_null(f[2]), field_or_null(f[3]));
		return;
	}
	if (n == 3 && strcmp(f[0], "servlet") == 0) {
		fake_servlet(f[1], f[2]);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (n == kinds[i].n_fields && strcmp(f[0], kinds[i].word) == 0) {
			kinds[i].run(f);
			return;
		}
	}
	fatalx("%s:%u: not understood", file, number);
}

static void run_file(const char *file)
{
	FILE    *in = fopen(file, "r");
	char    *line = NULL;
	size_t   size = 0;
	unsigned number = 0;

	if (in == NULL)
		fatal("%s", file);
	while (getline(&line, &size, in) >= 0)
		run_line(file, ++number, line);
	free(line);
	fclose(in);
}

int main(int argc, char **argv)
{
	log_init("conformance", LOG_LEVEL_ERROR);
	for (int i = 1; i < argc; i++)
		run_file(argv[i]);
	if (is_started)
		fake_stop();
	printf("%u passed, %u failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
