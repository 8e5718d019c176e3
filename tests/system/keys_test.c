/* A whole instance whose keys are exchanged while it works: no request fails, and a session outlives the
 * exchange and a restart. */
#include <base/key_file.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/http.h>
#include <support/instance.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_MS 60000

static struct test_instance instance;

static void set_up(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_instance_start(&instance, NULL);
}

static void tear_down(void)
{
	test_instance_stop(&instance);
}

TestSuite(keys, .init = set_up, .fini = tear_down);

static int rotate(const char *option, char **ret_output)
{
	return test_instance_cli(&instance, NULL, ret_output,
	                         (const char *const[]){ "keys", "rotate", option, NULL });
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

/* As a user and as the guest, each with a handle of its own. */
static void ask(void)
{
	struct http_response r;

	http_ask_once(instance.port, "GET", "/content/test/auth", instance.credentials, &r);
	cr_assert_eq(r.status, 200, "%s", r.head);
	http_response_done(&r);
	http_ask_once(instance.port, "GET", "/content/test", NULL, &r);
	cr_assert(r.status == 200 || r.status == 401, "%s", r.head);
	http_response_done(&r);
}

/* Goes on asking until the log says that, and a little longer. */
static void ask_until(const char *text)
{
	unsigned long long until = test_now_ms() + LIMIT_MS;

	while (!test_instance_logged(&instance, text)) {
		cr_assert_lt(test_now_ms(), until, "nothing says: %s", text);
		ask();
		pause_ms(20);
	}
	for (unsigned i = 0; i < 50; i++) {
		ask();
		pause_ms(5);
	}
}

static int load(const char *name, struct key_line lines[KEY_LINES])
{
	char file[300], err[256];

	snprintf(file, sizeof(file), "%s/keys/%s", instance.data, name);
	return key_file_load(file, KEY_LINES, lines, NULL, err, sizeof(err));
}

Test(keys, are_exchanged_under_load)
{
	struct key_line before[KEY_LINES], lines[KEY_LINES];
	char           *output;

	cr_assert_eq(load("handle.key", before), 1);
	ask();
	cr_assert_eq(rotate(NULL, &output), 0, "%s", output);
	cr_assert(strstr(output, "resolver handles are signed with key 2") != NULL, "%s", output);
	free(output);
	ask_until("handles are signed with key 2");
	ask_until("session tokens are signed with key 2");

	cr_assert_eq(load("handle.key", lines), 2);
	cr_assert(lines[0].id == 2 && lines[0].until == 0 && lines[1].id == 1);
	cr_assert(lines[1].until > 0 && memcmp(&lines[1].key, &before[0].key, 32) == 0);
	cr_assert_eq(rotate("--handle", &output), 1, "the old one is still in use");
	cr_assert(strstr(output, "still in use") != NULL, "%s", output);
	free(output);
	cr_assert_eq(rotate("--session", &output), 0, "%s", output);
	free(output);
	cr_assert_eq(load("session.key", lines), 3);
	ask_until("session tokens are signed with key 3");
	cr_assert_not(test_instance_logged(&instance, "wrong MAC"));
}

Test(keys, are_exchanged_while_nothing_runs)
{
	struct key_line lines[KEY_LINES];
	char           *output;

	cr_assert_eq(test_instance_end(&instance), 0);
	cr_assert_eq(rotate(NULL, &output), 0, "%s", output);
	free(output);
	cr_assert_eq(load("handle.key", lines), 2);
	cr_assert(test_instance_up(&instance, NULL));
	ask();
	cr_assert_not(test_instance_logged(&instance, "wrong MAC"));
}
