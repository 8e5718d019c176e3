/* management.h - what the management listener answers: is it alive, is it ready, how much. */
#pragma once
#include <boardwalk/types.h>

struct buf;
struct shared;

/* Asks auth, repo and the database, on the fiber of req. NULL: all there; else which is away, static
 * text. When the request itself is over (request_check) its answer is not used. */
typedef const char *(*management_probe)(struct bw_req *req);

/* Answers GET and HEAD of one path, on the fiber of req. */
typedef void (*management_page)(struct bw_req *req);

/* Appends metrics, in the text format; may wait. */
typedef void (*management_metrics)(struct bw_req *req, struct buf *out);

void management_init(const struct shared *shared, management_probe probe);
/* path: exact; borrowed for good. */
void management_add(struct bw_str path, management_page serve);
/* put: called behind the workers' own metrics; one caller. */
void management_on_metrics(management_metrics put);
/* Serves one request of the management listener, on its fiber. */
void management_serve(struct bw_req *req);
