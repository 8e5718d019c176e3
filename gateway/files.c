/* Files below a root. The way down is walked one segment at a time, each opened from its parent's
 * descriptor and never through a link, so that nothing that is renamed meanwhile leads outside. (openat2
 * would do it in one call, but container runtimes refuse what they do not know.)
 *
 * What lies in the page cache is read at once; what does not, on a thread of the pool.
 *
 * Owns: nothing; a descriptor is its struct bw_file's. Runs in: a request's fiber, or a bundle's start.
 * Tests: tests/unit/gateway/files_test.c. */
#include "files.h"

#include "offload.h"
#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* Cuts the first segment off. False: not one that may be opened. */
static bool cut(struct bw_str *path, char ret[NAME_MAX + 1])
{
	const char *slash = memchr(path->p, '/', path->n);
	size_t      n = slash ? (size_t)(slash - path->p) : path->n;

	if (n == 0 || n > NAME_MAX || memchr(path->p, '\0', n) || (slash && n + 1 == path->n))
		return false;
	memcpy(ret, path->p, n);
	ret[n] = '\0';
	path->p += n + (slash != NULL);
	path->n -= n + (slash != NULL);
	return strcmp(ret, ".") != 0 && strcmp(ret, "..") != 0;
}

static int error_of(int number)
{
	switch (number) {
	case EMFILE:
	case ENFILE:
	case ENOMEM:
		return BW_EBUSY;
	case EIO:
		return BW_EIO;
	default:
		return BW_ENOTFOUND;
	}
}

static int adopt(int fd, struct bw_file *ret)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return BW_ENOTFOUND;
	}
	*ret = (struct bw_file){ .fd = fd, .n = (uint64_t)st.st_size };
	if (st.st_mtim.tv_sec > 0)
		ret->modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	return BW_OK;
}

int file_open(const char *root, struct bw_str path, struct bw_file *ret)
{
	char name[NAME_MAX + 1];
	int  fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (path.n > 0 && path.p[0] == '/') {
		path.p++;
		path.n--;
	}
	while (fd >= 0) {
		int parent = fd, error;

		if (path.n == 0 || !cut(&path, name)) {
			close(parent);
			return BW_ENOTFOUND;
		}
		/* Nothing but a regular file is read, and opening a pipe must not wait for its writer. */
		fd = openat(parent, name,
		            (path.n > 0 ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY) |
		                    O_NOFOLLOW | O_CLOEXEC);
		error = errno;
		close(parent);
		errno = error;
		if (fd >= 0 && path.n == 0)
			return adopt(fd, ret);
	}
	return error_of(errno);
}

struct read_job {
	int     fd;
	off_t   offset;
	void   *buf;
	size_t  n;
	ssize_t got;
};

static void read_blocking(void *arg)
{
	struct read_job *j = arg;

	do
		j->got = pread(j->fd, j->buf, j->n, j->offset);
	while (j->got < 0 && errno == EINTR);
}

/* What is in the page cache; false: nothing, or the file system cannot tell. */
static bool read_cached(struct read_job *j)
{
	struct iovec part = { j->buf, j->n };

	j->got = preadv2(j->fd, &part, 1, j->offset, RWF_NOWAIT);
	return j->got >= 0;
}

int file_read(struct bw_req *req, const struct bw_file *file, uint64_t offset, void *buf, size_t n,
              size_t *ret_n)
{
	struct read_job j = { .fd = file->fd, .offset = (off_t)offset, .buf = buf };
	int             err = BW_OK;

	if (offset >= file->n)
		n = 0;
	else if (n > file->n - offset)
		n = file->n - offset;
	if (file->data || n == 0) {
		if (n > 0)
			memcpy(buf, (const char *)file->data + offset, n);
		*ret_n = n;
		return BW_OK;
	}
	j.n = n;
	if (!req)
		read_blocking(&j);
	else if (!read_cached(&j))
		err = offload_run(req, read_blocking, &j);
	if (err == BW_OK && j.got < 0)
		err = BW_EIO;
	if (err == BW_OK)
		*ret_n = (size_t)j.got;
	return err;
}

void file_close(struct bw_file *file)
{
	if (file->release)
		file->release(file);
	if (file->fd >= 0)
		close(file->fd);
	*file = (struct bw_file){ .fd = -1 };
}
