/* channel.c - frames over one end of a pair of sockets.
 *
 * Owns: the descriptor and both buffers. Runs in: the gateway's parent and in its workers.
 * Fails with: false, when the connection is of no use any more.
 * Tests: tests/unit/gateway/channel_test.c. */
#include "control/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_AT_ONCE 16384u

struct head {
	uint32_t length, call, status;
};

void channel_open(struct channel *c, int fd)
{
	*c = (struct channel){ .fd = fd };
}

void channel_close(struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->taken = 0;
	buf_done(&c->in);
	buf_done(&c->out);
}

static void let_go(struct channel *c)
{
	buf_consume(&c->in, c->taken);
	c->taken = 0;
	if (buf_size(&c->in) == 0 && c->in.cap > READ_AT_ONCE)
		buf_done(&c->in); /* a large answer is rare */
}

/* A length beyond the limit is found as soon as the head is there, not when memory is full. */
static bool is_sane(const struct channel *c)
{
	struct head head;

	if (buf_size(&c->in) - c->taken < sizeof(head))
		return true;
	memcpy(&head, buf_data(&c->in) + c->taken, sizeof(head));
	return head.length <= CHANNEL_MAX;
}

bool channel_read(struct channel *c)
{
	let_go(c);
	for (;;) {
		uint8_t *room = buf_reserve(&c->in, READ_AT_ONCE);
		ssize_t  n = recv(c->fd, room, READ_AT_ONCE, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			return false;
		buf_commit(&c->in, (size_t)n);
		if (!is_sane(c))
			return false;
		if ((size_t)n < READ_AT_ONCE || buf_size(&c->in) > CHANNEL_MAX)
			return true; /* the rest at the next turn */
	}
}

bool channel_next(struct channel *c, struct channel_frame *ret)
{
	struct head head;

	let_go(c);
	if (buf_size(&c->in) < sizeof(head))
		return false;
	memcpy(&head, buf_data(&c->in), sizeof(head));
	if (head.length > CHANNEL_MAX || buf_size(&c->in) - sizeof(head) < head.length)
		return false;
	*ret = (struct channel_frame){ .call = head.call,
		                       .status = head.status,
		                       .text = (const char *)buf_data(&c->in) + sizeof(head),
		                       .n = head.length };
	c->taken = sizeof(head) + head.length;
	return true;
}

void channel_put(struct channel *c, uint32_t call, uint32_t status, const void *text, size_t n)
{
	static const char  too_large[] = "the answer is too large";
	const struct head *head;

	if (n > CHANNEL_MAX) {
		status = CHANNEL_FAILED;
		text = too_large;
		n = sizeof(too_large) - 1;
	}
	head = &(struct head){ (uint32_t)n, call, status };
	buf_append(&c->out, head, sizeof(*head));
	buf_append(&c->out, text, n);
}

bool channel_flush(struct channel *c)
{
	while (buf_size(&c->out) > 0) {
		ssize_t n = send(c->fd, buf_data(&c->out), buf_size(&c->out), MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		buf_consume(&c->out, (size_t)n);
	}
	if (c->out.cap > READ_AT_ONCE)
		buf_done(&c->out);
	return true;
}
