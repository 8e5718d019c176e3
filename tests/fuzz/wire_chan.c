/* Fuzz target: lib/wire/chan.c and answer.c, as auth and repo run them: the input is everything a
 * gateway sends, in pieces whose sizes the first octet decides. Whatever comes, the channel closes at
 * most once, hands over only what its row permits, and answers each question once. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <wire/chan.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned closes;

static void on_hello(struct wire_chan *ch, struct bw_str channel)
{
	(void)ch;
	if (channel.n != 0 && channel.n != 16)
		abort();
}

static void on_frame(struct wire_chan *ch, const struct wire_frame *f)
{
	const struct wire_row *row = wire_row(f->id);
	struct wire_question   q = { f->id, f->call, f->request };

	if (!wire_chan_is_open(ch) || !row || row->to != WIRE_REPO || f->length > row->max)
		abort();
	if (row->answer != WIRE_NONE)
		wire_fail(ch, &q, BW_ENOTFOUND, 0, "no");
}

static void on_close(struct wire_chan *ch, const char *reason)
{
	(void)ch;
	if (!reason || closes++ > 0)
		abort();
}

static void on_want(struct wire_chan *ch, bool flush_soon, bool writable)
{
	(void)ch;
	(void)flush_soon;
	(void)writable;
}

static void on_want_read(struct wire_chan *ch, bool read)
{
	(void)ch;
	(void)read;
}

static const struct wire_chan_ops ops = {
	.on_hello = on_hello,
	.on_frame = on_frame,
	.on_close = on_close,
	.want = on_want,
	.want_read = on_want_read,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_chan *ch;
	uint8_t           answers[65536];
	size_t            piece;
	int               fd[2];

	if (size < 2 || size > 65536 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd) != 0)
		return 0;
	closes = 0;
	piece = data[0] ? data[0] : 65536;
	ch = wire_chan_new(fd[0], WIRE_REPO, WIRE_GATEWAY, &ops, NULL);
	for (size_t at = 1; at < size && closes == 0; at += piece) {
		size_t n = size - at < piece ? size - at : piece;

		if (write(fd[1], data + at, n) != (ssize_t)n)
			break;
		wire_chan_readable(ch);
		wire_chan_flush(ch);
		while (read(fd[1], answers, sizeof(answers)) > 0)
			;
	}
	wire_chan_free(ch);
	close(fd[1]);
	return 0;
}
