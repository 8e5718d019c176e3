/* parent.c - the unprivileged parent of the workers. It reads nothing that came from the network and
 * waits for four things only: a child's end, a request to stop, the time to start a successor, and
 * once a second a look at the heartbeats.
 *
 *    ABSENT --due--> RUNNING --in_requests > 0 and no turn for 5 s--> ABORTED --1 s--> killed
 *       ^                | ends                                          |
 *       +----------------+-----------------------------------------------+
 *
 * A worker that hangs would go on collecting clients from its own socket; SIGABRT has it name the fiber
 * and the servlet (fiber_report_crashes), SIGKILL makes sure.
 *
 * Owns: the worker processes. Runs in: the parent. Fails with: exit status 1 if a worker cannot even
 * start. Tests: tests/system. */
#include "parent.h"

#include "listeners.h"
#include "settings.h"
#include "shared.h"
#include "worker.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US        1000000u
#define HANG_US        5000000u
#define KILL_US        1000000u
#define BACKOFF_US     100000u /* doubled with every death */
#define MAX_BACKOFF_US 5000000u
#define WELL_US        10000000u /* who lived so long starts again without a wait */

struct child {
	pid_t    pid; /* 0: absent */
	uint64_t started_us, due_us;
	uint64_t aborted_us; /* 0: not */
	uint64_t backoff_us; /* before the next start */
};

struct parent {
	const struct gateway_settings *settings;
	const struct listeners        *listeners;
	struct shared                 *shared;
	struct child                  *children;
	sigset_t                       signals, inherited;
	enum { RUN, DRAIN, AT_ONCE } mode;
	int status;
};

/* In the child: only its own socket stays open, and signals are its own business. */
static void become_worker(struct parent *p, uint32_t index, pid_t parent)
{
	struct worker w = { .settings = p->settings,
		            .shared = p->shared,
		            .index = index,
		            .public_fd = p->listeners->public_fds[index],
		            .management_fd = p->listeners->management_fd,
		            .parent = parent };
	int           status;

	for (uint32_t i = 0; i < p->listeners->n; i++)
		if (i != index)
			close(p->listeners->public_fds[i]);
	sigprocmask(SIG_SETMASK, &p->inherited, NULL);
	free(p->children);
	status = worker_run(&w);
	free(p->listeners->public_fds);
	exit(status);
}

static void start(struct parent *p, uint32_t index)
{
	struct child         *c = &p->children[index];
	struct shared_worker *s = &p->shared->worker[index];
	pid_t                 parent = getpid(), pid;

	/* The counters go on; what is open died with the predecessor. */
	atomic_store(&s->in_requests, 0);
	atomic_store(&s->ready, 0);
	atomic_store(&s->connections_open, 0);
	atomic_store(&s->handles_open, 0);
	pid = fork();
	if (pid < 0)
		fatal("fork");
	if (pid == 0)
		become_worker(p, index, parent);
	c->pid = pid;
	c->started_us = clock_mono_us();
	c->aborted_us = 0;
}

static void log_end(uint32_t index, pid_t pid, int status)
{
	if (WIFSIGNALED(status))
		log_error(0, "worker %u (pid %d) ended by signal %s", index, (int)pid,
		          sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		log_error(0, "worker %u (pid %d) ended with status %d", index, (int)pid,
		          WEXITSTATUS(status));
	else
		log_info(0, "worker %u (pid %d) ended", index, (int)pid);
}

static void stop(struct parent *p);

static void on_end(struct parent *p, uint32_t index, int status)
{
	struct child *c = &p->children[index];
	uint64_t      now_us = clock_mono_us();

	log_end(index, c->pid, status);
	c->pid = 0;
	if (p->mode != RUN)
		return;
	if (!atomic_load(&p->shared->worker[index].started)) {
		log_error(0, "worker %u cannot start; giving up", index);
		p->status = 1;
		stop(p);
		return;
	}
	if (now_us - c->started_us >= WELL_US)
		c->backoff_us = 0;
	c->due_us = now_us + c->backoff_us;
	c->backoff_us = c->backoff_us == 0 ? BACKOFF_US : c->backoff_us * 2;
	if (c->backoff_us > MAX_BACKOFF_US)
		c->backoff_us = MAX_BACKOFF_US;
	atomic_fetch_add(&p->shared->restarts, 1);
}

static void reap(struct parent *p)
{
	int   status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t i = 0; i < p->listeners->n; i++)
			if (p->children[i].pid == pid)
				on_end(p, i, status);
}

static void signal_all(const struct parent *p, int number)
{
	for (uint32_t i = 0; i < p->listeners->n; i++)
		if (p->children[i].pid > 0)
			kill(p->children[i].pid, number);
}

/* First: requests end. Again: at once. */
static void stop(struct parent *p)
{
	if (p->mode == AT_ONCE)
		return;
	p->mode = p->mode == RUN ? DRAIN : AT_ONCE;
	log_info(0, p->mode == DRAIN ? "stopping" : "stopping at once");
	signal_all(p, SIGTERM);
}

static void look(struct parent *p, uint32_t index, uint64_t now_us)
{
	struct child         *c = &p->children[index];
	struct shared_worker *s = &p->shared->worker[index];
	uint64_t              turn_us = atomic_load(&s->turn_us);

	if (c->aborted_us != 0) {
		if (now_us - c->aborted_us >= KILL_US)
			kill(c->pid, SIGKILL);
		return;
	}
	if (turn_us < c->started_us) /* of its predecessor */
		turn_us = c->started_us;
	if (atomic_load(&s->in_requests) > 0 && now_us > turn_us + HANG_US) {
		log_error(0, "worker %u (pid %d) has not turned its loop for %llu ms: aborting it",
		          index, (int)c->pid, (unsigned long long)((now_us - turn_us) / 1000));
		c->aborted_us = now_us;
		kill(c->pid, SIGABRT);
	}
}

/* Starts who is due, looks at who runs. Returns how long nothing else is to be done. */
static uint64_t tend(struct parent *p)
{
	uint64_t now_us = clock_mono_us(), wait_us = LOOK_US;

	for (uint32_t i = 0; i < p->listeners->n; i++) {
		struct child *c = &p->children[i];

		if (c->pid > 0)
			look(p, i, now_us);
		else if (p->mode != RUN)
			continue;
		else if (c->due_us <= now_us)
			start(p, i);
		else if (c->due_us - now_us < wait_us)
			wait_us = c->due_us - now_us;
	}
	return wait_us;
}

static bool is_any_running(const struct parent *p)
{
	for (uint32_t i = 0; i < p->listeners->n; i++)
		if (p->children[i].pid > 0)
			return true;
	return false;
}

static void wait_for_something(struct parent *p, uint64_t wait_us)
{
	struct timespec t = { .tv_sec = (time_t)(wait_us / 1000000),
		              .tv_nsec = (long)(wait_us % 1000000 * 1000) };

	switch (sigtimedwait(&p->signals, NULL, &t)) {
	case SIGTERM:
	case SIGINT:
		stop(p);
		break;
	case SIGCHLD:
		reap(p);
		break;
	default:
		if (errno != EAGAIN && errno != EINTR)
			fatal("sigtimedwait");
	}
}

int parent_run(const struct gateway_settings *s, const struct listeners *l, struct shared *shared)
{
	struct parent p = { .settings = s, .listeners = l, .shared = shared };

	p.children = xcalloc(l->n, sizeof(struct child));
	sigemptyset(&p.signals);
	sigaddset(&p.signals, SIGCHLD);
	sigaddset(&p.signals, SIGTERM);
	sigaddset(&p.signals, SIGINT);
	sigprocmask(SIG_BLOCK, &p.signals, &p.inherited);
	log_info(0, "serving %s with %u workers", s->listen, l->n);
	do
		wait_for_something(&p, tend(&p));
	while (p.mode == RUN || is_any_running(&p));
	free(p.children);
	return p.status;
}
