/* Resolvers with pending changes in a whole instance: the rows of tests/conformance/resolver, and what
 * takes more than a row: a client that goes, and the handles that are left. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "resolver/random.h"
#include "resolver/rowfile.h"
#include "support/http.h"
#include "support/instance.h"
#include "support/rows.h"

static const char config[] = "auth:\n"
			     "  service_users: [\"test.resolver=rowwriter\",\n"
			     "    \"test.resolver:list=[rowlist,rowtwo]\", "
			     "\"test.resolver:mixed=[rowlist,rowelsewhere]\"]\n"
			     "gateway:\n"
			     "  workers: 1\n";

static const char content[] = "create service user rowwriter\n"
			      "create user rowreader with password reads\n"
			      "create service user rowlist\n"
			      "create service user rowtwo\n"
			      "create service user rowelsewhere with path elsewhere\n"
			      "set principal ACL for rowlist\n"
			      "  allow jcr:read on /content/rows\n"
			      "end\n"
			      "set principal ACL for rowtwo\n"
			      "  allow rep:addProperties on /content/rows "
			      "restriction(rep:itemNames,n)\n"
			      "end\n"
			      "create path (sling:Folder) /content/rows(nt:unstructured)\n"
			      "set ACL on /\n"
			      "  allow jcr:read for rowwriter\n"
			      "end\n"
			      "set ACL on /content/rows\n"
			      "  allow jcr:all for rowwriter\n"
			      "  allow jcr:read for rowreader\n"
			      "end\n"
			      "create path (nt:unstructured) /apps/rows/page\n"
			      "create path (nt:unstructured) /apps/rows/a\n"
			      "create path (nt:unstructured) /apps/rows/b\n"
			      "set properties on /apps/rows/page\n"
			      "  set sling:resourceSuperType to rows/base\n"
			      "end\n"
			      "set properties on /apps/rows/a\n"
			      "  set sling:resourceSuperType to rows/b\n"
			      "end\n"
			      "set properties on /apps/rows/b\n"
			      "  set sling:resourceSuperType to rows/a\n"
			      "end\n"
			      "set ACL on /apps\n"
			      "  deny jcr:read for rowwriter\n"
			      "end\n";

static const struct test_instance_options options = { .config = config, .bundle = "resolver" };
static struct test_instance               instance;
static struct http                        http;

static void begin(void)
{
	test_instance_start(&instance, &options);
	test_instance_repoinit(&instance, content);
	http_open(&http, instance.port);
}

static void end(void)
{
	http_close(&http);
	test_instance_stop(&instance);
}

TestSuite(resolver, .init = begin, .fini = end);

/* ---- rows ---- */

static void post(const char *steps, char *said, size_t size)
{
	struct http_response response;
	char                *basic = http_basic("rowreader:reads");
	char                *request = malloc(strlen(steps) + 512);
	int                  n;

	n = sprintf(request,
	            "POST /rows/steps HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n%s",
	            basic, strlen(steps), steps);
	cr_assert(http_send(&http, request, (size_t)n));
	http_read(&http, false, &response);
	cr_assert_eq(response.status, 200, "%s: %d %s", steps, response.status, response.body);
	cr_assert_lt(response.size, size);
	strcpy(said, response.body);
	http_response_done(&response);
	free(request);
	free(basic);
}

static void ask(const char *root, char *text, char *said, size_t size)
{
	cr_assert_str_eq(root, ROWS_ROOT);
	post(text, said, size);
}

static void clean(void)
{
	char said[256];

	post("clean / ; commit", said, sizeof(said));
	cr_assert_str_eq(said, "");
}

static void leave(void)
{
}

static const struct row_runner runner = { .begin = clean, .end = leave, .ask = ask };

/* Whether it becomes so within ten seconds. */
static bool becomes(bool (*so)(const char *arg), const char *arg)
{
	unsigned long long limit = test_now_ms() + 10000;

	while (!so(arg) && test_now_ms() < limit)
		usleep(20000);
	return so(arg);
}

static bool is_logged(const char *text)
{
	return test_instance_logged(&instance, text);
}

static bool has_left(const char *n)
{
	struct http_response response;
	char                 line[80];
	bool                 has;

	snprintf(line, sizeof(line), "\nboardwalk_resolvers_left_total{worker=\"0\"} %s\n", n);
	http_ask_once(instance.port + 1, "GET", "/metrics", NULL, &response);
	has = response.status == 200 && strstr(response.body, line) != NULL;
	http_response_done(&response);
	return has;
}

/* Handles at repo, by the gateway's metrics. */
static bool none_is_open(const char *arg)
{
	struct http_response response;
	bool                 none;

	(void)arg;
	http_ask_once(instance.port + 1, "GET", "/metrics", NULL, &response);
	none = response.status == 200 &&
	       strstr(response.body, "\nboardwalk_handles_open{worker=\"0\"} 0\n") != NULL;
	http_response_done(&response);
	return none;
}

Test(resolver, rows)
{
	struct row_result total = { 0, 0 };

	rowfile_run(rows_file(ROWS "/resolver/edit.rows"), &runner, true, &total);
	cr_assert_eq(total.failed, 0, "%u of %u rows", total.failed, total.passed + total.failed);
	cr_assert_geq(total.passed, rows_least(80), "only %u rows", total.passed);
	cr_assert(becomes(none_is_open, NULL), "handles are left");
	cr_assert(has_left("0"), "clones are left open");
}

/* Whoever clones closes; what is forgotten ends with its request, and is told. */
Test(resolver, a_clone_that_is_left_open_is_closed_counted_and_logged)
{
	char said[256];

	post("clone B ; B: user ; leave", said, sizeof(said));
	cr_assert_str_eq(said, "rowwriter");
	cr_assert(becomes(none_is_open, NULL), "a handle is left");
	cr_assert(has_left("1"));
	cr_assert(becomes(is_logged, "a resolver of rowwriter, cloned at "));
	cr_assert(is_logged("resolver/steps.c:"));
	post("clone B ; clone C ; leave ; B: close ; C: close", said, sizeof(said));
	cr_assert(has_left("1"), "closed ones are counted");
}

Test(resolver, access_rows)
{
	struct row_result total = { 0, 0 };

	rowfile_run(ROWS "/resolver/access.rows", &runner, true, &total);
	cr_assert_eq(total.failed, 0, "%u of %u rows", total.failed, total.passed + total.failed);
	cr_assert_geq(total.passed, 23, "only %u rows", total.passed);
}

Test(resolver, version_rows)
{
	struct row_result total = { 0, 0 };

	rowfile_run(ROWS "/resolver/version.rows", &runner, true, &total);
	cr_assert_eq(total.failed, 0, "%u of %u rows", total.failed, total.passed + total.failed);
	cr_assert_geq(total.passed, 29, "only %u rows", total.passed);
}

/* ---- random histories ---- */

static const char *last_said(const char *steps, char *said, size_t size)
{
	char *at = said, *next;

	post(steps, said, size);
	while ((next = strstr(at, " ; ")) != NULL)
		at = next + 3;
	return at;
}

/* What the gateway shows before a commit is what the database makes of it. */
Test(resolver, what_is_seen_before_a_commit_is_stored_by_it)
{
	static char before[32768], after[32768];
	const char *steps, *shown, *stored;

	for (unsigned seed = 1; seed <= 25; seed++) {
		random_begin(seed);
		clean();
		for (int round = 0; round < 12; round++) {
			steps = random_steps(16, "tree / ; commit");
			shown = last_said(steps, before, sizeof(before));
			stored = last_said("tree /", after, sizeof(after));
			cr_assert_str_eq(shown, stored, "history %u, round %d: %s", seed, round,
			                 steps);
		}
	}
}

/* ---- the example ---- */

/* Status and body of one request as writer, form being its body; NULL: none. */
static int note(const char *method, const char *path, const char *form, char *body, size_t size)
{
	struct http_response response;
	char                 text[1024], *basic = http_basic("writer:writes");
	int                  n, status;

	n = snprintf(text, sizeof(text),
	             "%s /notes%s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n"
	             "Content-Type: application/x-www-form-urlencoded\r\n\r\n%s",
	             method, path, basic, form ? strlen(form) : 0, form ? form : "");
	cr_assert(http_send(&http, text, (size_t)n));
	http_read(&http, false, &response);
	status = response.status;
	snprintf(body, size, "%s", response.body ? response.body : "");
	http_response_done(&response);
	free(basic);
	return status;
}

/* docs/bundles.md, "Changing it". */
Test(resolver, notes_as_documented)
{
	static const char *const install[] = { "bundle", "install",
		                               BOARDWALK_BUILD "/examples/notes.so", NULL };
	char                     body[1024], *output;

	cr_assert_eq(test_instance_cli(&instance, "", &output, install), 0, "%s", output);
	free(output);
	test_instance_password(&instance, "writer", "writes");
	cr_assert_eq(note("POST", "", "name=milk&text=two+litres", body, sizeof(body)), 201);
	cr_assert_eq(note("POST", "", "name=bread&text=one", body, sizeof(body)), 201);
	cr_assert_eq(note("POST", "", "name=milk&text=x", body, sizeof(body)), 409);
	cr_assert_eq(note("POST", "", "name=a%7Cb&text=x", body, sizeof(body)), 400);
	cr_assert_not_null(strstr(body, "forbidden character"), "%s", body);
	cr_assert_eq(note("POST", "", "name=x", body, sizeof(body)), 400);
	cr_assert_eq(note("POST", "/bread", "before=milk", body, sizeof(body)), 204);
	cr_assert_eq(note("POST", "/milk", "text=three", body, sizeof(body)), 204);
	cr_assert_eq(note("POST", "/eggs", "text=six", body, sizeof(body)), 404);
	cr_assert_eq(note("GET", "", NULL, body, sizeof(body)), 200);
	cr_assert_str_eq(body, "bread\tone\nmilk\tthree\n");
	cr_assert_eq(note("GET", "/milk", NULL, body, sizeof(body)), 200);
	cr_assert_str_eq(body, "three\n");
	cr_assert_eq(note("DELETE", "/milk", NULL, body, sizeof(body)), 204);
	cr_assert_eq(note("DELETE", "/milk", NULL, body, sizeof(body)), 404);
	cr_assert_eq(note("DELETE", "", NULL, body, sizeof(body)), 400);
	cr_assert_eq(note("GET", "", NULL, body, sizeof(body)), 200);
	cr_assert_str_eq(body, "bread\tone\n");
}

/* ---- the end of a request ---- */

/* H21: the handle is closed, what was pending is lost, and a commit that comes too late says so. */
Test(resolver, a_client_that_goes_takes_its_changes_along)
{
	static const char request[] = "POST /rows/leave?" ROWS_ROOT " HTTP/1.1\r\nHost: x\r\n"
				      "Content-Length: 0\r\n%s\r\n";
	struct http       leaver;
	char              said[256], text[512], *basic = http_basic("rowreader:reads");
	int               n = snprintf(text, sizeof(text), request, basic);

	http_open(&leaver, instance.port);
	cr_assert(http_send(&leaver, text, (size_t)n));
	cr_assert(recv(leaver.fd, said, sizeof(said), 0) > 0); /* it waits */
	http_close(&leaver);
	cr_assert(becomes(is_logged, "left with -9, commit -9, still pending"));
	cr_assert(becomes(none_is_open, NULL), "its handle is left");
	post("names /", said, sizeof(said));
	cr_assert_str_eq(said, "");
	free(basic);
}
