/* job.c - the supervisor's short-lived processes: whatever would block its loop, or needs the
 * database, is done here, so that the supervisor itself holds no connection and parses no answer.
 *
 * Owns: nothing. Runs in: a process forked from the supervisor, which ends with it.
 * Fails with: exit code 1 after a line on stderr. Tests: tests/system/setup_test.c. */
#include <base/fatal.h>
#include <base/log.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "change.h"
#include "database.h"
#include "prepare.h"
#include "probe.h"
#include "supervisor.h"

static void on_job_ended(struct ev_loop *loop, struct ev_child *watcher, int events)
{
	struct supervisor *s = watcher->data;

	(void)events;
	ev_child_stop(loop, watcher);
	s->job = 0;
	s->job_done(s, watcher->rstatus);
}

void job_start(struct supervisor *s, job_cb fn, void (*done)(struct supervisor *s, int status))
{
	pid_t parent = getpid();

	fflush(NULL);
	s->job_done = done;
	s->job = fork();
	if (s->job < 0)
		fatal("fork");
	if (s->job == 0) {
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
			_exit(1);
		int code = fn(s);
		fflush(NULL);
		_exit(code);
	}
	ev_child_init(&s->job_ended, on_job_ended, s->job, 0);
	s->job_ended.data = s;
	ev_child_start(s->loop, &s->job_ended);
}

/* The file was opened before the rights were given up. It is written first: a password in the
 * database that nobody knows would be worse than one in the file that does not work yet. */
static bool keep_password(const struct supervisor *s)
{
	size_t n = strlen(s->password);

	return (ftruncate(s->password_file, 0) == 0 &&
	        write(s->password_file, s->password, n) == (ssize_t)n &&
	        write(s->password_file, "\n", 1) == 1 && fsync(s->password_file) == 0) ||
	       complain_errno("admin-password");
}

int job_database(struct supervisor *s)
{
	struct prepare  prepare;
	struct database db = { 0 };
	bool            has_password = false, done;

	done = prepare_read(&prepare, &s->cli->settings) && instance_become_owner(&s->instance) &&
	       database_open(&db, s->instance.owner_conninfo, true) &&
	       prepare_run(&prepare, &db, &has_password) &&
	       (has_password ||
	        (keep_password(s) && prepare_set_password(&prepare, &db, s->password)));
	database_close(&db);
	prepare_done(&prepare);
	return !done ? CLI_FAILED : has_password ? CLI_OK : JOB_MADE_PASSWORD;
}

/* Nothing tells when another process begins to listen, so this asks again and again; the limit of
 * the start ends it. */
int job_probe(struct supervisor *s)
{
	const struct timespec pause = { .tv_nsec = 25 * 1000000 };

	while (!probe_ready(s->cli->settings.management))
		nanosleep(&pause, NULL);
	return change_keep_footprints(&s->instance) ? CLI_OK : CLI_FAILED;
}
