/* json.h - writes JSON (RFC 8259) into a buffer, in the order in which it is told. It puts the
 * commas and escapes text; that each key has a value and each bracket its end is the caller's to
 * see to. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { JSON_DEPTH_MAX = 32 }; /* brackets open at a time; more are fatal */

struct json_out {
	struct buf *to; /* borrowed */
	unsigned    depth;
	uint32_t    filled; /* bit n: level n has something in it */
	bool        after_key;
};

void json_out_init(struct json_out *j, struct buf *to);
void json_out_object(struct json_out *j); /* { */
void json_out_object_end(struct json_out *j);
void json_out_array(struct json_out *j); /* [ */
void json_out_array_end(struct json_out *j);
void json_out_key(struct json_out *j, const char *key);

/* Values. What is not UTF-8 in a string is replaced by U+FFFD, octet by octet. p NULL: null. */
void json_out_string(struct json_out *j, const char *p, size_t n);
void json_out_text(struct json_out *j, const char *text); /* NUL-terminated */
void json_out_int(struct json_out *j, int64_t value);
void json_out_double(struct json_out *j, double value); /* null if it is infinite or no number */
void json_out_bool(struct json_out *j, bool value);
void json_out_null(struct json_out *j);
