/* http.h - everything of libh2o, seen from the rest of the gateway.
 *
 * http turns bytes into a struct bw_req with a canonical path (or answers 400, 413, 431 itself),
 * runs serve on a fiber, and sends what the fiber left in the response. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct bw_req;
struct gateway_settings;
struct shared_worker;

struct http_config {
	const struct gateway_settings *settings;
	struct shared_worker          *shared; /* this worker's counters and heartbeat */
	int                            public_fd, management_fd; /* listening; -1: none */
	void (*serve)(struct bw_req *req);                       /* on the request's fiber */
};

/* Prepares the loop, so that loop.h works. Fatal if the guard is not in force. */
void http_init(const struct http_config *config);
/* Starts accepting and runs until http_stop. False: requests are still running (in a thread of
 * offload, say); nothing they can reach may be freed. */
bool http_run(void);
/* Accepts from one more public socket, or no more from it; before or while http_run runs. What waits
 * in its queue stays there for whoever else accepts from it. */
void http_listen(int fd);
void http_unlisten(int fd);
/* Shutdown mode 1: no new connections, requests end, then http_run returns; called again: at
 * once. */
void http_stop(void);
/* The same for a worker whose successor accepts from the same sockets already: a connection that is
 * idle is told with its next response, and closed only if none comes within five seconds, so that
 * no client that is about to ask loses its question. */
void http_leave(void);
/* After http_run returned true: frees everything; loop.h does not work any more. */
void http_done(void);
