/* lib/wire/chan.c: HELLO, frames in pieces and in batches, full sockets, and every way to close. */
#include <stdio.h>
#include "pair.h"
#include <signal.h>

Test(chan, nothing_is_open_before_hello)
{
	struct caller c = { 0 };

	pair_new(SOCK_STREAM);
	side_open(&gateway, WIRE_GATEWAY, WIRE_REPO);
	side_open(&repo, WIRE_REPO, WIRE_GATEWAY);
	wire_hello(gateway.ch, BW_STR(""));
	cr_assert_eq(ask(&c), BW_EGONE);
	wire_chan_flush(gateway.ch);
	wire_chan_readable(repo.ch);
	cr_assert(wire_chan_is_open(repo.ch));
	cr_assert_not(wire_chan_is_open(gateway.ch));
	cr_assert_eq(ask(&c), BW_EGONE);
	pair_done();
	cr_assert(gateway.closes == 0 && repo.closes == 0, "freeing closes silently");
}

/* The version of a HELLO that is written out. */
#define HELLO_START "\x08\x03"
_Static_assert(WIRE_VERSION == 3, "HELLO_START");

Test(chan, other_version_is_refused_with_both_numbers)
{
	/* Version 300, and a field that this version does not know. */
	static const uint8_t later[] = { 1 << 3, 0xac, 0x02, 7 << 3, 1 };
	char                 reason[64];

	pair_new(SOCK_STREAM);
	side_open(&repo, WIRE_REPO, WIRE_GATEWAY);
	raw_hello(gateway.fd, WIRE_VERSION + 1, BW_STR(""));
	wire_chan_readable(repo.ch);
	snprintf(reason, sizeof(reason), "wire version %d of the peer, %d here", WIRE_VERSION + 1,
	         WIRE_VERSION);
	cr_assert_str_eq(repo.reason, reason);
	cr_assert(repo.closes == 1 && repo.hellos == 0);
	wire_chan_free(repo.ch);
	close(gateway.fd);

	pair_new(SOCK_STREAM); /* from above as well: closed, not fatal */
	side_open(&gateway, WIRE_GATEWAY, WIRE_AUTH);
	raw_frame(repo.fd, (struct wire_frame){ .id = WIRE_HELLO, .length = sizeof(later) }, later);
	wire_chan_readable(gateway.ch);
	snprintf(reason, sizeof(reason), "wire version 300 of the peer, %d here", WIRE_VERSION);
	cr_assert_str_eq(gateway.reason, reason);
	wire_chan_free(gateway.ch);
	close(repo.fd);
}

/* ---- what a peer below may send wrong ---- */

Test(chan, nonsense_from_below_closes_with_a_reason)
{
	static const struct {
		struct wire_frame f;
		const char       *payload;
		bool              greeted;
		const char       *reason;
	} rows[] = {
		{ { .id = WIRE_RESOURCE_GET }, "", false, "RESOURCE_GET before HELLO" },
		{ { .id = WIRE_HELLO }, "", false, "malformed HELLO" },
		{ { .id = WIRE_HELLO, .length = 5 },
		  HELLO_START "\x12\x00\x1a",
		  false,
		  "malformed HELLO" },
		{ { .id = WIRE_HELLO, .length = 9 },
		  HELLO_START "\x12\x00\x1a\x03"
		              "abc",
		  false,
		  "HELLO with a channel of 3 octets" },
		{ { .id = WIRE_HELLO, .length = 6 },
		  HELLO_START "\x12\x00\x1a\x00",
		  true,
		  "a second HELLO" },
		{ { .id = 39 }, "", true, "malformed frame: length 0, id 39, flags 2" },
		{ { .id = WIRE_RESOURCE_GET, .flags = 7 },
		  "",
		  true,
		  "malformed frame: length 0, id 41, flags 7" },
		{ { .id = WIRE_RESOURCE_GET, .length = 16385 },
		  NULL,
		  true,
		  "malformed frame: length 16385, id 41, flags 2" },
		{ { .id = WIRE_AUTHENTICATE_BASIC },
		  "",
		  true,
		  "malformed frame: length 0, id 1, flags 2" },
		{ { .id = WIRE_RESOURCE_FOUND },
		  "",
		  true,
		  "malformed frame: length 0, id 44, flags 2" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].greeted) {
			raw_below();
		} else {
			pair_new(SOCK_STREAM);
			side_open(&repo, WIRE_REPO, WIRE_GATEWAY);
		}
		raw_frame(gateway.fd, rows[i].f, rows[i].payload);
		wire_chan_readable(repo.ch);
		cr_assert(repo.closes == 1, "row %zu", i);
		cr_assert(strcmp(repo.reason, rows[i].reason) == 0, "row %zu: %s", i, repo.reason);
		cr_assert(repo.frames == 0, "row %zu", i);
		wire_chan_free(repo.ch);
		close(gateway.fd);
	}
}

/* From above each of these ends the process: the program there is wrong. */
static void above(struct wire_frame f, const char *payload)
{
	raw_above();
	raw_frame(repo.fd, f, payload);
	wire_chan_readable(gateway.ch);
}

Test(chan, unknown_message_from_above_is_fatal, .exit_code = 1)
{
	above((struct wire_frame){ .id = 39 }, "");
}

Test(chan, question_from_above_is_fatal, .exit_code = 1)
{
	above((struct wire_frame){ .id = WIRE_RESOURCE_GET }, "");
}

Test(chan, second_hello_from_above_is_fatal, .exit_code = 1)
{
	above((struct wire_frame){ .id = WIRE_HELLO, .length = 6 }, HELLO_START "\x12\x00\x1a\x00");
}

/* ---- reading ---- */

Test(chan, frames_arrive_octet_by_octet)
{
	struct caller c[3] = { 0 };
	uint8_t       bytes[1000];
	ssize_t       n;
	unsigned      before;

	raw_above();
	for (int i = 0; i < 3; i++)
		cr_assert_eq(ask(&c[i]), BW_OK);
	wire_chan_flush(gateway.ch);
	n = read(repo.fd, bytes, sizeof(bytes));
	wire_chan_free(gateway.ch);
	close(repo.fd);

	raw_below();
	before = repo.frames;
	for (ssize_t i = 0; i < n; i++) {
		cr_assert(write(gateway.fd, bytes + i, 1) == 1);
		wire_chan_readable(repo.ch);
		cr_assert(repo.frames - before == (unsigned)((i + 1) / (n / 3)), "octet %zd", i);
	}
	cr_assert(repo.q[0].call == 1 && repo.q[2].call == 3 && repo.q[2].request == 99);
	cr_assert_eq(wire_chan_in_flight(repo.ch), 3);
	wire_chan_free(repo.ch);
	close(gateway.fd);
}

Test(chan, one_read_delivers_all_frames_and_then_one_batch)
{
	struct caller c[100] = { 0 };

	pair_greet(SOCK_STREAM);
	for (int i = 0; i < 100; i++)
		ask(&c[i]);
	wire_chan_flush(gateway.ch);
	wire_chan_readable(repo.ch);
	cr_assert(repo.frames == 100 && repo.batches == 1);
	wire_chan_readable(repo.ch);
	cr_assert_eq(repo.batches, 1);
	pair_done();
}

Test(chan, one_peer_cannot_hold_the_loop)
{
	static struct caller c[400];
	static char          path[4000];
	int                  size = 4 << 20;
	unsigned             turns = 0, before;

	memset(path, 'p', sizeof(path));
	path[0] = '/';
	pair_greet(SOCK_STREAM);
	setsockopt(gateway.fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	for (int i = 0; i < 400; i++)
		cr_assert_eq(ask_path(&c[i], (struct bw_str){ path, sizeof(path) }, 1), BW_OK);
	wire_chan_flush(gateway.ch);
	for (; repo.frames < 400 && turns < 100; turns++) {
		before = repo.frames;
		wire_chan_readable(repo.ch);
		/* 256 KiB and what one read may add to it */
		cr_assert_leq(repo.frames - before, (262144 + 65536) / 4000);
		wire_chan_writable(gateway.ch);
	}
	cr_assert_eq(repo.frames, 400);
	cr_assert_gt(turns, 4);
	pair_done();
}

/* ---- writing ---- */

Test(chan, all_frames_of_a_turn_leave_in_one_write)
{
	struct caller c[50] = { 0 };
	uint8_t       packet[65536];
	ssize_t       n;

	pair_greet(SOCK_SEQPACKET);
	gateway.flushes_wanted = 0;
	for (int i = 0; i < 50; i++)
		ask(&c[i]);
	cr_assert_eq(gateway.flushes_wanted, 1);
	cr_assert(read(repo.fd, packet, sizeof(packet)) == -1 && errno == EAGAIN,
	          "nothing leaves before the flush");
	wire_chan_flush(gateway.ch);
	n = read(repo.fd, packet, sizeof(packet));
	cr_assert_gt((long)n, 50L * WIRE_HEADER);
	cr_assert(read(repo.fd, packet, sizeof(packet)) == -1 && errno == EAGAIN, "a second write");
	wire_chan_flush(gateway.ch);
	cr_assert(read(repo.fd, packet, sizeof(packet)) == -1 && errno == EAGAIN, "an empty write");
	pair_done();
}

Test(chan, full_socket_is_written_to_when_there_is_room)
{
	static struct caller c[300];
	static char          path[4000];
	int                  size = 4096;

	memset(path, 'p', sizeof(path));
	pair_greet(SOCK_STREAM);
	setsockopt(gateway.fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	for (int i = 0; i < 300; i++)
		cr_assert_eq(ask_path(&c[i], (struct bw_str){ path, sizeof(path) }, 1), BW_OK);
	wire_chan_flush(gateway.ch);
	cr_assert(gateway.writable && gateway.ch->blocked);
	gateway.flushes_wanted = 0;
	cr_assert_eq(ask(&c[0]), BW_OK); /* its old slot stays taken; the struct is ours to reuse */
	cr_assert_eq(gateway.flushes_wanted, 0); /* whoever waits for room needs no flush */
	pump();
	cr_assert_eq(repo.frames, 301);
	cr_assert_not(gateway.writable);
	cr_assert(repo.q[300].call == 301 && repo.q[299].call == 300);
	pair_done();
}

Test(chan, passwords_do_not_stay_in_the_buffers)
{
	Bw__Wire__AuthenticateBasic m = BW__WIRE__AUTHENTICATE_BASIC__INIT;
	struct caller               c = { .call.on_end = caller_end };

	pair_new(SOCK_STREAM);
	side_open(&gateway, WIRE_GATEWAY, WIRE_AUTH);
	side_open(&repo, WIRE_AUTH, WIRE_GATEWAY);
	wire_hello(gateway.ch, CHANNEL);
	wire_hello(repo.ch, BW_STR(""));
	pump();
	m.user = (ProtobufCBinaryData){ 5, (uint8_t *)"admin" };
	m.password = (ProtobufCBinaryData){ 12, (uint8_t *)"correcthorse" };
	cr_assert_eq(wire_call(gateway.ch, &c.call, WIRE_AUTHENTICATE_BASIC, 1, &m.base), BW_OK);
	cr_assert(memmem(gateway.ch->out.mem, gateway.ch->out.cap, "correcthorse", 12) != NULL);
	pump();
	cr_assert_eq(repo.frames, 1);
	cr_assert(memmem(gateway.ch->out.mem, gateway.ch->out.cap, "correcthorse", 12) == NULL);
	cr_assert(memmem(repo.ch->in.mem, repo.ch->in.cap, "correcthorse", 12) == NULL);
	pair_done();
}

/* ---- closing ---- */

Test(chan, end_of_file_closes_after_what_came_before_it)
{
	struct caller c = { 0 };

	pair_greet(SOCK_STREAM);
	ask(&c);
	wire_chan_flush(gateway.ch);
	wire_chan_free(gateway.ch);
	gateway.ch = NULL;
	wire_chan_readable(repo.ch);
	wire_chan_readable(repo.ch);
	cr_assert(repo.frames == 1 && repo.closes == 1);
	cr_assert_str_eq(repo.reason, "the peer has closed the connection");
	cr_assert_eq(wire_chan_fd(repo.ch), -1);
	answer_n(&repo, 0, 10); /* too late, and harmless */
	wire_chan_flush(repo.ch);
	wire_chan_close(repo.ch, "again");
	cr_assert_eq(repo.closes, 1);
	pair_done();
}

Test(chan, write_error_closes)
{
	struct caller c = { 0 };

	signal(SIGPIPE, SIG_IGN);
	pair_greet(SOCK_STREAM);
	wire_chan_free(repo.ch);
	repo.ch = NULL;
	ask(&c);
	wire_chan_flush(gateway.ch);
	cr_assert_str_eq(gateway.reason, "Broken pipe");
	cr_assert(c.ends == 1 && c.err == BW_EGONE);
	pair_done();
}

static void close_and_free(struct side *s, const struct wire_frame *f)
{
	(void)f;
	s->free_on_close = true;
	wire_chan_close(s->ch, "enough");
}

Test(chan, handler_may_close_and_free_in_the_middle_of_a_batch)
{
	struct caller c[5] = { 0 };

	pair_greet(SOCK_STREAM);
	repo.on_frame = close_and_free;
	for (int i = 0; i < 5; i++)
		ask(&c[i]);
	wire_chan_flush(gateway.ch);
	wire_chan_readable(repo.ch); /* the sanitizer would see a use after free here */
	cr_assert(repo.frames == 1 && repo.closes == 1 && repo.batches == 0);
	cr_assert_str_eq(repo.reason, "enough");
	wire_chan_readable(gateway.ch);
	for (int i = 0; i < 5; i++)
		cr_assert(c[i].ends == 1 && c[i].err == BW_EGONE);
	pair_done();
}
