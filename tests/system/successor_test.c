/* Bundles that wear a worker out, and one that crashes it. Proves: when 64 old generations cannot
 * be unmapped each worker gets a successor, and no client notices; a pattern that crashes its
 * worker is answered 503 for a while, is tried again after it, and costs nothing else. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <support/generation.h>
#include <support/http.h>
#include <support/instance.h>
#include <support/load.h>
#include <unistd.h>

#define WORKERS   2u
#define N_CLIENTS 16u
#define UPDATES   70u /* more than a worker keeps */
#define LIMIT_MS  60000u

static struct test_instance instance;

/* ---- wear ---- */

static void put(const struct generation *g, const char *verb, unsigned n)
{
	char        path[128], words[32];
	const char *arguments[] = { "bundle", verb, path, NULL };

	snprintf(path, sizeof(path), "%s/new.so", instance.root);
	snprintf(words, sizeof(words), "n=%u", n);
	unlink(path);
	generation_write(g, words, path);
	if (test_instance_cli(&instance, NULL, NULL, arguments) != 0)
		_exit(1);
}

static pid_t start_updates(const struct generation *g)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned n = 1; n <= UPDATES; n++)
		put(g, n == 1 ? "install" : "update", n);
	_exit(0);
}

struct wear {
	pid_t    updates; /* 0: they have ended */
	int      status;
	uint64_t end_ms;
	pid_t    old[WORKERS];
};

static bool are_all_replaced(const struct wear *w)
{
	pid_t  now[WORKERS + 2];
	size_t n = test_instance_workers(&instance, now, WORKERS + 2);

	for (size_t i = 0; i < n && i < WORKERS + 2; i++)
		for (size_t k = 0; k < WORKERS; k++)
			if (now[i] == w->old[k])
				return false;
	return n == WORKERS;
}

/* Until every worker is another one and nothing has happened for a second. */
static bool look(void *arg, uint64_t now_ms)
{
	struct wear *w = arg;

	if (w->updates != 0 && waitpid(w->updates, &w->status, WNOHANG) == w->updates)
		w->updates = 0;
	if (w->updates != 0 || w->end_ms != 0)
		return w->end_ms != 0 && now_ms >= w->end_ms;
	if (are_all_replaced(w))
		w->end_ms = now_ms + 1000;
	return now_ms > 600000;
}

Test(successor, workers_that_keep_too_much_are_replaced_and_nobody_notices)
{
	static const char *const           environment[] = { "BOARDWALK_GATEWAY_WORKERS=2", NULL };
	const struct test_instance_options options = { .environment = environment };
	static const struct load_question  questions[] = {
		 { "GET /test/hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "Hello World" },
	};
	struct generation g;
	struct wear       w = { .updates = 0 };
	struct load       load = { .n_clients = N_CLIENTS,
		                   .questions = questions,
		                   .n_questions = 1,
		                   .answer_within_ms = LIMIT_MS,
		                   .tick = look,
		                   .arg = &w };

	test_instance_start(&instance, &options);
	generation_read(&g, TEST_BUNDLES "/nodelete.so");
	cr_assert_eq(test_instance_workers(&instance, w.old, WORKERS), WORKERS);
	load.port = (uint16_t)instance.port;
	w.updates = start_updates(&g);
	load_run(&load);
	cr_assert(w.end_ms != 0, "the workers are not replaced");
	cr_assert_eq(w.status, 0, "an update failed");
	cr_assert(test_instance_logged(&instance, "makes room for a successor"));
	cr_assert_gt(load.counts.by_status[200], UPDATES);
	cr_assert_eq(load_bad(&load, 0, w.end_ms), 0,
	             "of %llu: %llu closed, %llu refused, %llu wrong, %llu 503, %llu stuck",
	             (unsigned long long)load.counts.by_status[200],
	             (unsigned long long)load.counts.closed,
	             (unsigned long long)load.counts.refused,
	             (unsigned long long)load.counts.wrong_bodies,
	             (unsigned long long)load.counts.by_status[503],
	             (unsigned long long)load.counts.stuck);
	load_done(&load);
	generation_done(&g);
	test_instance_stop(&instance);
}

/* ---- a crash ---- */

/* The status, 0: the connection ended instead; *ret_retry: whether Retry-After was there. */
static int ask(const char *path, bool *ret_retry)
{
	struct http_response r;
	int                  status;

	http_ask_once(instance.port, "GET", path, NULL, &r);
	status = r.status;
	*ret_retry = http_field(&r, "Retry-After") != NULL;
	http_response_done(&r);
	return status;
}

/* Asks until that status comes. */
static bool comes(const char *path, int status, bool *ret_retry)
{
	unsigned long long end_ms = test_now_ms() + LIMIT_MS;

	while (ask(path, ret_retry) != status)
		if (test_now_ms() > end_ms)
			return false;
	return true;
}

#ifndef BOARDWALK_SANITIZED /* there the null pointer ends the worker before it is one */
Test(successor, a_pattern_that_crashes_is_refused_for_a_while)
{
	static const char *const           environment[] = { "BOARDWALK_GATEWAY_WORKERS=1", NULL };
	const struct test_instance_options options = { .environment = environment,
		                                       .bundle = "test" };
	bool                               retry;

	test_instance_start(&instance, &options);
	for (int round = 0; round < 3; round++) {
		cr_assert(comes("/t/crash", 0, &retry), "round %d: it is never tried again", round);
		cr_assert(comes("/t/crash", 503, &retry), "round %d: it is not refused", round);
		cr_assert(retry, "without Retry-After");
		cr_assert(comes("/t/slow?ms=1", 200, &retry), "round %d: the others are", round);
		cr_assert(comes("/test/hello", 200, &retry));
	}
	cr_assert(test_instance_logged(&instance, "crashed while serving t /crash (3 in a row)"));
	test_instance_stop(&instance);
}
#endif
