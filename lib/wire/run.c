/* run.c - runs the loop of an answering process until it is told to end.
 *
 * Owns: the watchers of two signals, while it runs. Runs in: the main thread. Fails with: nothing.
 * Tests: tests/unit/auth/auth_test.c, tests/unit/repo/repo_test.c. */
#include "run.h"
#include <signal.h>

struct run {
	const struct wire_run_ops *ops;
	void                      *arg;
	bool                       stopping;
	ev_signal                  terminate, interrupt;
	ev_prepare                 look; /* while stopping: has the last one ended? */
};

static void on_look(struct ev_loop *loop, ev_prepare *w, int revents)
{
	struct run *r = w->data;

	(void)revents;
	if (r->ops->under_way(r->arg) == 0)
		ev_break(loop, EVBREAK_ALL);
}

static void on_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct run *r = w->data;

	(void)revents;
	if (r->stopping || !r->ops->drain(r->arg)) {
		ev_break(loop, EVBREAK_ALL);
		return;
	}
	r->stopping = true;
	ev_prepare_start(loop, &r->look);
}

void wire_run(struct ev_loop *loop, const struct wire_run_ops *ops, void *arg)
{
	struct run r = { .ops = ops, .arg = arg };

	ev_signal_init(&r.terminate, on_signal, SIGTERM);
	ev_signal_init(&r.interrupt, on_signal, SIGINT);
	ev_prepare_init(&r.look, on_look);
	r.terminate.data = r.interrupt.data = r.look.data = &r;
	ev_signal_start(loop, &r.terminate);
	ev_signal_start(loop, &r.interrupt);
	ev_run(loop, 0);
	ev_prepare_stop(loop, &r.look);
	ev_signal_stop(loop, &r.terminate);
	ev_signal_stop(loop, &r.interrupt);
}
