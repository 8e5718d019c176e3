/* control/porter.c, parent.c: a servlet that crashes its worker twenty times in a row, while clients on
 * connections of their own ask for other things. Proves: whoever was not in that worker gets his answer,
 * and soon, with two workers and with one; a successor does not answer before it can. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <support/http.h>
#include <support/instance.h>
#include <support/load.h>
#include <unistd.h>

#define N_CLIENTS 32u
#define CRASHES   20u
#define AFTER_MS  500u
#define LIMIT_MS  60000u

/* From the connection to the whole answer. A start of a worker takes some 40 ms on a quiet machine. */
#ifdef BOARDWALK_SANITIZED
#define SLOWEST_MS 5000u
#else
#define SLOWEST_MS 500u
#endif

static struct test_instance instance;

/* Each on a connection of its own. The second needs auth and repo. */
#define ASK(path) "GET " path " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
static const struct load_question questions[] = {
	{ ASK("/test/hello"), "Hello World" },
	{ ASK("/content/test/hello"), "Hello World" },
	{ ASK("/t/slow?ms=1"), "slept 1 ms" },
};

/* One behind the other, as fast as they go. The exit status: how many were answered. */
static pid_t start_crashes(void)
{
	pid_t    pid = fork();
	unsigned answered = 0;

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned n = 0; n < CRASHES; n++) {
		struct http_response r;
		char                 path[32];

		snprintf(path, sizeof(path), "/t/crash/%u", n);
		http_ask_once(instance.port, "GET", path, NULL, &r);
		answered += r.status != 0;
		http_response_done(&r);
	}
	_exit((int)answered);
}

struct series {
	pid_t    crashes; /* 0: they are over */
	int      status;
	uint64_t end_ms;
};

static bool look(void *arg, uint64_t now_ms)
{
	struct series *s = arg;

	if (s->crashes != 0 && waitpid(s->crashes, &s->status, WNOHANG) == s->crashes) {
		s->crashes = 0;
		s->end_ms = now_ms + AFTER_MS;
	}
	return (s->crashes == 0 && now_ms >= s->end_ms) || now_ms > LIMIT_MS;
}

static void crash_in_a_row(const char *workers)
{
	const char *const                  environment[] = { workers, NULL };
	const struct test_instance_options options = { .environment = environment,
		                                       .bundle = "test" };
	struct series                      s = { .status = -1 };
	struct load                        load = { .n_clients = N_CLIENTS,
		                                    .questions = questions,
		                                    .n_questions = 3,
		                                    .answer_within_ms = LIMIT_MS,
		                                    .tick = look,
		                                    .arg = &s };
	const struct load_counts          *c = &load.counts;

	test_instance_start(&instance, &options);
	instance.crashes_on_purpose = true;
	load.port = (uint16_t)instance.port;
	s.crashes = start_crashes();
	load_run(&load);
	fprintf(stderr, "%s: %llu answers, %llu lost with %u crashes, the slowest after %llu ms\n",
	        workers, (unsigned long long)c->by_status[200], (unsigned long long)c->closed,
	        CRASHES, (unsigned long long)c->slowest_ms);
	cr_expect_eq(s.status, 0, "the crashes came to status %#x", (unsigned)s.status);
#ifndef BOARDWALK_SANITIZED /* there the sanitizer ends the worker, and nobody knows what it served */
	cr_expect(test_instance_logged(&instance, "crashed while serving t /crash/19"));
#endif
	cr_expect_gt(c->by_status[200], 100);
	cr_expect_eq(c->by_status[503], 0, "%llu 503", (unsigned long long)c->by_status[503]);
	cr_expect_eq(load_other(c) + c->wrong_bodies + c->malformed + c->refused + c->stuck, 0);
	/* Who was in it: at most everybody, each time. */
	cr_expect_leq(c->closed, CRASHES * N_CLIENTS);
	cr_expect_eq(load_bad(&load, s.end_ms - AFTER_MS + LOAD_BUCKET_MS, s.end_ms), 0);
	cr_expect_leq(c->slowest_ms, SLOWEST_MS, "%llu ms", (unsigned long long)c->slowest_ms);
	load_done(&load);
	test_instance_stop(&instance);
}

Test(crash, others_are_served_by_the_other_worker)
{
	crash_in_a_row("BOARDWALK_GATEWAY_WORKERS=2");
}

Test(crash, others_are_served_by_the_successor_of_the_only_one)
{
	crash_in_a_row("BOARDWALK_GATEWAY_WORKERS=1");
}
