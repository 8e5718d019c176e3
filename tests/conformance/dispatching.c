/* What a thing can do with dispatchers and asynchronously: words of do=.
 *
 *   forward(/t)  include(/t)        by a path of the context; no dispatcher: "null", nothing is done
 *   forwardTo(x) includeOf(x)       by a path relative to the request's
 *   forwardName(N) includeName(N)   by a servlet's name
 *   tried(/t)                       includes, takes note of what came back, and goes on
 *   see              what is seen now counts, not what the last servlet saw
 *   attr(N)          writes an attribute, - if it is absent
 *   async            starts: what follows acts on it; refused: the script ends with that
 *   complete         at once              threadComplete    from a thread of its own
 *   dispatch(/t)     from a thread        run(t)            a thread has t written
 *   expire(ms)       sets the time-out    mend(t)           time-out and errors: writes t, completes
 *
 * Tests: F.rows, G.rows, H.rows, K.rows, N.rows. */
#include "dispatching.h"

#include <pthread.h>
#include <stdlib.h>

/* ---- dispatchers ---- */

typedef struct bw_request_dispatcher *(*get_cb)(struct bw_req *req, struct bw_str text);
typedef int (*use_cb)(struct bw_req *req, struct bw_request_dispatcher *d);

static int dispatch(struct action *x, get_cb get, use_cb use)
{
	struct bw_request_dispatcher *d = get(x->req, bw_str(x->a));

	if (!d) {
		things_log(&things.calls, "null");
		return BW_OK;
	}
	return use(x->req, d);
}

static int do_forward(struct action *x)
{
	return dispatch(x, bw_context_dispatcher, bw_forward);
}

static int do_include(struct action *x)
{
	return dispatch(x, bw_context_dispatcher, bw_include);
}

static int do_forward_to(struct action *x)
{
	return dispatch(x, bw_req_get_dispatcher, bw_forward);
}

static int do_include_of(struct action *x)
{
	return dispatch(x, bw_req_get_dispatcher, bw_include);
}

/* Without an argument: its own name, which is made if it was given none. */
static int do_forward_name(struct action *x)
{
	if (!x->a)
		x->a = bw_req_get(x->req, BW_REQ_SERVLET_NAME).p;
	return dispatch(x, bw_context_named_dispatcher, bw_forward);
}

static int do_include_name(struct action *x)
{
	return dispatch(x, bw_context_named_dispatcher, bw_include);
}

static int do_tried(struct action *x)
{
	things_log(&things.calls, "got %d", do_include(x));
	return BW_OK;
}

/* The state error of a forward that comes too late does not travel here: the row sees it. */
static int do_again(struct action *x)
{
	int err = do_forward(x);

	things_log(&things.calls, err == BW_ESTATE ? "state" : "got %d", err);
	return BW_OK;
}

static int do_see(struct action *x)
{
	see(x->req);
	return BW_OK;
}

static int do_attr(struct action *x)
{
	struct bw_str value = bw_req_attr(x->req, x->a);

	return bw_res_puts(x->req, value.p ? value.p : "-");
}

/* ---- asynchronously ---- */

/* Of one request: lives until its threads are through and it has been completed. */
struct work {
	struct work     *next;
	struct bw_req   *req;
	struct bw_async *async;
	pthread_t        thread;
	bool             has_thread;
	const char      *text, *mended; /* NULL: not to be mended */
	bool             complete, dispatch;
};

static struct work *works; /* of requests under way; the worker's thread only */

static struct work *work_of(const struct bw_req *req)
{
	struct work *w = works;

	while (w && w->req != req)
		w = w->next;
	if (!w)
		stage_fail("not asynchronous");
	return w;
}

static void write_text(struct bw_req *req, void *text)
{
	bw_res_puts(req, text);
}

static void *work(void *arg)
{
	struct work *w = arg;

	if (w->dispatch)
		bw_async_dispatch(w->async, bw_str(w->text));
	else if (w->text)
		bw_async_run(w->async, write_text, (void *)w->text);
	if (w->complete)
		bw_async_complete(w->async);
	return NULL;
}

static void on_complete(void *self, struct bw_req *req)
{
	struct work *w = self, **at = &works;

	(void)req;
	things_log(&things.calls, "complete");
	if (w->has_thread)
		pthread_join(w->thread, NULL);
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	bw_async_release(w->async);
	free(w);
}

static void mend(const struct work *w)
{
	if (!w->mended)
		return;
	bw_res_puts(w->req, w->mended);
	bw_async_complete(w->async);
}

static void on_timeout(void *self, struct bw_req *req, struct bw_async *a)
{
	(void)req;
	(void)a;
	things_log(&things.calls, "timeout");
	mend(self);
}

static void on_error(void *self, struct bw_req *req, struct bw_async *a, int err)
{
	(void)req;
	(void)a;
	things_log(&things.calls, "error %d", err);
	mend(self);
}

static const struct bw_async_listener listener = { .size = sizeof(listener),
	                                           .on_complete = on_complete,
	                                           .on_timeout = on_timeout,
	                                           .on_error = on_error };

static int do_async(struct action *x)
{
	struct bw_async *a;
	struct work     *w;
	int              err = bw_req_start_async(x->req, &a);

	if (err != BW_OK)
		return err;
	w = calloc(1, sizeof(*w));
	if (!w)
		abort();
	w->req = x->req;
	w->async = a;
	w->next = works;
	works = w;
	return bw_async_listen(a, &listener, w);
}

static int in_thread(struct work *w)
{
	w->has_thread = pthread_create(&w->thread, NULL, work, w) == 0;
	return w->has_thread ? BW_OK : BW_EBUSY;
}

static int do_complete(struct action *x)
{
	return bw_async_complete(work_of(x->req)->async);
}

static int do_thread_complete(struct action *x)
{
	struct work *w = work_of(x->req);

	w->complete = true;
	return in_thread(w);
}

static int do_run(struct action *x)
{
	struct work *w = work_of(x->req);

	w->text = x->a;
	w->complete = true;
	return in_thread(w);
}

static int do_dispatch(struct action *x)
{
	struct work *w = work_of(x->req);

	w->text = x->a;
	w->dispatch = true;
	return in_thread(w);
}

static int do_expire(struct action *x)
{
	return bw_async_set_timeout(work_of(x->req)->async, (uint32_t)atoi(x->a));
}

static int do_mend(struct action *x)
{
	work_of(x->req)->mended = x->a;
	return BW_OK;
}

const struct word dispatching_words[] = {
	{ "forward", do_forward },
	{ "include", do_include },
	{ "forwardTo", do_forward_to },
	{ "includeOf", do_include_of },
	{ "forwardName", do_forward_name },
	{ "includeName", do_include_name },
	{ "forwardAgain", do_again },
	{ "tried", do_tried },
	{ "see", do_see },
	{ "attr", do_attr },
	{ "async", do_async },
	{ "complete", do_complete },
	{ "threadComplete", do_thread_complete },
	{ "run", do_run },
	{ "dispatch", do_dispatch },
	{ "expire", do_expire },
	{ "mend", do_mend },
	{ NULL, NULL },
};
