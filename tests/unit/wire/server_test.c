/* lib/wire/server.c on a real loop and a real socket: who is let in, what is handed over, when
 * answers leave, what happens without descriptors and at the end. */
#include <base/unix_socket.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wire/server.h>

/* The owner's connection: larger than the server's. */
struct my_conn {
	struct wire_conn conn;
	unsigned         messages;
};

static struct ev_loop     *loop;
static struct wire_server *server;
static int                 listener;
static char                path[64];
static unsigned            opens, batches, closes, messages_at_close;
static int                 open_answer;
static bool                answer_at_once;
static uint8_t             last_channel[16];
static char                last_reason[200];
static struct my_conn     *last;

static int on_open(struct wire_conn *c, struct bw_str channel)
{
	cr_assert(channel.n == 16 && memcmp(channel.p, c->channel, 16) == 0 && c->greeted);
	cr_assert(wire_server_owner(c->server) == &opens);
	memcpy(last_channel, channel.p, 16);
	last = (struct my_conn *)c;
	cr_assert_eq(last->messages, 0);
	opens++;
	return open_answer;
}

static void on_message(struct wire_conn *c, const struct wire_question *q, struct wire_message *m)
{
	Bw__Wire__ResourceFound found = BW__WIRE__RESOURCE_FOUND__INIT;

	((struct my_conn *)c)->messages++;
	if (q->id == WIRE_RESOURCE_GET) {
		found.record = m->u->resource_get.path; /* an echo will do */
		if (answer_at_once)
			wire_answer(c->chan, q, 1, 2, &found.base);
	}
}

static void on_batch(struct wire_conn *c)
{
	(void)c;
	batches++;
}

static void on_close(struct wire_conn *c, const char *reason)
{
	closes++;
	messages_at_close = ((struct my_conn *)c)->messages;
	snprintf(last_reason, sizeof(last_reason), "%s", reason);
}

static const struct wire_server_ops ops = {
	.on_open = on_open,
	.on_message = on_message,
	.on_batch = on_batch,
	.on_close = on_close,
	.conn_size = sizeof(struct my_conn),
};

static void start(enum wire_peer self)
{
	static const enum wire_id permit[] = { WIRE_RESOURCE_GET, WIRE_HANDLE_CLOSE,
		                               WIRE_AUTHENTICATE_ANONYMOUS, WIRE_NONE };

	snprintf(path, sizeof(path), "/tmp/wire-server-test.%d", (int)getpid());
	listener = unix_listen(path, 0666, 4096);
	cr_assert(listener >= 0);
	loop = ev_loop_new(EVFLAG_AUTO);
	answer_at_once = true;
	server = wire_server_new(loop, listener, self, permit, self == WIRE_REPO, (uid_t)-1, &ops,
	                         &opens);
}

static void stop(void)
{
	wire_server_free(server);
	ev_loop_destroy(loop);
	close(listener);
	unlink(path);
}

/* Turns without sleeping, enough for what is there. */
static void turn(void)
{
	for (int i = 0; i < 10; i++)
		ev_run(loop, EVRUN_NOWAIT);
}

/* ---- a peer by hand ---- */

static void put(int fd, enum wire_id id, uint32_t call, const void *payload, size_t n)
{
	uint8_t           p[4096];
	struct wire_frame f = { .id = id, .flags = WIRE_END, .call = call, .length = (uint32_t)n };

	wire_header_put(p, &f);
	memcpy(p + WIRE_HEADER, payload, n);
	cr_assert(write(fd, p, WIRE_HEADER + n) == (ssize_t)(WIRE_HEADER + n));
}

static void put_message(int fd, enum wire_id id, uint32_t call, const ProtobufCMessage *m)
{
	uint8_t p[4000];

	put(fd, id, call, p, protobuf_c_message_pack(m, p));
}

static void put_hello(int fd, const char *channel)
{
	Bw__Wire__Hello m = BW__WIRE__HELLO__INIT;

	m.wire_version = WIRE_VERSION;
	m.build = (ProtobufCBinaryData){ 4, (uint8_t *)"test" };
	m.channel = (ProtobufCBinaryData){ strlen(channel), (uint8_t *)channel };
	put_message(fd, WIRE_HELLO, 0, &m.base);
}

static void put_get(int fd, uint32_t call)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	m.path = (ProtobufCBinaryData){ 5, (uint8_t *)"/echo" };
	put_message(fd, WIRE_RESOURCE_GET, call, &m.base);
}

/* The next frame; its payload in *m. */
static struct wire_frame take(int fd, enum wire_peer from, struct wire_message *m)
{
	static uint8_t    p[4096];
	struct wire_frame f;

	cr_assert(read(fd, p, WIRE_HEADER) == WIRE_HEADER);
	cr_assert_eq(wire_header_get(p, from, WIRE_GATEWAY, &f), BW_OK);
	cr_assert(read(fd, p + WIRE_HEADER, f.length) == (ssize_t)f.length);
	cr_assert_eq(wire_message_get(&f, m), BW_OK);
	return f;
}

static bool is_ended(int fd)
{
	char c;

	return read(fd, &c, 1) == 0;
}

/* A connection that repo has greeted; its channel in *ret. */
static int greeted(uint8_t ret[16])
{
	struct wire_message m;
	int                 fd = unix_connect(path);

	cr_assert_geq(fd, 0);
	put_hello(fd, "");
	turn();
	cr_assert_eq(take(fd, WIRE_REPO, &m).id, WIRE_HELLO);
	cr_assert_eq(m.u->hello.channel.len, 16);
	memcpy(ret, m.u->hello.channel.data, 16);
	return fd;
}

Test(server, each_connection_gets_a_channel_of_its_own)
{
	uint8_t a[16], b[16];
	int     fd[2];

	start(WIRE_REPO);
	fd[0] = greeted(a);
	cr_assert(opens == 1 && memcmp(a, last_channel, 16) == 0);
	cr_assert_eq(last->conn.id, 1);
	fd[1] = greeted(b);
	cr_assert(opens == 2 && memcmp(b, last_channel, 16) == 0);
	cr_assert_eq(last->conn.id, 2);
	cr_assert(memcmp(a, b, 16) != 0);
	close(fd[0]);
	turn();
	cr_assert(closes == 1 && strcmp(last_reason, "the peer has closed the connection") == 0);
	close(fd[1]);
	stop();
}

Test(server, auth_learns_the_channel_and_wants_one)
{
	struct wire_message m;
	int                 fd[2];

	start(WIRE_AUTH);
	fd[0] = unix_connect(path);
	put_hello(fd[0], "fedcba9876543210");
	turn();
	cr_assert(opens == 1 && memcmp(last_channel, "fedcba9876543210", 16) == 0);
	cr_assert_eq(take(fd[0], WIRE_AUTH, &m).id, WIRE_HELLO);
	cr_assert_eq(m.u->hello.channel.len, 0);
	fd[1] = unix_connect(path);
	put_hello(fd[1], "");
	turn();
	cr_assert_eq(take(fd[1], WIRE_AUTH, &m).id, WIRE_HELLO);
	cr_assert(is_ended(fd[1]) && opens == 1 && closes == 0);
	close(fd[0]);
	close(fd[1]);
	stop();
}

Test(server, answers_of_a_turn_leave_together_at_its_end)
{
	struct wire_message m;
	struct wire_frame   f;
	uint8_t             channel[16];
	int                 fd;

	start(WIRE_REPO);
	fd = greeted(channel);
	batches = 0;
	for (uint32_t i = 1; i <= 10; i++)
		put_get(fd, i);
	turn();
	cr_assert(last->messages == 10 && batches == 1);
	for (uint32_t i = 1; i <= 10; i++) {
		f = take(fd, WIRE_REPO, &m);
		cr_assert(f.id == WIRE_RESOURCE_FOUND && f.call == i && f.types == 1 && f.acl == 2);
	}
	close(fd);
	stop();
}

Test(server, what_is_not_permitted_or_malformed_closes)
{
	static const struct {
		enum wire_id id;
		const char  *payload;
		size_t       n;
		const char  *reason;
	} rows[] = {
		{ WIRE_RESOURCE_RESOLVE, "", 0, "RESOURCE_RESOLVE is not permitted here" },
		{ WIRE_RESOURCE_GET, "", 0, "malformed RESOURCE_GET" },
		{ WIRE_RESOURCE_GET, "\x10\x01\x1a\x02/", 5, "malformed RESOURCE_GET" },
		{ WIRE_HANDLE_CLOSE, "\x08\x01\x08", 3, "malformed HANDLE_CLOSE" },
	};
	uint8_t channel[16];

	start(WIRE_REPO);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int fd = greeted(channel);

		put(fd, rows[i].id, 1, rows[i].payload, rows[i].n);
		turn();
		cr_assert(is_ended(fd), "row %zu", i);
		cr_assert(closes == i + 1 && strcmp(last_reason, rows[i].reason) == 0,
		          "row %zu: %s", i, last_reason);
		cr_assert_eq(messages_at_close, 0);
		close(fd);
	}
	stop();
}

Test(server, refusal_by_the_owner_closes_without_on_close)
{
	struct wire_message m;
	int                 fd;

	start(WIRE_REPO);
	open_answer = BW_EBUSY;
	fd = unix_connect(path);
	put_hello(fd, "");
	put_get(fd, 1);
	turn();
	take(fd, WIRE_REPO, &m);
	cr_assert(is_ended(fd) && opens == 1 && closes == 0);
	close(fd);
	stop();
}

Test(server, other_users_are_not_let_in)
{
	int status = 0;

	if (geteuid() != 0)
		cr_skip_test("only root can come as somebody else");
	start(WIRE_REPO);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			struct pollfd p = { .events = POLLIN };
			int           ok = setuid(65534) == 0;

			p.fd = unix_connect(path);
			ok = ok && p.fd >= 0 && poll(&p, 1, 5000) == 1 && is_ended(p.fd);
			_exit(ok ? 0 : 1);
		}
		while (waitpid(pid, &status, WNOHANG) == 0) {
			turn();
			usleep(1000); /* gives the child the core; the loop has nothing to wait for */
		}
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	cr_assert(opens == 0 && closes == 0);
	stop();
}

Test(server, without_descriptors_it_waits_instead_of_spinning)
{
	struct rlimit limit = { .rlim_cur = 0, .rlim_max = 4096 };
	uint8_t       channel[16];
	int           first, fd;
	unsigned      before;

	start(WIRE_REPO);
	first = greeted(channel);
	fd = unix_connect(path);
	put_hello(fd, "");
	limit.rlim_cur = (rlim_t)fd + 1; /* not one more */
	cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	turn();
	cr_assert_eq(opens, 1);
	before = ev_iteration(loop);
	turn(); /* it does not even look at the listener now */
	cr_assert_leq(ev_iteration(loop) - before, 10);
	cr_assert_eq(ev_pending_count(loop), 0);
	close(first); /* here and, when the server has seen it, there */
	turn();
	cr_assert(closes == 1 && opens == 2);
	close(fd);
	stop();
}

Test(server, number_of_connections_is_bounded)
{
	struct rlimit limit = { 4096, 4096 };
	static int    fd[WIRE_SERVER_MAX_CONNS + 1];

	cr_assert(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	start(WIRE_REPO);
	for (unsigned i = 0; i <= WIRE_SERVER_MAX_CONNS; i++) {
		fd[i] = unix_connect(path);
		cr_assert_geq(fd[i], 0);
		put_hello(fd[i], "");
		turn();
	}
	cr_assert_eq(opens, WIRE_SERVER_MAX_CONNS);
	close(fd[7]);
	turn();
	cr_assert_eq(opens, WIRE_SERVER_MAX_CONNS + 1); /* the last one has been let in */
	for (unsigned i = 0; i <= WIRE_SERVER_MAX_CONNS; i++)
		if (i != 7)
			close(fd[i]);
	stop();
}

Test(server, free_sends_what_it_can_and_closes_all)
{
	struct wire_message     m;
	Bw__Wire__ResourceFound found = BW__WIRE__RESOURCE_FOUND__INIT;
	struct wire_question    q = { WIRE_RESOURCE_GET, 1, 0 };
	uint8_t                 channel[16];
	int                     fd[2];

	start(WIRE_REPO);
	fd[0] = greeted(channel);
	answer_at_once = false;
	put_get(fd[0], 1);
	turn();
	wire_answer(last->conn.chan, &q, 0, 0, &found.base);
	fd[1] = greeted(channel);
	stop();
	cr_assert(closes == 2 && strcmp(last_reason, "shutting down") == 0);
	cr_assert_eq(take(fd[0], WIRE_REPO, &m).id, WIRE_RESOURCE_FOUND);
	cr_assert(is_ended(fd[0]) && is_ended(fd[1]));
	close(fd[0]);
	close(fd[1]);
}
