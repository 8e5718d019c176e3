/* server.h - gateway/http in a process of its own, with a serve function of the test. */
#pragma once
#include "request.h"
#include "settings.h"
#include "shared.h"

#include <stdint.h>
#include <sys/types.h>

struct test_server {
	pid_t          pid;
	uint16_t       port;
	struct shared *shared; /* one worker's counters, seen by both */
};

/* The shipped defaults, no access log, spool in /tmp. To be changed before the start. */
struct gateway_settings test_server_settings(void);
/* Run in the server, before it serves and after it has; NULL: nothing to do. */
extern void (*test_server_begin)(struct shared_worker *me);
extern void (*test_server_end)(void);
/* Forks; the server listens when this returns. */
struct test_server test_server_start(const struct gateway_settings *s,
                                     void (*serve)(struct bw_req *));
/* SIGUSR1 has it leave, as a worker whose successor is there. SIGTERM, and again if it has not ended after patience_ms. Returns the exit status: 0 when all was
 * freed (leaks fail it under the sanitizer); -1: ended by a signal, or had to be told twice. */
int test_server_stop(struct test_server *t, unsigned patience_ms);
