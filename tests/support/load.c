/* load.c - keep-alive clients on one epoll.
 *
 *   IDLE --connect--> ASKING --whole answer--> ASKING (next question) ...
 *     ^                  |         |                       or RESTING, while n_idle wants it
 *     +--- closed, or stuck: counted
 *
 * A client that lost its connection makes a new one at the next tick, so refusals do not spin.
 */
#include "load.h"
#include <arpa/inet.h>
#include <base/clock.h>
#include <base/fatal.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define TICK_MS 10

struct client {
	int      fd; /* -1: IDLE */
	unsigned index;
	size_t   question;
	uint64_t asked_us; /* 0: RESTING */
	char     answer[8192];
	size_t   n;
};

static unsigned *bucket_of(struct load *load, unsigned *buckets)
{
	uint64_t i = (clock_mono_us() - load->started_us) / 1000 / LOAD_BUCKET_MS;

	return &buckets[i < LOAD_BUCKETS ? i : LOAD_BUCKETS - 1];
}

static void bad(struct load *load, const struct client *c, uint64_t *counter)
{
	(*counter)++;
	load->counts.bad_of_question[c->question]++;
	load->of_client[c->index].bad++;
	++*bucket_of(load, load->bad_in_bucket);
}

static void hang_up(struct client *c)
{
	close(c->fd); /* leaves the epoll set by itself */
	c->fd = -1;
	c->n = 0;
}

static void took(struct load *load, const struct client *c)
{
	struct load_client_counts *seen = &load->of_client[c->index];
	uint64_t                   ms = (clock_mono_us() - c->asked_us) / 1000;

	if (ms > seen->slowest_ms)
		seen->slowest_ms = ms;
	if (ms > load->counts.slowest_ms)
		load->counts.slowest_ms = ms;
}

static void lose(struct load *load, struct client *c)
{
	if (c->asked_us > 0)
		took(load, c);
	bad(load, c, &load->counts.closed);
	hang_up(c);
}

/* The next question, or rest. */
static void ask(struct load *load, struct client *c)
{
	const char *request = load->questions[c->question].request;

	c->n = 0;
	c->asked_us = 0;
	if (c->index + load->n_idle >= load->n_clients)
		return;
	c->asked_us = clock_mono_us();
	if (send(c->fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		lose(load, c);
}

static void connect_client(struct load *load, struct client *c, int epoll)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		                  .sin_port = htons(load->port),
		                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event e = { .events = EPOLLIN | EPOLLRDHUP, .data.ptr = c };

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		fatal("socket");
	if (connect(c->fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		bad(load, c, &load->counts.refused);
		hang_up(c);
		return;
	}
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &e) != 0)
		fatal("epoll_ctl");
	ask(load, c);
}

/* The body of a whole answer and its size; NULL: not there yet. *ret_bad: it is no answer. */
static const char *whole_answer(const struct client *c, size_t *ret_n, int *ret_status,
                                bool *ret_close, bool *ret_bad)
{
	const char *end = memmem(c->answer, c->n, "\r\n\r\n", 4), *length;

	*ret_bad = false;
	if (!end) {
		*ret_bad = c->n == sizeof(c->answer) - 1;
		return NULL;
	}
	length = strcasestr(c->answer, "\r\ncontent-length:");
	if (sscanf(c->answer, "HTTP/1.1 %3d", ret_status) != 1 || *ret_status < 200 ||
	    *ret_status > 599 || !length || length > end) {
		*ret_bad = true;
		return NULL;
	}
	*ret_n = strtoul(length + strlen("\r\ncontent-length:"), NULL, 10);
	*ret_close = strcasestr(c->answer, "\r\nconnection: close") != NULL;
	end += 4;
	return (size_t)(c->answer + c->n - end) >= *ret_n ? end : NULL;
}

static void judge(struct load *load, struct client *c, int status, const char *body, size_t n)
{
	const char *expected = load->questions[c->question].body;

	took(load, c);
	if (status != 200) {
		bad(load, c, &load->counts.by_status[status]);
		return;
	}
	load->counts.by_status[200]++;
	if (expected && (n != strlen(expected) || memcmp(body, expected, n) != 0)) {
		bad(load, c, &load->counts.wrong_bodies);
		return;
	}
	load->of_client[c->index].ok++;
	++*bucket_of(load, load->ok_in_bucket);
}

static void on_readable(struct load *load, struct client *c)
{
	ssize_t     got = recv(c->fd, c->answer + c->n, sizeof(c->answer) - 1 - c->n, 0);
	const char *body;
	size_t      n = 0;
	int         status = 0;
	bool        closes = false, is_bad;

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		lose(load, c);
		return;
	}
	c->n += (size_t)got;
	c->answer[c->n] = '\0';
	body = whole_answer(c, &n, &status, &closes, &is_bad);
	if (is_bad) {
		bad(load, c, &load->counts.malformed);
		hang_up(c);
	} else if (body) {
		judge(load, c, status, body, n);
		c->question = (c->question + 1) % load->n_questions;
		if (closes)
			hang_up(c);
		else
			ask(load, c);
	}
}

/* Connects those that have no connection, and gives up on those that wait too long. */
static void look_after(struct load *load, struct client *clients, int epoll)
{
	uint64_t now = clock_mono_us();

	for (unsigned i = 0; i < load->n_clients; i++) {
		struct client *c = &clients[i];

		if (c->fd < 0) {
			connect_client(load, c, epoll);
		} else if (c->asked_us == 0) {
			ask(load, c);
		} else if (now - c->asked_us > load->answer_within_ms * 1000ull) {
			bad(load, c, &load->counts.stuck);
			hang_up(c);
		}
	}
}

void load_run(struct load *load)
{
	struct client     *clients = xcalloc(load->n_clients, sizeof(*clients));
	struct epoll_event events[256];
	uint64_t           ticked = 0, now;
	int                epoll = epoll_create1(EPOLL_CLOEXEC), n;

	if (load->n_questions > LOAD_MAX_QUESTIONS)
		fatalx("%zu questions", load->n_questions);
	load->started_us = clock_mono_us();
	load->of_client = xcalloc(load->n_clients, sizeof(*load->of_client));
	for (unsigned i = 0; i < load->n_clients; i++) {
		clients[i].fd = -1;
		clients[i].index = i;
		clients[i].question = i % load->n_questions;
	}
	for (;;) {
		now = clock_mono_us();
		if (now - ticked >= TICK_MS * 1000u) {
			ticked = now;
			if (load->tick(load->arg, (now - load->started_us) / 1000))
				break;
			look_after(load, clients, epoll);
		}
		n = epoll_wait(epoll, events, 256, TICK_MS);
		for (int i = 0; i < n; i++) {
			struct client *c = events[i].data.ptr;

			if (c->fd >= 0)
				on_readable(load, c);
		}
	}
	for (unsigned i = 0; i < load->n_clients; i++)
		if (clients[i].fd >= 0)
			close(clients[i].fd);
	close(epoll);
	free(clients);
}

void load_done(struct load *load)
{
	free(load->of_client);
	load->of_client = NULL;
}

uint64_t load_other(const struct load_counts *counts)
{
	uint64_t n = 0;

	for (int i = 0; i < 600; i++)
		if (i != 200 && i != 502 && i != 503 && i != 504)
			n += counts->by_status[i];
	return n;
}

/* Whole buckets only. */
static uint64_t sum(const unsigned *buckets, uint64_t from_ms, uint64_t to_ms)
{
	uint64_t n = 0;

	for (uint64_t i = from_ms / LOAD_BUCKET_MS; i < to_ms / LOAD_BUCKET_MS && i < LOAD_BUCKETS;
	     i++)
		n += buckets[i];
	return n;
}

uint64_t load_bad(const struct load *load, uint64_t from_ms, uint64_t to_ms)
{
	return sum(load->bad_in_bucket, from_ms, to_ms);
}

uint64_t load_last_bad(const struct load *load, uint64_t from_ms, uint64_t until_ms)
{
	uint64_t first = from_ms / LOAD_BUCKET_MS, i = until_ms / LOAD_BUCKET_MS;

	for (i = i < LOAD_BUCKETS ? i : LOAD_BUCKETS; i > first; i--)
		if (load->bad_in_bucket[i - 1] > 0)
			return i * LOAD_BUCKET_MS;
	return from_ms;
}

double load_rate(const struct load *load, uint64_t from_ms, uint64_t to_ms)
{
	uint64_t span_ms = (to_ms / LOAD_BUCKET_MS - from_ms / LOAD_BUCKET_MS) * LOAD_BUCKET_MS;

	return span_ms > 0
	               ? (double)sum(load->ok_in_bucket, from_ms, to_ms) * 1000.0 / (double)span_ms
	               : 0;
}
