/* key_file.h - a file of keys, one a line, that its readers can be told to leave behind.
 *
 *     id SP 64 hexadecimal digits [SP second]
 *
 * The first line is the one to make things with; all of them are good for checking. A line with a
 * second (of 1970) is worth nothing from then on: it was replaced, and what was made with it is old. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define KEY_LINES      8u /* of a file, at most */
#define KEY_FILE_BYTES 1024u

struct key_line {
	uint32_t id;
	uint8_t  key[32];
	int64_t  until; /* 0: stays good */
};

/* Which file was read; all zero: none. */
struct key_stamp {
	uint64_t device, inode, size, changed_ns;
};

/* Reads at most max lines, among them those whose time is over. The file is a regular one that others
 * than its owner cannot write, and only his group read. Returns the number of lines, at least 1, or -1
 * with a reason in err; lines is wiped then. *ret_stamp (may be NULL): of what was read. */
int key_file_load(const char *file, unsigned max, struct key_line lines[KEY_LINES],
                  struct key_stamp *ret_stamp, char *err, size_t err_size);
/* Whether there is another file now than the one of *stamp, which becomes that one's. A file that is
 * not there is none: false. */
bool key_file_is_new(const char *file, struct key_stamp *stamp);
/* The text of n lines, KEY_FILE_BYTES at most with its NUL; the caller wipes it. Returns its length. */
size_t key_file_text(const struct key_line *lines, unsigned n, char text[KEY_FILE_BYTES]);
