/* gateway/fiber.c: stacks, switches, the cap, and what a crash says. */
#include "gateway/fiber.c"

#include <criterion/criterion.h>
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>

struct step {
	struct fiber *fiber;
	int           n;
	double        floating; /* survives a switch */
};

static void count(void *arg)
{
	struct step *s = arg;
	double       x = 1.5;

	for (int i = 0; i < 3; i++) {
		cr_assert(fiber_current() == s->fiber);
		s->n++;
		x *= 2;
		fiber_suspend();
	}
	s->floating = x;
}

Test(fiber, runs_until_it_suspends)
{
	struct step a = { .n = 0 }, b = { .n = 0 };

	fiber_pool_init(4);
	cr_assert(fiber_start(count, &a, "a", &a.fiber) && fiber_start(count, &b, "b", &b.fiber));
	cr_assert(a.n == 1 && b.n == 1 && fiber_current() == NULL);
	cr_assert_str_eq(fiber_name(a.fiber), "a");
	for (int i = 0; i < 3; i++) {
		fiber_resume(a.fiber);
		fiber_resume(b.fiber);
	}
	cr_assert(a.n == 3 && b.n == 3 && a.floating == 12 && b.floating == 12);
	fiber_pool_done();
}

static void nest(void *arg)
{
	struct step  *s = arg;
	struct step   inner = { .n = 0 };
	struct fiber *self = fiber_current();

	cr_assert(fiber_start(count, &inner, "inner", &inner.fiber));
	cr_assert(fiber_current() == self);
	fiber_suspend(); /* to the loop, past the inner one */
	fiber_resume(inner.fiber);
	fiber_resume(inner.fiber);
	fiber_resume(inner.fiber);
	s->n = inner.n;
}

Test(fiber, may_start_and_resume_another)
{
	struct step s = { .n = 0 };

	fiber_pool_init(4);
	cr_assert(fiber_start(nest, &s, "outer", &s.fiber));
	cr_assert(fiber_current() == NULL);
	fiber_resume(s.fiber);
	cr_assert(s.n == 3 && fiber_current() == NULL);
	fiber_pool_done();
}

static void park(void *arg)
{
	volatile char deep[100000];

	deep[0] = deep[sizeof(deep) - 1] = 1;
	(void)arg;
	fiber_suspend();
}

Test(fiber, cap_and_trim)
{
	struct fiber *f[101];

	fiber_pool_init(100);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 100; i++)
			cr_assert(fiber_start(park, NULL, "park", &f[i]), "%zu", i);
		cr_assert(!fiber_start(park, NULL, "park", &f[100]), "one too many");
		for (size_t i = 0; i < 100; i++)
			fiber_resume(f[i]);
		cr_assert(pool.n_all == 100 && pool.n_idle == 100);
		fiber_pool_trim(); /* all were in use since the last one */
		cr_assert(pool.n_all == 100, "%zu", pool.n_all);
		fiber_pool_trim();
		cr_assert(pool.n_all == KEEP_IDLE && pool.n_idle == KEEP_IDLE, "%zu", pool.n_all);
		cr_assert(!pool.idle[0]->dirty);
	}
	fiber_pool_done();
}

/* ---- crashes, in a child whose stderr we read ---- */

static void overflow_deeper(volatile char *above)
{
	volatile char here[4096];

	here[0] = *above;
	if (here[0] == 0)
		overflow_deeper(here);
	here[1] = here[0];
}

static void overflow(void *arg)
{
	volatile char zero = 0;

	(void)arg;
	fiber_set_note(fiber_current(), "acme \"servlet\"");
	overflow_deeper(&zero);
}

static void call_abort(void *arg)
{
	(void)arg;
	fiber_set_note(fiber_current(), "org.example.Aborts");
	abort();
}

static void suspend_outside(void *arg)
{
	(void)arg;
	running = NULL;
	fiber_suspend();
}

/* Runs fn on a fiber in a child; its stderr into text. Returns wait's status. */
static int crash(void (*fn)(void *), char *text, size_t size)
{
	struct fiber *f;
	int           p[2], status;
	size_t        n = 0;
	ssize_t       r;
	pid_t         pid;

	cr_assert(pipe(p) == 0);
	pid = fork();
	if (pid == 0) {
		dup2(p[1], STDERR_FILENO);
		for (size_t i = 0; i < N_CRASH_SIGNALS; i++)
			signal(crash_signals[i].number, SIG_DFL); /* not the sanitizer's */
		fiber_report_crashes();
		fiber_pool_init(2);
		fiber_start(fn, NULL, "request", &f);
		_exit(0);
	}
	close(p[1]);
	while ((r = read(p[0], text + n, size - 1 - n)) > 0)
		n += (size_t)r;
	text[n] = 0;
	close(p[0]);
	waitpid(pid, &status, 0);
	return status;
}

Test(fiber, a_crash_names_the_fiber_and_what_it_served)
{
	char text[65536];
	int  status;

	status = crash(call_abort, text, sizeof(text));
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, "status %x", status);
	cr_expect(strstr(text, "msg=\"SIGABRT in fiber request serving org.example.Aborts\"\n") !=
	                  NULL,
	          "%s", text);

	status = crash(overflow, text, sizeof(text));
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status %x", status);
	cr_expect(strstr(text, "msg=\"SIGSEGV in fiber request serving acme ?servlet?: stack "
	                       "overflow\"\n") != NULL,
	          "%s", text);
}

Test(fiber, misuse_is_fatal)
{
	char text[65536];

	cr_expect(crash(suspend_outside, text, sizeof(text)) == 256);
	cr_expect(strstr(text, "suspend outside of a fiber") != NULL, "%s", text);
}
