/* dispatch.h - one dispatch of a request into a servlet, through the filters that match. */
#pragma once
#include "snapshot.h"

#include <request.h>

/* On the dispatching stack; req->whiteboard is the innermost one. */
struct dispatch {
	const struct snapshot_servlet *servlet;
	const struct snapshot_step    *steps;
	size_t                         n_steps;
	struct bw_str                  path;  /* what filters are matched against */
	struct dispatch               *outer; /* in which this one was asked for; NULL */
	bool                           sync;  /* nothing asynchronous may be started */
};

struct preprocess;

/* The rest of a chain, on the stack of the filter it was given to. */
struct bw_chain {
	struct dispatch   *dispatch;
	struct preprocess *preprocess; /* instead, in the chain of the preprocessors */
	size_t             next;       /* step */
	const char        *note;       /* of the filter */
	bool               used;
};

/* Answers a request: resolution, listeners, security, filters, servlet, error page. What the servlet or a
 * filter returned, which is answered already. */
int dispatch_request(struct bw_req *req);
/* A refused bundle of which nobody knows what it would serve; NULL: there is none. Held by the caller until it
 * says otherwise. As long as there is one, only what a path takes exactly is answered: whatever else
 * would do may be there for want of it, and a form would be posted to the wrong servlet. */
void dispatch_doubt(const struct bw_bundle *b);
/* That bundle, if it is why a request gets 503. hit: NULL: nothing takes it. */
const struct bw_bundle *dispatch_doubtful(const struct snapshot_hit *hit);
/* The dispatch of a servlet for a path inside its context. */
struct dispatch dispatch_of(const struct snapshot_servlet *servlet, enum bw_dispatcher type,
                            struct bw_str rest);
/* Asks the context's helper, runs the chain from its start, and tells the helper that it has ended.
 * What the last caller returned: BW_OK or an error. A helper that declines has answered: BW_OK. */
int dispatch_serve(struct dispatch *d, struct bw_req *req);
/* The first two of these three; *ret_admitted: the last is still to be done, with dispatch_finish. */
int  dispatch_begin(struct dispatch *d, struct bw_req *req, bool *ret_admitted);
void dispatch_finish(const struct helper *h, struct bw_req *req);
/* Who runs now may not start anything asynchronous: a servlet that calls others knows what they support. */
void dispatch_forbid_async(struct bw_req *req);
/* Only the chain. */
int dispatch_run(struct dispatch *d, struct bw_req *req);
/* The context-relative path as filters and error pages see it: never empty. */
struct bw_str dispatch_path(struct bw_str rest);
/* The path values and the mapping of a request that a pattern has taken (Jakarta Servlet 3.5, 12.1). */
void dispatch_set_path_values(struct bw_req *req, const struct snapshot_hit *hit);

/* fault.c: answers a request whose servlet, filter or context helper returned err (BW_OK: look whether
 * it called sendError) with an error page or the built-in one. context: the one that served; NULL:
 * none did. servlet: the one resolved to, NULL if there was none. */
void fault_answer(struct bw_req *req, const struct snapshot_context *context,
                  const struct snapshot_servlet *servlet, int err);
/* Nothing takes the path: 404, through the page of the first context that contains it and has one. */
void fault_not_found(struct bw_req *req, const struct snapshot *s);
