/* types.h - the names a bundle meets first: byte strings and the opaque structs of the API.
 * Nothing here refers to a library; read err.h and servlet.h next. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bw_bundle;   /* one generation of a bundle; lives from its start to the last destroy */
struct bw_service;  /* one registration in the service registry */
struct bw_context;  /* a servlet context, as a servlet sees it */
struct bw_req;      /* one HTTP request and its response */
struct bw_chain;    /* the rest of a filter chain */
struct bw_resolver; /* one identity's view of the repository; lives in the request */
struct bw_request_dispatcher; /* a servlet that a request can be handed to; lives in the request */
struct bw_async;              /* a request that goes on after its servlet; counted, see async.h */
struct bw_async_listener;
struct bw_session;  /* what is remembered of a client; lives as long as the request that asked */
struct bw_resource; /* one item read through a resolver; lives as long as the request */

/* Bytes with a length. p == NULL means absent, which is not the same as the empty string; when p is
 * set by Boardwalk, p[n] is a NUL that does not count, so that p can be printed. */
struct bw_str {
	const char *p;
	size_t      n;
};

/* A name and what it stands for: a parameter, a cookie, a header line. */
struct bw_pair {
	struct bw_str name, value;
};

/* A string literal as struct bw_str. */
#define BW_STR(literal) ((struct bw_str){ "" literal, sizeof(literal) - 1 })
#define BW_ABSENT       ((struct bw_str){ NULL, 0 })

/* A NUL-terminated string as struct bw_str; NULL becomes absent. Borrows s. */
static inline struct bw_str bw_str(const char *s)
{
	return (struct bw_str){ s, s ? strlen(s) : 0 };
}

/* Equal bytes; an absent string equals only an absent one. */
static inline bool bw_str_eq(struct bw_str a, struct bw_str b)
{
	return a.n == b.n && (a.p == NULL) == (b.p == NULL) &&
	       (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
