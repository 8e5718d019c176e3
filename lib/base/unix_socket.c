/* unix_socket.c - the sockets between the processes of a node.
 *
 * Owns: nothing; descriptors pass to the caller. Runs in: any process; never blocks, but for a
 * moment's lock in unix_listen. Fails with: -1 and errno.
 * Tests: tests/unit/base/unix_socket_test.c. */
#include "unix_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void close_keeping_errno(int fd)
{
	int error = errno;

	close(fd);
	errno = error;
}

static int set_address(struct sockaddr_un *address, const char *path)
{
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(address->sun_path)) {
		errno = n == 0 ? ENOENT : ENAMETOOLONG;
		return -1;
	}
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, path, n);
	return 0;
}

static int open_stream(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

int unix_connect(const char *path)
{
	struct sockaddr_un address;
	int                fd;

	if (set_address(&address, path) != 0)
		return -1;
	fd = open_stream();
	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close_keeping_errno(fd);
		return -1;
	}
	return fd;
}

/* Nobody listens: connecting is refused. A full queue of a living one is EAGAIN. */
static int is_stale(const char *path)
{
	struct stat st;
	int         fd;

	if (lstat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return 0;
	fd = unix_connect(path);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	return errno == ECONNREFUSED;
}

/* The mode is set between bind and listen: until then connecting is refused, so that nobody gets in
 * through the wider mode the umask may have left. */
static int bind_and_listen(int fd, const struct sockaddr_un *address, mode_t mode, int backlog)
{
	const char *path = address->sun_path;

	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0) {
		if (errno != EADDRINUSE)
			return -1;
		if (!is_stale(path)) {
			errno = EADDRINUSE;
			return -1;
		}
		if (unlink(path) != 0 ||
		    bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0)
			return -1;
	}
	if (chmod(path, mode) != 0 || listen(fd, backlog) != 0) {
		int error = errno;

		unlink(path);
		errno = error;
		return -1;
	}
	return 0;
}

/* Two processes that start at once must not both find the same stale file and unlink each other's
 * new one: from the look to the listen, the folder is locked. */
static int lock_folder(const char *path)
{
	char        folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *slash = strrchr(path, '/');
	size_t      n = slash == NULL ? 0 : (size_t)(slash - path);
	int         fd;

	memcpy(folder, path, n);
	folder[n] = '\0';
	fd = open(slash == NULL ? "." : n == 0 ? "/" : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (flock(fd, LOCK_EX) != 0) {
		if (errno != EINTR) {
			close_keeping_errno(fd);
			return -1;
		}
	}
	return fd;
}

int unix_listen(const char *path, mode_t mode, int backlog)
{
	struct sockaddr_un address;
	int                fd, lock;

	if (set_address(&address, path) != 0)
		return -1;
	lock = lock_folder(path);
	if (lock < 0)
		return -1;
	fd = open_stream();
	if (fd >= 0 && bind_and_listen(fd, &address, mode, backlog) != 0) {
		close_keeping_errno(fd);
		fd = -1;
	}
	close_keeping_errno(lock);
	return fd;
}

int unix_accept(int listener, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t    size = sizeof(peer);
	int          fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 || ret_uid == NULL)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
		close_keeping_errno(fd);
		return -1;
	}
	*ret_uid = peer.uid;
	return fd;
}
