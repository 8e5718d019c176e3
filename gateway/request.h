/* request.h - struct bw_req: one request, its response, and its life.
 *
 *   http parses -> NEW -> SERVING (on its fiber) -> RESPONDING -> ENDED
 *                   |       |  ^                        ^
 *                   |       v  |                        |  client gone, or deadline passed while
 *                   |     PARKED                        |  parked: gone / late is set, the fiber
 *                   +-----------------------------------+  runs on to its end
 *                     answered without a servlet
 *
 * Memory: the struct, its arena and everything reached from it are ours. Two owners, the fiber and
 * http (libh2o's request, through a dispose guard); the last one to let go frees it, and gives back
 * the whiteboard snapshot, which holds the bundles' code.
 *
 * Who fills what: http the head, the body and the transport; whiteboard the dispatch part; security
 * the identity; engine the resource part. A section is written by its owner only. */
#pragma once
#include <base/arena.h>
#include <base/buf.h>
#include <boardwalk/bundle.h>

struct fiber;
struct http_req; /* libh2o's side; only gateway/http looks inside */
struct snapshot; /* whiteboard/snapshot.h */
struct snapshot_context;
struct dispatch;
struct parameters;
struct cookies;
struct multipart;
struct upload;       /* multipart.h */
struct req_sessions; /* session.h */
struct bw_res_header {
	struct bw_str name, value; /* name in lower case */
};

enum req_state { REQ_NEW, REQ_SERVING, REQ_PARKED, REQ_RESPONDING, REQ_ENDED };

/* Something a fiber waits for, on its stack. */
struct req_wait {
	/* The request is over (gone or late): forget what was asked. NULL: cannot be forgotten (a job in
	 * the thread pool); the fiber then stays parked until request_wake. */
	void (*cancel)(struct req_wait *w);
};

struct req_attr {
	struct req_attr *next;
	struct bw_str    name, value; /* an absent value: no such attribute */
};

/* What a dispatch other than the client's own is for; in the arena or on the dispatching stack. */
struct req_target {
	struct bw_str uri, query, path; /* as of struct bw_req */
};

/* The query of a dispatch: its parameters go before the others. On the dispatching stack. */
struct req_query {
	struct req_query  *next; /* of the dispatch around it */
	struct bw_str      query;
	struct parameters *params; /* params.c: as seen inside; NULL: nobody has asked */
};

/* What a servlet that calls others has still to do when the asynchronous work that one of them started
 * is through. */
struct req_later {
	/* err: what came of it, BW_OK or an error. Returns what is left to be answered. */
	int (*finish)(struct bw_req *req, const struct req_later *later, int err);
	const char *note; /* who works meanwhile, for the watchdog */
};

struct bw_req {
	/* life: request.c */
	enum req_state   state;
	unsigned         owners; /* fiber and http: 2, 1, 0 */
	bool             gone;   /* the client is not there any more */
	bool             late;   /* the deadline has passed; http has answered 503 or 504 */
	struct fiber    *fiber;
	struct req_wait *wait;
	uint64_t         id;
	char             id_text[17];             /* 16 hexadecimal digits */
	uint64_t         started_us, deadline_us; /* clock_mono_us; deadline 0: none */
	struct arena     arena;

	/* head: http, copied at the start */
	struct bw_str         method;
	struct bw_str         uri;    /* raw path as sent, without query */
	struct bw_str         query;  /* absent without '?' */
	struct bw_str         path;   /* canonical: decoded, dots resolved, parameters cut */
	struct bw_str         params; /* path parameters cut off, raw, each with its ';', joined */
	struct bw_str         scheme, host, remote_addr;
	struct bw_res_header *headers; /* of the request */
	size_t                n_headers;
	bool                  management; /* came in on the management listener */
	bool                  http10;
	uint64_t              body_length;
	const uint8_t *body_in; /* libh2o's memory; NULL without a body and once it is gone */

	/* response: request.c; sent by http */
	int                   status;
	bool                  committed; /* head handed to the transport */
	bool                  flush;     /* parked until the transport has taken what is in body */
	bool                  closed;    /* sendError or forward: later writes are ignored */
	struct bw_res_header *res_headers;
	size_t                n_res_headers, cap_res_headers;
	struct buf            body; /* not sent yet */
	uint64_t              body_sent;
	bool                  has_length; /* a streamed body will have length octets */
	uint64_t              length;
	bool                  head_only;    /* HEAD: the body is counted and dropped */
	int                   error_status; /* sendError, 0: none */
	struct bw_str         error_text;
	struct bw_str         error_name;  /* bw_req_fail */
	struct bw_str         error_cause; /* bw_req_fail_because: a name, too */
	bool truncated; /* failed after commit: the connection must not end cleanly */
	bool body_only; /* inside an include: all but writes to the body is ignored */
	bool unhurried; /* parked for as long as it takes: asynchronous work sets its own time-out */

	/* dispatch: whiteboard */
	struct snapshot   *snapshot;
	enum bw_dispatcher dispatcher;
	struct bw_context *context; /* of the current dispatch; NULL: none */
	struct bw_str    context_path, servlet_path, path_info, servlet_name, pattern, match_value;
	struct req_attr *attrs;
	/* The context whose listeners hear of attributes; NULL: nobody does. */
	const struct snapshot_context *listened;

	struct dispatch         *whiteboard; /* the innermost one; NULL: no servlet is resolved */
	unsigned                 nested;     /* forwards and includes that have not returned */
	bool                     forwarded;  /* one of those is a forward to a path */
	const struct req_target *target;   /* shown instead of the client's; NULL: that is shown */
	const struct req_target *included; /* what is being included; NULL: nothing is */
	const struct req_origin *origin;   /* what the client asked for; NULL: what is shown */
	struct req_query        *extra;    /* queries of dispatches, the innermost first */
	struct bw_async         *async;    /* NULL: never started */
	const struct req_later  *later;    /* for the end of asynchronous work; NULL: nothing */

	/* identity: security */
	struct bw_str       remote_user, auth_type; /* absent for anonymous */
	struct bw_resolver *resolver;               /* NULL: this context does no authentication */
	struct bw_resolver *resolvers;              /* all of this request, for closing */

	/* resource: engine */
	struct bw_resource *resource;
	struct bw_str       resource_path, selectors, extension, suffix;

	/* parameters, cookies and parts: params.c, cookies.c, multipart.c; read when first asked for */
	struct parameters *parameters;
	struct bw_str sent_method; /* the client's, while an error page runs as GET; else absent */
	struct cookies      *cookies;
	struct multipart    *multipart;
	const struct upload *upload; /* whiteboard: what the servlet allows; NULL: no multipart */

	struct http_req *http;

	/* sessions: session.c; NULL: nobody has asked for one */
	struct req_sessions *sessions;

	/* What is no client's request, but a job (events/deliver.c): who is told of its stops in place of the
	 * transport, and whose it is. NULL: it is a client's. */
	void (*on_stop)(struct bw_req *req);
	void *job;
};

/* A request with two owners, state NEW, an initialised arena and status 200. */
struct bw_req *request_new(void);
/* One owner lets go; the second one frees. */
void request_release(struct bw_req *req);
/* The one door for state; refuses impossible moves (fatalx). */
void request_set_state(struct bw_req *req, enum req_state to);
/* Frees what is kept for the next requests; at the end of the worker. */
void request_pool_done(void);

/* From the loop: runs serve(req) on a fiber. false: no stack to be had, nothing has happened. */
bool request_start(struct bw_req *req, void (*serve)(struct bw_req *req));
/* Who is told, on the loop's stack, that a fiber has stopped: state PARKED (flush: it waits for the
 * transport) or RESPONDING (serve has returned; cb then gives back the fiber's share). */
void request_on_stop(void (*cb)(struct bw_req *req));

/* On the fiber: parks it until request_wake. BW_OK, or BW_EGONE / BW_ETIME when the request is over
 * (w->cancel has run then). Returns at once with those if it is over already. */
int request_park(struct bw_req *req, struct req_wait *w);
/* From the loop: runs the fiber on, at once. Only for the wait it is parked in. */
void request_wake(struct bw_req *req);
/* From the loop (http): the client is gone, or the deadline has passed. */
void request_abort(struct bw_req *req, bool late);
/* BW_OK, BW_EGONE or BW_ETIME. */
int request_check(const struct bw_req *req);

/* The header of that lower-case name, absent if there is none. */
struct bw_str request_header(const struct bw_req *req, const char *name);
/* What the getters show: the client's own, or that of the forward or asynchronous dispatch. */
static inline struct bw_str request_uri(const struct bw_req *req)
{
	return req->target ? req->target->uri : req->uri;
}

static inline struct bw_str request_query(const struct bw_req *req)
{
	return req->target ? req->target->query : req->query;
}

static inline struct bw_str request_path(const struct bw_req *req)
{
	return req->target ? req->target->path : req->path;
}

/* What the servlet is called for: the path shown, but in an include the included one. */
static inline struct bw_str request_dispatch_path(const struct bw_req *req)
{
	return req->included ? req->included->path : request_path(req);
}

/* A copy in the request's arena. */
struct bw_str request_dup(struct bw_req *req, struct bw_str s);
/* The client's address as trusted_proxies has it, in octets; absent where it is none, as over a Unix
 * socket. */
struct bw_str request_address(const struct bw_req *req, uint8_t octets[16]);
/* Copies up to n octets of the body from offset; *ret_n is 0 at its end. BW_EGONE, BW_ETIME. */
int request_body_read(const struct bw_req *req, uint64_t offset, void *buf, size_t n,
                      size_t *ret_n);

/* Overwrites the body where it lies: it held a secret that has been read. */
void request_body_wipe(struct bw_req *req);

/* ---- response: what the host table's entries of the same name do ---- */
#define RESPONSE_BUFFER (64u * 1024u) /* a larger body is streamed */
/* "Not Found"; "Unknown" for a status without a name. */
const char *response_reason(int status);
/* 204, 304 and the answer to HEAD have none, whatever was written. */
bool response_has_body(const struct bw_req *req);
int  response_status(struct bw_req *req, int status);
int  response_header(struct bw_req *req, const char *name, struct bw_str value, bool replace);
/* The server's own cookie of that name, in place of an earlier one; also where the servlet's headers are
 * ignored. Not once committed. value: in the arena. */
void response_set_cookie(struct bw_req *req, struct bw_str cookie, struct bw_str value);
int  response_write(struct bw_req *req, const void *data, size_t n);
int  response_flush(struct bw_req *req);
/* The body to come has n octets: a streamed one goes out with its Content-Length then. Only if nothing was
 * written so far; whoever says so writes them all, or returns an error. */
void response_length(struct bw_req *req, uint64_t n);
int  response_send_error(struct bw_req *req, int status, const char *text);
int  response_fail(struct bw_req *req, const char *name, const char *text);
int  response_fail_because(struct bw_req *req, const char *name, const char *text,
                           const char *cause);
/* For the server's own answers: drops the body, keeps headers, reopens a closed response. Nothing
 * inside an include, like response_reset and response_builtin_page. */
void response_reset_body(struct bw_req *req);
/* bw_res_reset, bw_res_reset_body; bw_res_get_header. */
int           response_take_back(struct bw_req *req, bool body_only);
struct bw_str response_get_header(const struct bw_req *req, const char *name);
/* Drops headers and body, status 200. */
void response_reset(struct bw_req *req);
/* The built-in page for a status: problem+json if Accept prefers it, else text/html; no internals.
 * Sets the status; adds Retry-After: 1 to a 503 that has none. */
void response_builtin_page(struct bw_req *req, int status);
