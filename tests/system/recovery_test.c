/* A process that dies is started again, the others notice, and all serve again without a restart of
 * theirs; what comes meanwhile is answered 503 or loses its connection, never anything else. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "support/http.h"
#include "support/instance.h"

static bool serves(const struct test_instance *i)
{
	struct http_response r;
	bool                 good;

	http_ask_once(i->port, "GET", "/content/test/auth", i->credentials, &r);
	good = r.status == 200 && strcmp(r.body, "Hello admin the dam count is 5") == 0;
	http_response_done(&r);
	return good;
}

/* Until it serves again. What is answered before that must be an honest failure. */
static bool serves_again(const struct test_instance *i, unsigned limit_ms)
{
	unsigned long long limit = test_now_ms() + limit_ms;

	while (test_now_ms() < limit) {
		struct http_response r;
		int                  status;
		bool                 same;

		http_ask_once(i->port, "GET", "/content/test/auth", i->credentials, &r);
		status = r.status;
		same = strcmp(r.body, "Hello admin the dam count is 5") == 0;
		cr_assert(status == 0 || status == 503 || status == 504 || (status == 200 && same),
		          "%d: %s", status, r.body);
		cr_assert(status != 503 || http_field(&r, "Retry-After") != NULL,
		          "503 without Retry-After");
		http_response_done(&r);
		if (status == 200)
			return true;
		usleep(5000);
	}
	return false;
}

Test(recovery, each_process_killed_is_replaced_and_the_others_stay)
{
	static const char *const names[] = { "auth", "repo", "gateway", "postgres" };
	enum { N = sizeof(names) / sizeof(*names) };
	struct test_instance i;
	pid_t                pids[N];

	test_instance_start(&i, NULL);
	cr_assert(serves(&i));
	for (size_t k = 0; k < N; k++) {
		for (size_t other = 0; other < N; other++)
			pids[other] = test_instance_pid(&i, names[other]);
		cr_assert_gt(pids[k], 0, "%s", names[k]);
		cr_assert_eq(kill(pids[k], SIGKILL), 0);
		cr_assert(test_instance_recovered(&i, names[k], pids[k], 10000), "%s", names[k]);
		cr_assert(serves_again(&i, 10000), "%s", names[k]);
		for (size_t other = 0; other < N; other++)
			if (other != k)
				cr_assert_eq(test_instance_pid(&i, names[other]), pids[other],
				             "%s was restarted because of %s", names[other],
				             names[k]);
	}
	cr_assert_eq(test_instance_end(&i), 0);
	test_instance_stop(&i);
}

/* Without the database nothing that has to be read can be answered; what needs none still is. */
Test(recovery, without_the_database_the_answer_is_503_until_it_is_back)
{
	struct test_instance i;
	struct http_response r;
	pid_t                postgres;

	test_instance_start(&i, NULL);
	postgres = test_instance_pid(&i, "postgres");
	cr_assert_eq(kill(postgres, SIGKILL), 0);
	http_ask_once(i.port, "GET", "/content/never/read/before", i.credentials, &r);
	cr_assert(r.status == 503 || r.status == 504 || r.status == 404, "%d", r.status);
	http_response_done(&r);
	http_ask_once(i.port, "GET", "/test/hello", NULL, &r);
	cr_assert_eq(r.status, 200);
	http_response_done(&r);
	cr_assert(test_instance_recovered(&i, "postgres", postgres, 10000));
	cr_assert(serves_again(&i, 10000));
	test_instance_stop(&i);
}

Test(recovery, content_is_there_after_a_stop_and_the_next_start)
{
	struct test_instance i;
	struct http_response r;

	test_instance_start(&i, NULL);
	test_instance_repoinit(&i, "create path /content/dam/six\n");
	cr_assert_eq(test_instance_end(&i), 0);
	cr_assert(test_instance_up(&i, NULL));
	http_ask_once(i.port, "GET", "/content/test/auth", i.credentials, &r);
	cr_assert_str_eq(r.body, "Hello admin the dam count is 6");
	http_response_done(&r);
	test_instance_stop(&i);
}
