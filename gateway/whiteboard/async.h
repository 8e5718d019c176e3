/* async.h - requests that go on after their servlet has returned: what stands behind
 * include/boardwalk/async.h. */
#pragma once
#include <boardwalk/async.h>

struct bw_req;

/* Once per worker, after the loop is there. */
void async_init(void);
void async_done(void);
/* The worker ends: what waits now, or later, has its time-out after ms at the latest. From the loop. */
void async_drain(uint32_t ms);

/* The servlet that the client's request was for has returned err (BW_OK or an error), having started
 * something asynchronous: waits for its end. What is to be answered, as a servlet would return it. */
int async_await(struct bw_req *req, int err);
/* Has been started, and has not ended. */
bool async_is_open(const struct bw_req *req);

/* Host table entries; include/boardwalk/boardwalk.h says what they promise. */
int  async_start(struct bw_req *req, struct bw_async **ret);
int  async_set_timeout(struct bw_async *a, uint32_t ms);
int  async_listen(struct bw_async *a, const struct bw_async_listener *listener, void *self);
int  async_complete(struct bw_async *a);
int  async_dispatch(struct bw_async *a, struct bw_str path);
int  async_run(struct bw_async *a, void (*fn)(struct bw_req *req, void *arg), void *arg);
void async_release(struct bw_async *a);
