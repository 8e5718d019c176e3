/* redirect.h - where a client may be sent after a login or logout: to a path of ours, never elsewhere. */
#pragma once
#include <base/arena.h>
#include <boardwalk/types.h>

#define REDIRECT_MAX 2048u /* octets of a target */

struct redirect_site {
	struct bw_str context; /* the context path: empty, or with a slash in front */
	/* Is there a resource at this decoded path? Asked only for a path with a quote in it; NULL: no. */
	bool (*exists)(void *arg, struct bw_str path);
	void *arg;
};

/* The target as a value of Location, put together anew in the arena: ASCII, what has to be escaped is, and
 * what need not be is not. Absent: it leads elsewhere, or two readers could differ about where. */
struct bw_str redirect_check(struct arena *a, const struct redirect_site *site,
                             struct bw_str target);
/* What a target says as seen from a request for uri (raw): a relative one goes on from the folder of that,
 * and an absolute one gets the context path if it lacks it. Still to be checked; absent: it climbs above
 * the root. */
struct bw_str redirect_resolve(struct arena *a, const struct redirect_site *site, struct bw_str uri,
                               struct bw_str target);
/* A checked target with one more parameter, its value escaped. */
struct bw_str redirect_add(struct arena *a, struct bw_str target, const char *name,
                           struct bw_str value);

/* Where this request's client asks to be sent: the parameter sling.auth.redirect (empty or "true": to this
 * request's own path, without a login suffix), else the attribute or parameter resource, else otherwise
 * (NULL: the context's root). As a value of Location, never absent: what cannot be is the context's root.
 * (waits) */
struct bw_str redirect_target(struct bw_req *req, const char *otherwise);
/* 302 there, which nobody keeps. */
void redirect_send(struct bw_req *req, struct bw_str location);
