/* behave.h - a serve function whose path says how it behaves, and what its clients do. */
#pragma once
#include "server.h"
#include "support/http.h"

#define BIG 20000000u /* what /big answers: more than the sockets of both sides take */

/* /facts: the request as lines. /sum: size and sum of the body. /big: BIG octets; /length: the same, told
 * before. /cut: fails after a flush. /late: flushes, then sleeps. /sleep?MS. /block: 0.7 s in a thread. /204, /304, /404: that
 * status. Any other: "hello". */
void behave(struct bw_req *req);

void say(struct http *h, const char *text);
/* GET / is answered as it should be. when: for the message. */
void expect_hello(struct http *h, const char *when);
/* True if the server closes within ms of silence, whatever it says before. */
bool closes(struct http *h, int ms);
/* Waits until the counter has that value, at most ms; returns what it has then. */
uint64_t wait_for(const _Atomic uint64_t *counter, uint64_t value, int ms);
/* Closes with a reset. */
void reset(struct http *h);
