/* ask.h - what the gateway asks of auth and repo, each as a call that looks local: the coroutine is
 * parked until the answer is there, the peer is gone, or the request is over.
 *
 * One connection to each per worker. A worker connects to repo first (which draws the channel
 * number), then to auth (which learns it); when repo's connection goes, auth's is closed too and
 * both are greeted anew, with back-off from 10 ms to 1 s. Calls fail at once with BW_EGONE while a
 * peer is not there. */
#pragma once
#include <boardwalk/bundle.h>
#include <wire/record.h>

struct gateway_settings;
struct shared_worker;
struct changes;
struct frozen;
struct search_page;

/* Starts connecting. shared: this worker's counters, for ready and handles_open. Ignores SIGPIPE in
 * the process. */
void ask_init(const struct gateway_settings *settings, struct shared_worker *shared);
/* Closes both connections; calls in flight end as BW_EGONE. */
void ask_done(void);
bool ask_is_ready(void); /* both have greeted */
bool ask_is_away(void);  /* one could not be reached, or left, and has not greeted since */
/* fn() when either may have become true; NULL: nobody wants to know. */
void ask_on_news(void (*fn)(void));

/* ---- ask_auth.c: each fills a resolver (resolver.c) with user id and handle. BW_ELOGIN: refused;
 * BW_EBUSY: the hashing pool's queue is full ---- */

/* What goes with a login, and what else it brings. All zero: nothing is asked for. */
struct ask_login {
	struct bw_str address;      /* of the client, 4 or 16 octets; absent: not known */
	struct bw_str sudo;         /* whom to act as; absent: nobody else */
	bool          want_session; /* of a password: a session token as well */
	/* Of BW_OK, in the request's arena. */
	struct bw_str token;        /* new or renewed; absent: none, or the one sent stays */
	unsigned      token_s;      /* seconds until that ends unless it is renewed */
	struct bw_str impersonator; /* who acts as the resolver's user; absent: he himself */
	/* Of the others: seconds to wait, 0: not said. */
	unsigned retry_after_s;
};
/* login: NULL is as all zero, and nobody looks. */
int ask_authenticate_basic(struct bw_req *req, struct bw_str user, struct bw_str password,
                           struct ask_login *login, struct bw_resolver *r);
/* token: as the client sent it; one above WIRE_TOKEN_MAX octets is BW_ELOGIN without a question. */
int ask_authenticate_token(struct bw_req *req, struct bw_str token, struct ask_login *login,
                           struct bw_resolver *r);
int ask_authenticate_bearer(struct bw_req *req, struct bw_str token, struct ask_login *login,
                            struct bw_resolver *r);
/* The session of that token is over on all nodes when this is BW_OK, also if it never was one;
 * *ret_was_live (may be NULL): it was until now. */
int ask_session_end(struct bw_req *req, struct bw_str token, bool *ret_was_live);
/* For the guest or service user that r stands for, from auth itself: nothing that was fetched ahead
 * (ahead.h). */
int ask_handle(struct bw_resolver *r);

/* ---- ask_repo.c: r is minted and opened by its first call; records are copied into the request's
 * arena. BW_EGONE also when the connection that r was minted for is gone ---- */
int ask_resource_resolve(struct bw_resolver *r, struct bw_str path, size_t *ret_resolved,
                         struct record *ret, uint64_t *ret_types);
int ask_resource_get(struct bw_resolver *r, struct bw_str path, struct record *ret);
int ask_resource_children(struct bw_resolver *r, struct bw_str path, struct bw_str after,
                          unsigned max, struct record **ret, size_t *ret_n, bool *ret_more);
/* changes: wire/changes.h. *ret_reason: what is wrong, for the client; absent if repo said no more than
 * its code, or there was no answer. */
int ask_resource_commit(struct bw_resolver *r, struct bw_str changes, struct bw_str *ret_reason);
/* A page of the versions of a node, as wire/boardwalk.proto has them, at most 64; and the node in one. */
int ask_version_list(struct bw_resolver *r, struct bw_str path, struct bw_str after, unsigned max,
                     struct record **ret, size_t *ret_n, bool *ret_more);
int ask_version_get(struct bw_resolver *r, const struct frozen *part, struct record *ret);
/* The prefix of a namespace, in the request's arena. BW_ENOTFOUND: it is not registered. */
int ask_namespace(struct bw_resolver *r, struct bw_str uri, struct bw_str *ret_prefix);
/* A node's list of entries, as the changes that add them; n 0: there are none. BW_EFORBIDDEN. */
int ask_access_list(struct bw_resolver *r, struct bw_str path, struct changes *ret);
/* names, and *ret_names: privileges with a blank between. BW_EINVAL: one means nothing. */
int ask_access_granted(struct bw_resolver *r, struct bw_str path, struct bw_str names,
                       bool *ret_all, struct bw_str *ret_names);
/* A page for terms (wire/search.h), also where it says that they are none. */
int ask_search(struct bw_resolver *r, struct bw_str terms, struct search_page *ret);

/* Octets of a binary value (blob.h of the API); ASK_BLOB_MOST at a time. */
#define ASK_BLOB_MOST 196608u

/* Appends data at offset to *upload, which is absent at first and is set, in the arena. */
int ask_blob_write(struct bw_resolver *r, struct bw_str *upload, uint64_t offset,
                   struct bw_str data);
/* Reads into p, of n octets, 1 to ASK_BLOB_MOST; p stays until the call has ended. */
struct ask_blob_range {
	struct bw_str        path, property, value; /* value: the property's text */
	const struct frozen *part;                  /* NULL: of the resource at path itself */
	uint64_t             offset;
	void                *p;
	size_t               n;
};
int ask_blob_read(struct bw_resolver *r, const struct ask_blob_range *range, size_t *ret_n);
/* Tells repo that r is done with, if repo has seen it; does not wait. Nothing the second time. */
void ask_handle_close(struct bw_resolver *r);
/* Counts a clone that its request has left open. */
void ask_count_left(void);
