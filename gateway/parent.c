/* parent.c - the unprivileged parent of the workers. It reads nothing that came from the network
 * and waits for five things only: a child's end, a request to stop, the time to start a successor,
 * once a second a look at the heartbeats, and what the operator and the workers have to say
 * (control/).
 *
 *    ABSENT --due--> RUNNING --in_requests > 0 and no turn for 5 s--> ABORTED --1 s--> killed
 *       ^                | ends                                          |
 *       +----------------+-----------------------------------------------+
 *
 * A worker that hangs goes on collecting clients from its own socket, from which the others accept soon
 * (control/porter.h); SIGABRT has it name the fiber and the servlet (fiber_report_crashes), SIGKILL
 * makes sure.
 *
 * Owns: the worker processes. Runs in: the parent. Fails with: exit status 1 if a worker cannot
 * even start. Tests: tests/system. */
#include "parent.h"

#include "control/control.h"
#include "control/porter.h"
#include "control/refusals.h"
#include "bundle/crashes.h"
#include "listeners.h"
#include "settings.h"
#include "shared.h"
#include "worker.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_US        1000000u
#define HANG_US        5000000u
#define KILL_US        1000000u
#define STUCK_US       1000000u   /* until others accept in its place */
#define LEFT_US        10000u     /* until a worker that was asked to leave has done so, maybe */
#define LEAVE_US       120000000u /* for its requests to end then */
#define HURRY_US       10000000u
#define BACKOFF_US     100000u /* doubled with every death */
#define MAX_BACKOFF_US 5000000u
#define WELL_US        10000000u /* who lived so long starts again without a wait */

struct child {
	pid_t    pid; /* 0: absent */
	uint64_t started_us, due_us;
	uint64_t aborted_us; /* 0: not */
	bool     retired;    /* asked to leave its place to a successor */
	pid_t    leaving;    /* the predecessor, which ends its requests; 0: none */
	uint64_t leaving_us; /* when it is told to end, the next time */
	unsigned told;       /* how often it was */
	bool     served;     /* the last one was accepting when it ended */
	uint64_t backoff_us; /* before the next start */
};

struct parent {
	const struct gateway_settings *settings;
	const struct listeners        *listeners;
	struct shared                 *shared;
	struct child                  *children;
	struct crew                   *crew;
	struct changes                *changes;
	struct porter                 *porter;
	struct refusals               *refusals;
	struct control                *control;
	struct pollfd                 *fds; /* signals, workers, control */
	int                            signal_fd;
	uid_t                          owner;
	sigset_t                       inherited;
	enum { RUN, DRAIN, AT_ONCE } mode;
	int status;
};

/* In the child: only the public sockets and its own stay open, and signals are its own business. What is installed
 * it knows by the memory it has from us. */
__attribute__((noreturn)) static void become_worker(struct parent *p, uint32_t index, pid_t parent,
                                                    int orders_fd)
{
	struct bundle_list installed = inventory_rows(changes_inventory(p->changes)),
			   bundles = crashes_list(&installed);
	struct worker w = { .settings = p->settings,
		            .shared = p->shared,
		            .index = index,
		            .public_fds = p->listeners->public_fds,
		            .management_fd = p->listeners->management_fd,
		            .orders_fd = orders_fd,
		            .bundles = &bundles,
		            .owner = p->owner,
		            .parent = parent };
	int           status;

	close(p->signal_fd);
	control_free(p->control);
	refusals_free(p->refusals);
	porter_free(p->porter);
	crew_free(p->crew);
	sigprocmask(SIG_SETMASK, &p->inherited, NULL);
	free(p->children);
	free(p->fds);
	status = worker_run(&w);
	crashes_list_done(&bundles);
	crashes_done();
	inventory_rows_free(&installed);
	changes_free(p->changes);
	free(p->listeners->public_fds);
	exit(status);
}

static void start(struct parent *p, uint32_t index)
{
	struct child         *c = &p->children[index];
	struct shared_worker *s = &p->shared->worker[index];
	pid_t                 parent = getpid(), pid;
	int                   orders_fd = crew_open(p->crew, index);

	/* The counters go on; what is open died with the predecessor. */
	atomic_store(&s->in_requests, 0);
	atomic_store(&s->ready, 0);
	atomic_store(&s->accepting, 0);
	atomic_store(&s->connections_open, 0);
	atomic_store(&s->handles_open, 0);
	atomic_store(&s->wants_successor, 0);
	atomic_store(&s->left, 0);
	pid = fork();
	if (pid < 0)
		fatal("fork");
	if (pid == 0)
		become_worker(p, index, parent, orders_fd);
	close(orders_fd);
	crew_started(p->crew, index, pid);
	porter_started(p->porter, index);
	c->pid = pid;
	c->started_us = clock_mono_us();
	c->aborted_us = 0;
	c->retired = false;
}

/* "has ended by signal SEGV", in words that go on "worker 1 (pid 7) ..." and "it ...". */
static void describe_end(int status, char *ret, size_t n)
{
	if (WIFSIGNALED(status))
		snprintf(ret, n, "has ended by signal %s", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status) != 0)
		snprintf(ret, n, "has ended with status %d", WEXITSTATUS(status));
	else
		snprintf(ret, n, "has ended");
}

static void stop(struct parent *p);

static void on_end(struct parent *p, uint32_t index, int status)
{
	struct shared_worker *s = &p->shared->worker[index];
	struct child         *c = &p->children[index];
	uint64_t              now_us = clock_mono_us(), generation;
	char                  how[128];
	bool                  blamed;

	describe_end(status, how, sizeof(how));
	log_printf(status == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, 0, "worker %u (pid %d) %s",
	           index, (int)c->pid, how);
	c->pid = 0;
	c->served = porter_is_open(p->porter, index);
	atomic_store(&s->accepting, 0); /* the others do, from now on */
	blamed = crashes_note(s, index, &generation, how, sizeof(how));
	if (blamed)
		inventory_crash(changes_inventory(p->changes), generation, how);
	crew_ended(p->crew, index, c->retired && status == 0 ? NULL : how);
	porter_ended(p->porter, index);
	if (p->mode != RUN)
		return;
	/* What a bundle does in its start is no reason to give up: it will be refused. */
	if (!atomic_load(&s->started) && !blamed) {
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

static void on_left(struct parent *p, uint32_t index, int status)
{
	struct child *c = &p->children[index];
	char          how[128];

	describe_end(status, how, sizeof(how));
	log_printf(status == 0 ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, 0,
	           "worker %u (pid %d), which had a successor, %s", index, (int)c->leaving, how);
	c->leaving = 0;
}

static void reap(struct parent *p)
{
	int   status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (uint32_t i = 0; i < p->listeners->n; i++) {
			if (p->children[i].pid == pid)
				on_end(p, i, status);
			else if (p->children[i].leaving == pid)
				on_left(p, i, status);
		}
}

static void signal_all(const struct parent *p, int number)
{
	for (uint32_t i = 0; i < p->listeners->n; i++) {
		if (p->children[i].pid > 0)
			kill(p->children[i].pid, number);
		if (p->children[i].leaving > 0)
			kill(p->children[i].leaving, number);
	}
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

static void abort_child(struct child *c, uint64_t now_us)
{
	if (c->pid <= 0 || c->aborted_us != 0)
		return;
	c->aborted_us = now_us;
	kill(c->pid, SIGABRT);
}

static void abort_worker(void *arg, uint32_t index, const char *why)
{
	struct parent *p = arg;

	log_error(0, "worker %u (pid %d): %s: aborting it", index, (int)p->children[index].pid,
	          why);
	abort_child(&p->children[index], clock_mono_us());
}

static void look(struct parent *p, uint32_t index, uint64_t now_us)
{
	struct child         *c = &p->children[index];
	struct shared_worker *s = &p->shared->worker[index];
	uint64_t              turn_us = atomic_load(&s->turn_us);

	if (c->aborted_us != 0) {
		if (now_us >= c->aborted_us + KILL_US)
			kill(c->pid, SIGKILL);
		return;
	}
	if (turn_us < c->started_us) /* of its predecessor */
		turn_us = c->started_us;
	if (atomic_load(&s->in_requests) == 0)
		turn_us = now_us;
	porter_stuck(p->porter, index, now_us > turn_us + STUCK_US);
	if (now_us > turn_us + HANG_US) {
		log_error(0, "worker %u (pid %d) has not turned its loop for %llu ms: aborting it",
		          index, (int)c->pid, (unsigned long long)((now_us - turn_us) / 1000));
		abort_child(c, now_us);
	}
}

/* ---- successors ----
 *
 *    RUNNING --it wants one, SIGUSR1--> retired --shared_leave--> leaving, and its place is ABSENT
 *
 * The successor accepts from the same socket while the other one ends its requests. */

static bool is_all_running(const struct parent *p)
{
	for (uint32_t i = 0; i < p->listeners->n; i++)
		if (p->children[i].pid <= 0 || p->children[i].retired || p->children[i].leaving > 0)
			return false;
	return true;
}

/* One at a time, and none in the middle of a change. */
static void retire(struct parent *p, uint32_t index)
{
	struct child *c = &p->children[index];

	if (p->mode != RUN || !atomic_load(&p->shared->worker[index].wants_successor) ||
	    !is_all_running(p) || changes_hold_starts(p->changes))
		return;
	log_info(0, "worker %u (pid %d) makes room for a successor", index, (int)c->pid);
	c->retired = true;
	kill(c->pid, SIGUSR1);
}

/* It counts in memory of its own now, and obeys no more orders. */
static void take_place(struct parent *p, uint32_t index, uint64_t now_us)
{
	struct child *c = &p->children[index];

	c->served = true;
	crew_ended(p->crew, index, NULL);
	porter_ended(p->porter, index);
	c->leaving = c->pid;
	c->leaving_us = now_us + LEAVE_US;
	c->told = 0;
	c->pid = 0;
	c->due_us = now_us;
}

/* Who is still at it after two minutes is told as a stop tells: once, again, and then not asked any
 * more. */
static void hurry(struct child *c, uint64_t now_us)
{
	if (c->leaving == 0 || now_us < c->leaving_us)
		return;
	kill(c->leaving, c->told < 2 ? SIGTERM : SIGKILL);
	c->told++;
	c->leaving_us = now_us + HURRY_US;
}

/* The wait before a start is for those who crash as soon as they run. It is not for their clients: a worker
 * that served gets its successor at once if nobody else accepts in its place. */
static bool is_due(const struct parent *p, const struct child *c, uint64_t now_us)
{
	return c->due_us <= now_us || (c->served && !porter_is_any_open(p->porter));
}

/* Returns how long nothing else is to be done, at most wait_us. */
static uint64_t tend_child(struct parent *p, uint32_t index, uint64_t now_us, uint64_t wait_us)
{
	struct child *c = &p->children[index];

	hurry(c, now_us);
	if (c->pid > 0 && c->retired && atomic_load(&p->shared->worker[index].left))
		take_place(p, index, now_us);
	if (c->pid > 0) {
		look(p, index, now_us);
		retire(p, index);
		return c->retired && wait_us > LEFT_US ? LEFT_US : wait_us;
	}
	if (p->mode != RUN || changes_hold_starts(p->changes))
		return wait_us;
	if (is_due(p, c, now_us))
		start(p, index);
	else if (c->due_us - now_us < wait_us)
		return c->due_us - now_us;
	return wait_us;
}

/* Starts who is due, looks at who runs. Returns how long nothing else is to be done. */
static uint64_t tend(struct parent *p)
{
	uint64_t now_us = clock_mono_us(), wait_us = LOOK_US;

	wait_us = control_tend(p->control, now_us, wait_us);
	wait_us = crew_tend(p->crew, now_us, wait_us);
	wait_us = changes_tend(p->changes, now_us, wait_us);
	refusals_tend(p->refusals);
	for (uint32_t i = 0; i < p->listeners->n; i++)
		wait_us = tend_child(p, i, now_us, wait_us);
	return wait_us;
}

static bool is_any_running(const struct parent *p)
{
	for (uint32_t i = 0; i < p->listeners->n; i++)
		if (p->children[i].pid > 0 || p->children[i].leaving > 0)
			return true;
	return false;
}

static void on_signals(struct parent *p)
{
	struct signalfd_siginfo info;

	while (read(p->signal_fd, &info, sizeof(info)) == sizeof(info))
		if (info.ssi_signo == SIGCHLD)
			reap(p);
		else
			stop(p);
}

static void wait_for_something(struct parent *p, uint64_t wait_us)
{
	const struct timespec t = { .tv_sec = (time_t)(wait_us / 1000000),
		                    .tv_nsec = (long)(wait_us % 1000000 * 1000) };
	uint32_t              n = p->listeners->n;
	size_t                n_control;

	p->fds[0] = (struct pollfd){ .fd = p->signal_fd, .events = POLLIN };
	for (uint32_t i = 0; i < n; i++)
		p->fds[1 + i].fd = crew_fd(p->crew, i, &p->fds[1 + i].events);
	n_control = control_poll(p->control, p->fds + 1 + n);
	if (ppoll(p->fds, 1 + n + n_control, &t, NULL) < 0) {
		if (errno != EINTR)
			fatal("poll");
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		crew_turn(p->crew, i, p->fds[1 + i].revents);
	control_turn(p->control, p->fds + 1 + n, n_control);
	if (p->fds[0].revents !=
	    0) /* last: a worker's last words come before the news of its end */
		on_signals(p);
}

/* A signal becomes something to read: it cannot fall between looking and sleeping. */
static void open_signals(struct parent *p)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, &p->inherited);
	p->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (p->signal_fd < 0)
		fatal("signalfd");
}

/* It may accept, unless it could not start a bundle that others have started. */
static void on_up(struct parent *p, uint32_t worker, const char *words, size_t n)
{
	struct child        *c = &p->children[worker];
	enum refusals_others others = porter_is_any_open(p->porter)    ? REFUSALS_OTHERS
	                              : porter_was_any_open(p->porter) ? REFUSALS_PREDECESSOR
	                                                               : REFUSALS_NOBODY;

	if (refusals_hear(p->refusals, words, n, others)) {
		porter_up(p->porter, worker);
		return;
	}
	log_warning(0, "worker %u (pid %d) has not all bundles: it is replaced", worker,
	            (int)c->pid);
	c->retired = true;
	kill(c->pid, SIGTERM);
}

static void on_news(void *arg, uint32_t worker, const char *words, size_t n)
{
	static const char up[] = "up", runs[] = "runs";
	struct parent    *p = arg;

	if (n >= sizeof(up) && strcmp(words, up) == 0)
		on_up(p, worker, words + sizeof(up), n - sizeof(up));
	else if (n > sizeof(runs) && strcmp(words, runs) == 0)
		inventory_remember(changes_inventory(p->changes), words + sizeof(runs));
}

static void parent_init(struct parent *p)
{
	const struct changes_hooks  hooks = { abort_worker, p };
	const struct porter_hooks   porter_hooks = { abort_worker, p };
	const struct refusals_hooks refusals_hooks = { abort_worker, p };
	uint32_t                    n = p->listeners->n;

	p->children = xcalloc(n, sizeof(struct child));
	p->fds = xcalloc(1 + n + 1 + CONTROL_MAX_CLIENTS, sizeof(struct pollfd));
	p->crew = crew_new(n);
	crew_on_news(p->crew, on_news, p);
	p->porter = porter_new(p->crew, &porter_hooks);
	p->changes = changes_new(p->crew, p->settings->store, &hooks);
	p->refusals = refusals_new(p->crew, p->changes, &refusals_hooks);
	p->control = control_new(p->crew, p->changes, p->listeners->control_fd, p->owner);
	open_signals(p);
}

static void parent_done(struct parent *p)
{
	control_free(p->control);
	refusals_free(p->refusals);
	changes_free(p->changes);
	porter_free(p->porter);
	crew_free(p->crew);
	close(p->signal_fd);
	free(p->fds);
	free(p->children);
}

int parent_run(const struct gateway_settings *s, const struct listeners *l, struct shared *shared,
               uid_t owner)
{
	struct parent p = { .settings = s, .listeners = l, .shared = shared, .owner = owner };

	parent_init(&p);
	log_info(0, "serving %s with %u workers", s->listen, l->n);
	do
		wait_for_something(&p, tend(&p));
	while (p.mode == RUN || is_any_running(&p));
	parent_done(&p);
	crashes_done();
	return p.status;
}
