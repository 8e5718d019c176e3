/* lib/base/unix_socket.c: who listens, who may connect, who the peer is. */
#include <base/unix_socket.c>
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static char folder[] = "/tmp/unix_socket_test.XXXXXX";
static char path[108];

static void set_up(void)
{
	cr_assert(mkdtemp(folder) != NULL);
	snprintf(path, sizeof(path), "%s/s", folder);
}

static void tear_down(void)
{
	unlink(path);
	rmdir(folder);
}

TestSuite(unix_socket, .init = set_up, .fini = tear_down);

static void check_flags(int fd)
{
	cr_assert(ge(int, fd, 0));
	cr_assert(eq(int, fcntl(fd, F_GETFD), FD_CLOEXEC));
	cr_assert(eq(int, fcntl(fd, F_GETFL) & O_NONBLOCK, O_NONBLOCK));
}

Test(unix_socket, connects_and_tells_the_peer)
{
	int   listener = unix_listen(path, 0600, 8), client, server;
	uid_t uid = 12345;
	char  octet = 0;

	check_flags(listener);
	cr_assert(eq(int, unix_accept(listener, &uid), -1));
	cr_assert(eq(int, errno, EAGAIN));
	cr_assert(eq(uint, uid, 12345), "untouched without a connection");
	client = unix_connect(path);
	check_flags(client);
	server = unix_accept(listener, &uid);
	check_flags(server);
	cr_assert(eq(uint, uid, getuid()));
	cr_assert(write(client, "x", 1) == 1 && read(server, &octet, 1) == 1);
	cr_assert(eq(chr, octet, 'x'));
	close(client);
	close(server);
	client = unix_connect(path);
	server = unix_accept(listener, NULL);
	check_flags(server);
	close(client);
	close(server);
	close(listener);
}

Test(unix_socket, has_the_mode_whatever_the_umask)
{
	static const mode_t modes[] = { 0600, 0660, 0666, 0777 };

	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		mode_t      before = umask(i % 2 == 0 ? 077 : 0);
		int         fd = unix_listen(path, modes[i], 8);
		struct stat st;

		umask(before);
		cr_assert(ge(int, fd, 0));
		cr_assert(eq(int, stat(path, &st), 0));
		cr_assert(eq(uint, st.st_mode & 07777, modes[i]));
		close(fd);
	}
}

Test(unix_socket, replaces_a_stale_file_and_nothing_else)
{
	int listener = unix_listen(path, 0600, 8), second, file;

	cr_assert(ge(int, listener, 0));
	cr_assert(eq(int, unix_listen(path, 0600, 8), -1));
	cr_assert(eq(int, errno, EADDRINUSE), "somebody listens");
	second = unix_connect(path);
	cr_assert(ge(int, second, 0), "and still does");
	close(second);
	close(listener);
	cr_assert(eq(int, unix_connect(path), -1));
	cr_assert(eq(int, errno, ECONNREFUSED));
	listener = unix_listen(path, 0600, 8);
	cr_assert(ge(int, listener, 0), "stale");
	close(listener);
	unlink(path);
	file = open(path, O_CREAT | O_WRONLY, 0600);
	cr_assert(write(file, "precious", 8) == 8);
	close(file);
	cr_assert(eq(int, unix_listen(path, 0600, 8), -1));
	cr_assert(eq(int, errno, EADDRINUSE));
	cr_assert(eq(int, access(path, F_OK), 0), "a file that is no socket stays");
}

/* A living listener with a full queue must not be taken for dead. */
Test(unix_socket, a_full_queue_is_not_stale)
{
	int listener = unix_listen(path, 0600, 1), clients[64], n = 0;

	while (n < 64 && (clients[n] = unix_connect(path)) >= 0)
		n++;
	cr_assert(lt(int, n, 64));
	cr_assert(eq(int, errno, EAGAIN));
	cr_assert(eq(int, unix_listen(path, 0600, 1), -1));
	cr_assert(eq(int, errno, EADDRINUSE));
	while (n > 0)
		close(clients[--n]);
	close(listener);
}

enum { STARTERS = 12 };

/* In a forked child: begins when the gate is closed, and says how it went. */
static void start(int gate, int result)
{
	char c;
	int  fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(gate, &c, 1) != 0)
		_exit(1);
	fd = unix_listen(path, 0600, 64); /* room for the looks of the losers */
	c = fd >= 0 ? 'w' : errno == EADDRINUSE ? 'l' : '?';
	if (write(result, &c, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Many processes want the place of one stale file: exactly one gets it, and keeps it. */
static void race_for_stale_file(void)
{
	int   gate[2], result[2], winners = 0, fd;
	char  answer;
	pid_t pids[STARTERS];

	cr_assert(pipe(gate) == 0 && pipe(result) == 0);
	for (int i = 0; i < STARTERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			close(gate[1]);
			start(gate[0], result[1]);
		}
	}
	close(gate[1]); /* all at once */
	for (int i = 0; i < STARTERS; i++) {
		cr_assert(read(result[0], &answer, 1) == 1);
		cr_assert(ne(chr, answer, '?'));
		winners += answer == 'w';
	}
	cr_assert(eq(int, winners, 1));
	fd = unix_connect(path);
	cr_assert(ge(int, fd, 0));
	close(fd);
	for (int i = 0; i < STARTERS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	close(gate[0]);
	close(result[0]);
	close(result[1]);
}

Test(unix_socket, of_many_starters_one_wins)
{
	close(unix_listen(path, 0600, 8));
	for (int round = 0; round < 5; round++)
		race_for_stale_file();
}

/* The race itself is too short to lose it by chance; what prevents it is that nobody looks while
 * another one has the folder. */
Test(unix_socket, waits_while_another_one_has_the_folder)
{
	int           gate[2], result[2], lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct pollfd p;
	char          answer;
	pid_t         pid;

	cr_assert(pipe(gate) == 0 && pipe(result) == 0);
	cr_assert(eq(int, flock(lock, LOCK_EX), 0));
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		close(lock);
		start(gate[0], result[1]);
	}
	close(gate[1]);
	p = (struct pollfd){ .fd = result[0], .events = POLLIN };
	cr_assert(eq(int, poll(&p, 1, 200), 0), "it did not wait");
	cr_assert(eq(int, flock(lock, LOCK_UN), 0));
	cr_assert(read(result[0], &answer, 1) == 1);
	cr_assert(eq(chr, answer, 'w'));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

Test(unix_socket, names_why_a_path_is_no_good)
{
	char fits[109], longest[sizeof(fits) + 1];
	int  fd;

	snprintf(fits, sizeof(fits), "%s/%0*d", folder, (int)(107 - strlen(folder) - 1), 0);
	snprintf(longest, sizeof(longest), "%s0", fits);
	cr_assert(eq(sz, strlen(fits), 107));
	fd = unix_listen(fits, 0600, 8);
	cr_assert(ge(int, fd, 0));
	close(fd);
	unlink(fits);
	{
		const struct {
			const char *path;
			int         error;
		} cases[] = {
			{ longest, ENAMETOOLONG },
			{ "", ENOENT },
			{ "/nowhere/at/all", ENOENT },
			{ "/dev/null/x", ENOTDIR },
		};

		for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
			cr_assert(eq(int, unix_listen(cases[i].path, 0600, 8), -1));
			cr_assert(eq(int, errno, cases[i].error), "listen %s", cases[i].path);
			cr_assert(eq(int, unix_connect(cases[i].path), -1));
			cr_assert(eq(int, errno, cases[i].error), "connect %s", cases[i].path);
		}
	}
}
