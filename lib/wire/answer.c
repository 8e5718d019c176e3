/* answer.c - the answering side of a channel: questions in, one answer or FAILED out for each.
 *
 * Owns: nothing; it counts the questions that are not answered yet, for a peer with more than
 * WIRE_MAX_CALLS of them breaks the protocol.
 * Runs in: auth, repo. Fails with: nothing; an answer that cannot be sent becomes a FAILED.
 * Tests: tests/unit/wire/chan_test.c. */
#include "chan_impl.h"
#include <base/fatal.h>

#define TEXT_MAX 400u /* of FAILED's 512 octets */

void chan_take_question(struct wire_chan *ch, const struct wire_frame *f)
{
	if (wire_row(f->id)->answer != WIRE_NONE) {
		if (ch->in_flight >= WIRE_MAX_CALLS) {
			chan_refuse(ch, "more than %u calls in flight", WIRE_MAX_CALLS);
			return;
		}
		ch->in_flight++;
	}
	ch->ops->on_frame(ch, f);
}

static struct wire_frame answer_frame(const struct wire_question *q, enum wire_id id,
                                      uint64_t types, uint64_t acl, size_t n)
{
	return (struct wire_frame){
		.length = (uint32_t)n,
		.call = q->call,
		.request = q->request,
		.types = types,
		.acl = acl,
		.id = id,
		.flags = WIRE_END,
	};
}

/* One question less; false if the channel is closed and nothing goes out any more. */
static bool end_question(struct wire_chan *ch)
{
	if (ch->closed)
		return false;
	if (chan_asks(ch) || ch->in_flight == 0)
		fatalx("an answer without a question");
	ch->in_flight--;
	return true;
}

static void put_failed(struct wire_chan *ch, const struct wire_question *q, int err,
                       unsigned retry_after, const char *text)
{
	Bw__Wire__Failed  m = BW__WIRE__FAILED__INIT;
	struct wire_frame f;

	m.code = err;
	m.has_retry_after = retry_after > 0;
	m.retry_after = retry_after;
	m.text = (ProtobufCBinaryData){ strnlen(text, TEXT_MAX), (uint8_t *)text };
	f = answer_frame(q, WIRE_FAILED, 0, 0, protobuf_c_message_get_packed_size(&m.base));
	protobuf_c_message_pack(&m.base, chan_begin_frame(ch, &f));
	chan_end_frame(ch, &f);
}

/* Whether an answer of n octets may go out; says FAILED if not. */
static bool fits(struct wire_chan *ch, const struct wire_question *q, size_t n)
{
	const struct wire_row *row = wire_row(q->id);

	if (!row || row->answer == WIRE_NONE)
		fatalx("message %u is not answered", (unsigned)q->id);
	if (n > wire_row(row->answer)->max)
		put_failed(ch, q, BW_ETOOBIG, 0, "the answer is too large for a frame");
	else if (buf_size(&ch->out) + WIRE_HEADER + n > WIRE_MAX_OUTPUT)
		put_failed(ch, q, BW_EBUSY, 1, "the peer does not read its answers");
	else
		return true;
	return false;
}

void wire_answer(struct wire_chan *ch, const struct wire_question *q, uint64_t types, uint64_t acl,
                 const ProtobufCMessage *m)
{
	size_t            n = protobuf_c_message_get_packed_size(m);
	struct wire_frame f;

	if (!end_question(ch) || !fits(ch, q, n))
		return;
	f = answer_frame(q, wire_row(q->id)->answer, types, acl, n);
	protobuf_c_message_pack(m, chan_begin_frame(ch, &f));
	chan_end_frame(ch, &f);
}

void wire_answer_raw(struct wire_chan *ch, const struct wire_question *q, uint64_t types,
                     uint64_t acl, const void *head, size_t n_head, const void *tail, size_t n_tail)
{
	struct wire_frame f;
	uint8_t          *p;

	if (!end_question(ch) || !fits(ch, q, n_head + n_tail))
		return;
	f = answer_frame(q, wire_row(q->id)->answer, types, acl, n_head + n_tail);
	p = chan_begin_frame(ch, &f);
	memcpy(p, head, n_head);
	if (n_tail > 0)
		memcpy(p + n_head, tail, n_tail);
	chan_end_frame(ch, &f);
}

void wire_fail(struct wire_chan *ch, const struct wire_question *q, int err, unsigned retry_after,
               const char *text)
{
	if (end_question(ch))
		put_failed(ch, q, err, retry_after, text);
}
