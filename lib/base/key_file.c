/* key_file.c - reads files of keys, and notices when they have been replaced.
 *
 * Owns: nothing; what it read is wiped from its own memory. Runs in: auth, repo and the operator's
 * commands; reading a local file of a few lines is all that it waits for.
 * Fails with: -1 and a reason that names the file. Tests: tests/unit/base/key_file_test.c. */
#include "key_file.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SECOND 99999999999 /* of the year 5138: 11 digits */

/* ---- lines ---- */

/* The digits at *at; false: none, or more than max. */
static bool parse_number(const char *line, size_t n, size_t *at, uint64_t max, uint64_t *ret)
{
	size_t   start = *at;
	uint64_t value = 0;

	for (; *at < n && line[*at] >= '0' && line[*at] <= '9' && value <= max; (*at)++)
		value = value * 10 + (uint64_t)(line[*at] - '0');
	*ret = value;
	return *at > start && value <= max;
}

/* One line of n octets without its newline. */
static bool parse_line(const char *line, size_t n, struct key_line *ret)
{
	const size_t digits = 2 * sizeof(ret->key);
	size_t       at = 0, n_key;
	uint64_t     id, until = 0;

	if (!parse_number(line, n, &at, UINT32_MAX, &id) || at == n || line[at++] != ' ' ||
	    n - at < digits)
		return false;
	if (sodium_hex2bin(ret->key, sizeof(ret->key), line + at, digits, NULL, &n_key, NULL) !=
	            0 ||
	    n_key != sizeof(ret->key))
		return false;
	at += digits;
	if (at < n && (line[at++] != ' ' || !parse_number(line, n, &at, MAX_SECOND, &until) ||
	               until == 0 || at != n))
		return false;
	ret->id = (uint32_t)id;
	ret->until = (int64_t)until;
	return true;
}

static bool has_id(const struct key_line *lines, unsigned n, uint32_t id)
{
	for (unsigned i = 0; i < n; i++)
		if (lines[i].id == id)
			return true;
	return false;
}

/* The number of lines; -1 with a reason. */
static int parse(const char *text, size_t size, unsigned max, struct key_line *lines,
                 const char **ret_reason)
{
	unsigned n = 0;

	for (size_t at = 0; at < size; n++) {
		const char *nl = memchr(text + at, '\n', size - at);
		size_t      length = nl ? (size_t)(nl - text) - at : size - at;

		if (n == max)
			*ret_reason = "too many lines";
		else if (!parse_line(text + at, length, &lines[n]))
			*ret_reason = "a line is not \"id\" and 64 hexadecimal digits";
		else if (has_id(lines, n, lines[n].id))
			*ret_reason = "two keys have the same id";
		if (*ret_reason != NULL)
			return -1;
		at += length + 1;
	}
	if (n == 0)
		*ret_reason = "empty";
	return n == 0 ? -1 : (int)n;
}

size_t key_file_text(const struct key_line *lines, unsigned n, char text[KEY_FILE_BYTES])
{
	char   hex[2 * sizeof(lines->key) + 1], until[24];
	size_t at = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < n && i < KEY_LINES; i++) {
		sodium_bin2hex(hex, sizeof(hex), lines[i].key, sizeof(lines[i].key));
		snprintf(until, sizeof(until), " %" PRId64, lines[i].until);
		at += (size_t)snprintf(text + at, KEY_FILE_BYTES - at, "%" PRIu32 " %s%s\n",
		                       lines[i].id, hex, lines[i].until != 0 ? until : "");
	}
	sodium_memzero(hex, sizeof(hex));
	return at;
}

/* ---- files ---- */

static struct key_stamp stamp_of(const struct stat *st)
{
	return (struct key_stamp){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.changed_ns =
			(uint64_t)st->st_mtim.tv_sec * 1000000000u + (uint64_t)st->st_mtim.tv_nsec,
	};
}

/* A descriptor of a file that only its owner, and perhaps its group for reading, can get at. */
static int open_private(const char *file, struct key_stamp *ret_stamp, char *err, size_t err_size)
{
	int         fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		snprintf(err, err_size, "%s: %s", file, strerror(errno));
	} else if (!S_ISREG(st.st_mode)) {
		snprintf(err, err_size, "%s: not a regular file", file);
	} else if (st.st_mode & (S_IXUSR | S_IWGRP | S_IXGRP | S_IRWXO)) {
		snprintf(err, err_size,
		         "%s: mode %04o, which lets others at the keys; 0440 is right", file,
		         (unsigned)(st.st_mode & 07777));
	} else {
		*ret_stamp = stamp_of(&st);
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int key_file_load(const char *file, unsigned max, struct key_line lines[KEY_LINES],
                  struct key_stamp *ret_stamp, char *err, size_t err_size)
{
	char             text[KEY_FILE_BYTES];
	const char      *reason = NULL;
	struct key_stamp stamp;
	size_t           n = 0;
	ssize_t          got = 1;
	int              n_lines = -1, fd = open_private(file, &stamp, err, err_size);

	if (fd < 0)
		return -1;
	while (n < sizeof(text) && (got = read(fd, text + n, sizeof(text) - n)) > 0)
		n += (size_t)got;
	if (got < 0)
		reason = strerror(errno);
	else if (n == sizeof(text))
		reason = "too long";
	else
		n_lines = parse(text, n, max < KEY_LINES ? max : KEY_LINES, lines, &reason);
	close(fd);
	sodium_memzero(text, sizeof(text));
	if (n_lines < 0) {
		sodium_memzero(lines, KEY_LINES * sizeof(lines[0]));
		snprintf(err, err_size, "%s: %s", file, reason);
	} else if (ret_stamp != NULL) {
		*ret_stamp = stamp;
	}
	return n_lines;
}

bool key_file_is_new(const char *file, struct key_stamp *stamp)
{
	struct stat      st;
	struct key_stamp now;

	if (stat(file, &st) != 0)
		return false;
	now = stamp_of(&st);
	if (memcmp(&now, stamp, sizeof(now)) == 0)
		return false;
	*stamp = now;
	return true;
}
