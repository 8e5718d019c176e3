/* attack_test.c - what a gateway in the hands of an attacker gets that does not play by the protocol, or
 * reaches past it: nothing. Proves: every message that is not its to send, and every malformed one, ends
 * its connection and costs nobody else anything; its user can neither read a key or a verifier, nor
 * reach the database, nor give the operator's orders. (Resolver handles: handle_test.c.) */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/instance.h"
#include "support/liar.h"

#define GATEWAY "boardwalk-gateway"

static struct test_instance instance;
static char                 run[100], repo_socket[128], auth_socket[128];
static struct liar          l;
static struct liar_answer   answer;

static void find_sockets(void)
{
	test_instance_socket(&instance, "", run, sizeof(run));
	test_instance_socket(&instance, "repo/repo.sock", repo_socket, sizeof(repo_socket));
	test_instance_socket(&instance, "auth/auth.sock", auth_socket, sizeof(auth_socket));
}

static void set_up(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_instance_start(&instance, NULL);
	find_sockets();
}

static void tear_down(void)
{
	liar_close(&l);
	test_instance_stop(&instance);
}

TestSuite(attack, .init = set_up, .fini = tear_down);

/* ---- messages ---- */

static unsigned tried;

static int peer_of(enum wire_peer peer)
{
	return peer == WIRE_AUTH ? l.auth : l.repo;
}

/* The frame ends the connection without an answer. */
static void expect_hung_up(enum wire_peer peer, unsigned id, unsigned flags, const void *payload,
                           size_t n, size_t length, const char *what)
{
	liar_close(&l);
	cr_assert(liar_open(&l, repo_socket, auth_socket, GATEWAY), "%u: %s", id, what);
	l.request = 0xa77ac0000 + id;
	liar_send(&l, peer_of(peer), id, 1, flags, payload, n, length);
	liar_take(&l, peer_of(peer), &answer);
	cr_assert_eq(answer.err, BW_EGONE, "%u to %s, %s: %d, not hung up", id,
	             peer == WIRE_AUTH ? "auth" : "repo", what, answer.err);
	cr_assert_eq(answer.size, 0);
	tried++;
}

/* What may be sent, but not like that. */
static void malform(enum wire_peer peer, unsigned id, const struct wire_row *row)
{
	static const uint8_t rubbish[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t unknown[] = { 0xf8, 0x3f, 1 }; /* field 1023, a varint */

	expect_hung_up(peer, id, WIRE_END, rubbish, sizeof(rubbish), SIZE_MAX, "rubbish");
	expect_hung_up(peer, id, WIRE_END, unknown, sizeof(unknown), SIZE_MAX, "unknown field");
	expect_hung_up(peer, id, WIRE_END, "", 0, (size_t)row->max + 1, "too large");
	expect_hung_up(peer, id, WIRE_END, "", 0, UINT32_MAX, "4 GiB");
	for (unsigned flags = 0; flags <= 9; flags++)
		if (flags != WIRE_END)
			expect_hung_up(peer, id, flags, "", 0, SIZE_MAX, "flags");
	if (row->fields->n_fields > 0)
		expect_hung_up(peer, id, WIRE_END, "", 0, SIZE_MAX, "nothing in it");
}

static void attack(enum wire_peer peer)
{
	for (unsigned id = 0; id <= 65535; id += id < 200 ? 1 : 4093) {
		const struct wire_row *row = wire_row(id);
		bool                   is_permitted =
			row != NULL && (row->from & WIRE_GATEWAY) != 0 && (row->to & peer) != 0;

		if (!is_permitted)
			expect_hung_up(peer, id, WIRE_END, "", 0, SIZE_MAX, "not permitted");
		else if (row->once)
			expect_hung_up(peer, id, WIRE_END, "", 0, SIZE_MAX, "once more");
		else
			malform(peer, id, row);
	}
}

static void expect_unharmed(const pid_t before[2])
{
	struct liar_handle h;

	cr_expect_eq(test_instance_pid(&instance, "auth"), before[0]);
	cr_expect_eq(test_instance_pid(&instance, "repo"), before[1]);
	liar_close(&l);
	cr_assert(liar_open(&l, repo_socket, auth_socket, GATEWAY));
	cr_assert_eq(liar_guest(&l, &h), BW_OK);
	liar_get(&l, &h, true, "/content/test/hello", &answer);
	cr_expect_eq(answer.err, BW_OK);
}

Test(attack, what_is_not_permitted_or_malformed_ends_the_connection)
{
	const pid_t before[2] = { test_instance_pid(&instance, "auth"),
		                  test_instance_pid(&instance, "repo") };

	attack(WIRE_AUTH);
	attack(WIRE_REPO);
	cr_expect_gt(tried, 700);
	expect_unharmed(before);
}

/* Any octets at all in the place of a frame, in one piece and by single octets. */
Test(attack, rubbish_ends_the_connection)
{
	const pid_t before[2] = { test_instance_pid(&instance, "auth"),
		                  test_instance_pid(&instance, "repo") };
	uint8_t     octets[4096];
	unsigned    random = 1;

	for (unsigned round = 0; round < 64; round++) {
		enum wire_peer peer = round % 2 == 0 ? WIRE_AUTH : WIRE_REPO;

		for (size_t i = 0; i < sizeof(octets); i++)
			octets[i] = (uint8_t)((random = random * 1103515245 + 12345) >> 16);
		liar_close(&l);
		cr_assert(liar_open(&l, repo_socket, auth_socket, GATEWAY));
		for (size_t i = 0; round >= 32 && i < 64; i++)
			liar_send_octets(peer_of(peer), octets + i, 1);
		liar_send_octets(peer_of(peer), octets, sizeof(octets));
		liar_take(&l, peer_of(peer), &answer);
		cr_assert_eq(answer.err, BW_EGONE, "round %u: %d", round, answer.err);
	}
	expect_unharmed(before);
}

/* ---- past the protocol ---- */

static const char *format(const char *pattern, const char *text)
{
	static char path[400];

	snprintf(path, sizeof(path), pattern, text);
	return path;
}

static bool connects(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool               is_in;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	is_in = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	if (fd >= 0)
		close(fd);
	return is_in;
}

/* The exit code of one of our commands or psql, with the output on our stderr. */
static int run_as_we_are(const char *const *arguments)
{
	pid_t pid = fork();
	int   status = -1;

	if (pid == 0) {
		execvp(arguments[0], (char *const *)arguments);
		_exit(126);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

static bool reaches_database(const char *role)
{
	char              conninfo[200];
	const char *const arguments[] = { "psql", "-w", "-c", "SELECT 1", conninfo, NULL };

	snprintf(conninfo, sizeof(conninfo), "host=%s/pg dbname=boardwalk user=%s", run, role);
	return run_as_we_are(arguments) == 0;
}

static bool obeys(const char *command, const char *argument)
{
	char              program[128];
	const char *const arguments[] = {
		program, command, argument, "--data", instance.data, NULL
	};

	snprintf(program, sizeof(program), "%s/bin/boardwalk", instance.root);
	return run_as_we_are(arguments) == 0;
}

/* In a child that has become the gateway's user: 0, or what it could do. */
static int reach(const char *script)
{
	static const char *const keys[] = { "handle.key", "session.key" };
	static const char *const roles[] = { "boardwalk", "boardwalk_auth", "boardwalk_repo",
		                             "postgres", "boardwalk_gateway" };
	const struct passwd     *pw = getpwnam(GATEWAY);

	if (pw == NULL || setgid(pw->pw_gid) != 0 || setuid(pw->pw_uid) != 0)
		return 1;
	if (!connects(auth_socket) || !connects(repo_socket))
		return 2; /* this is its user: those are its to reach */
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char file[400];

		snprintf(file, sizeof(file), "%s/keys/%s", instance.data, keys[i]);
		if (open(file, O_RDONLY | O_CLOEXEC) >= 0)
			return 10 + (int)i;
	}
	if (access(format("%s/postgresql", instance.data), X_OK) == 0)
		return 3;
	if (open(format("%s/store/x", instance.data), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0 ||
	    open(format("%s/x", instance.data), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0)
		return 4;
	for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++)
		if (reaches_database(roles[i]))
			return 20 + (int)i;
	if (obeys("repoinit", script))
		return 5;
	if (obeys("user", "list"))
		return 6;
	return obeys("bundle", "list") ? 7 : 0;
}

static const char *write_script(void)
{
	static char path[128];
	FILE       *out;

	snprintf(path, sizeof(path), "%s/attack.repoinit", instance.root);
	out = fopen(path, "we");
	cr_assert_not_null(out);
	fputs("create path /content/attacked\n", out);
	cr_assert_eq(fclose(out), 0);
	cr_assert_eq(chmod(path, 0644), 0);
	return path;
}

Test(attack, the_gateways_user_reaches_nothing_else)
{
	const char        *script = write_script();
	struct liar_handle h;
	int                status = -1;
	pid_t              pid;

	if (geteuid() != 0)
		cr_skip_test("all processes have one user where root has not started them");
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		_exit(reach(script));
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	cr_expect_eq(WEXITSTATUS(status), 0, "it reaches number %d", WEXITSTATUS(status));
	cr_assert(liar_open(&l, repo_socket, auth_socket, GATEWAY));
	cr_assert_eq(liar_login(&l, "admin", instance.password, &h), BW_OK);
	liar_get(&l, &h, true, "/content/attacked", &answer);
	cr_expect_eq(answer.err, BW_ENOTFOUND);
}
