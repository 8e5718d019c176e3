/* gateway/control/porter.c, and the news of crew.c: who is told to accept from which sockets. The workers
 * here are the other ends of their channels. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/porter.h"

#define WORKERS 3u

static struct crew   *crew;
static struct porter *porter;
static struct channel ends[WORKERS]; /* the workers' */
static unsigned       aborted;       /* a bit per worker */

static void abort_worker(void *arg, uint32_t worker, const char *why)
{
	(void)arg;
	(void)why;
	aborted |= 1u << worker;
}

static void on_news(void *arg, uint32_t worker, const char *words, size_t n)
{
	(void)arg;
	cr_assert_eq(n, strlen("up") + 1);
	cr_assert_str_eq(words, "up");
	porter_up(porter, worker);
}

static void start(uint32_t i)
{
	channel_close(&ends[i]);
	channel_open(&ends[i], crew_open(crew, i));
	crew_started(crew, i, 1000 + (pid_t)i);
	porter_started(porter, i);
}

static void say_up(uint32_t i)
{
	channel_put(&ends[i], CHANNEL_NEWS, CHANNEL_OK, "up", 3);
	cr_assert(channel_flush(&ends[i]));
	crew_turn(crew, i, 1 /* POLLIN */);
}

static void end(uint32_t i)
{
	crew_ended(crew, i, "ends");
	porter_ended(porter, i);
}

/* The list of the next order; "" if there is none. */
static const char *order(uint32_t i, uint32_t *ret_call)
{
	static char          text[64];
	struct channel_frame frame;

	channel_read(&ends[i]);
	if (!channel_next(&ends[i], &frame))
		return "";
	cr_assert(frame.n > 7 && frame.n < sizeof(text) && strcmp(frame.text, "accept") == 0);
	memcpy(text, frame.text + 7, frame.n - 7);
	*ret_call = frame.call;
	return text;
}

static void obey(uint32_t i, const char *list, enum channel_status status)
{
	uint32_t    call = 0;
	const char *got = order(i, &call);

	cr_assert_str_eq(got, list, "worker %u got \"%s\", not \"%s\"", i, got, list);
	if (*list == '\0')
		return;
	channel_put(&ends[i], call, status, "null", 4);
	cr_assert(channel_flush(&ends[i]));
	crew_turn(crew, i, 1);
}

static void init(void)
{
	const struct porter_hooks hooks = { abort_worker, NULL };

	crew = crew_new(WORKERS);
	porter = porter_new(crew, &hooks);
	crew_on_news(crew, on_news, NULL);
	for (uint32_t i = 0; i < WORKERS; i++) {
		channel_open(&ends[i], -1);
		start(i);
	}
}

static void open_all(void)
{
	for (uint32_t i = 0; i < WORKERS; i++)
		say_up(i);
	obey(0, "0,1,2", CHANNEL_OK);
	obey(1, "0,1,2", CHANNEL_OK);
	obey(2, "0,1,2", CHANNEL_OK);
	for (uint32_t i = 0; i < WORKERS; i++) {
		static const char *const lists[] = { "0", "1", "2" };
		static const char *const between[] = { "0,2", "1,2", "2" };

		if (i < 2)
			obey(i, between[i], CHANNEL_OK);
		obey(i, lists[i], CHANNEL_OK);
		obey(i, "", CHANNEL_OK);
	}
}

static void fini(void)
{
	for (uint32_t i = 0; i < WORKERS; i++) {
		if (crew_pid(crew, i) > 0)
			end(i);
		channel_close(&ends[i]);
	}
	porter_free(porter);
	crew_free(crew);
}

TestSuite(porter, .init = init, .fini = fini);

Test(porter, nobody_accepts_before_it_is_up)
{
	for (uint32_t i = 0; i < WORKERS; i++)
		obey(i, "", CHANNEL_OK);
	cr_expect(!porter_is_any_open(porter));
	say_up(1);
	obey(0, "", CHANNEL_OK);
	cr_expect(!porter_is_open(porter, 1), "it has not said so");
	obey(1, "0,1,2", CHANNEL_OK);
	cr_expect(porter_is_open(porter, 1) && porter_is_any_open(porter));
}

Test(porter, the_others_accept_for_one_that_is_away)
{
	open_all();
	end(1);
	cr_expect(!porter_is_open(porter, 1));
	obey(0, "0,1", CHANNEL_OK);
	obey(2, "1,2", CHANNEL_OK);
	start(1);
	obey(0, "", CHANNEL_OK);
	say_up(1);
	obey(0, "", CHANNEL_OK);
	obey(1, "1", CHANNEL_OK);
	obey(0, "0", CHANNEL_OK);
	obey(2, "2", CHANNEL_OK);
	cr_expect_eq(aborted, 0);
}

Test(porter, the_others_accept_for_one_that_is_stuck)
{
	open_all();
	porter_stuck(porter, 0, true);
	obey(1, "0,1", CHANNEL_OK);
	obey(2, "0,2", CHANNEL_OK);
	porter_stuck(porter, 0, true);
	obey(1, "", CHANNEL_OK);
	porter_stuck(porter, 0, false);
	obey(1, "1", CHANNEL_OK);
	obey(2, "2", CHANNEL_OK);
	porter_stuck(porter, 0, true);
	end(0);
	start(0);
	say_up(0);
	obey(0, "0", CHANNEL_OK);
	obey(1, "0,1", CHANNEL_OK);
	obey(1, "1", CHANNEL_OK);
}

/* The second end comes while the first is still being told. */
Test(porter, two_at_once)
{
	open_all();
	end(1);
	end(2);
	obey(0, "0,1", CHANNEL_OK);
	obey(0, "0,1,2", CHANNEL_OK);
	obey(0, "", CHANNEL_OK);
	end(0);
	cr_expect(!porter_is_any_open(porter));
	start(2);
	say_up(2);
	obey(2, "0,1,2", CHANNEL_OK);
	cr_expect(porter_is_open(porter, 2));
}

Test(porter, one_that_does_not_obey_is_ended)
{
	say_up(2);
	obey(2, "0,1,2", CHANNEL_FAILED);
	cr_expect_eq(aborted, 1u << 2);
	cr_expect(!porter_is_open(porter, 2));
}
