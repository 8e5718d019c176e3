/* gateway/control/channel.c: frames arrive whole, whatever the socket takes at a time, and an end that does
 * not keep to them is found out. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/channel.h"

static struct channel a, b;

static void init(void)
{
	int ends[2];

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
	channel_open(&a, ends[0]);
	channel_open(&b, ends[1]);
}

static void fini(void)
{
	channel_close(&a);
	channel_close(&b);
	channel_close(&b);
}

TestSuite(channel, .init = init, .fini = fini);

Test(channel, frames_come_in_order_with_what_they_were_sent_with)
{
	struct channel_frame f;

	channel_put(&a, 7, CHANNEL_OK, "one", 3);
	channel_put(&a, 8, CHANNEL_FAILED, "", 0);
	channel_put(&a, 9, CHANNEL_OK, "a\0b", 4);
	cr_assert(channel_wants_write(&a) && channel_flush(&a) && !channel_wants_write(&a));
	cr_assert(!channel_next(&b, &f));
	cr_assert(channel_read(&b));
	cr_assert(channel_next(&b, &f));
	cr_expect(f.call == 7 && f.status == CHANNEL_OK && f.n == 3 &&
	          memcmp(f.text, "one", 3) == 0);
	cr_assert(channel_next(&b, &f));
	cr_expect(f.call == 8 && f.status == CHANNEL_FAILED && f.n == 0);
	cr_assert(channel_next(&b, &f));
	cr_expect(f.call == 9 && f.n == 4 && memcmp(f.text, "a\0b", 4) == 0);
	cr_assert(!channel_next(&b, &f));
	cr_expect(channel_read(&b), "nothing has come, and that is all right");
}

/* Far more than a socket holds: both sides go on as far as they can. */
Test(channel, a_large_frame_comes_in_parts)
{
	const size_t         n = 5000000;
	char                *text = malloc(n);
	struct channel_frame f;
	unsigned             turns = 0;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)('a' + i % 23);
	channel_put(&a, 1, CHANNEL_OK, text, n);
	do {
		cr_assert(channel_flush(&a) && channel_read(&b));
		cr_assert_lt(++turns, 1000000u);
	} while (!channel_next(&b, &f));
	cr_expect_gt(turns, 1);
	cr_expect(f.n == n && memcmp(f.text, text, n) == 0);
	free(text);
}

Test(channel, a_text_beyond_the_limit_is_answered_with_a_failure)
{
	char                *text = calloc(1, CHANNEL_MAX + 1);
	struct channel_frame f;

	channel_put(&a, 1, CHANNEL_OK, text, CHANNEL_MAX + 1);
	cr_assert(channel_flush(&a) && channel_read(&b) && channel_next(&b, &f));
	cr_expect(f.status == CHANNEL_FAILED && f.n == strlen("the answer is too large"));
	free(text);
}

Test(channel, a_length_beyond_the_limit_is_the_end)
{
	const uint32_t       head[3] = { CHANNEL_MAX + 1, 1, CHANNEL_OK };
	struct channel_frame f;

	cr_assert_eq(send(a.fd, head, sizeof(head), 0), (ssize_t)sizeof(head));
	cr_expect(!channel_read(&b));
	cr_expect(!channel_next(&b, &f));
}

/* Also when a good frame came before it. */
Test(channel, a_bad_frame_behind_a_good_one_is_found_at_the_next_reading)
{
	const uint32_t       head[3] = { UINT32_MAX, 1, CHANNEL_OK };
	struct channel_frame f;

	channel_put(&a, 1, CHANNEL_OK, "x", 1);
	cr_assert(channel_flush(&a));
	cr_assert_eq(send(a.fd, head, sizeof(head), 0), (ssize_t)sizeof(head));
	cr_assert(channel_read(&b) && channel_next(&b, &f) && !channel_next(&b, &f));
	cr_assert_eq(send(a.fd, "y", 1, 0), 1);
	cr_expect(!channel_read(&b));
}

Test(channel, the_other_ends_end_is_seen_by_both_ways)
{
	channel_put(&b, 1, CHANNEL_OK, "x", 1);
	channel_close(&a);
	cr_expect(!channel_read(&b));
	cr_expect(!channel_flush(&b));
}
