/* key.c - the keys that auth signs with, each made once: of resolver handles, which repo checks, and of
 * session tokens.
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

struct key_owner {
	uid_t  uid;
	gid_t  gid;
	mode_t mode;
};

static bool make(const struct instance *instance, const char *name, const struct key_owner *owner)
{
	char       *file = xasprintf("%s/keys/%s", instance->data, name);
	char       *fresh = xasprintf("%s.new", file);
	struct stat st;
	bool        done = stat(file, &st) == 0;

	if (!done && errno != ENOENT)
		complain_errno("%s", file);
	else if (!done && sodium_init() < 0)
		complain("libsodium does not start");
	else if (!done)
		done = write_key(file, fresh, owner->uid, owner->gid, owner->mode);
	free(fresh);
	free(file);
	return done;
}

bool key_make(const struct instance *instance)
{
	const struct cli_settings *s = instance->settings;
	struct key_owner           handle = { .mode = instance->separated ? 0440 : 0400 };
	struct key_owner           session = { .mode = 0400 };

	return instance_user(instance, s->repo_user, &(uid_t){ 0 }, &handle.gid) &&
	       instance_user(instance, s->auth_user, &session.uid, &session.gid) &&
	       (handle.uid = session.uid, make(instance, "handle.key", &handle)) &&
	       make(instance, "session.key", &session);
}
