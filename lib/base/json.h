/* json.h - writes JSON (RFC 8259) into a buffer, in the order in which it is told. It puts the commas and
 * escapes text; that each key has a value and each bracket its end is the caller's to see to. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { JSON_DEPTH_MAX = 32 }; /* brackets open at a time; more are fatal */

struct json {
	struct buf *to; /* borrowed */
	unsigned    depth;
	uint32_t    filled; /* bit n: level n has something in it */
	bool        after_key;
};

void json_init(struct json *j, struct buf *to);
void json_object(struct json *j); /* { */
void json_object_end(struct json *j);
void json_array(struct json *j); /* [ */
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);

/* Values. What is not UTF-8 in a string is replaced by U+FFFD, octet by octet. p NULL: null. */
void json_string(struct json *j, const char *p, size_t n);
void json_text(struct json *j, const char *text); /* NUL-terminated */
void json_int(struct json *j, int64_t value);
void json_double(struct json *j, double value); /* null if it is infinite or no number */
void json_bool(struct json *j, bool value);
void json_null(struct json *j);
