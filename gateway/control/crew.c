/* crew.c - rounds of asking the workers, each ended exactly once.
 *
 * A channel that breaks says nothing of how its worker ended, which the parent learns from the kernel;
 * until then its answers are simply missing.
 *
 * Owns: the channels. The rounds are their askers'. Runs in: the gateway's parent.
 * Fails with: fatal if there is no socket to be had. Tests: tests/unit/gateway/control_test.c. */
#include "control/crew.h"

#include <base/clock.h>
#include <base/fatal.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a worker has still to answer, oldest first. */
struct question {
	struct question *next;
	struct round    *round; /* NULL: forgotten */
	uint32_t         call;
};

struct member {
	pid_t            pid; /* 0: does not run */
	struct channel   channel;
	struct question *questions;
};

struct crew {
	uint32_t       n, last_call;
	struct round  *rounds; /* that have been begun and not ended */
	struct member *members;
	crew_news_cb   on_news;
	void          *news_arg;
};

struct crew *crew_new(uint32_t n_workers)
{
	struct crew *c = xcalloc(1, sizeof(*c));

	c->n = n_workers;
	c->members = xcalloc(n_workers, sizeof(*c->members));
	for (uint32_t i = 0; i < n_workers; i++)
		channel_open(&c->members[i].channel, -1);
	return c;
}

static void drop_questions(struct member *m)
{
	while (m->questions != NULL) {
		struct question *q = m->questions;

		m->questions = q->next;
		free(q);
	}
}

void crew_free(struct crew *c)
{
	for (uint32_t i = 0; i < c->n; i++) {
		channel_close(&c->members[i].channel);
		drop_questions(&c->members[i]);
	}
	free(c->members);
	free(c);
}

uint32_t crew_size(const struct crew *c)
{
	return c->n;
}

pid_t crew_pid(const struct crew *c, uint32_t worker)
{
	return c->members[worker].pid;
}

int crew_open(struct crew *c, uint32_t worker)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
		fatal("the channel of worker %u", worker);
	channel_close(&c->members[worker].channel);
	channel_open(&c->members[worker].channel, ends[0]);
	return ends[1];
}

void crew_started(struct crew *c, uint32_t worker, pid_t pid)
{
	c->members[worker].pid = pid;
}

void crew_on_news(struct crew *c, crew_news_cb fn, void *arg)
{
	c->on_news = fn;
	c->news_arg = arg;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static void unlink_round(struct crew *c, const struct round *r)
{
	struct round **p = &c->rounds;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
}

void crew_begin(struct crew *c, struct round *r, uint32_t limit_ms)
{
	if (++c->last_call == CHANNEL_NEWS)
		c->last_call++;
	r->call = c->last_call;
	r->open = 1; /* the asker itself, until crew_asked */
	r->due_us = clock_mono_us() + (uint64_t)limit_ms * 1000;
	r->next = c->rounds;
	c->rounds = r;
}

void crew_ask(struct crew *c, struct round *r, uint32_t worker, const struct buf *words)
{
	struct member    *m = &c->members[worker];
	struct question **p = &m->questions, *q = xcalloc(1, sizeof(*q));

	q->round = r;
	q->call = r->call;
	while (*p != NULL)
		p = &(*p)->next;
	*p = q;
	r->open++;
	channel_put(&m->channel, r->call, CHANNEL_OK, buf_data(words), buf_size(words));
	channel_flush(&m->channel);
}

void crew_ask_all(struct crew *c, struct round *r, const struct buf *words)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->members[i].pid > 0)
			crew_ask(c, r, i, words);
}

static void close_one(struct crew *c, struct round *r)
{
	if (--r->open > 0)
		return;
	unlink_round(c, r);
	r->on_end(r);
}

void crew_asked(struct crew *c, struct round *r)
{
	close_one(c, r);
}

/* The question is gone before anybody is told: on_end may free the round, or ask anew. */
static void answer(struct crew *c, struct question **place, const struct crew_answer *a)
{
	struct question *q = *place;
	struct round    *r = q->round;

	*place = q->next;
	free(q);
	if (r == NULL)
		return;
	r->on_answer(r, a);
	close_one(c, r);
}

static void forget_questions(struct crew *c, const struct round *r)
{
	for (uint32_t i = 0; i < c->n; i++)
		for (struct question *q = c->members[i].questions; q != NULL; q = q->next)
			if (q->round == r)
				q->round = NULL;
}

void crew_forget(struct crew *c, struct round *r)
{
	forget_questions(c, r);
	unlink_round(c, r);
}

/* ---- what comes from a worker ------------------------------------------------------------------ */

static void on_frame(struct crew *c, uint32_t worker, const struct channel_frame *frame)
{
	struct question        **p = &c->members[worker].questions;
	const struct crew_answer a = { .worker = worker,
		                       .ok = frame->status == CHANNEL_OK,
		                       .text = frame->text,
		                       .n = frame->n };

	if (frame->call == CHANNEL_NEWS) {
		if (c->on_news != NULL && frame->n > 0 && frame->text[frame->n - 1] == '\0')
			c->on_news(c->news_arg, worker, frame->text, frame->n);
		return;
	}
	while (*p != NULL && (*p)->call != frame->call)
		p = &(*p)->next;
	if (*p != NULL)
		answer(c, p, &a);
}

void crew_ended(struct crew *c, uint32_t worker, const char *how)
{
	struct member           *m = &c->members[worker];
	const struct crew_answer a = { .worker = worker,
		                       .ok = how == NULL,
		                       .text = how != NULL ? how : "",
		                       .n = how != NULL ? strlen(how) : 0 };

	m->pid = 0;
	channel_close(&m->channel);
	while (m->questions != NULL)
		answer(c, &m->questions, &a);
}

int crew_fd(const struct crew *c, uint32_t worker, short *ret_events)
{
	const struct channel *ch = &c->members[worker].channel;

	*ret_events = channel_wants_write(ch) ? POLLIN | POLLOUT : POLLIN;
	return ch->fd;
}

void crew_turn(struct crew *c, uint32_t worker, short events)
{
	struct member       *m = &c->members[worker];
	struct channel_frame frame;
	bool                 good = true;

	if (m->channel.fd < 0 || events == 0)
		return;
	if (events & (POLLIN | POLLHUP | POLLERR))
		good = channel_read(&m->channel);
	while (m->channel.fd >= 0 && channel_next(&m->channel, &frame))
		on_frame(c, worker, &frame);
	if (good && (events & POLLOUT))
		good = channel_flush(&m->channel);
	if (!good)
		channel_close(&m->channel);
}

static void fail_silent(struct crew *c, struct round *r)
{
	static const char reason[] = "gave no answer in time";

	r->open++; /* it must not end while we walk */
	for (uint32_t i = 0; i < c->n; i++) {
		struct question **p = &c->members[i].questions;

		while (*p != NULL && (*p)->round != r)
			p = &(*p)->next;
		if (*p != NULL)
			answer(c, p,
			       &(struct crew_answer){ .worker = i,
			                              .silent = true,
			                              .text = reason,
			                              .n = sizeof(reason) - 1 });
	}
	close_one(c, r);
}

uint64_t crew_tend(struct crew *c, uint64_t now_us, uint64_t limit_us)
{
	struct round *r = c->rounds;

	while (r != NULL) {
		struct round *next = r->next;

		if (r->due_us <= now_us) {
			fail_silent(c, r);
			next = c->rounds; /* whoever was told may have begun and ended others */
		} else if (r->due_us - now_us < limit_us)
			limit_us = r->due_us - now_us;
		r = next;
	}
	return limit_us;
}
