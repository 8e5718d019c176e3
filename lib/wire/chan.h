/* chan.h - one connection between two processes: framing, permissions, limits, batching.
 *
 * A channel knows no event loop. Its owner watches the descriptor and calls wire_chan_readable, and
 * once per loop turn wire_chan_flush, which sends all frames of the turn in one write. All frames
 * of one read are delivered before anything is flushed: this batching is worth a factor of 60.
 *
 *   asking side (gateway)                      answering side (auth, repo)
 *   wire_call --frame--------------------->    on_frame, permit table
 *   on_end    <----------------------frame--   wire_answer / wire_fail
 *
 * The first frame each way is HELLO; another version is refused. The side that asks always reads;
 * the side that answers stops reading while its output is above the mark, so two full buffers never
 * wait for each other. A bad frame from below closes that channel; from above it is fatal, because
 * the program is wrong. Owns: the descriptor, the buffers, the pending calls. Closing without a
 * reason does not compile.
 *
 * Every callback may call anything here for any channel: new calls, cancel, close, free. A process
 * that uses this ignores SIGPIPE. */
#pragma once
#include <base/buf.h>
#include <wire/messages.h>

#define WIRE_MAX_CALLS  4096u      /* in flight per connection */
#define WIRE_MAX_OUTPUT (8u << 20) /* octets; beyond it a call fails at once as busy */
/* Above this the answering side reads no questions, until half of it is gone. */
#define WIRE_OUTPUT_MARK (1u << 20)

struct wire_chan;

struct wire_chan_ops {
	/* HELLO arrived and its version fits. channel: 16 octets or empty. */
	void (*on_hello)(struct wire_chan *ch, struct bw_str channel);
	/* Answering side: a permitted request. Answer it now or later, exactly once (one-way: never). */
	void (*on_frame)(struct wire_chan *ch, const struct wire_frame *f);
	/* All frames of one read have been handed over. NULL: not wanted. */
	void (*on_batch)(struct wire_chan *ch);
	/* The channel is closed: every pending call has ended as BW_EGONE before. Stop watching the
	 * descriptor here; it is closed right after. reason: why, for the log. The owner may free the
	 * channel here or later. */
	void (*on_close)(struct wire_chan *ch, const char *reason);
	/* flush_soon: output became non-empty, so call wire_chan_flush before the loop sleeps.
	 * writable: watch for writability (true, when a flush could not send all) or not any more. */
	void (*want)(struct wire_chan *ch, bool flush_soon, bool writable);
	/* Answering side: stop (false) or go on (true) reading. NULL on the asking side. */
	void (*want_read)(struct wire_chan *ch, bool read);
};

/* One call, embedded in what waits for it (on the coroutine's stack). Ends exactly once: answered
 * (err BW_OK, f the answer, borrowed for the call), failed (err BW_E*, f the FAILED frame or NULL),
 * or cancelled by wire_cancel (on_end does not run then). Unless wire_call has returned BW_OK,
 * nothing of it is set. */
struct wire_call {
	void (*on_end)(struct wire_call *call, int err, const struct wire_frame *f);
	uint32_t          number;
	enum wire_id      expect;
	struct wire_chan *chan; /* NULL when not in flight */
};

/* Takes fd. self and other: who talks here to whom; the gateway is the side that asks. */
struct wire_chan *wire_chan_new(int fd, enum wire_peer self, enum wire_peer other,
                                const struct wire_chan_ops *ops, void *owner);
void  wire_chan_free(struct wire_chan *ch); /* closed already, or closes silently; NULL is fine */
void *wire_chan_owner(const struct wire_chan *ch);
int   wire_chan_fd(const struct wire_chan *ch);      /* -1 once closed */
bool  wire_chan_is_open(const struct wire_chan *ch); /* HELLO has come, not closed */
void  wire_chan_close(struct wire_chan *ch, const char *reason);

/* Sends HELLO; channel: 16 octets or empty. */
void wire_hello(struct wire_chan *ch, struct bw_str channel);
/* The owner's loop says: there is something to read; the end of the turn; there is room again. A
 * flush writes once and leaves the rest to wire_chan_writable. */
void wire_chan_readable(struct wire_chan *ch);
void wire_chan_flush(struct wire_chan *ch);
void wire_chan_writable(struct wire_chan *ch);

/* Asking side. BW_OK: on_end will run once, later. BW_EGONE: not open. BW_EBUSY: too many calls or
 * too much output. BW_ETOOBIG: the payload is above its row's maximum. */
int wire_call(struct wire_chan *ch, struct wire_call *call, enum wire_id id, uint64_t request,
              const ProtobufCMessage *m);
/* A message without an answer (HANDLE_CLOSE). Never busy: what may not be lost is bounded by its
 * sender, here by the handles that calls have opened. */
int wire_send(struct wire_chan *ch, enum wire_id id, uint64_t request, const ProtobufCMessage *m);
/* Forgets a call: its answer will be dropped. Nothing if it ended already. The other side is not
 * told, and the call counts as in flight until its answer has come: the work is owed all the
 * same. */
void wire_cancel(struct wire_call *call);
/* Asking side: calls not answered yet. Answering side: questions not answered yet. */
unsigned wire_chan_in_flight(const struct wire_chan *ch);

/* Answering side. The answer's id is the one the question's row names; types and acl go into the
 * header (0 from auth). call and request are those of the question's frame. An answer that would
 * pass WIRE_MAX_OUTPUT goes out as FAILED busy, one above its row's maximum as FAILED too big. On a
 * closed channel nothing happens. */
struct wire_question {
	enum wire_id id;
	uint32_t     call;
	uint64_t     request;
};
void wire_answer(struct wire_chan *ch, const struct wire_question *q, uint64_t types, uint64_t acl,
                 const ProtobufCMessage *m);
void wire_fail(struct wire_chan *ch, const struct wire_question *q, int err, unsigned retry_after,
               const char *text);
/* Answers whose payload is already encoded apart from the last bytes field, which follows as it is:
 * repo's fast path. head: packed fields before it, including the field's tag and size. */
void wire_answer_raw(struct wire_chan *ch, const struct wire_question *q, uint64_t types,
                     uint64_t acl, const void *head, size_t n_head, const void *tail,
                     size_t n_tail);
