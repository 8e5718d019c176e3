/* mediatype.h - header values of the form  first; name=value; name="value"  (RFC 9110 5.6.6 and
 * 8.3.1, RFC 6266 4.1): Content-Type, Content-Disposition. */
#pragma once
#include <base/arena.h>
#include <boardwalk/types.h>

/* Is what stands before the first ';' this, whatever the case of its letters? */
bool mediatype_is(struct bw_str field, const char *type);

struct mediatype_params {
	const char *at, *end;
};

/* Ready for the first parameter behind the first ';'. */
struct mediatype_params mediatype_params(struct bw_str field);
/* The next one: 1, or 0 behind the last, -1 if what stands there is malformed. The name is
 * borrowed, in whatever case it was sent; the value is a copy in the arena, without its quotes.
 * In quotes \" and \\ stand for their second octet; any other backslash is itself, as browsers
 * send it in file names. */
int mediatype_next(struct mediatype_params *in, struct arena *a, struct bw_str *ret_name,
                   struct bw_str *ret_value);
