/* call.c - the asking side of a channel: calls in flight and their one end each.
 *
 *   wire_call --> in flight --answer------> on_end(BW_OK)
 *                    |  |  \--FAILED------> on_end(its code)
 *                    |  \-----closed------> on_end(BW_EGONE)
 *                    \--wire_cancel--> owed --answer--> dropped
 *
 * A call is found by its number: slot number % n_slots. Numbers go upward and skip those whose slot
 * is taken, so that a slow call never has to move but when the table doubles.
 *
 * Owns: the slots; a struct wire_call is its caller's.
 * Runs in: the gateway. Fails with: BW_EGONE, BW_EBUSY, BW_ETOOBIG, at once.
 * Tests: tests/unit/wire/chan_test.c. */
#include "chan_impl.h"
#include <base/fatal.h>
#include <stdlib.h>

#define FIRST_SLOTS 64u

static struct wire_slot *slot_of(const struct wire_chan *ch, uint32_t number)
{
	return &ch->slots[number & (ch->n_slots - 1)];
}

/* At most half full, so that a free number is near. */
static void grow(struct wire_chan *ch)
{
	struct wire_slot *old = ch->slots;
	uint32_t          n_old = ch->n_slots;

	ch->n_slots = n_old ? 2 * n_old : FIRST_SLOTS;
	ch->slots = xcalloc(ch->n_slots, sizeof(*ch->slots));
	/* Two of them never meet in the new table: the old mask, part of the new one, parted them. */
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i].number)
			*slot_of(ch, old[i].number) = old[i];
	free(old);
}

static struct wire_slot *take_slot(struct wire_chan *ch)
{
	struct wire_slot *slot;
	uint32_t          number;

	if (2 * ch->in_flight >= ch->n_slots)
		grow(ch);
	do {
		number = ++ch->next_call;
		slot = slot_of(ch, number);
	} while (number == 0 || slot->number);
	slot->number = number;
	ch->in_flight++;
	return slot;
}

/* Takes the call out of its slot; NULL if it was cancelled. */
static struct wire_call *free_slot(struct wire_chan *ch, struct wire_slot *slot)
{
	struct wire_call *call = slot->call;

	*slot = (struct wire_slot){ 0 };
	ch->in_flight--;
	if (call)
		call->chan = NULL;
	return call;
}

static const struct wire_row *row_to_send(const struct wire_chan *ch, enum wire_id id,
                                          bool answered)
{
	const struct wire_row *row = wire_row(id);

	if (!row || !chan_asks(ch) || !(row->to & ch->other) ||
	    answered != (row->answer != WIRE_NONE))
		fatalx("message %u is not for this channel", (unsigned)id);
	return row;
}

static void put_frame(struct wire_chan *ch, const struct wire_frame *f, const ProtobufCMessage *m)
{
	if (wire_is_secret(f->id))
		ch->out_secret = true;
	protobuf_c_message_pack(m, chan_begin_frame(ch, f));
	chan_end_frame(ch, f);
}

int wire_call(struct wire_chan *ch, struct wire_call *call, enum wire_id id, uint64_t request,
              const ProtobufCMessage *m)
{
	const struct wire_row *row = row_to_send(ch, id, true);
	struct wire_frame      f = { .id = id, .flags = WIRE_END, .request = request };
	size_t                 n = protobuf_c_message_get_packed_size(m);
	struct wire_slot      *slot;

	if (!wire_chan_is_open(ch))
		return BW_EGONE;
	if (n > row->max)
		return BW_ETOOBIG;
	if (ch->in_flight >= WIRE_MAX_CALLS ||
	    buf_size(&ch->out) + WIRE_HEADER + n > WIRE_MAX_OUTPUT)
		return BW_EBUSY;
	slot = take_slot(ch);
	slot->expect = row->answer;
	slot->call = call;
	call->number = slot->number;
	call->expect = row->answer;
	call->chan = ch;
	f.call = slot->number;
	f.length = (uint32_t)n;
	put_frame(ch, &f, m);
	return BW_OK;
}

int wire_send(struct wire_chan *ch, enum wire_id id, uint64_t request, const ProtobufCMessage *m)
{
	const struct wire_row *row = row_to_send(ch, id, false);
	struct wire_frame      f = { .id = id, .flags = WIRE_END, .request = request };
	size_t                 n = protobuf_c_message_get_packed_size(m);

	if (!wire_chan_is_open(ch))
		return BW_EGONE;
	if (n > row->max)
		return BW_ETOOBIG;
	f.length = (uint32_t)n;
	put_frame(ch, &f, m);
	return BW_OK;
}

void wire_cancel(struct wire_call *call)
{
	if (!call->chan)
		return;
	slot_of(call->chan, call->number)->call = NULL;
	call->chan = NULL;
}

/* BW_E* of a FAILED; 0 if it is none. */
static int failed_code(const struct wire_frame *f)
{
	struct wire_message m;
	int                 code;

	if (wire_message_get(f, &m) != BW_OK)
		return 0;
	code = m.u->failed.code;
	return code < 0 && wire_err_text(code) ? code : 0;
}

void chan_take_answer(struct wire_chan *ch, const struct wire_frame *f)
{
	struct wire_slot *slot = ch->n_slots ? slot_of(ch, f->call) : NULL;
	struct wire_call *call;
	int               err = BW_OK;

	if (!slot || f->call == 0 || slot->number != f->call) {
		chan_refuse(ch, "%s to a call never made, %u", wire_row(f->id)->name, f->call);
		return;
	}
	if (f->id == WIRE_FAILED) {
		err = failed_code(f);
		if (err == 0) {
			chan_refuse(ch, "malformed FAILED");
			return;
		}
	} else if (f->id != slot->expect) {
		chan_refuse(ch, "%s instead of %s", wire_row(f->id)->name,
		            wire_row(slot->expect)->name);
		return;
	}
	call = free_slot(ch, slot);
	if (call)
		call->on_end(call, err, f);
}

void chan_end_calls(struct wire_chan *ch)
{
	struct wire_call *call;

	/* The channel is closed already, so on_end can take calls away, but add none. */
	for (uint32_t i = 0; chan_asks(ch) && i < ch->n_slots; i++) {
		if (!ch->slots[i].number)
			continue;
		call = free_slot(ch, &ch->slots[i]);
		if (call)
			call->on_end(call, BW_EGONE, NULL);
	}
}
