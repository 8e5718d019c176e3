/* management.h - what the management listener answers: is it alive, is it ready, how much. */
#pragma once
#include <stdint.h>

struct bw_req;
struct shared;

/* Asks auth, repo and the database, on the fiber of req. NULL: all there; else which is away, static
 * text. When the request itself is over (request_check) its answer is not used. */
typedef const char *(*management_probe)(struct bw_req *req);

void management_init(const struct shared *shared, management_probe probe);
/* Serves one request of the management listener, on its fiber. */
void management_serve(struct bw_req *req);
