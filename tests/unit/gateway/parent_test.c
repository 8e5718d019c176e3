/* gateway/parent.c with workers that do as the test wants: restarts, the watchdog, both stops. And
 * gateway/listeners.c: who may have an address. */
#include "gateway/listeners.c"
#include "gateway/parent.c"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* ---- the worker --------------------------------------------------------------------------------- */

enum behaviour { WAIT, DIE_UNSTARTED, DIE, SERVE_AND_DIE, HANG, DEAF, LEAVE };

static struct script {                 /* shared with the workers */
	enum behaviour   behaviour[2]; /* of worker 0 */
	_Atomic unsigned starts[2];
	_Atomic unsigned aborts;
	_Atomic unsigned left; /* LEAVE */
} * script;

static void on_abort(int number)
{
	(void)number;
	atomic_fetch_add(&script->aborts, 1);
}

/* Says that it is up, and obeys once. */
static void serve(int orders_fd)
{
	struct pollfd        p = { .fd = orders_fd, .events = POLLIN };
	struct channel       c;
	struct channel_frame order;

	channel_open(&c, orders_fd);
	channel_put(&c, CHANNEL_NEWS, CHANNEL_OK, "up", 3);
	channel_flush(&c);
	while (!channel_next(&c, &order) && poll(&p, 1, 3000) == 1 && channel_read(&c))
		;
	channel_put(&c, order.call, CHANNEL_OK, "null", 4);
	channel_flush(&c);
	channel_close(&c);
}

int worker_run(const struct worker *w)
{
	struct shared_worker *s = &w->shared->worker[w->index];
	unsigned              start = atomic_fetch_add(&script->starts[w->index], 1);
	enum behaviour        b = w->index == 0 ? script->behaviour[start > 0] : WAIT;
	sigset_t              set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (b == DIE_UNSTARTED || fcntl(w->public_fds[w->index], F_GETFD) < 0 ||
	    getppid() != w->parent)
		return 1;
	atomic_store(&s->started, 1);
	if (b == SERVE_AND_DIE)
		serve(w->orders_fd);
	if (b == DIE || b == SERVE_AND_DIE)
		return 3;
	if (b == HANG) {
		signal(SIGABRT, on_abort);
		atomic_store(&s->in_requests, 1);
		for (;;)
			pause();
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (b == LEAVE)
		atomic_store(&s->wants_successor, 1);
	if (sigwaitinfo(&set, NULL) == SIGUSR1) {
		shared_leave(s);
		atomic_fetch_add(&script->left, 1);
		sigwaitinfo(&set, NULL);
	}
	if (b == DEAF)
		sigwaitinfo(&set, NULL);
	return 0;
}

/* ---- the parent, in a child of the test ----------------------------------------------------------- */

static struct shared *counters;

static pid_t start_parent(void)
{
	static char                    listen[] = "127.0.0.1:0";
	static struct gateway_settings s = { .listen = listen };
	struct listeners               l;
	pid_t                          pid;

	counters = shared_map(2);
	listeners_open(&l, &s, 2);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		log_init("gateway", LOG_LEVEL_ERROR);
		_exit(parent_run(&s, &l, counters, geteuid()));
	}
	listeners_close(&l);
	return pid;
}

static void init(void)
{
	script = mmap(NULL, sizeof(*script), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
	              0);
}

/* False: it did not happen within ms. */
static bool comes(const _Atomic unsigned *counter, unsigned value, unsigned ms)
{
	const struct timespec t = { .tv_nsec = 1000000 };

	while (ms-- > 0 && atomic_load(counter) < value)
		nanosleep(&t, NULL);
	return atomic_load(counter) >= value;
}

/* The exit status of pid, -1 if it still runs after ms. */
static int ends(pid_t pid, int ms)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int           status = -1;

	if (poll(&p, 1, ms) == 1)
		waitpid(pid, &status, 0);
	close(p.fd);
	return WIFEXITED(status) && status != -1 ? WEXITSTATUS(status) : -1;
}

static bool both_run(void)
{
	return comes(&script->starts[0], 1, 3000) && comes(&script->starts[1], 1, 3000) &&
	       comes(&counters->worker[0].started, 1, 3000) &&
	       comes(&counters->worker[1].started, 1, 3000);
}

TestSuite(parent, .init = init);

Test(parent, stops_when_told)
{
	pid_t pid = start_parent();

	cr_assert(both_run());
	kill(pid, SIGTERM);
	cr_expect(ends(pid, 3000) == 0);
	cr_expect(script->starts[0] == 1 && atomic_load(&counters->restarts) == 0);
}

Test(parent, stops_at_once_when_told_twice)
{
	pid_t pid;

	script->behaviour[0] = DEAF;
	pid = start_parent();
	cr_assert(both_run());
	kill(pid, SIGINT);
	cr_expect(ends(pid, 300) == -1);
	kill(pid, SIGINT);
	cr_expect(ends(pid, 3000) == 0);
}

Test(parent, gives_up_on_a_worker_that_cannot_start)
{
	pid_t pid;

	script->behaviour[0] = DIE_UNSTARTED;
	pid = start_parent();
	cr_expect(ends(pid, 3000) == 1);
	cr_expect(script->starts[0] == 1);
}

/* At once, after 100 ms, after 200, 400 ...: in 1.2 s five starts, not thousands. */
Test(parent, restarts_with_back_off)
{
	const struct timespec t = { .tv_sec = 1, .tv_nsec = 200000000 };
	pid_t                 pid;
	unsigned              starts;

	script->behaviour[0] = script->behaviour[1] = DIE;
	pid = start_parent();
	nanosleep(&t, NULL);
	starts = script->starts[0];
	cr_expect(starts >= 4 && starts <= 6, "%u", starts);
	cr_expect(atomic_load(&counters->restarts) >= starts - 1);
	cr_expect(script->starts[1] == 1, "the other one goes on");
	kill(pid, SIGTERM);
	cr_expect(ends(pid, 3000) == 0);
}

/* Its clients have nobody else. */
Test(parent, one_that_served_is_replaced_at_once)
{
	const struct timespec t = { .tv_sec = 1, .tv_nsec = 200000000 };
	pid_t                 pid;

	script->behaviour[0] = script->behaviour[1] = SERVE_AND_DIE;
	pid = start_parent();
	nanosleep(&t, NULL);
	cr_expect(script->starts[0] > 20, "%u", script->starts[0]);
	kill(pid, SIGTERM);
	cr_expect(ends(pid, 3000) == 0);
}

/* Its loop does not turn, it does not even die of SIGABRT: gone and replaced after some 7 s. */
Test(parent, replaces_a_worker_that_hangs)
{
	pid_t pid;

	script->behaviour[0] = HANG;
	pid = start_parent();
	cr_assert(both_run());
	atomic_store(&counters->worker[1].in_requests, 1);
	for (int i = 0; i < 60 && atomic_load(&script->starts[0]) < 2; i++) {
		/* The other one is busy, but turns. */
		atomic_store(&counters->worker[1].turn_us, clock_mono_us());
		comes(&script->starts[0], 2, 200);
	}
	cr_expect(script->aborts == 1 && script->starts[0] == 2 && script->starts[1] == 1);
	cr_expect(atomic_load(&counters->worker[0].in_requests) == 0);
	kill(pid, SIGTERM);
	cr_expect(ends(pid, 3000) == 0);
}

/* Both are there for a while: the successor in its place, the other one with its requests. */
Test(parent, a_worker_that_wants_a_successor_gets_one_while_it_lives)
{
	pid_t pid;

	script->behaviour[0] = LEAVE;
	pid = start_parent();
	cr_assert(both_run());
	cr_assert(comes(&script->left, 1, 3000));
	cr_assert(comes(&script->starts[0], 2, 1000), "its place is taken at once");
	cr_expect(script->starts[1] == 1 && atomic_load(&counters->restarts) == 0);
	cr_expect(atomic_load(&counters->worker[0].wants_successor) == 0);
	kill(pid, SIGTERM); /* all three end */
	cr_expect(ends(pid, 3000) == 0);
}

/* ---- listeners ------------------------------------------------------------------------------------ */

static uint16_t port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t          len = sizeof(a);

	cr_assert(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	return ntohs(a.sin_port);
}

Test(listeners, one_address_for_all_workers)
{
	char                    any[] = "127.0.0.1:0", taken[32];
	struct gateway_settings s = { .listen = any, .management = any };
	struct listeners        l;
	pid_t                   pid;

	listeners_open(&l, &s, 3);
	cr_expect(l.n == 3 && port_of(l.public_fds[0]) == port_of(l.public_fds[1]) &&
	          port_of(l.public_fds[1]) == port_of(l.public_fds[2]));
	cr_expect(l.management_fd >= 0 && port_of(l.management_fd) != port_of(l.public_fds[0]));
	/* A second gateway may not slip in. */
	snprintf(taken, sizeof(taken), "127.0.0.1:%u", port_of(l.public_fds[0]));
	s.listen = taken;
	pid = fork();
	if (pid == 0) {
		listeners_open(&l, &s, 1);
		_exit(0);
	}
	cr_expect(ends(pid, 3000) == 1);
	listeners_close(&l);
}

Test(listeners, a_unix_socket_for_management)
{
	char                    any[] = "[::1]:0", path[64], none[] = "";
	struct gateway_settings s = { .listen = any, .management = path };
	struct listeners        l;

	snprintf(path, sizeof(path), "/tmp/parent_test.%d.sock", (int)getpid());
	listeners_open(&l, &s, 1);
	cr_expect(access(path, F_OK) == 0);
	listeners_close(&l);
	unlink(path);
	s.management = none;
	listeners_open(&l, &s, 1);
	cr_expect(l.management_fd == -1);
	listeners_close(&l);
}

Test(listeners, what_is_no_address_is_fatal)
{
	static const char *const bad[] = { "",          "8080",        "localhost:8080",
		                           "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000",
		                           "[::1:8080", "256.0.0.1:80" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		pid_t pid = fork();

		if (pid == 0) {
			char                    text[64];
			struct gateway_settings s = { .listen = text };
			struct listeners        l;

			strcpy(text, bad[i]);
			listeners_open(&l, &s, 1);
			_exit(0);
		}
		cr_expect(ends(pid, 3000) == 1, "%s", bad[i]);
	}
}
