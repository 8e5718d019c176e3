/* gateway/http/server.c, shared.c: a worker that makes room for its successor loses nobody: who has
 * a connection is answered once more and told to close it, and what the worker counts from then on
 * is not seen where its successor counts. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <base/clock.h>
#include <support/http.h>

#include "server.h"

static void hello(struct bw_req *req)
{
	response_write(req, "hello", 5);
}

/* The value of Connection in the answer; NULL: there was none. */
static const char *ask(struct http *h)
{
	static const char    request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct http_response r;
	const char          *value;

	http_send(h, request, strlen(request));
	http_read(h, false, &r);
	http_response_done(&r);
	if (r.status != 200)
		return NULL;
	value = http_field(&r, "Connection");
	return value ? value : "";
}

/* Milliseconds until the process has ended, and its wait status. */
static unsigned wait_for(pid_t pid, int *ret_status)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	uint64_t      began_us = clock_mono_us();

	cr_assert(eq(int, poll(&p, 1, 20000), 1), "it does not end");
	close(p.fd);
	waitpid(pid, ret_status, 0);
	return (unsigned)((clock_mono_us() - began_us) / 1000);
}

Test(leave, nobody_is_lost)
{
	struct gateway_settings settings = test_server_settings();
	struct test_server      t = test_server_start(&settings, hello);
	struct shared_worker   *s = &t.shared->worker[0];
	struct http             busy, idle;
	uint64_t                requests;
	unsigned                ms;
	int                     status;

	http_open(&busy, t.port);
	http_open(&idle, t.port);
	cr_assert_str_eq(ask(&busy), "keep-alive");
	cr_assert_str_eq(ask(&idle), "keep-alive");
	requests = atomic_load(&s->requests);
	cr_assert(eq(u64, requests, 2));
	kill(t.pid, SIGUSR1);
	while (!atomic_load(&s->left))
		usleep(1000);
	atomic_store(&s->connections_open, 0); /* as a successor's start does */
	cr_assert_str_eq(ask(&busy), "close", "it is answered, and told to go");
	cr_assert(eq(u64, atomic_load(&s->requests), requests), "its counters are its own now");
	ms = wait_for(t.pid, &status);
	cr_assert(eq(int, status, 0));
	cr_assert(ge(u32, ms, 3000), "who is idle had %u ms to ask", ms);
	cr_assert(eq(u64, atomic_load(&s->connections_open), 0));
	cr_assert(ask(&idle) == NULL);
	http_close(&busy);
	http_close(&idle);
}

Test(leave, a_stop_does_not_wait_for_who_is_idle)
{
	struct gateway_settings settings = test_server_settings();
	struct test_server      t = test_server_start(&settings, hello);
	struct http             idle;
	int                     status;

	http_open(&idle, t.port);
	cr_assert_str_eq(ask(&idle), "keep-alive");
	kill(t.pid, SIGUSR1);
	while (!atomic_load(&t.shared->worker[0].left))
		usleep(1000);
	kill(t.pid, SIGTERM);
	cr_assert(lt(u32, wait_for(t.pid, &status), 3000));
	cr_assert(eq(int, status, 0));
	http_close(&idle);
}
