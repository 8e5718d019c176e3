/* ask_impl.h - what ask.c offers to ask_auth.c and ask_repo.c: one call to a peer, and which
 * connection to repo this is. */
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
/* A message without an answer. */
int ask_tell(enum wire_peer peer, struct bw_req *req, enum wire_id id, const ProtobufCMessage *m);

/* Parses an answer or ends the process. */
void ask_parse(const struct wire_frame *f, struct wire_message *ret);

/* Numbers the connections to repo: a handle is good for one of them. 0: none yet. */
uint32_t ask_connection(void);
/* One handle more (+1) or less (-1) is open at repo, for the metrics. */
void ask_count_handles(int by);

static inline ProtobufCBinaryData ask_bytes(struct bw_str s)
{
	return (ProtobufCBinaryData){ s.n, (uint8_t *)s.p };
}
