/* supervisor.c - the command `up`: starts everything in order, restarts what ends, stops everything
 * in the reverse order.
 *
 *   lock -> PostgreSQL -> database job -> auth, repo, gateway -> probe job -> "ready"
 *
 * It keeps no database connection, reads nothing that came from the network, and its own descriptors
 * are closed in every child. Its children's end is the only news it waits for.
 *
 * Owns: the children. Runs in: its own process, the operator's (root's) if it was started so.
 * Fails with: exit code 1 after a line on stderr; then nothing is left running.
 * Tests: tests/system/setup_test.c, tests/system/recovery_test.c. */
#include "supervisor.h"

#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "change.h"
#include "cluster.h"
#include "key.h"
#include "password.h"

#define START_LIMIT    120.0 /* seconds from the lock to ready */
#define PATIENCE       15.0  /* seconds a child has to end politely */
#define START_FAILURES 7u    /* of one child, before the first ready */

static const char *const names[N_CHILDREN] = { "postgres", "auth", "repo", "gateway" };

static void next_step(struct supervisor *s);
static void next_stage(struct supervisor *s);
static void forget_password(struct supervisor *s);

static void stop(struct supervisor *s, int code)
{
	if (s->mode == SUPERVISOR_STOPPING)
		return;
	s->mode = SUPERVISOR_STOPPING;
	s->code = code;
	s->stage = 0;
	ev_timer_stop(s->loop, &s->limit);
	if (s->job != 0)
		kill(s->job, SIGKILL);
	next_stage(s);
}

/* RUN/status: one line per process, and whether all are ready. Replaced as a whole. */
static void write_status(const struct supervisor *s)
{
	char *file = xasprintf("%s/status", s->instance.run), *fresh = xasprintf("%s.new", file);
	FILE *out = fopen(fresh, "we");

	if (out != NULL) {
		fprintf(out, "supervisor %ld\n", (long)getpid());
		for (unsigned i = 0; i < N_CHILDREN; i++)
			if (s->children[i].pid > 0)
				fprintf(out, "%s %ld\n", names[i], (long)s->children[i].pid);
		fprintf(out, "%s\n",
		        s->mode == SUPERVISOR_RUNNING    ? "ready"
		        : s->mode == SUPERVISOR_STARTING ? "starting"
		                                         : "stopping");
		if (fclose(out) == 0)
			rename(fresh, file);
	}
	free(fresh);
	free(file);
}

/* ---- the start ---- */

static void start_cluster(struct supervisor *s)
{
	if (!s->instance.private_cluster)
		next_step(s);
	else
		child_start(&s->children[CHILD_POSTGRES]); /* on_notified goes on */
}

static void on_job_done(struct supervisor *s, int status)
{
	if (s->mode != SUPERVISOR_STARTING) {
		next_stage(s);
		return;
	}
	s->first_start = s->first_start || status == W_EXITCODE(JOB_MADE_PASSWORD, 0);
	if (status == 0 || status == W_EXITCODE(JOB_MADE_PASSWORD, 0))
		next_step(s);
	else
		stop(s, CLI_FAILED);
}

static void start_database_job(struct supervisor *s)
{
	job_start(s, job_database, on_job_done);
}

static void start_processes(struct supervisor *s)
{
	child_start(&s->children[CHILD_REPO]);
	child_start(&s->children[CHILD_AUTH]);
	child_start(&s->children[CHILD_GATEWAY]);
	next_step(s);
}

static void start_probe_job(struct supervisor *s)
{
	job_start(s, job_probe, on_job_done);
}

/* The password is shown once; afterwards only the file knows it. */
static void announce(struct supervisor *s)
{
	const char *data = s->instance.data, *listen = s->cli->settings.listen;

	s->mode = SUPERVISOR_RUNNING;
	ev_timer_stop(s->loop, &s->limit);
	write_status(s);
	printf("ready http://%s\n", listen);
	if (s->first_start)
		printf("password of admin: %s (kept in %s/admin-password)\n", s->password, data);
	else
		printf("password of admin: in %s/admin-password\n", data);
	printf("try: curl -i http://%s%s\n", listen, s->cli->first_path ? s->cli->first_path : "/");
	fflush(stdout);
	forget_password(s);
	if (s->hooks->on_ready != NULL)
		s->hooks->on_ready(s);
}

static void (*const steps[])(struct supervisor *s) = {
	start_cluster, start_database_job, start_processes, start_probe_job, announce,
};

static void next_step(struct supervisor *s)
{
	if (s->mode == SUPERVISOR_STARTING)
		steps[s->step++](s);
}

/* systemd's protocol, which PostgreSQL speaks: a datagram of lines. It comes at each start of the
 * server; only the first one is waited for. */
static void on_notified(struct ev_loop *loop, struct ev_io *watcher, int events)
{
	struct supervisor *s = watcher->data;
	char               text[512];
	ssize_t            n = recv(s->notify, text, sizeof(text) - 1, 0);

	(void)loop;
	(void)events;
	if (n <= 0)
		return;
	text[n] = '\0';
	if (strstr(text, "READY=1") != NULL && s->step == 1)
		next_step(s);
}

static void on_limit(struct ev_loop *loop, struct ev_timer *watcher, int events)
{
	static const char *const waits_for[] = { "", "PostgreSQL", "the database", "",
		                                 "the gateway's /health/ready" };
	struct supervisor       *s = watcher->data;

	(void)loop;
	(void)events;
	complain("not ready after %.0f s: waited for %s", START_LIMIT, waits_for[s->step]);
	stop(s, CLI_FAILED);
}

/* ---- the children ---- */

static void on_child_start(struct child *child)
{
	write_status(child->owner);
}

static void on_child_end(struct child *child, int status)
{
	struct supervisor *s = child->owner;

	(void)status;
	write_status(s);
	if (s->mode == SUPERVISOR_STOPPING)
		next_stage(s);
	else if (s->mode == SUPERVISOR_STARTING && child->failures >= START_FAILURES) {
		complain("%s does not start", child->program.name);
		stop(s, CLI_FAILED);
	}
}

static const struct child_ops child_ops = { on_child_start, on_child_end };

/* ---- the stop ---- */

static const unsigned stage_of[N_CHILDREN] = {
	[CHILD_GATEWAY] = 0,
	[CHILD_AUTH] = 1,
	[CHILD_REPO] = 1,
	[CHILD_POSTGRES] = 2,
};

/* Each stage is asked to end, and the next one when nothing of it runs any more. */
static void next_stage(struct supervisor *s)
{
	if (s->job != 0)
		return; /* it was killed; its end leads here again */
	for (; s->stage <= stage_of[CHILD_POSTGRES]; s->stage++) {
		bool busy = false;

		for (unsigned i = 0; i < N_CHILDREN; i++)
			if (stage_of[i] == s->stage) {
				child_stop(&s->children[i], PATIENCE);
				busy = busy || s->children[i].pid > 0;
			}
		if (busy)
			return;
	}
	ev_break(s->loop, EVBREAK_ALL);
}

static void on_signal(struct ev_loop *loop, struct ev_signal *watcher, int events)
{
	struct supervisor *s = watcher->data;

	(void)loop;
	(void)events;
	if (s->mode != SUPERVISOR_STOPPING) {
		log_info(0, "stopping");
		stop(s, CLI_OK);
		return;
	}
	for (unsigned i = 0; i < N_CHILDREN; i++) {
		child_stop(&s->children[i], PATIENCE);
		child_kill(&s->children[i]);
	}
}

/* ---- before the loop ---- */

static bool open_notify(struct supervisor *s)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	uid_t              uid;
	gid_t              gid;

	s->notify_path = xasprintf("%s/pg/notify", s->instance.run);
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s", s->notify_path) >=
	    sizeof(address.sun_path))
		return complain("%s: too long for a socket", s->notify_path);
	unlink(s->notify_path);
	s->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->notify < 0 || bind(s->notify, (struct sockaddr *)&address, sizeof(address)) != 0)
		return complain_errno("%s", s->notify_path);
	if (!instance_user(&s->instance, s->cli->settings.user, &uid, &gid))
		return false;
	if (lchown(s->notify_path, uid, gid) != 0 || chmod(s->notify_path, 0600) != 0)
		return complain_errno("%s", s->notify_path);
	return true;
}

static bool prepare_cluster(struct supervisor *s)
{
	char *server;

	if (!s->instance.private_cluster)
		return true;
	if (!open_notify(s) || !cluster_prepare(&s->instance, &server))
		return false;
	program_make_cluster(&s->programs[CHILD_POSTGRES], &s->instance, server, s->notify_path);
	free(server);
	return true;
}

/* A password for admin, should the account have none yet; job_database decides. */
static bool prepare_password(struct supervisor *s)
{
	char *file = xasprintf("%s/admin-password", s->instance.data);

	s->password = password_random();
	s->password_file = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->password_file < 0)
		complain_errno("%s", file);
	free(file);
	return s->password_file >= 0;
}

/* A file without a password in it is of no use: admin had one already. */
static void forget_password(struct supervisor *s)
{
	struct stat st;

	if (s->password != NULL)
		sodium_memzero(s->password, strlen(s->password));
	free(s->password);
	s->password = NULL;
	if (s->password_file < 0)
		return;
	if (fstat(s->password_file, &st) == 0 && st.st_size == 0) {
		char *file = xasprintf("%s/admin-password", s->instance.data);

		unlink(file);
		free(file);
	}
	close(s->password_file);
	s->password_file = -1;
}

/* What the gateway starts with is what the store says. */
static bool prepare_bundles(const struct supervisor *s)
{
	const char *folder = s->cli->settings.bundles;

	return change_tidy(&s->instance) && (*folder == '\0' || change_seed(&s->instance, folder));
}

static bool prepare(struct supervisor *s)
{
	if (!instance_make(&s->instance, &s->cli->settings))
		return false;
	if (!s->instance.separated)
		log_warning(0, "all processes run as one user: the promise that a gateway under an "
		               "attacker's "
		               "control reaches neither key nor database does not hold");
	return key_make(&s->instance) && prepare_bundles(s) && prepare_password(s) &&
	       prepare_cluster(s) &&
	       program_make(&s->programs[CHILD_AUTH], s->cli, &s->instance, "auth") &&
	       program_make(&s->programs[CHILD_REPO], s->cli, &s->instance, "repo") &&
	       program_make(&s->programs[CHILD_GATEWAY], s->cli, &s->instance, "gateway");
}

static void init_children(struct supervisor *s)
{
	for (unsigned i = 0; i < N_CHILDREN; i++) {
		bool                 cluster = i == CHILD_POSTGRES;
		struct child_program program = {
			.name = names[i],
			.arguments = s->programs[i].arguments,
			.environment = s->programs[i].environment,
			.user = cluster ? s->cli->settings.user : NULL,
			/* PostgreSQL: fast shutdown, and shutdown without a checkpoint. */
			.stop_signal = cluster ? SIGINT : SIGTERM,
			.kill_signal = cluster ? SIGQUIT : SIGKILL,
			.parent_died = cluster ? SIGQUIT : SIGKILL,
		};

		child_init(&s->children[i], s->loop, &program, &child_ops, s);
	}
}

static void init_watchers(struct supervisor *s)
{
	static const int stop_signals[SUPERVISOR_SIGNALS] = { SIGTERM, SIGINT, SIGHUP };

	ev_timer_init(&s->limit, on_limit, START_LIMIT, 0);
	s->limit.data = s;
	ev_timer_start(s->loop, &s->limit);
	for (unsigned i = 0; i < sizeof(stop_signals) / sizeof(*stop_signals); i++) {
		ev_signal_init(&s->signals[i], on_signal, stop_signals[i]);
		s->signals[i].data = s;
		ev_signal_start(s->loop, &s->signals[i]);
	}
	if (s->notify >= 0) {
		ev_io_init(&s->notified, on_notified, s->notify, EV_READ);
		s->notified.data = s;
		ev_io_start(s->loop, &s->notified);
	}
}

static void supervisor_done(struct supervisor *s)
{
	char *status = s->instance.run != NULL ? xasprintf("%s/status", s->instance.run) : NULL;

	if (s->loop != NULL)
		for (unsigned i = 0; i < N_CHILDREN; i++)
			child_done(&s->children[i]);
	if (status != NULL)
		unlink(status);
	free(status);
	if (s->notify >= 0) {
		close(s->notify);
		unlink(s->notify_path);
	}
	free(s->notify_path);
	if (s->instance.run != NULL)
		instance_clear_run(&s->instance);
	forget_password(s);
	for (unsigned i = 0; i < N_CHILDREN; i++)
		program_done(&s->programs[i]);
	instance_done(&s->instance);
	if (s->loop != NULL)
		ev_loop_destroy(s->loop);
}

int supervisor_run(struct cli *cli, const struct supervisor_hooks *hooks)
{
	struct supervisor s = {
		.cli = cli,
		.hooks = hooks,
		.notify = -1,
		.password_file = -1,
		.code = CLI_FAILED,
	};

	signal(SIGPIPE, SIG_IGN);
	umask(0022);
	if (prepare(&s)) {
		if (hooks->on_prepared != NULL)
			hooks->on_prepared(&s);
		s.loop = ev_default_loop(EVFLAG_AUTO);
		if (s.loop == NULL)
			fatalx("libev does not start");
		init_children(&s);
		init_watchers(&s);
		next_step(&s);
		ev_run(s.loop, 0);
	}
	supervisor_done(&s);
	return s.code;
}
