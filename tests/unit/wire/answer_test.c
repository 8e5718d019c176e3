/* lib/wire/answer.c: one answer or FAILED for each question, and what happens to a peer that does
 * not read its answers or asks too much. */
#include "pair.h"

static struct caller calls[WIRE_MAX_CALLS];

Test(answer, raw_answer_is_the_packed_one)
{
	static const uint8_t    record[] = "a record that is encoded already";
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;
	uint8_t                 packed[100], both[2][200];
	size_t                  n;

	m.resolved = 12;
	m.record = (ProtobufCBinaryData){ sizeof(record), (uint8_t *)record };
	n = protobuf_c_message_pack(&m.base, packed);
	pair_greet(SOCK_SEQPACKET);
	ask(&calls[0]);
	ask(&calls[1]);
	wire_chan_flush(gateway.ch);
	wire_chan_readable(repo.ch);
	repo.q[1].call = repo.q[0].call;
	wire_answer(repo.ch, &repo.q[0], 1, 2, &m.base);
	wire_chan_flush(repo.ch);
	cr_assert_eq(read(gateway.fd, both[0], 200), (long)(WIRE_HEADER + n));
	wire_answer_raw(repo.ch, &repo.q[1], 1, 2, packed, n - sizeof(record), record,
	                sizeof(record));
	wire_chan_flush(repo.ch);
	cr_assert_eq(read(gateway.fd, both[1], 200), (long)(WIRE_HEADER + n));
	cr_assert(memcmp(both[0], both[1], WIRE_HEADER + n) == 0);
	pair_done();
}

Test(answer, too_large_an_answer_becomes_a_failure)
{
	pair_greet(SOCK_STREAM);
	ask(&calls[0]);
	ask(&calls[1]);
	ask(&calls[2]);
	pump();
	answer_n(&repo, 0, 262143);
	answer_n(&repo, 1, 262144 - 6); /* two for resolved, four for the record's tag and size */
	wire_answer_raw(repo.ch, &repo.q[2], 0, 0, calls, 6, calls, 262140);
	pump();
	cr_assert_eq(calls[0].err, BW_ETOOBIG);
	cr_assert_eq(calls[1].err, BW_OK);
	cr_assert_eq(calls[1].frame.length, 262144);
	cr_assert_eq(calls[2].err, BW_ETOOBIG);
	pair_done();
}

Test(answer, long_texts_are_cut_to_their_row)
{
	static char         text[2000];
	struct wire_message m;

	memset(text, 't', sizeof(text) - 1);
	pair_greet(SOCK_STREAM);
	ask(&calls[0]);
	pump();
	wire_fail(repo.ch, &repo.q[0], BW_EIO, UINT32_MAX, text);
	pump();
	cr_assert_eq(calls[0].err, BW_EIO);
	cr_assert_eq(wire_message_get(&calls[0].frame, &m), BW_OK);
	cr_assert_eq(m.u->failed.text.len, 400);
	pair_done();
}

Test(answer, answering_twice_is_fatal, .exit_code = 1)
{
	pair_greet(SOCK_STREAM);
	ask(&calls[0]);
	pump();
	answer_n(&repo, 0, 1);
	answer_n(&repo, 0, 1);
}

/* ---- a peer that does not read ---- */

static void answer_large(struct side *s, const struct wire_frame *f)
{
	(void)f;
	answer_n(s, s->n_q - 1, 100000);
}

Test(answer, reading_stops_above_the_mark_and_goes_on_below_half_of_it)
{
	unsigned held;

	pair_greet(SOCK_STREAM);
	repo.on_frame = answer_large;
	for (unsigned i = 0; i < 100; i++)
		cr_assert_eq(ask(&calls[i]), BW_OK);
	wire_chan_flush(gateway.ch);
	wire_chan_readable(repo.ch); /* all 100 are read, but not all handed over */
	held = repo.frames;
	cr_assert(held > 8 && held < 14, "%u answered", held);
	cr_assert_not(repo.reading);
	wire_chan_readable(repo.ch);
	wire_chan_flush(repo.ch);
	cr_assert(repo.writable && repo.frames == held);
	pump(); /* the gateway reads: the rest comes out of the buffer, without a new event */
	cr_assert(repo.frames == 100 && repo.reading && !repo.writable);
	for (unsigned i = 0; i < 100; i++)
		cr_assert(calls[i].ends == 1 && calls[i].err == BW_OK, "call %u", i);
	pair_done();
}

static unsigned pauses_ended_inside;

static void answer_and_flush(struct side *s, const struct wire_frame *f)
{
	uint32_t first = f->call;
	char     sink[65536];

	answer_large(s, f);
	if (s->reading)
		return;
	for (int i = 0; i < 100; i++) { /* the peer reads: the pause ends in here */
		wire_chan_flush(s->ch);
		wire_chan_writable(s->ch);
		wire_chan_readable(s->ch);
		while (read(gateway.fd, sink, sizeof(sink)) > 0)
			;
	}
	pauses_ended_inside += s->reading;
	cr_assert_eq(s->q[s->n_q - 1].call, first, "another frame came before this one was done");
}

Test(answer, handler_may_flush_and_read)
{
	pair_greet(SOCK_STREAM);
	repo.on_frame = answer_and_flush;
	for (unsigned i = 0; i < 30; i++)
		cr_assert_eq(ask(&calls[i]), BW_OK);
	wire_chan_flush(gateway.ch);
	wire_chan_readable(repo.ch);
	cr_assert(repo.frames == 30 && repo.batches == 1 && pauses_ended_inside == 2);
	for (unsigned i = 0; i < 30; i++)
		cr_assert_eq(repo.q[i].call, i + 1);
	pair_done();
}

Test(answer, late_answers_above_the_limit_become_busy)
{
	unsigned busy = 0;

	pair_greet(SOCK_STREAM);
	for (unsigned i = 0; i < 200; i++)
		ask(&calls[i]);
	wire_chan_flush(gateway.ch);
	wire_chan_readable(repo.ch);
	for (unsigned i = 0; i < 200; i++)
		answer_n(&repo, i, 100000);
	cr_assert_leq(buf_size(&repo.ch->out), WIRE_MAX_OUTPUT + 200 * 100);
	pump();
	for (unsigned i = 0; i < 200; i++) {
		cr_assert(calls[i].ends == 1 &&
		          (calls[i].err == BW_OK || calls[i].err == BW_EBUSY));
		busy += calls[i].err == BW_EBUSY;
	}
	cr_assert(busy > 110 && busy < 125, "%u busy", busy);
	pair_done();
}

/* Both sides send more than the sockets hold before either reads: nobody waits for the other. */
Test(answer, two_full_buffers_do_not_wait_for_each_other)
{
	static char path[16000];

	memset(path, 'p', sizeof(path));
	pair_greet(SOCK_STREAM);
	repo.on_frame = answer_large;
	for (unsigned i = 0; i < 500; i++)
		cr_assert_eq(ask_path(&calls[i], (struct bw_str){ path, sizeof(path) }, 1), BW_OK);
	pump();
	pump();
	for (unsigned i = 0; i < 500; i++)
		cr_assert(calls[i].ends == 1 && calls[i].err == BW_OK, "call %u", i);
	pair_done();
}

/* ---- a peer that asks too much ---- */

Test(answer, more_questions_than_allowed_close_the_channel)
{
	Bw__Wire__ResourceGet m = BW__WIRE__RESOURCE_GET__INIT;

	m.path = (ProtobufCBinaryData){ 2, (uint8_t *)"/a" };
	raw_below();
	for (uint32_t i = 1; i <= WIRE_MAX_CALLS + 1; i++) {
		cr_assert_eq(repo.closes, 0);
		raw_message(gateway.fd, WIRE_RESOURCE_GET, i, &m.base);
		wire_chan_readable(repo.ch);
	}
	cr_assert_eq(repo.closes, 1);
	cr_assert_str_eq(repo.reason, "more than 4096 calls in flight");
	cr_assert_eq(repo.frames, WIRE_MAX_CALLS);
	wire_chan_free(repo.ch);
	close(gateway.fd);
}
