/* cli/child.c: restarts with a growing pause, the polite and the other end. The programs are shells. */
#include <child.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* What the loop has seen. */
static struct {
	unsigned  starts, ends;
	int       status;
	ev_tstamp started[8];
	unsigned  stop_at; /* the loop is left after that many ends */
} seen;

static void on_start(struct child *child)
{
	if (seen.starts < 8)
		seen.started[seen.starts] = ev_time();
	seen.starts++;
	(void)child;
}

static void on_end(struct child *child, int status)
{
	seen.ends++;
	seen.status = status;
	if (seen.ends == seen.stop_at)
		ev_break(child->loop, EVBREAK_ALL);
}

static const struct child_ops ops = { on_start, on_end };

static char *const environment[] = { (char *)"PATH=/bin:/usr/bin", NULL };

static void init(struct child *child, char *const *arguments)
{
	struct child_program program = {
		.name = "shell",
		.arguments = arguments,
		.environment = environment,
		.stop_signal = SIGTERM,
		.kill_signal = SIGKILL,
		.parent_died = SIGKILL,
	};

	child_init(child, ev_default_loop(EVFLAG_AUTO), &program, &ops, NULL);
}

static void at_once(struct ev_loop *loop, struct ev_timer *watcher, int events)
{
	(void)events;
	ev_timer_stop(loop, watcher);
	child_stop(watcher->data, 0.2);
}

Test(child, is_restarted_at_once_and_then_after_pauses_that_double)
{
	static char *const arguments[] = { (char *)"/bin/sh", (char *)"-c", (char *)"exit 7",
		                           NULL };
	struct child       child;

	init(&child, arguments);
	seen.stop_at = 5;
	child_start(&child);
	ev_run(child.loop, 0);
	cr_assert_eq(seen.starts, 5);
	cr_assert_eq(WEXITSTATUS(seen.status), 7);
	cr_assert_lt(seen.started[1] - seen.started[0], 0.1, "the first restart is immediate");
	cr_assert_geq(seen.started[2] - seen.started[1], 0.1);
	cr_assert_geq(seen.started[3] - seen.started[2], 0.2);
	cr_assert_geq(seen.started[4] - seen.started[3], 0.4);
	cr_assert_eq(child.state, CHILD_WAITING);
	child_stop(&child, 1);
	cr_assert_eq(child.state, CHILD_IDLE);
	child_done(&child);
}

Test(child, that_cannot_be_started_is_one_that_ended)
{
	static char *const arguments[] = { (char *)"/nowhere", NULL };
	struct child       child;

	init(&child, arguments);
	seen.stop_at = 2;
	child_start(&child);
	ev_run(child.loop, 0);
	cr_assert_eq(WEXITSTATUS(seen.status), 127);
	child_stop(&child, 1);
	child_done(&child);
}

/* The shell has half a second to set its trap before it is asked to end. */
static void stop_after(const char *script, int want_signal)
{
	char *const     arguments[] = { (char *)"/bin/sh", (char *)"-c", (char *)script, NULL };
	struct child    child;
	struct ev_timer timer;

	memset(&seen, 0, sizeof(seen));
	seen.stop_at = 1;
	init(&child, arguments);
	child_start(&child);
	ev_timer_init(&timer, at_once, 0.5, 0);
	timer.data = &child;
	ev_timer_start(child.loop, &timer);
	ev_run(child.loop, 0);
	cr_assert_eq(child.state, CHILD_IDLE);
	cr_assert_eq(child.pid, 0);
	cr_assert_eq(seen.starts, 1, "it was started again");
	if (want_signal == 0)
		cr_assert(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 3, "%d",
		          seen.status);
	else
		cr_assert_eq(WTERMSIG(seen.status), want_signal);
	child_done(&child);
}

Test(child, is_asked_to_end_and_not_started_again)
{
	stop_after("trap 'exit 3' TERM; while :; do sleep 0.01; done", 0);
}

Test(child, that_does_not_end_is_killed)
{
	stop_after("trap '' TERM; while :; do sleep 0.01; done", SIGKILL);
}
