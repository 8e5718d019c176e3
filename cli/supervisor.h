/* supervisor.h - what `up` keeps in its loop. The start-up recipe and the stop are in supervisor.c,
 * the work that is done in short-lived processes of its own in job.c. */
#pragma once
#include <ev.h>

#include "child.h"
#include "program.h"

enum { CHILD_POSTGRES, CHILD_AUTH, CHILD_REPO, CHILD_GATEWAY, N_CHILDREN };

#define SUPERVISOR_SIGNALS 3

enum supervisor_mode {
	SUPERVISOR_STARTING, /* walks through its steps; the first failure ends it */
	SUPERVISOR_RUNNING,  /* restarts what ends */
	SUPERVISOR_STOPPING, /* walks through the stages of its stop */
};

struct supervisor;
typedef int (*job_cb)(struct supervisor *s); /* in its own process; returns the exit code */

struct supervisor {
	struct cli          *cli;
	struct instance      instance;
	struct ev_loop      *loop;
	enum supervisor_mode mode;
	unsigned             step, stage; /* of the start and of the stop */
	struct program       programs[N_CHILDREN];
	struct child         children[N_CHILDREN];
	char                *notify_path; /* where PostgreSQL says that it is ready */
	int                  notify;
	struct ev_io         notified;
	pid_t                job; /* 0: none runs */
	struct ev_child      job_ended;
	void (*job_done)(struct supervisor *s, int status);
	struct ev_timer  limit;                       /* of the start */
	struct ev_signal signals[SUPERVISOR_SIGNALS]; /* that ask it to stop */
	char            *password; /* of admin, for the first start; wiped afterwards */
	int              password_file;
	bool             first_start; /* admin got that password just now */
	const struct supervisor_hooks *hooks;
	int                            code; /* to exit with */
};

/* Runs fn in a process of its own; done(s, wait status) follows in the loop. */
void job_start(struct supervisor *s, job_cb fn, void (*done)(struct supervisor *s, int status));
#define JOB_MADE_PASSWORD 3 /* exit code of job_database, when it was the first start */
/* Migrations, repoinit scripts, the first account. Becomes the owner, opens the one connection. */
int job_database(struct supervisor *s);
/* Returns when the gateway says that it is ready, and what its bundles register is known. */
int job_probe(struct supervisor *s);

/* Both run once and may be NULL. */
struct supervisor_hooks {
	void (*on_prepared)(const struct supervisor *s); /* before the first process starts */
	void (*on_ready)(const struct supervisor *s);    /* after "ready" was printed */
};

/* Everything from the lock to the loop; returns the exit code when all is over. */
int supervisor_run(struct cli *cli, const struct supervisor_hooks *hooks);
