/* child.c - starting, restarting and ending one process.
 *
 * The first restart is immediate; from then on the pause doubles from 100 ms to 5 s, until a run has
 * lasted ten seconds. No child outlives the supervisor: the kernel sends parent_died when it is
 * gone. That wish is lost with a change of user, so who changes user states it again afterwards
 * (sandbox_become does), and who finds the parent gone by then ends.
 *
 * Owns: the process. Runs in: the supervisor's loop. Fails with: nothing; a program that cannot be
 * started is a child that ended. Tests: tests/unit/cli/child_test.c. */
#include "child.h"

#include <base/log.h>
#include <base/sandbox.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_FIRST 0.1
#define PAUSE_MAX   5.0
#define GOOD_RUN    10.0 /* seconds after which earlier failures are forgotten */

static void say_end(const struct child *child, int status)
{
	if (WIFSIGNALED(status))
		log_warning(0, "%s (process %ld) was ended by signal %d (%s)", child->program.name,
		            (long)child->pid, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (child->state != CHILD_STOPPING || WEXITSTATUS(status) != 0)
		log_warning(0, "%s (process %ld) ended with code %d", child->program.name,
		            (long)child->pid, WEXITSTATUS(status));
}

static double pause_after(unsigned failures)
{
	double pause = failures <= 1 ? 0 : PAUSE_FIRST;

	for (unsigned i = 2; i < failures && pause < PAUSE_MAX; i++)
		pause *= 2;
	return pause < PAUSE_MAX ? pause : PAUSE_MAX;
}

static void on_ended(struct ev_loop *loop, struct ev_child *watcher, int events)
{
	struct child *child = watcher->data;
	bool          wanted = child->state == CHILD_RUNNING;

	(void)events;
	ev_child_stop(loop, &child->ended);
	ev_timer_stop(loop, &child->timer);
	say_end(child, watcher->rstatus);
	child->pid = 0;
	if (ev_now(loop) - child->started >= GOOD_RUN)
		child->failures = 0;
	child->failures++;
	child->state = wanted ? CHILD_WAITING : CHILD_IDLE;
	if (wanted) {
		ev_timer_set(&child->timer, pause_after(child->failures), 0);
		ev_timer_start(loop, &child->timer);
	}
	child->ops->on_end(child, watcher->rstatus);
}

static void on_timer(struct ev_loop *loop, struct ev_timer *watcher, int events)
{
	struct child *child = watcher->data;

	(void)loop;
	(void)events;
	if (child->state == CHILD_WAITING) {
		child->state = CHILD_IDLE;
		child_start(child);
	} else if (child->state == CHILD_STOPPING) {
		log_warning(0, "%s does not end and is killed", child->program.name);
		child_kill(child);
	}
}

void child_init(struct child *child, struct ev_loop *loop, const struct child_program *program,
                const struct child_ops *ops, void *owner)
{
	*child = (struct child){ .program = *program, .ops = ops, .owner = owner, .loop = loop };
	ev_init(&child->ended, on_ended);
	ev_init(&child->timer, on_timer);
	child->ended.data = child->timer.data = child;
}

/* In the child. Every descriptor of ours is close-on-exec; all output goes where our log goes. A
 * process group of its own keeps the terminal's ^C from it: the supervisor ends things in order. */
__attribute__((noreturn)) static void run(const struct child_program *program, pid_t parent)
{
	sigset_t none;
	int      null = open("/dev/null", O_RDWR | O_CLOEXEC);

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, program->parent_died) != 0 || getppid() != parent)
		_exit(127);
	if (program->user != NULL)
		sandbox_become(program->user);
	if (null >= 0 && dup2(null, STDIN_FILENO) == STDIN_FILENO &&
	    dup2(STDERR_FILENO, STDOUT_FILENO) == STDOUT_FILENO && chdir("/") == 0)
		execve(program->arguments[0], program->arguments, program->environment);
	log_error(0, "%s: %s", program->arguments[0], strerror(errno));
	_exit(127);
}

void child_start(struct child *child)
{
	pid_t parent = getpid();

	if (child->state != CHILD_IDLE)
		return;
	child->started = ev_now(child->loop);
	child->pid = fork();
	if (child->pid == 0)
		run(&child->program, parent);
	if (child->pid < 0) {
		log_error(0, "%s: fork: %s", child->program.name, strerror(errno));
		child->pid = 0;
		child->failures++;
		child->state = CHILD_WAITING;
		ev_timer_set(&child->timer, PAUSE_MAX, 0);
		ev_timer_start(child->loop, &child->timer);
		return;
	}
	child->state = CHILD_RUNNING;
	ev_child_set(&child->ended, child->pid, 0);
	ev_child_start(child->loop, &child->ended);
	child->ops->on_start(child);
}

void child_stop(struct child *child, double patience)
{
	if (child->state == CHILD_WAITING) {
		ev_timer_stop(child->loop, &child->timer);
		child->state = CHILD_IDLE;
	}
	if (child->state != CHILD_RUNNING)
		return;
	child->state = CHILD_STOPPING;
	kill(child->pid, child->program.stop_signal);
	ev_timer_set(&child->timer, patience, 0);
	ev_timer_start(child->loop, &child->timer);
}

void child_kill(struct child *child)
{
	if (child->pid > 0)
		kill(child->pid, child->program.kill_signal);
}

void child_done(struct child *child)
{
	ev_timer_stop(child->loop, &child->timer);
	ev_child_stop(child->loop, &child->ended);
}
