/* `boardwalk bundle`: what is installed changes in all workers or in none, and survives whoever dies on
 * the way. The bundle is tests/support/bundles/generation.c, which answers at /gen with its number. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/generation.h"
#include "support/http.h"
#include "support/instance.h"

#define CONNECTIONS 16 /* enough to meet every worker */
#define NAME        "test.generation"
#define NOT_THERE   401 /* for the engine, at /, asks first who wants to know */

static const char *const                  workers_two[] = { "BOARDWALK_GATEWAY_WORKERS=2", NULL };
static const struct test_instance_options two_workers = { .environment = workers_two };

static struct test_instance instance;
static struct generation    generation;

static void start(void)
{
	test_instance_start(&instance, &two_workers);
	generation_read(&generation, TEST_BUNDLES "/generation.so");
}

static void stop(void)
{
	generation_done(&generation);
	test_instance_stop(&instance);
}

TestSuite(bundle, .init = start, .fini = stop);

/* ---- what is asked ---- */

/* A copy of the bundle with these words, where the operator has it; the path is good until the next. */
static const char *make(const char *words)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/new.so", instance.root);
	unlink(path);
	generation_write(&generation, words, path);
	return path;
}

/* Exit code of `boardwalk bundle VERB [OPERAND]`; what it said is in said. */
static char *said;

static int bundle(const char *verb, const char *operand)
{
	const char *arguments[] = { "bundle", verb, operand, NULL };

	free(said);
	return test_instance_cli(&instance, NULL, &said, arguments);
}

static void expect(int code, const char *verb, const char *operand, const char *words)
{
	int got = bundle(verb, operand);

	cr_assert(got == code && strstr(said, words) != NULL, "bundle %s %s: %d, %s", verb,
	          operand ? operand : "", got, said);
}

/* Each of many connections, which between them meet both workers, gets this. */
static void expect_everywhere(const char *path, int status, const char *body)
{
	for (unsigned k = 0; k < CONNECTIONS; k++) {
		struct http_response r;

		http_ask_once(instance.port, "GET", path, NULL, &r);
		cr_assert(r.status == status && (body == NULL || strcmp(r.body, body) == 0),
		          "%s: %d %s, not %d %s", path, r.status, r.body, status, body ? body : "");
		http_response_done(&r);
	}
}

/* ---- the commands ---- */

Test(bundle, is_installed_updated_stopped_started_and_uninstalled)
{
	expect_everywhere("/gen", NOT_THERE, NULL);
	expect(0, "install", make("n=1"), "installed " NAME " 1.0.0, generation ");
	expect_everywhere("/gen", 200, "1");
	expect(1, "install", make("n=2"), "is installed");
	expect(0, "update", make("n=2"), "updated " NAME);
	expect_everywhere("/gen", 200, "2");
	expect(0, "list", NULL, NAME);
	cr_assert_not_null(strstr(said, "started"), "%s", said);

	expect(0, "stop", NAME, "stopped " NAME);
	expect_everywhere("/gen", 503, NULL);
	expect(0, "list", NULL, "stopped");
	expect(1, "stop", NAME, "is stopped already");
	expect(0, "start", NAME, "started " NAME);
	expect_everywhere("/gen", 200, "2");
	expect(1, "start", NAME, "");

	expect(0, "uninstall", NAME, "uninstalled " NAME);
	expect_everywhere("/gen", NOT_THERE, NULL);
	expect(1, "uninstall", NAME, "is not installed");
	expect(1, "update", make("n=3"), "is not installed");
	expect_everywhere("/test/hello", 200, "Hello World");
}

Test(bundle, survives_a_restart_as_it_is)
{
	expect(0, "install", make("n=1"), "installed");
	expect(0, "update", make("n=2"), "updated");
	expect(0, "stop", "boardwalk.demo", "stopped boardwalk.demo");
	cr_assert_eq(test_instance_end(&instance), 0);
	cr_assert(test_instance_up(&instance, &two_workers));
	expect_everywhere("/gen", 200, "2");
	/* Not even the files that `up --bundles` names change what the operator has said. */
	expect_everywhere("/test/hello", 503, NULL);
	expect(0, "start", "boardwalk.demo", "started");
	expect_everywhere("/test/hello", 200, "Hello World");
	expect(0, "uninstall", "boardwalk.demo", "uninstalled");
	cr_assert_eq(test_instance_end(&instance), 0);
	cr_assert(test_instance_up(&instance, &two_workers));
	expect_everywhere("/test/hello", NOT_THERE, NULL);
}

Test(bundle, files_that_are_no_bundles_change_nothing)
{
	static const struct {
		const char *bundle, *reason;
	} rows[] = {
		{ "major", "another major version" },
		{ "minor", "a newer minor version" },
		{ "magic", "no bundle descriptor" },
		{ "unexported", "exports no boardwalk_bundle" },
		{ "name", "no valid symbolic name" },
	};
	char path[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		snprintf(path, sizeof(path), "%s/%s.so", TEST_BUNDLES, rows[i].bundle);
		expect(1, "install", path, rows[i].reason);
	}
	expect(1, "install", "/nowhere.so", "No such file");
	expect(1, "install", "/dev/zero", "is no regular file");
	expect(1, "install", TEST_BUNDLES "/fails.so", "failed to start");
	expect(0, "list", NULL, "odd.fails, generation ");
	cr_assert_not_null(strstr(said, "was not taken: worker 0: it failed to start"), "%s", said);
	expect(2, "eat", "x", "install|update");
	expect(2, "install", NULL, "install|update");
	expect(2, "list", "x", "install|update");
	expect_everywhere("/odd", NOT_THERE, NULL);
	expect_everywhere("/test/hello", 200, "Hello World");
}

Test(bundle, script_beside_the_file_is_run_before_or_the_file_is_refused)
{
	char  path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/new.repoinit", instance.root);
	out = fopen(path, "we");
	cr_assert(out != NULL && fputs("create path /content/made/by-script\n", out) >= 0 &&
	          fclose(out) == 0);
	expect(0, "install", make("n=1"), "new.repoinit: 2 changes");
	expect_everywhere("/gen", 200, "1");
	expect(0, "update", make("n=2"), "new.repoinit: nothing to change");
	out = fopen(path, "we");
	cr_assert(out != NULL && fputs("create paht /content/x\n", out) >= 0 && fclose(out) == 0);
	expect(1, "update", make("n=3"), "new.repoinit:1:");
	expect_everywhere("/gen", 200, "2");
}

/* ---- failures ---- */

Test(bundle, update_that_fails_leaves_the_old_one_in_all_workers)
{
	static const struct {
		const char *words, *reason;
	} rows[] = {
		{ "n=2 start=fail", "worker 0: it failed to start" },
		{ "n=2 init=fail", "worker 0: it " },
		{ "n=2 start=fail in=1", "worker 1: it failed to start" },
		{ "n=2 init=fail in=1", "worker 1: it " },
	};

	expect(0, "install", make("n=1"), "installed");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		expect(1, "update", make(rows[i].words), rows[i].reason);
		expect_everywhere("/gen", 200, "1");
		expect(0, "list", NULL, rows[i].reason);
	}
	expect(0, "update", make("n=2"), "updated");
	expect_everywhere("/gen", 200, "2");
	expect(0, "list", NULL, NAME);
	cr_assert_null(strstr(said, "was not taken"), "a failure is forgotten with a success: %s",
	               said);
}

/* Both workers answer, for a while after one of them has died. */
static void wait_until_well(void)
{
	pid_t              workers[3] = { 0 };
	unsigned long long limit = test_now_ms() + 20000;

	for (;;) {
		struct http_response r;
		int                  status;

		http_ask_once(instance.port + 1, "GET", "/health/ready", NULL, &r);
		status = r.status;
		http_response_done(&r);
		if (status == 200 && test_instance_workers(&instance, workers, 3) == 2)
			return;
		cr_assert_lt(test_now_ms(), limit, "the gateway does not recover");
		usleep(20000);
	}
}

Test(bundle, update_that_crashes_costs_one_worker_and_changes_nothing)
{
	pid_t before[2] = { 0 }, after[2] = { 0 };

	expect(0, "install", make("n=1"), "installed");
	test_instance_workers(&instance, before, 2);
	expect(1, "update", make("n=2 start=crash"), "worker 0: it crashed in start");
	wait_until_well();
	test_instance_workers(&instance, after, 2);
	cr_expect(before[0] == after[0] || before[1] == after[0] || before[0] == after[1] ||
	          before[1] == after[1]);
	expect_everywhere("/gen", 200, "1");
	expect(0, "list", NULL, "crashed in start");
	expect(1, "update", make("n=2 init=crash"), "crashed in init");
	wait_until_well();
	expect(1, "update", make("n=2 load=crash"), "crashed in its constructors");
	wait_until_well();
	expect_everywhere("/gen", 200, "1");
	expect(0, "update", make("n=2"), "updated");
	expect_everywhere("/gen", 200, "2");
}

/* Installed in good health, it crashes whoever starts from the store; the rest goes on. */
Test(bundle, that_crashes_three_times_in_its_start_is_refused_and_the_rest_goes_on)
{
	char words[160], flag[80];

	snprintf(flag, sizeof(flag), "%s/flag", instance.root);
	snprintf(words, sizeof(words), "n=1 start=crash if=%s", flag);
	expect(0, "install", make(words), "installed");
	expect_everywhere("/gen", 200, "1");
	cr_assert_eq(mkdir(flag, 0755), 0);
	kill(test_instance_pid(&instance, "gateway"), SIGKILL);
	usleep(100000);
	wait_until_well();
	expect_everywhere("/test/hello", 200, "Hello World");
	expect_everywhere("/gen", 503, NULL);
	expect(0, "list", NULL, "refused");
	cr_assert_not_null(strstr(said, "crashed in start, "), "%s", said);
	/* Who stops it spares the next start the three crashes. */
	expect(0, "stop", NAME, "stopped");
	expect_everywhere("/gen", 503, NULL);
	kill(test_instance_pid(&instance, "gateway"), SIGKILL);
	usleep(100000);
	wait_until_well();
	expect(0, "list", NULL, "stopped");
	expect_everywhere("/gen", 503, NULL);
	cr_assert_eq(rmdir(flag), 0);
	expect(0, "start", NAME, "started");
	expect_everywhere("/gen", 200, "1");
}

static void expect_ctl(int code, const char *const *arguments, const char *words)
{
	free(said);
	cr_expect_eq(test_instance_cli(&instance, NULL, &said, arguments), code, "%s", said);
	cr_expect_not_null(strstr(said, words), "%s", said);
}

Test(bundle, that_is_stopped_is_so_for_those_who_look_inside)
{
	const char *const route[] = { "ctl", "route", "POST", "/gen", NULL };
	const char *const json[] = { "ctl", "route", "POST", "/gen", "--json", NULL };
	const char *const records[] = { "ctl", "whiteboard", NULL };

	expect(0, "install", make("n=1"), "installed");
	expect_ctl(0, records, "\"failedServletDTOs\": []");
	cr_expect_null(strstr(said, "standIn"), "%s", said);
	expect(0, "stop", NAME, "stopped");
	expect_ctl(0, route, "  with 503: bundle " NAME " is stopped\n");
	expect_ctl(0, json, "\"status\": 503");
	expect_ctl(0, records, "\"standIn\": true");
	expect_everywhere("/gen", 503, NULL);
}

/* ---- what fails in one worker ---- */

static void wait_for_log(const char *text)
{
	unsigned long long end_ms = test_now_ms() + 20000;

	while (!test_instance_logged(&instance, text)) {
		cr_assert(test_now_ms() < end_ms, "the log never says %s", text);
		usleep(20000);
	}
}

/* All workers say so. */
static void wait_for_list(const char *text)
{
	unsigned long long end_ms = test_now_ms() + 20000;

	while (bundle("list", NULL) != 0 || strstr(said, text) == NULL) {
		cr_assert(test_now_ms() < end_ms, "the list never says %s: %s", text, said);
		usleep(20000);
	}
	wait_until_well();
}

/* Installs a bundle that does so when a worker starts it while the flag is there, sets the flag, and has
 * worker 1 replaced. */
static void restart_one(const char *what, char flag[80])
{
	char  words[160];
	pid_t workers[2];

	snprintf(flag, 80, "%s/flag", instance.root);
	snprintf(words, sizeof(words), "n=1 %s if=%s", what, flag);
	expect(0, "install", make(words), "installed");
	cr_assert_eq(mkdir(flag, 0755), 0);
	cr_assert_eq(test_instance_workers(&instance, workers, 2), 2);
	kill(workers[1], SIGKILL);
}

/* The other worker has it started all the time: it is refused there as well, for the same reason. */
static void expect_refused_in_all(const char *what, const char *reason)
{
	const char *const route[] = { "ctl", "route", "GET", "/gen", NULL };
	const char *const records[] = { "ctl", "whiteboard", NULL };
	char              flag[80];

	restart_one(what, flag);
	wait_for_list(reason);
	expect_everywhere("/gen", 503, NULL);
	expect_ctl(0, route, "  with 503: bundle " NAME " is refused");
	expect_ctl(0, records, "\"standIn\": true");
	expect(1, "start", NAME, "worker 0: it ");
	wait_until_well();
	expect_everywhere("/gen", 503, NULL);
	expect_everywhere("/test/hello", 200, "Hello World");
	cr_assert_eq(rmdir(flag), 0);
	expect(0, "start", NAME, "started " NAME);
	expect_everywhere("/gen", 200, "1");
	expect_ctl(0, route, "is answered by servlet");
	expect(0, "list", NULL, "started");
}

Test(bundle, whose_start_fails_in_a_successor_is_refused_in_all_workers)
{
	expect_refused_in_all("start=fail", "failed to start (-7), 5 times in a row");
}

Test(bundle, whose_init_fails_in_a_successor_is_refused_in_all_workers)
{
	expect_refused_in_all("init=fail", "/gen/*, 5 times in a row");
}

Test(bundle, that_crashes_successors_is_refused_in_all_workers)
{
	expect_refused_in_all("start=crash", "crashed in start, 3 times in a row");
}

/* Nobody is asked to do without it meanwhile. */
Test(bundle, whose_start_fails_in_a_successor_is_tried_again)
{
	char flag[80];

	restart_one("start=fail", flag);
	expect_everywhere("/gen", 200, "1");
	wait_for_log("has not all bundles: it is replaced");
	expect_everywhere("/gen", 200, "1");
	cr_assert_eq(rmdir(flag), 0);
	wait_until_well();
	expect_everywhere("/gen", 200, "1");
	expect(0, "list", NULL, "started");
	cr_assert_not(test_instance_logged(&instance, "is refused"));
}

/* At the gateway's own start nobody has it yet: it is not tried again where all fail. */
Test(bundle, refused_for_an_error_is_started_again_in_all_workers_or_in_none)
{
	static const char *const where[] = { "", " in=1" };

	for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
		char words[160], flag[80];

		snprintf(flag, sizeof(flag), "%s/flag", instance.root);
		snprintf(words, sizeof(words), "n=1 start=fail if=%s%s", flag, where[i]);
		expect(0, "install", make(words), "installed");
		cr_assert_eq(mkdir(flag, 0755), 0);
		cr_assert_eq(test_instance_end(&instance), 0);
		cr_assert(test_instance_up(&instance, &two_workers));
		wait_for_log("is refused: it failed to start");
		wait_until_well();
		expect(0, "list", NULL, "it failed to start");
		expect_everywhere("/gen", 503, NULL);
		expect(1, "start", NAME, *where[i] ? "worker 1: it failed" : "worker 0: it failed");
		cr_assert_eq(rmdir(flag), 0);
		expect(0, "start", NAME, "started " NAME);
		expect(0, "list", NULL, NAME);
		cr_assert_null(strstr(said, "refused"), "%s", said);
		expect_everywhere("/gen", 200, "1");
		expect(1, "start", NAME, "is started already");
		expect(0, "uninstall", NAME, "uninstalled");
	}
}

/* ---- bundles of the setting gateway.bundles ---- */

static char              setting_file[] = "/tmp/boardwalk-setting-XXXXXX/gen.so", setting_flag[64];
static char              setting_environment[128];
static const char *const setting_variables[] = { "BOARDWALK_GATEWAY_WORKERS=2", setting_environment,
	                                         NULL };
static const struct test_instance_options with_setting = { .environment = setting_variables,
	                                                   .bundle = "test" };

static void make_setting(void)
{
	char *slash = strrchr(setting_file, '/');

	*slash = '\0';
	cr_assert_not_null(mkdtemp(setting_file));
	cr_assert_eq(chmod(setting_file, 0755), 0);
	snprintf(setting_flag, sizeof(setting_flag), "%s/flag", setting_file);
	*slash = '/';
	snprintf(setting_environment, sizeof(setting_environment), "BOARDWALK_GATEWAY_BUNDLES=%s",
	         setting_file);
	generation_read(&generation, TEST_BUNDLES "/generation.so");
}

static void put_setting(const char *words)
{
	unlink(setting_file);
	if (words != NULL) {
		generation_write(&generation, words, setting_file);
		return;
	}
	close(open(setting_file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

static void remove_setting(void)
{
	char *slash = strrchr(setting_file, '/');

	unlink(setting_file);
	rmdir(setting_flag);
	*slash = '\0';
	rmdir(setting_file);
	stop();
}

static int post(const char *path)
{
	struct http_response r;
	int                  status;

	http_ask_once(instance.port, "POST", path, NULL, &r);
	status = r.status;
	http_response_done(&r);
	return status;
}

TestSuite(setting, .init = make_setting, .fini = remove_setting);

Test(setting, that_cannot_be_loaded_any_more_answers_503_where_it_was)
{
	put_setting("n=1");
	test_instance_start(&instance, &with_setting);
	expect_everywhere("/gen", 200, "1");
	cr_assert_eq(test_instance_end(&instance), 0);
	put_setting(NULL);
	cr_assert(test_instance_up(&instance, &with_setting));
	expect_everywhere("/gen", 503, NULL);
	cr_expect_eq(post("/gen/form"), 503);
	expect_everywhere("/test/hello", 200, "Hello World");
	expect_everywhere("/content/test/hello", 200, "Hello World");
	expect(0, "list", NULL, "cannot be loaded");
	expect(0, "update", make("n=2"), "updated " NAME);
	expect_everywhere("/gen", 200, "2");
	expect(0, "list", NULL, NAME);
	cr_expect_null(strstr(said, "refused"), "%s", said);
}

/* It has never run: whatever is not meant exactly may have been its. */
Test(setting, that_was_never_loaded_lets_nothing_fall_through)
{
	put_setting(NULL);
	test_instance_start(&instance, &with_setting);
	cr_expect_eq(post("/gen/form"), 503);
	cr_expect_eq(post("/content/test/hello"), 503);
	expect_everywhere("/content/test/hello", 503, NULL);
	expect_everywhere("/test/hello", 503, NULL);
	expect_everywhere("/t/slow?ms=1", 200, "slept 1 ms");
	expect(0, "list", NULL, "refused");
	cr_assert_eq(test_instance_end(&instance), 0);
	put_setting("n=1");
	cr_assert(test_instance_up(&instance, &with_setting));
	expect_everywhere("/gen", 200, "1");
	expect_everywhere("/content/test/hello", 200, "Hello World");
}

Test(setting, whose_start_fails_in_a_successor_is_refused_in_all_workers)
{
	char  words[128];
	pid_t workers[2];

	snprintf(words, sizeof(words), "n=1 start=fail if=%s", setting_flag);
	put_setting(words);
	test_instance_start(&instance, &with_setting);
	expect_everywhere("/gen", 200, "1");
	cr_assert_eq(mkdir(setting_flag, 0755), 0);
	cr_assert_eq(test_instance_workers(&instance, workers, 2), 2);
	kill(workers[1], SIGKILL);
	wait_for_list("failed to start (-7), 5 times in a row");
	expect_everywhere("/gen", 503, NULL);
	expect_everywhere("/content/test/hello", 200, "Hello World");
	test_instance_workers(&instance, workers, 2);
	kill(workers[0], SIGKILL); /* one that starts now is told */
	usleep(100000);
	wait_for_list("failed to start (-7), 5 times in a row");
	expect_everywhere("/gen", 503, NULL);
	expect_everywhere("/content/test/hello", 200, "Hello World");
	expect(0, "update", make("n=2"), "updated " NAME);
	expect_everywhere("/gen", 200, "2");
}

/* ---- workers of different age ---- */

static void expect_alike(const char *path)
{
	expect(0, "list", NULL, NAME);
	expect_ctl(0, (const char *const[]){ "ctl", "whiteboard", NULL }, "servletContextDTOs");
	expect_ctl(0, (const char *const[]){ "ctl", "route", "GET", path, NULL }, path);
}

/* The other one has registered everything one by one, in its time; this one all of it at its start. */
static void restart_worker_and_compare(const char *body)
{
	pid_t workers[2];

	cr_assert_eq(test_instance_workers(&instance, workers, 2), 2);
	kill(workers[1], SIGKILL);
	while (test_instance_workers(&instance, workers + 1, 1) == 0)
		usleep(1000);
	usleep(100000);
	wait_until_well();
	expect_everywhere("/gen", *body ? 200 : 503, *body ? body : NULL);
	expect_alike("/gen");
	expect_alike("/bin/gen");
}

Test(bundle, workers_of_different_age_differ_in_nothing)
{
	struct generation other;
	char              path[128];

	generation_read(&other, TEST_BUNDLES "/other.so");
	snprintf(path, sizeof(path), "%s/other.so", instance.root);
	expect(0, "install", make("n=1 engine=/bin/gen files=/r context=/c"), "installed");
	generation_write(&other, "n=other", path);
	expect(0, "install", path, "installed");
	generation_done(&other);
	expect(0, "update", make("n=2 engine=/bin/gen files=/r"), "updated");
	restart_worker_and_compare("other"); /* the younger of the two now */
	expect(0, "stop", "test.other", "stopped");
	restart_worker_and_compare("");
	expect(0, "uninstall", "test.other", "uninstalled");
	restart_worker_and_compare("2");
	expect(0, "stop", NAME, "stopped");
	restart_worker_and_compare("");
}

/* ---- whoever dies in the middle ---- */

/* The generation that the gateway was started with, or was brought to, is the store's, everywhere. */
static void expect_same_everywhere(unsigned old, unsigned new)
{
	char number[2][16];
	bool is_new;

	struct http_response r;

	snprintf(number[0], sizeof(number[0]), "%u", old);
	snprintf(number[1], sizeof(number[1]), "%u", new);
	http_ask_once(instance.port, "GET", "/gen", NULL, &r);
	is_new = strcmp(r.body, number[1]) == 0;
	http_response_done(&r);
	expect_everywhere("/gen", 200, number[is_new]);
	cr_assert_eq(bundle("list", NULL), 0, "%s", said);
}

Test(bundle, a_gateway_that_is_killed_in_an_update_comes_back_with_one_state)
{
	unsigned good = 1;

	expect(0, "install", make("n=1"), "installed");
	for (unsigned n = 2; n <= 9; n++) {
		char        words[16];
		int         out, status = 0;
		const char *arguments[] = { "bundle", "update", NULL, NULL };
		pid_t       pid, gateway = test_instance_pid(&instance, "gateway");

		snprintf(words, sizeof(words), "n=%u", n);
		arguments[2] = make(words);
		pid = test_instance_spawn(&instance, &out, arguments);
		usleep(3000 * (n - 2)); /* any moment of it */
		kill(gateway, SIGKILL);
		waitpid(pid, &status, 0);
		close(out);
		cr_assert(test_instance_recovered(&instance, "gateway", gateway, 20000));
		expect_same_everywhere(good, n);
		good = n;
		expect(0, "update", make(words), "updated");
		expect_everywhere("/gen", 200, words + 2);
	}
}

Test(bundle, a_command_that_is_killed_in_an_update_leaves_one_state)
{
	expect(0, "install", make("n=1"), "installed");
	for (unsigned n = 2; n <= 9; n++) {
		char        words[16];
		int         out, status = 0;
		const char *arguments[] = { "bundle", "update", NULL, NULL };
		pid_t       pid;

		snprintf(words, sizeof(words), "n=%u", n);
		arguments[2] = make(words);
		pid = test_instance_spawn(&instance, &out, arguments);
		usleep(3000 * (n - 2));
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		close(out);
		expect(0, "list", NULL, NAME); /* asked after it: nothing is undecided any more */
		expect_same_everywhere(n - 1, n);
		expect(0, "update", make(words), "updated");
		expect_everywhere("/gen", 200, words + 2);
	}
}

/* ---- the socket ---- */

static void find_socket(char *ret, size_t size)
{
	test_instance_socket(&instance, "gateway/control.sock", ret, size);
}

static int connect_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(to.sun_path, path);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
		return fd;
	close(fd);
	return -1;
}

/* What comes until it hangs up. */
static void hear(int fd, char *ret, size_t size)
{
	size_t  have = 0;
	ssize_t n;

	while (have + 1 < size && (n = recv(fd, ret + have, size - 1 - have, 0)) > 0)
		have += (size_t)n;
	ret[have] = '\0';
}

Test(bundle, garbage_on_the_socket_hurts_nobody)
{
	static const char *const garbage[] = {
		"GET / HTTP/1.1\r\n\r\n", "\n", "{", "[1]\n", "{\"verb\":1}\n", "\xff\xfe\xfd\n"
	};
	char  path[256], text[4096];
	pid_t gateway = test_instance_pid(&instance, "gateway");

	find_socket(path, sizeof(path));
	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		int fd = connect_to(path);

		cr_assert_geq(fd, 0);
		cr_assert_geq(send(fd, garbage[i], strlen(garbage[i]), MSG_NOSIGNAL), 0);
		shutdown(fd, SHUT_WR);
		hear(fd, text, sizeof(text));
		cr_expect(text[0] == '\0' || strstr(text, "\"ok\":false") != NULL, "%s", text);
		close(fd);
	}
	expect(0, "list", NULL, "boardwalk.demo");
	cr_assert_eq(test_instance_pid(&instance, "gateway"), gateway);
}

/* In a process of its own, as that user: 0 if the socket answers, 1 if it turns away, 2 if it cannot
 * even be reached. */
static int speak_as(const char *user, const char *path)
{
	int   status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		const struct passwd *pw = getpwnam(user);
		char                 text[4096];
		int                  fd;

		if (pw == NULL || setgroups(0, NULL) != 0 || setgid(pw->pw_gid) != 0 ||
		    setuid(pw->pw_uid) != 0)
			_exit(9);
		fd = connect_to(path);
		if (fd < 0)
			_exit(2);
		if (send(fd, "{\"verb\":\"bundle.list\"}\n", 23, MSG_NOSIGNAL) > 0)
			shutdown(fd, SHUT_WR);
		hear(fd, text, sizeof(text));
		_exit(strstr(text, "\"ok\":true") != NULL ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(bundle, nobody_but_root_and_the_owner_is_listened_to)
{
	char path[256];

	if (geteuid() != 0)
		cr_skip("without root there is one user only");
	find_socket(path, sizeof(path));
	cr_expect_eq(speak_as("root", path), 0);
	cr_expect_eq(speak_as("boardwalk", path), 0);
	cr_expect_eq(speak_as("nobody", path), 1);
	cr_expect_eq(speak_as("boardwalk-gateway", path), 1);
	cr_expect_eq(speak_as("boardwalk-repo", path), 1);
}
