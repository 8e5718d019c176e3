/* server.c - the way of worker.c without whiteboard, bundles and peers.
 *
 * Owns: the child. Runs in: tests. Fails with: abort. Tests: none. */
#include "server.h"

#include "fiber.h"
#include "http/http.h"
#include "http/loop.h"
#include "offload.h"

#include <arpa/inet.h>
#include <base/fatal.h>
#include <base/log.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct gateway_settings test_server_settings(void)
{
	static char                   empty[] = "", spool[] = "/tmp";
	const struct gateway_settings s = {
		.max_connections = 1000,
		.max_requests = 1000,
		.max_body = 64 << 20,
		.max_head = 32768,
		.max_target = 8192,
		.request_timeout_ms = 30000,
		.idle_timeout_ms = 75000,
		.head_timeout_ms = 10000,
		.access_log = empty,
		.spool = spool,
	};

	return s;
}

void (*test_server_begin)(struct shared_worker *me);
void (*test_server_end)(void);
static int signal_fd;

static void on_signal(void *arg)
{
	struct signalfd_siginfo info;

	if (read(signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGTERM) {
		http_stop();
		return;
	}
	shared_leave(arg);
	http_leave();
}

static void run(const struct gateway_settings *s, struct shared *shared, int fd,
                void (*serve)(struct bw_req *))
{
	struct loop_fd *signals;
	sigset_t        set;
	bool            idle;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	log_init("gateway", LOG_LEVEL_ERROR);
	log_start();
	fiber_report_crashes();
	fiber_pool_init(s->max_requests + 1);
	http_init(&(struct http_config){ .settings = s,
	                                 .shared = &shared->worker[0],
	                                 .public_fd = fd,
	                                 .management_fd = -1,
	                                 .serve = serve });
	signals = loop_fd_watch(signal_fd, on_signal, &shared->worker[0]);
	offload_init(2, 4);
	if (test_server_begin)
		test_server_begin(&shared->worker[0]);
	idle = http_run();
	if (!idle)
		exit(3);
	if (test_server_end)
		test_server_end();
	offload_done();
	loop_fd_close(signals);
	http_done();
	fiber_pool_done();
	log_stop();
	exit(0);
}

struct test_server test_server_start(const struct gateway_settings *s,
                                     void (*serve)(struct bw_req *))
{
	struct test_server t;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t          len = sizeof(a);
	int                fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) != 0 || listen(fd, 1024) != 0 ||
	    getsockname(fd, (struct sockaddr *)&a, &len) != 0)
		fatal("test server");
	t.port = ntohs(a.sin_port);
	t.shared = shared_map(1);
	t.pid = fork();
	if (t.pid < 0)
		fatal("fork");
	if (t.pid == 0)
		run(s, t.shared, fd, serve);
	close(fd);
	return t;
}

int test_server_stop(struct test_server *t, unsigned patience_ms)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, t->pid, 0), .events = POLLIN };
	bool          twice;
	int           status;

	kill(t->pid, SIGTERM);
	twice = poll(&p, 1, (int)patience_ms) == 0;
	if (twice)
		kill(t->pid, SIGTERM);
	waitpid(t->pid, &status, 0);
	close(p.fd);
	return twice || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}
