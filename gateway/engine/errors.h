/* errors.h - what the engine answers when a servlet failed, said so, or was not there. */
#pragma once
#include <boardwalk/types.h>

struct bw_req;
struct record;

/* Ends a request for which nobody is registered: 404, 405 with Allow, or the answer to OPTIONS.
 * record, types: the resource as for select_query. BW_OK. */
int errors_no_servlet(struct bw_req *req, const struct record *record, uint64_t types);
/* 405 with Allow: nobody is asked. */
int errors_refuse_method(struct bw_req *req, const char *allow);
/* The end of every request of the engine: hands a failure (rc, or what was given to send_error) to the
 * error handler that is mounted for it. Returns what is left to the whiteboard to answer: rc, or
 * BW_OK. record: NULL if there is no resource; types: as above. */
int errors_finish(struct bw_req *req, int rc, const struct record *record, uint64_t types);
