/* figures.h - what repo counts, for /metrics. */
#pragma once

struct buf;
struct bw_req;

/* A management_metrics (management.h). */
void figures_put(struct bw_req *req, struct buf *out);
