/* keys.c - the command `keys`: exchanges the keys that auth signs with, while everything runs or not.
 *
 * A file is written anew beside its place and moved there: whoever reads it finds the old keys or the
 * new ones. The new key stands first, so that auth signs with it as soon as it has seen the file (it
 * looks each second); the ones before stay behind it, each with the second at which its time is over.
 * repo looks at the file at once when a handle names a key that it does not have yet. So there is no
 * order to keep, nobody to be told and nothing to be undone: a command that was killed has exchanged
 * a key or it has not.
 *
 * Owns: nothing; keys are wiped. Runs in: the command. Fails with: exit code 1 after a line on stderr;
 * then the file is what it was. Tests: tests/unit/cli/keys_test.c, tests/system/keys_test.c. */
#include "key.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <base/key_file.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a key is good after it was replaced: twice the life of a handle, and the longest life that a
 * session may be given (auth.session_life). */
#define HANDLE_S  120
#define SESSION_S 86400

static const struct kind {
	const char *file, *what;
	int64_t     old_s;
	unsigned    max; /* lines that its readers take */
} kinds[] = {
	{ "handle.key", "resolver handles", HANDLE_S, 2 },
	{ "session.key", "session tokens", SESSION_S, KEY_LINES },
};

static uint32_t next_id(const struct key_line *lines, unsigned n)
{
	uint32_t highest = 0;

	for (unsigned i = 0; i < n; i++)
		if (lines[i].id > highest)
			highest = lines[i].id;
	return highest < UINT32_MAX ? highest + 1 : 1;
}

int key_lines_rotate(struct key_line lines[KEY_LINES], unsigned n, unsigned max, int64_t now_s,
                     int64_t until_s)
{
	struct key_line fresh = { .id = next_id(lines, n) };
	unsigned        kept = 0;

	for (unsigned i = 0; i < n; i++) {
		if (lines[i].until != 0 && lines[i].until <= now_s)
			continue;
		if (lines[i].until == 0 || lines[i].until > until_s)
			lines[i].until = until_s;
		if (kept < i)
			lines[kept] = lines[i];
		kept++;
	}
	if (kept == max)
		return -1;
	memmove(lines + 1, lines, kept * sizeof(lines[0]));
	randombytes_buf(fresh.key, sizeof(fresh.key));
	lines[0] = fresh;
	sodium_memzero(&fresh, sizeof(fresh));
	return (int)kept + 1;
}

/* With the owner and the mode of the old one, which the name of the file leads to until the end. */
static bool replace(const char *file, const struct key_line *lines, unsigned n)
{
	char        text[KEY_FILE_BYTES], *fresh = xasprintf("%s.new", file);
	size_t      size = key_file_text(lines, n, text);
	struct stat st;
	bool        done;
	int         fd;

	unlink(fresh);
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
	done = fd >= 0 && stat(file, &st) == 0 && write(fd, text, size) == (ssize_t)size &&
	       fchown(fd, st.st_uid, st.st_gid) == 0 && fchmod(fd, st.st_mode & 07777) == 0 &&
	       fsync(fd) == 0 && rename(fresh, file) == 0;
	if (!done) {
		complain_errno("%s", file);
		unlink(fresh);
	}
	if (fd >= 0)
		close(fd);
	sodium_memzero(text, sizeof(text));
	free(fresh);
	return done;
}

static bool rotate_file(const char *file, const struct kind *kind)
{
	struct key_line lines[KEY_LINES];
	char            err[512];
	int64_t         now_s = (int64_t)(clock_real_us() / 1000000u);
	int             n = key_file_load(file, kind->max, lines, NULL, err, sizeof(err));
	bool            done = false;

	if (n < 0)
		return complain("%s", err);
	n = key_lines_rotate(lines, (unsigned)n, kind->max, now_s, now_s + kind->old_s);
	if (n < 0)
		complain("%s: all its %u keys are still in use; the oldest has to be over first",
		         file, kind->max);
	else
		done = replace(file, lines, (unsigned)n);
	if (done)
		printf("%s are signed with key %" PRIu32 " from now on\n", kind->what, lines[0].id);
	sodium_memzero(lines, sizeof(lines));
	return done;
}

/* One at a time: two commands would each lose the other's key. */
static bool rotate(const struct instance *instance, const struct kind *kind)
{
	char *folder = xasprintf("%s/keys", instance->data);
	char *file = xasprintf("%s/%s", folder, kind->file);
	int   fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool  done = fd >= 0 && flock(fd, LOCK_EX) == 0;

	if (!done)
		complain_errno("%s", folder);
	else
		done = rotate_file(file, kind) && fsync(fd) == 0;
	if (fd >= 0)
		close(fd);
	free(file);
	free(folder);
	return done;
}

int keys_main(struct cli *cli)
{
	struct instance instance;
	bool            both = cli->handle_keys == cli->session_keys, done;

	if (strcmp(cli->operands[0], "rotate") != 0) {
		complain("keys: there is no verb '%s'; there is rotate", cli->operands[0]);
		return CLI_USAGE;
	}
	if (sodium_init() < 0) {
		complain("libsodium does not start");
		return CLI_FAILED;
	}
	instance_find_data(&instance, &cli->settings);
	done = (!(both || cli->handle_keys) || rotate(&instance, &kinds[0])) &&
	       (!(both || cli->session_keys) || rotate(&instance, &kinds[1]));
	instance_done(&instance);
	return done ? CLI_OK : CLI_FAILED;
}
