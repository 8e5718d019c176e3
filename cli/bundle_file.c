/* bundle_file.c - a bundle as a file: read, checked, put into the store.
 *
 * Owns: what was read. Runs in: the operator's commands. Fails with: false after a line on stderr.
 * Tests: tests/system/bundle_test.c, tests/unit/cli/descriptor_test.c. */
#include "bundle_file.h"

#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "descriptor.h"

#define MAX_BUNDLE (256u << 20) /* octets */

static bool read_image(struct bundle_file *f)
{
	int         fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t      have = 0;

	if (fd < 0 || fstat(fd, &st) != 0) {
		complain_errno("%s", f->path);
	} else if (!S_ISREG(st.st_mode) || st.st_size > MAX_BUNDLE) {
		complain("%s: is no regular file of at most %u MiB", f->path, MAX_BUNDLE >> 20);
	} else {
		f->n = (size_t)st.st_size;
		f->image = xmalloc(f->n + 1);
		while (have < f->n) {
			ssize_t n = read(fd, (char *)f->image + have, f->n - have);

			if (n <= 0 && !(n < 0 && errno == EINTR))
				break;
			have += n > 0 ? (size_t)n : 0;
		}
		if (have < f->n)
			complain("%s: could not be read as a whole", f->path);
	}
	if (fd >= 0)
		close(fd);
	return f->image != NULL && have == f->n;
}

bool bundle_file_read(struct bundle_file *ret, const char *path)
{
	unsigned char     hash[crypto_hash_sha256_BYTES];
	struct descriptor d;
	const char       *reason;

	*ret = (struct bundle_file){ .path = path };
	if (!read_image(ret))
		return false;
	reason = descriptor_read(ret->image, ret->n, &d);
	if (reason != NULL)
		return complain("%s: it %s", path, reason);
	ret->name = d.name;
	ret->version = d.version;
	crypto_hash_sha256(hash, ret->image, ret->n);
	sodium_bin2hex(ret->sha256, sizeof(ret->sha256), hash, sizeof(hash));
	return true;
}

void bundle_file_done(struct bundle_file *f)
{
	free(f->image);
	*f = (struct bundle_file){ 0 };
}

bool bundle_file_put(const struct bundle_file *f, const char *path)
{
	int  fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	bool done;

	if (fd < 0)
		return complain_errno("%s", path);
	done = write(fd, f->image, f->n) == (ssize_t)f->n && fchmod(fd, 0644) == 0 &&
	       fsync(fd) == 0;
	if (!done) {
		complain_errno("%s", path);
		unlink(path);
	}
	close(fd);
	return done;
}

bool bundle_file_copy(const char *from, const char *to)
{
	struct bundle_file f = { .path = from };
	bool               done = read_image(&f) && bundle_file_put(&f, to);

	free(f.image);
	return done;
}
