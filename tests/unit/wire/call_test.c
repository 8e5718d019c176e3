/* lib/wire/call.c: every call ends once (answered, failed, gone) or is cancelled; the limits; and
 * whatever an on_end may do to the channel it is called for. */
#include "pair.h"

static struct caller calls[2 * WIRE_MAX_CALLS];

Test(call, answer_finds_its_question_in_any_order)
{
	pair_greet(SOCK_STREAM);
	for (unsigned i = 0; i < 1000; i++)
		cr_assert_eq(ask_path(&calls[i], BW_STR("/a"), 1000 + i), BW_OK);
	cr_assert_eq(wire_chan_in_flight(gateway.ch), 1000);
	pump();
	for (unsigned i = 0; i < 1000; i++) /* 0, 7, 14 ... in a circle: each once */
		answer_n(&repo, i * 7 % 1000, i * 7 % 1000);
	pump();
	for (unsigned i = 0; i < 1000; i++) {
		cr_assert(calls[i].ends == 1 && calls[i].err == BW_OK, "call %u", i);
		cr_assert_eq(calls[i].frame.id, WIRE_RESOURCE_FOUND);
		cr_assert_eq(calls[i].frame.request, 1000 + i);
		cr_assert(calls[i].frame.types == 5 && calls[i].frame.acl == 6);
		cr_assert_geq(calls[i].frame.length, i);
	}
	cr_assert(wire_chan_in_flight(gateway.ch) == 0 && wire_chan_in_flight(repo.ch) == 0);
	pair_done();
}

Test(call, slow_call_survives_the_numbers_going_round)
{
	pair_greet(SOCK_STREAM);
	gateway.ch->next_call = UINT32_MAX - 20;
	cr_assert_eq(ask(&calls[0]), BW_OK);
	pump();
	for (unsigned i = 1; i < 300; i++) { /* more than there are slots: its slot is passed by */
		repo.n_q = 1;
		memset(&calls[1], 0, sizeof(calls[1]));
		cr_assert_eq(ask(&calls[1]), BW_OK);
		cr_assert(calls[1].call.number != 0 &&
		          calls[1].call.number != calls[0].call.number);
		wire_chan_flush(gateway.ch);
		wire_chan_readable(repo.ch);
		answer_n(&repo, 1, 10);
		wire_chan_flush(repo.ch);
		wire_chan_readable(gateway.ch);
		cr_assert_eq(calls[1].ends, 1);
	}
	cr_assert_eq(calls[0].ends, 0);
	answer_n(&repo, 0, 10);
	pump();
	cr_assert(calls[0].ends == 1 && calls[0].err == BW_OK);
	pair_done();
}

Test(call, number_in_flight_is_bounded)
{
	pair_greet(SOCK_STREAM);
	for (unsigned i = 0; i < WIRE_MAX_CALLS; i++)
		cr_assert_eq(ask(&calls[i]), BW_OK);
	cr_assert_eq(ask(&calls[WIRE_MAX_CALLS]), BW_EBUSY);
	cr_assert_null(calls[WIRE_MAX_CALLS].call.chan);
	wire_cancel(&calls[17].call); /* repo still owes the answer: no room for another */
	cr_assert_eq(ask(&calls[WIRE_MAX_CALLS]), BW_EBUSY);
	pump();
	answer_n(&repo, 17, 1);
	pump();
	cr_assert_eq(calls[17].ends, 0);
	cr_assert_eq(ask(&calls[WIRE_MAX_CALLS]), BW_OK);
	for (unsigned i = 0; i < WIRE_MAX_CALLS; i++)
		if (i != 17)
			answer_n(&repo, i, 1);
	pump();
	for (unsigned i = 0; i < WIRE_MAX_CALLS; i++)
		cr_assert(calls[i].ends == (i != 17), "call %u", i);
	cr_assert_eq(wire_chan_in_flight(gateway.ch), 1);
	pair_done();
}

Test(call, output_is_bounded_for_calls_but_not_for_closes)
{
	static char           path[16000];
	Bw__Wire__HandleClose m = BW__WIRE__HANDLE_CLOSE__INIT;
	unsigned              n = 0;

	memset(path, 'p', sizeof(path));
	pair_greet(SOCK_STREAM);
	while (ask_path(&calls[n], (struct bw_str){ path, sizeof(path) }, 1) == BW_OK)
		n++;
	cr_assert(n > 500 && n < 530, "%u calls", n);
	cr_assert_leq(buf_size(&gateway.ch->out), WIRE_MAX_OUTPUT);
	cr_assert_eq(ask_path(&calls[n], (struct bw_str){ path, sizeof(path) }, 1), BW_EBUSY);
	cr_assert_eq(wire_send(gateway.ch, WIRE_HANDLE_CLOSE, 1, &m.base), BW_OK);
	pump();
	cr_assert_eq(repo.frames, n + 1);
	pair_done();
}

Test(call, payload_above_its_row_is_refused_here)
{
	static char           path[16385];
	Bw__Wire__HandleClose m = BW__WIRE__HANDLE_CLOSE__INIT;

	pair_greet(SOCK_STREAM);
	cr_assert_eq(ask_path(&calls[0], (struct bw_str){ path, sizeof(path) }, 1), BW_ETOOBIG);
	cr_assert_eq(wire_chan_in_flight(gateway.ch), 0);
	m.sequence = UINT64_MAX;
	cr_assert_eq(wire_send(gateway.ch, WIRE_HANDLE_CLOSE, 1, &m.base), BW_OK);
	pump();
	cr_assert(repo.frames == 1 && repo.n_q == 0 && repo.closes == 0);
	cr_assert_eq(wire_chan_in_flight(repo.ch), 0);
	pair_done();
}

Test(call, wrong_message_for_the_channel_is_fatal, .exit_code = 1)
{
	Bw__Wire__HandleClose m = BW__WIRE__HANDLE_CLOSE__INIT;

	pair_greet(SOCK_STREAM);
	wire_call(gateway.ch, &calls[0].call, WIRE_HANDLE_CLOSE, 1, &m.base);
}

/* ---- cancelled ---- */

Test(call, cancelled_call_never_ends)
{
	pair_greet(SOCK_STREAM);
	ask(&calls[0]);
	ask(&calls[1]);
	wire_cancel(&calls[0].call);
	wire_cancel(&calls[0].call);
	cr_assert_null(calls[0].call.chan);
	pump();
	answer_n(&repo, 0, 1);
	answer_n(&repo, 1, 1);
	pump();
	wire_cancel(&calls[1].call); /* has ended: nothing */
	cr_assert(calls[0].ends == 0 && calls[1].ends == 1);
	cr_assert_eq(wire_chan_in_flight(gateway.ch), 0);
	ask(&calls[0]);
	wire_cancel(&calls[0].call);
	wire_chan_close(gateway.ch, "test");
	cr_assert_eq(calls[0].ends, 0);
	pair_done();
}

/* ---- failed ---- */

Test(call, failed_brings_its_code)
{
	struct wire_message m;

	pair_greet(SOCK_STREAM);
	ask(&calls[0]);
	ask(&calls[1]);
	pump();
	wire_fail(repo.ch, &repo.q[0], BW_EBUSY, 3, "queue full");
	wire_fail(repo.ch, &repo.q[1], BW_ENOTFOUND, 0, "");
	wire_chan_flush(repo.ch);
	wire_chan_readable(gateway.ch);
	cr_assert(calls[0].err == BW_EBUSY && calls[0].frame.id == WIRE_FAILED);
	cr_assert(calls[1].err == BW_ENOTFOUND && calls[1].ends == 1);
	/* The bytes are still in the buffer, since nothing came after them. */
	cr_assert_eq(wire_message_get(&calls[0].frame, &m), BW_OK);
	cr_assert(m.u->failed.has_retry_after && m.u->failed.retry_after == 3);
	cr_assert(m.u->failed.text.len == 10 &&
	          memcmp(m.u->failed.text.data, "queue full", 10) == 0);
	pair_done();
}

/* ---- what repo must never send: fatal ---- */

static void answered_raw(enum wire_id id, uint32_t call, const ProtobufCMessage *m)
{
	raw_above();
	ask(&calls[0]);
	raw_message(repo.fd, id, call, m);
	wire_chan_readable(gateway.ch);
}

Test(call, answer_to_no_call_is_fatal, .exit_code = 1)
{
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;

	answered_raw(WIRE_RESOURCE_FOUND, 2, &m.base);
}

Test(call, answer_to_call_0_is_fatal, .exit_code = 1)
{
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;

	answered_raw(WIRE_RESOURCE_FOUND, 0, &m.base);
}

Test(call, second_answer_is_fatal, .exit_code = 1)
{
	Bw__Wire__ResourceFound m = BW__WIRE__RESOURCE_FOUND__INIT;

	answered_raw(WIRE_RESOURCE_FOUND, 1, &m.base);
	if (calls[0].ends != 1)
		_exit(7);
	raw_message(repo.fd, WIRE_RESOURCE_FOUND, 1, &m.base);
	wire_chan_readable(gateway.ch);
}

Test(call, answer_of_another_kind_is_fatal, .exit_code = 1)
{
	Bw__Wire__ResourcePage m = BW__WIRE__RESOURCE_PAGE__INIT;

	answered_raw(WIRE_RESOURCE_PAGE, 1, &m.base);
}

Test(call, failure_without_an_error_is_fatal, .exit_code = 1)
{
	Bw__Wire__Failed m = BW__WIRE__FAILED__INIT;

	answered_raw(WIRE_FAILED, 1, &m.base);
}

Test(call, failure_with_an_unknown_error_is_fatal, .exit_code = 1)
{
	Bw__Wire__Failed m = BW__WIRE__FAILED__INIT;

	m.code = -1000;
	answered_raw(WIRE_FAILED, 1, &m.base);
}

/* ---- gone, and what an on_end may do ---- */

static void cancel_next_and_ask(struct caller *c)
{
	struct caller *next = c + 1;

	wire_cancel(&next->call);
	cr_assert_eq(ask(c->arg), BW_EGONE);
	wire_chan_close(gateway.ch, "inside"); /* being closed: nothing */
}

Test(call, close_ends_every_pending_call_once)
{
	struct caller extra = { 0 };

	pair_greet(SOCK_STREAM);
	for (int i = 0; i < 200; i++) {
		ask(&calls[i]);
		if (i % 3 == 0) {
			calls[i].then = cancel_next_and_ask;
			calls[i].arg = &extra;
		}
	}
	wire_cancel(&calls[199].call);
	wire_chan_close(gateway.ch, "test");
	for (int i = 0; i < 199; i++) {
		cr_assert(calls[i].ends == (i % 3 != 1), "call %d", i);
		cr_assert(!calls[i].ends || calls[i].err == BW_EGONE, "call %d", i);
	}
	cr_assert(calls[199].ends == 0 && extra.ends == 0 && gateway.closes == 1);
	cr_assert_str_eq(gateway.reason, "test");
	cr_assert_eq(wire_chan_in_flight(gateway.ch), 0);
	pair_done();
}

static void ask_again(struct caller *c)
{
	c->then = NULL;
	cr_assert_eq(ask(c), BW_OK);
}

Test(call, end_may_start_the_next_call)
{
	pair_greet(SOCK_STREAM);
	for (int i = 0; i < 64; i++) { /* the table is full enough to grow inside */
		ask(&calls[i]);
		calls[i].then = ask_again;
	}
	pump();
	for (unsigned i = 0; i < 64; i++)
		answer_n(&repo, i, 1);
	pump();
	for (unsigned i = 64; i < 128; i++)
		answer_n(&repo, i, 1);
	pump();
	for (int i = 0; i < 64; i++)
		cr_assert(calls[i].ends == 2 && calls[i].err == BW_OK, "call %d", i);
	pair_done();
}

static void free_all(struct caller *c)
{
	(void)c;
	gateway.free_on_close = true;
	wire_chan_close(gateway.ch, "inside");
}

Test(call, end_may_close_and_free_while_answers_wait)
{
	pair_greet(SOCK_STREAM);
	for (int i = 0; i < 10; i++)
		ask(&calls[i]);
	calls[4].then = free_all;
	pump();
	for (unsigned i = 0; i < 10; i++)
		answer_n(&repo, i, 1);
	wire_chan_flush(repo.ch);
	wire_chan_readable(gateway.ch); /* the sanitizer would see a use after free here */
	cr_assert_null(gateway.ch);
	for (int i = 0; i < 10; i++)
		cr_assert(calls[i].ends == 1 && calls[i].err == (i <= 4 ? BW_OK : BW_EGONE),
		          "call %d", i);
	pair_done();
}

Test(call, freeing_an_open_channel_ends_its_calls)
{
	pair_greet(SOCK_STREAM);
	ask(&calls[0]);
	wire_chan_free(gateway.ch);
	gateway.ch = NULL;
	cr_assert(calls[0].ends == 1 && calls[0].err == BW_EGONE && gateway.closes == 0);
	pair_done();
}
