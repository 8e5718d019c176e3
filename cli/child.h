/* child.h - one process that the supervisor keeps running.
 *
 *   IDLE -> RUNNING --(it ends)--> WAITING (back-off) -> RUNNING ...
 *              |                      |
 *              +--(child_stop)--> STOPPING -> IDLE
 */
#pragma once
#include <ev.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum child_state {
	CHILD_IDLE,     /* not started, or ended after child_stop */
	CHILD_RUNNING,  /* has a pid */
	CHILD_WAITING,  /* ended by itself; the back-off timer starts it anew */
	CHILD_STOPPING, /* has a pid and was asked to end; after a while it is killed */
};

struct child;

struct child_ops {
	void (*on_start)(struct child *child);           /* again at each restart */
	void (*on_end)(struct child *child, int status); /* before a restart is planned */
};

/* The pointers are borrowed until child_done. */
struct child_program {
	const char  *name;
	char *const *arguments;   /* NULL-terminated; the first one is run */
	char *const *environment; /* NULL-terminated */
	const char  *user;        /* becomes it before it starts; NULL: it does so itself */
	int          stop_signal, kill_signal; /* the polite one and the other */
	int          parent_died;              /* what it gets when the supervisor is gone */
};

struct child {
	struct child_program    program;
	const struct child_ops *ops;
	void                   *owner;
	struct ev_loop         *loop;
	enum child_state        state;
	pid_t                   pid;      /* 0: none */
	unsigned                failures; /* ends in a row without a good run between them */
	ev_tstamp               started;
	struct ev_child         ended;
	struct ev_timer         timer; /* back-off in WAITING, patience in STOPPING */
};

void child_init(struct child *child, struct ev_loop *loop, const struct child_program *program,
                const struct child_ops *ops, void *owner);
void child_start(struct child *child);
/* Asks it to end; after patience seconds it is killed. on_end follows, unless it is IDLE already. */
void child_stop(struct child *child, double patience);
void child_kill(struct child *child); /* at once */
/* Of a process that does not run (IDLE or WAITING). */
void child_done(struct child *child);
