/* origin.h - where a request comes from, as a browser says it: scheme, host and port of the page that
 * sent it (RFC 6454, RFC 9110 10.1.3). Private to gateway/security. */
#pragma once
#include <base/conf.h>
#include <boardwalk/types.h>
#include <stdbool.h>

struct origin {
	struct bw_str scheme,
		host;  /* as written: compared without case; the host without user info */
	unsigned port; /* 0: none is given, and the scheme has no known one */
};

/* Reads scheme://[user@]host[:port] and whatever follows it. False: it is nothing of that kind. Borrows
 * text. */
bool origin_parse(struct bw_str text, struct origin *ret);
/* The same for a request's own: its scheme, and host[:port] as its Host header says. */
bool origin_of(struct bw_str scheme, struct bw_str host, struct origin *ret);
bool origin_eq(const struct origin *a, const struct origin *b);

/* Origins that are trusted besides the request's own; NULL: none. */
struct origin_list;

/* hosts: "host" (any scheme and port) or "scheme://host:port" (port 0: any; none: the scheme's).
 * expressions: PCRE2, held against the whole of scheme://host:port. Fatal, naming the setting, on one
 * that cannot be. Borrows the texts. */
struct origin_list *origin_list_new(const struct conf_list *hosts,
                                    const struct conf_list *expressions);
bool                origin_list_has(const struct origin_list *list, const struct origin *o);
void                origin_list_free(struct origin_list *list);
