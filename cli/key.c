/* key.c - the key that auth signs resolver handles with and repo checks them by, made once.
 *
 * Owns: DATA/keys. Runs in: the supervisor, before its loop; the key is wiped from it again.
 * Fails with: false after a line on stderr. Tests: tests/system/setup_test.c. */
#include "key.h"

#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_OCTETS 32

/* Written beside its place and linked there: a key is whole or absent, and never replaced. */
static bool write_key(const char *file, const char *fresh, uid_t uid, gid_t gid, mode_t mode)
{
	unsigned char key[KEY_OCTETS];
	char          line[2 + 2 * KEY_OCTETS + 2] = "1 ";
	bool          done;
	int           fd;

	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
	randombytes_buf(key, sizeof(key));
	sodium_bin2hex(line + 2, 2 * KEY_OCTETS + 1, key, sizeof(key));
	strcat(line, "\n");
	done = fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line) &&
	       fsync(fd) == 0 && fchown(fd, uid, gid) == 0 && fchmod(fd, mode) == 0 &&
	       link(fresh, file) == 0;
	if (!done)
		complain_errno("%s", fresh);
	sodium_memzero(key, sizeof(key));
	sodium_memzero(line, sizeof(line));
	if (fd >= 0)
		close(fd);
	unlink(fresh);
	return done;
}

bool key_make(const struct instance *instance)
{
	const struct cli_settings *s = instance->settings;
	char                      *file = xasprintf("%s/keys/handle.key", instance->data);
	char                      *fresh = xasprintf("%s.new", file);
	uid_t                      uid, other;
	gid_t                      gid;
	struct stat                st;
	bool                       done = stat(file, &st) == 0;

	if (!done && errno != ENOENT)
		complain_errno("%s", file);
	else if (!done && sodium_init() < 0)
		complain("libsodium does not start");
	else if (!done)
		done = instance_user(instance, s->repo_user, &other, &gid) &&
		       instance_user(instance, s->auth_user, &uid, &(gid_t){ 0 }) &&
		       write_key(file, fresh, uid, gid, instance->separated ? 0440 : 0400);
	free(fresh);
	free(file);
	return done;
}
