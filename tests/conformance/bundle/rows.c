/* rows.c - the things of row files inside a real gateway: a bundle that registers what it is told to.
 *
 * At its start it takes the steps in the file that BOARDWALK_ROWS_STEPS names, a line each; the line
 * "mark" starts the logs anew. While it runs, its own context takes orders, POST with the argument as
 * body; a step that cannot be read ends the worker with a line in the log:
 *
 *   /rows-control/step      one step of a row                    200
 *   /rows-control/mark      the logs start anew                  200
 *   /rows-control/end       unregisters everything               200
 *   /rows-control/forget    a fresh state                        200; 409: that many are still alive
 *   /rows-control/ask       a question of things_answer          200; 204: absent; 404: no such one
 *   /rows-control/blocked   returns when so many requests block  200; 504: they do not
 *   /rows-control/resume    the oldest blocked one goes on       200; 409: there is none
 *   /rows-control/told      returns when that watcher was told   200; 504: it is not
 *   /rows-control/worker    which worker this is                 200
 *
 * A request that blocks waits in bw_offload for a semaphore, so its coroutine is parked as by any slow
 * work, and the worker serves others.
 *
 * Owns: the things, the queue of blocked requests. Runs in: a worker's thread; the waits in threads of
 * its pool. Tests: tests/conformance/run_gateway is its other half. */
#include "names.h"

#include <conformance/things.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define CONTROL_PATH "/rows-control"
#define MAX_ORDER    8192
#define PATIENCE_S   5

/* ---- blocking ---- */

struct blocked { /* on the coroutine's stack */
	struct blocked *next;
	sem_t           go;
	unsigned        ms; /* 0: until it is told to */
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t  changed;
	unsigned        n; /* blocked now */
	struct blocked *oldest;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void wait_for_go(void *arg)
{
	struct blocked *b = arg;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += b->ms / 1000;
	until.tv_nsec += b->ms % 1000 * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	while ((b->ms ? sem_timedwait(&b->go, &until) : sem_wait(&b->go)) != 0 && errno == EINTR)
		;
}

static void enqueue(struct blocked *b)
{
	struct blocked **at = &queue.oldest;

	pthread_mutex_lock(&queue.lock);
	while (*at)
		at = &(*at)->next;
	*at = b;
	queue.n++;
	pthread_cond_broadcast(&queue.changed);
	pthread_mutex_unlock(&queue.lock);
}

static struct blocked *dequeue(void)
{
	struct blocked *b;

	pthread_mutex_lock(&queue.lock);
	b = queue.oldest;
	if (b) {
		queue.oldest = b->next;
		queue.n--;
	}
	pthread_mutex_unlock(&queue.lock);
	return b;
}

/* One whose time was up stands there still. */
static void leave(struct blocked *b)
{
	struct blocked **at = &queue.oldest;

	pthread_mutex_lock(&queue.lock);
	while (*at && *at != b)
		at = &(*at)->next;
	if (*at) {
		*at = b->next;
		queue.n--;
	}
	pthread_mutex_unlock(&queue.lock);
}

int stage_block(struct bw_req *req, unsigned ms)
{
	struct blocked b = { .ms = ms };
	int            err;

	sem_init(&b.go, 0, 0);
	enqueue(&b);
	err = bw_offload(req, wait_for_go, &b);
	leave(&b);
	sem_destroy(&b.go);
	return err;
}

struct count {
	unsigned wanted;
	bool     reached;
};

static void wait_for_count(void *arg)
{
	struct count   *c = arg;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&queue.lock);
	while (queue.n < c->wanted &&
	       pthread_cond_timedwait(&queue.changed, &queue.lock, &until) == 0)
		;
	c->reached = queue.n >= c->wanted;
	pthread_mutex_unlock(&queue.lock);
}

/* ---- what the things need ---- */

struct bw_bundle *stage_bundle(const char *name)
{
	struct bw_bundle *b = names_get(name);

	if (!b)
		stage_fail("no test bundle is called %s", name);
	return b;
}

bool stage_is_own(const struct bw_req *req)
{
	struct bw_str path = bw_req_get(req, BW_REQ_PATH);

	return path.p && text_begins(path.p, CONTROL_PATH "/");
}

void stage_fail(const char *format, ...)
{
	char    text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "rows: %s\n", text);
	abort();
}

/* ---- orders ---- */

static char
	process_name[16]; /* "gateway/2"; asked for at the start, as the call is forbidden later */

static int order_step(struct bw_req *req, char *step)
{
	things_step(step);
	return bw_res_puts(req, "taken");
}

static int order_mark(struct bw_req *req, char *text)
{
	(void)text;
	things_mark();
	return bw_res_puts(req, "marked");
}

static int order_end(struct bw_req *req, char *text)
{
	(void)text;
	things_end(NULL);
	return bw_res_puts(req, "ended");
}

static int order_forget(struct bw_req *req, char *text)
{
	(void)text;
	if (things.alive > 0) {
		bw_res_status(req, 409);
		return bw_res_printf(req, "%u objects are still alive", things.alive);
	}
	things_forget();
	return bw_res_puts(req, "forgotten");
}

static int order_ask(struct bw_req *req, char *question)
{
	const char *answer = NULL;

	if (!things_answer(question, &answer))
		return bw_res_status(req, 404);
	return answer ? bw_res_puts(req, answer) : bw_res_status(req, 204);
}

static int order_blocked(struct bw_req *req, char *number)
{
	struct count c = { .wanted = (unsigned)atoi(number) };
	int          err = bw_offload(req, wait_for_count, &c);

	if (err != BW_OK)
		return err;
	bw_res_status(req, c.reached ? 200 : 504);
	return bw_res_puts(req, number);
}

static int order_resume(struct bw_req *req, char *text)
{
	struct blocked *b = dequeue();

	(void)text;
	if (!b)
		return bw_res_status(req, 409);
	sem_post(&b->go);
	return bw_res_puts(req, "resumed");
}

/* The worker's own thread tells the watchers, between requests. */
static int order_told(struct bw_req *req, char *label)
{
	int err = BW_OK;

	for (int i = 0; err == BW_OK && !things_is_told(label); i++) {
		if (i == PATIENCE_S * 100)
			return bw_res_status(req, 504);
		err = bw_sleep_ms(req, 10);
	}
	return err != BW_OK ? err : bw_res_puts(req, "told");
}

static int order_worker(struct bw_req *req, char *text)
{
	(void)text;
	return bw_res_puts(req, process_name);
}

static const struct {
	const char *name;
	int (*run)(struct bw_req *req, char *argument);
} orders[] = {
	{ "/step", order_step },     { "/mark", order_mark }, { "/end", order_end },
	{ "/forget", order_forget }, { "/ask", order_ask },   { "/blocked", order_blocked },
	{ "/resume", order_resume }, { "/told", order_told }, { "/worker", order_worker },
};

/* On the coroutine's stack: forget frees all text. */
static int on_order(void *self, struct bw_req *req)
{
	struct bw_str name = bw_req_get(req, BW_REQ_PATH_INFO);
	char         *argument = bw_req_alloc(req, MAX_ORDER);
	size_t        n = 0, got = 1;

	(void)self;
	while (got > 0 && n < MAX_ORDER - 1) {
		int err = bw_req_body_read(req, n, argument + n, MAX_ORDER - 1 - n, &got);

		if (err != BW_OK)
			return err;
		n += got;
	}
	argument[n] = '\0';
	bw_res_content_type(req, "text/plain;charset=utf-8");
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (name.p && strcmp(name.p, orders[i].name) == 0)
			return orders[i].run(req, argument);
	return bw_res_send_error(req, 404, NULL);
}

/* ---- the bundle ---- */

static const struct bw_context_helper context = { .size = sizeof(context) };
static const struct bw_servlet        control = { .size = sizeof(control), .service = on_order };

static void take_steps(const char *file)
{
	FILE  *in = fopen(file, "r");
	char  *line = NULL;
	size_t room = 0;

	if (!in)
		stage_fail("%s cannot be read", file);
	while (getline(&line, &room, in) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "mark") == 0)
			things_mark();
		else
			things_step(line);
	}
	free(line);
	fclose(in);
}

static int start(struct bw_bundle *self)
{
	const char *file = getenv("BOARDWALK_ROWS_STEPS");
	int         err;

	prctl(PR_GET_NAME, process_name);
	names_on_stop(things_end);
	names_put("test", self);
	things_mark();
	if (file)
		take_steps(file);
	err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, STAGE_CONTEXT),
	                          BW_P_STRING(BW_CONTEXT_PATH, CONTROL_PATH));
	if (err != BW_OK)
		return err;
	return bw_register_servlet(self, &control, NULL,
	                           BW_P_STRING(BW_CONTEXT_SELECT, STAGE_CONTEXT),
	                           BW_P_STRING(BW_SERVLET_PATTERN, "/*"));
}

static void stop(struct bw_bundle *self)
{
	(void)self;
	things_end(NULL);
	names_on_stop(NULL);
	names_put("test", NULL);
	if (things.alive == 0)
		things_forget();
}

BW_BUNDLE_EMBEDDED("test", "1.0.0", start, stop);
