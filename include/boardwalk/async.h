/* async.h - answering a request after its servlet has returned (Jakarta Servlet 2.3.3.3, 9.7).
 *
 * A servlet calls bw_req_start_async and returns; its filters unwind, and the response stays open until
 * somebody completes it, has it dispatched, or the time-out passes. finish_security, the error page and
 * what follows wait for that. Who starts it needs servlet.asyncSupported, and so do all servlets and
 * filters the request has come through (filter.asyncSupported); for a servlet of the engine, too, it is
 * that property.
 *
 * Most servlets need none of this: bw_offload and everything else marked (waits) hold up nobody. It is
 * for answers that come from a thread of the bundle's own, or that have to wait for another request.
 *
 *    servlet: start, hand the bw_async to a thread, return
 *    thread:  bw_async_run(a, write_answer, data); bw_async_complete(a); bw_async_release(a);
 *
 * Only bw_async_run, _complete, _dispatch and _release may be called in another thread than the
 * worker's. The request may be over by then; they say so with BW_ESTATE. */
#pragma once
#include <boardwalk/bundle.h>

/* Told on the request's coroutine, where bw_req and the whole API may be used. size =
 * sizeof(struct bw_async_listener); a callback may be NULL. */
struct bw_async_listener {
	size_t size;
	/* The last call, whatever happened; exactly once for each bw_async_listen. */
	void (*on_complete)(void *self, struct bw_req *req);
	/* Complete or dispatch it here, or the answer is 500. */
	void (*on_timeout)(void *self, struct bw_req *req, struct bw_async *a);
	/* A servlet has failed with err: complete or dispatch it here, or it is answered as any error.
	 * BW_EGONE, BW_ETIME: nobody listens any more, there is nothing to be decided. */
	void (*on_error)(void *self, struct bw_req *req, struct bw_async *a, int err);
};

/* The response stays open after the servlet has returned. BW_ESTATE: the servlet, or a servlet or filter
 * around it, does not support it; it is started already; the response is finished. *ret_async is yours:
 * bw_async_release. */
static inline int bw_req_start_async(struct bw_req *req, struct bw_async **ret_async)
{
	return bw_host->req_start_async(req, ret_async);
}

/* Milliseconds from the servlet's return; 0: for ever. 30,000 until set. BW_ESTATE: not open. */
static inline int bw_async_set_timeout(struct bw_async *a, uint32_t ms)
{
	return bw_host->async_set_timeout(a, ms);
}

/* listener: static. Told until the request ends, in the order of these calls. */
static inline int bw_async_listen(struct bw_async *a, const struct bw_async_listener *listener,
                                  void *self)
{
	return bw_host->async_listen(a, listener, self);
}

/* Has fn(req, arg) run on the request's coroutine, after those asked for before: there it may write and
 * use the whole API. Any thread. Once this has returned BW_OK, fn is called, also when the request is
 * over: its calls tell it so. BW_ESTATE: completed. BW_EBUSY: 1,024 wait to be run. */
static inline int bw_async_run(struct bw_async *a, void (*fn)(struct bw_req *req, void *arg),
                               void            *arg)
{
	return bw_host->async_run(a, fn, arg);
}

/* Ends the request, after what is still to be run. Any thread. BW_ESTATE: it is over, or something else
 * was decided before. */
static inline int bw_async_complete(struct bw_async *a)
{
	return bw_host->async_complete(a);
}

/* Has the request served once more, with the type BW_ASYNC: by the servlet that takes path inside the
 * context (404 if none does), or where the request went before (absent). It is completed when that
 * servlet returns without having started anew. Any thread. BW_EINVAL: not a path. BW_ESTATE as above. */
static inline int bw_async_dispatch(struct bw_async *a, struct bw_str path)
{
	return bw_host->async_dispatch(a, path);
}

/* Gives back what bw_req_start_async gave. Any thread. */
static inline void bw_async_release(struct bw_async *a)
{
	bw_host->async_release(a);
}
