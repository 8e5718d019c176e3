/* offload.h - blocking work of servlets on a small bounded pool of threads. */
#pragma once

struct bw_req;

void offload_init(unsigned threads, unsigned queue);
void offload_done(void);
/* Parks the request's fiber until job(arg) has run on a thread; BW_EBUSY: queue full. */
int offload_run(struct bw_req *req, void (*job)(void *arg), void *arg);
int offload_sleep_ms(struct bw_req *req, unsigned ms);
