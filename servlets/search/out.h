/* out.h - text in the request's memory, on its way to be a response: known as a whole before the first
 * octet leaves, so that it can have a tag of its own (RFC 9110 8.8.3). */
#pragma once
#include <boardwalk/boardwalk.h>

struct out {
	struct bw_req *req;
	char          *p; /* of the request */
	size_t         n, cap;
};

void out_add(struct out *o, const char *p, size_t n);
void out_puts(struct out *o, const char *text);
/* At most 255 octets: for numbers and constants. */
__attribute__((format(printf, 2, 3))) void out_printf(struct out *o, const char *format, ...);
/* Escaped for HTML, in text and in quoted attributes; U+0002 and U+0003 become <mark> and </mark>. */
void out_html(struct out *o, struct bw_str text);
/* A path as part of a URI (RFC 3986 3.3): what may not stand there is encoded. */
void out_path(struct out *o, struct bw_str path);
