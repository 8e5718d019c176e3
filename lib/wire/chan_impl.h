/* chan_impl.h - struct wire_chan, for the files of this folder: chan.c (life, reading, writing),
 * call.c (the asking side), answer.c (the answering side). */
#pragma once
#include <wire/chan.h>

/* A call that is not answered yet; number 0: free. call NULL: cancelled, its answer is dropped. */
struct wire_slot {
	uint32_t          number;
	enum wire_id      expect;
	struct wire_call *call;
};

struct wire_chan {
	int                         fd; /* -1 once closed */
	enum wire_peer              self, other;
	const struct wire_chan_ops *ops;
	void                       *owner;
	struct buf                  in, out;
	uint64_t                    seen_once[WIRE_IDS / 64]; /* rows that may come only once */

	bool     greeted; /* HELLO has come */
	bool     closed;
	bool     paused;     /* answering side: output is above the mark */
	bool     blocked;    /* the last write was short: the owner watches for room */
	bool     delivering; /* frames are being handed over: not once more from inside */
	bool     out_secret; /* a password is or was in out: wiped as it is sent */
	bool     free_later; /* freed by a callback while busy */
	unsigned busy;       /* calls of ours on the stack that will look at the channel again */

	uint32_t          in_flight;
	uint32_t          next_call;
	struct wire_slot *slots; /* asking side: at number % n_slots, a power of two */
	uint32_t          n_slots;
};

static inline bool chan_asks(const struct wire_chan *ch)
{
	return ch->self == WIRE_GATEWAY;
}

/* Nonsense from the peer: closes the channel, or ends the process if the peer is above us. */
__attribute__((format(printf, 2, 3))) void chan_refuse(struct wire_chan *ch, const char *format,
                                                       ...);

/* A frame in the output: begin writes the header and returns where f->length octets of payload go;
 * end says that they are there. */
uint8_t *chan_begin_frame(struct wire_chan *ch, const struct wire_frame *f);
void     chan_end_frame(struct wire_chan *ch, const struct wire_frame *f);

/* call.c: an answer has come; every call ends as BW_EGONE. */
void chan_take_answer(struct wire_chan *ch, const struct wire_frame *f);
void chan_end_calls(struct wire_chan *ch);
/* answer.c: a question or one-way message has come. */
void chan_take_question(struct wire_chan *ch, const struct wire_frame *f);
