/* ask_impl.h - what ask.c and ask_auth.c offer to ask_repo.c and ahead.c: one call to a peer, which
 * connection to repo this is, handles as messages. */
#pragma once
#include "ask.h"
#include <wire/chan.h>

struct bw_req;

/* The answer has come: copy what is needed out of f, which is borrowed. Nonsense is fatal: auth and
 * repo stand above. Runs on the loop's stack. */
typedef int (*ask_take_cb)(void *arg, const struct wire_frame *f);

/* Sends m to peer and parks the request's fiber. BW_OK or what take returned; the code of FAILED;
 * BW_EGONE, BW_EBUSY, BW_ETOOBIG without a word to the peer (*ret_sent stays false; may be NULL);
 * BW_EGONE or BW_ETIME if the request is over. */
int ask_peer(enum wire_peer peer, struct bw_req *req, enum wire_id id, const ProtobufCMessage *m,
             ask_take_cb take, void *arg, bool *ret_sent);
/* The same; the peer's FAILED goes to refused before its code is returned (NULL: nobody looks). */
typedef void (*ask_refused_cb)(void *arg, const struct wire_frame *f);
int ask_peer_told(enum wire_peer peer, struct bw_req *req, enum wire_id id,
                  const ProtobufCMessage *m, ask_take_cb take, ask_refused_cb refused, void *arg,
                  bool *ret_sent);
/* A call that no request is parked for: wire_call on that peer's channel. */
int ask_call(enum wire_peer peer, struct wire_call *call, enum wire_id id, uint64_t request,
             const ProtobufCMessage *m);
/* A message without an answer. */
int ask_tell(enum wire_peer peer, struct bw_req *req, enum wire_id id, const ProtobufCMessage *m);

/* The same without a request. */
int ask_send(enum wire_peer peer, enum wire_id id, const ProtobufCMessage *m);

/* Parses an answer or ends the process. */
void ask_parse(const struct wire_frame *f, struct wire_message *ret);

/* Numbers the connections to repo: a handle is good for one of them. 0: none yet. */
uint32_t ask_connection(void);
/* One handle more (+1) or less (-1) is open at repo, for the metrics. */
void ask_count_handles(int by);

/* ---- ask_auth.c ---- */

/* Borrowed from the frame. */
struct ask_handles {
	struct bw_str  user;
	const uint8_t *first;               /* the others follow */
	size_t         size;                /* of each */
	unsigned       n;                   /* at least 1 */
	struct bw_str  token, impersonator; /* each absent: none */
	unsigned       token_s;
};

/* Makes m the question for handles of the guest (bundle absent) or of a service user; returns its
 * id. Borrows the names. */
enum wire_id ask_handles_question(union wire_any *m, struct bw_str bundle, struct bw_str subservice,
                                  unsigned count);
/* Reads RESOLVER_HANDLE or ends the process. */
void ask_take_handles(const struct wire_frame *f, unsigned asked, struct ask_handles *ret);
/* Copies user and handle, minted for the present connection, into r's arena. */
void ask_set_handle(struct bw_resolver *r, struct bw_str user, const uint8_t *handle, size_t size);

static inline ProtobufCBinaryData ask_bytes(struct bw_str s)
{
	return (ProtobufCBinaryData){ s.n, (uint8_t *)s.p };
}
