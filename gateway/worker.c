/* worker.c - a worker: a registry, a whiteboard, an engine, a pair of connections to auth and repo, and
 * the loop they share. Workers have nothing in common but the counters.
 *
 * Owns: all of the above, made in order and freed in reverse. Runs in: a child of gateway.c.
 * Fails with: a fatal line at start; what is wrong with one bundle or one request stays there.
 * Tests: tests/system. */
#include "worker.h"

#include "peers/ask.h"
#include "bundle/bundles.h"
#include "console.h"
#include "control/doors.h"
#include "control/obey.h"
#include "bundle/crash_limits.h"
#include "engine/engine.h"
#include "events/events.h"
#include "fiber.h"
#include "http/http.h"
#include "http/loop.h"
#include "management.h"
#include "offload.h"
#include "forms/params.h"
#include "request.h"
#include "peers/figures.h"
#include "peers/resolver.h"
#include "security/security.h"
#include "session/session.h"
#include "settings.h"
#include "shared.h"
#include "whiteboard/async.h"
#include "whiteboard/registry.h"
#include "whiteboard/runtime.h"
#include "whiteboard/upload.h"
#include "whiteboard/whiteboard.h"

#include <base/fatal.h>
#include <base/log.h>
#include <base/sandbox.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define OFFLOAD_THREADS 4
#define OFFLOAD_QUEUE   256
#define DRAIN_MS        30000 /* for asynchronous requests that would wait longer */
#define TRIM_MS         10000
#define MAX_FOLDERS     32

static struct loop_timer     trim, tend;
static struct shared_worker *me;

static void serve(struct bw_req *req)
{
	if (!security_permits(req))
		; /* answered */
	else if (req->management)
		management_serve(req);
	else
		whiteboard_serve(req);
	resolvers_close(req);
	if (req->sessions)
		sessions_release(req);
}

/* As a request would: mint a handle, read a resource that everyone may read. */
static const char *probe(struct bw_req *req)
{
	struct bw_resolver *r = resolver_new(req, RESOLVER_ANONYMOUS);
	struct bw_resource *res;

	r->fresh = true; /* it is auth that is probed, too */
	switch (resolver_mint(r)) {
	case BW_OK:
		break;
	case BW_EGONE:
		return "auth is away";
	default:
		return "auth does not mint";
	}
	switch (resolver_get(r, BW_STR("/system/health"), &res)) {
	case BW_OK:
		return NULL;
	case BW_EGONE:
		return "repo is away";
	case BW_ENOTFOUND:
		return "/system/health is missing";
	default:
		return "the database is away";
	}
}

static void on_signal(void *arg)
{
	struct signalfd_siginfo info;
	int                     fd = *(const int *)arg;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return;
	async_drain(DRAIN_MS);
	if (info.ssi_signo == SIGTERM) {
		http_stop();
		return;
	}
	/* A successor is about to be started. */
	shared_leave(me);
	http_leave();
}

/* A signal becomes an event of the loop: it cannot fall between looking and sleeping. */
static int open_signals(void)
{
	sigset_t set;
	int      fd;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* a terminal sends it to all; the parent tells us */
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (fd < 0)
		fatal("signalfd");
	return fd;
}

static void on_trim(struct loop_timer *t)
{
	fiber_pool_trim();
	loop_timer_link(t, TRIM_MS);
}

/* On the loop's own stack: a bundle whose code is below us cannot be unmapped. */
static void on_tend(struct loop_timer *t)
{
	uint32_t again_ms = bundles_tend();

	if (again_ms > 0)
		loop_timer_link(t, again_ms);
}

static void on_bundle_work(void)
{
	loop_timer_unlink(&tend);
	loop_timer_link(&tend, 0);
}

static void filter_calls(void)
{
	/* The peers are reached by name; large bodies are spooled; and what else servlets do. */
	static const char *const allow[] = {
		"socket",    "connect",    "openat",     "unlink",     "unlinkat", "ftruncate",
		"fallocate", "fstat",      "newfstatat", "statx",      "access",   "faccessat2",
		"readlink",  "getdents64", "uname",      "getuid",     "geteuid",  "getgid",
		"getegid",   "sendmmsg",   "recvmmsg",   "socketpair", "eventfd2", "pipe2",
		"dup",       "dup3",       "ioctl",      "sysinfo",    "bind",     "preadv2",
		"mkdir",     "mkdirat",    NULL,
	};
	static const char *const kill_for[] = { "execve", "execveat", "fork",
		                                "vfork",  "ptrace",   NULL };

	sandbox_allow_libraries();
	sandbox_filter(allow, kill_for);
}

/* Large bodies and parts are written to the spool, log lines to their file: all else is for reading. Here,
 * since threads that are there already would be left out. */
static void confine_writes(const struct gateway_settings *s)
{
	const char *folders[MAX_FOLDERS + 3];
	char       *log = xstrdup(s->access_log);
	size_t      n = 0;

	folders[n++] = s->spool;
	if (strchr(log, '/') != NULL)
		folders[n++] = dirname(log);
	if (s->upload_folders.n > MAX_FOLDERS)
		fatalx("gateway.upload_folders: more than %d", MAX_FOLDERS);
	for (size_t i = 0; i < s->upload_folders.n; i++)
		folders[n++] = s->upload_folders.items[i];
	folders[n] = NULL;
	if (!sandbox_write_below(folders))
		log_info(0, "this kernel has no Landlock");
	free(log);
}

static void confine(const struct worker *w)
{
	char name[16];

	snprintf(name, sizeof(name), "gateway/%u", w->index);
	prctl(PR_SET_NAME, name);
	sandbox_die_with_parent();
	if (getppid() != w->parent)
		exit(1); /* it died before the kernel was asked to tell us */
	confine_writes(w->settings);
}

int worker_run(const struct worker *w)
{
	const struct gateway_settings *s = w->settings;
	struct shared_worker          *counters = &w->shared->worker[w->index];
	struct registry               *registry;
	struct loop_fd                *signals;
	int                            signal_fd;
	bool                           idle;

	me = counters;
	confine(w);
	log_start();
	signal_fd = open_signals();
	fiber_report_crashes();
	fiber_report_subject(counters->crash_subject, sizeof(counters->crash_subject));
	limits_init(counters);
	fiber_pool_init(s->max_requests + 16);
	http_init(&(struct http_config){ .settings = s,
	                                 .shared = counters,
	                                 .public_fd = -1, /* control/doors.c */
	                                 .management_fd = w->management_fd,
	                                 .serve = serve });
	signals = loop_fd_watch(signal_fd, on_signal, &signal_fd);
	offload_init(OFFLOAD_THREADS, OFFLOAD_QUEUE);
	async_init();
	tend.on_due = on_tend;
	trim.on_due = on_trim;
	loop_timer_link(&trim, TRIM_MS);
	registry = registry_new();
	security_init(registry, s);
	runtime_init(s->listen);
	params_init(s->max_parameters, s->max_form);
	servlet_init(s->trace);
	upload_init(s->spool);
	whiteboard_init(registry);
	if (s->engine)
		engine_init(registry, s);
	management_init(w->shared, probe);
	management_on_metrics(figures_put);
	console_init();
	ask_init(s, counters);
	sessions_init(s);
	events_init(registry, s);
	bundles_init(registry, counters, s->bundle_drain_ms);
	bundles_trust(w->owner);
	bundles_on_work(on_bundle_work);
	bundles_load(&s->bundles, w->bundles);
	obey_init(w->orders_fd);
	doors_init(w->public_fds, w->shared->n_workers, w->index, counters);
	filter_calls();
	atomic_store(&counters->started, 1);

	idle = http_run();

	if (!idle) {
		log_warning(0, "stopped with requests still running");
		log_stop();
		return 0;
	}
	doors_done();
	obey_done();
	bundles_stop();
	events_done();
	sessions_done();
	ask_done();
	if (s->engine)
		engine_done();
	whiteboard_done();
	runtime_done();
	upload_done();
	security_done();
	registry_free(registry);
	async_done();
	bundles_done();
	offload_done();
	loop_timer_unlink(&trim);
	loop_timer_unlink(&tend);
	loop_fd_close(signals);
	close(signal_fd);
	http_done();
	fiber_pool_done();
	log_stop();
	return 0;
}
