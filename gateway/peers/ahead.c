/* ahead.c - a stock of resolver handles for each identity that does not depend on a request.
 *
 * Handles age, so a stock is a ring: the oldest is taken first, and one that has less than 10
 * seconds left is dropped. A request that finds it empty waits in line; each answer of auth serves
 * the line before the ring. What is asked for follows from one sum, "have":
 *
 *   in the ring + asked for and not answered yet - requests waiting
 *
 * For an identity in use at least BUSY_USES times a second, AHEAD_MAX are wanted, and asked for
 * once half of that is gone: a message for 16 handles. For others nothing is wanted beyond what
 * requests wait for, so an idle server mints nothing.
 *
 * Owns: the rings, wiped when a connection goes; one per worker and identity, reused for another
 * one when all are taken. A waiter stands on its request's fiber.
 * Runs in: the gateway's loop; ahead_take on a request's fiber. Fails with: what auth says.
 * Tests: tests/unit/gateway/ahead_test.c. */
#include "ahead.h"
#include "ask_impl.h"
#include "http/loop.h"
#include "request.h"
#include "resolver.h"
#include <base/fatal.h>
#include <stdlib.h>
#include <sys/queue.h>

#define SERVICES  32u /* identities besides the guest */
#define FETCHES   16u /* questions in flight per identity */
#define BUSY_USES 10u
#define WINDOW_US 1000000u
#define LEFT_US   10000000u /* to live at least, when it is taken */

_Static_assert(AHEAD_MAX <= WIRE_HANDLES, "one answer fills a ring");

struct waiter {
	struct req_wait wait; /* first: on_cancel gets its address */
	TAILQ_ENTRY(waiter) next;
	struct stock       *stock;
	struct bw_resolver *r;
	int                 err;
};

/* A question in flight; free while its call is on no channel. */
struct fetch {
	struct wire_call call; /* first: on_end gets its address */
	struct stock    *stock;
	unsigned         count;
	uint64_t         sent_us; /* its handles are no older than that */
};

struct stock {
	struct bw_str bundle, subservice; /* owned; bundle absent: the guest, or not in use */
	/* the ring: AHEAD_MAX places of size octets */
	struct bw_str user; /* owned */
	uint8_t      *octets;
	size_t        size;
	uint64_t      sent_us[AHEAD_MAX];
	unsigned      first, n;
	/* what is on its way, and for whom */
	struct fetch fetches[FETCHES];
	unsigned     n_asked;
	TAILQ_HEAD(line, waiter) line;
	unsigned n_waiting;
	/* how often it is used */
	uint64_t window_us; /* its beginning */
	unsigned uses;      /* since then */
	bool     busy;
};

static struct {
	struct stock guest, services[SERVICES];
} ahead;

/* ---- the ring ---- */

static void empty(struct stock *s)
{
	if (s->octets)
		explicit_bzero(s->octets, AHEAD_MAX * s->size);
	s->first = s->n = 0;
}

static void free_ring(struct stock *s)
{
	empty(s);
	free(s->octets);
	free((char *)s->user.p);
	s->octets = NULL;
	s->size = 0;
	s->user = BW_ABSENT;
}

static struct bw_str keep(struct bw_str s)
{
	char *copy = s.p ? xmalloc(s.n + 1) : NULL;

	if (!copy)
		return BW_ABSENT;
	memcpy(copy, s.p, s.n);
	copy[s.n] = '\0';
	return (struct bw_str){ copy, s.n };
}

/* Handles of another size have other principals, so those in the ring are out of date. */
static void put(struct stock *s, const struct ask_handles *h, uint64_t sent_us)
{
	unsigned at;

	if (h->size != s->size || !bw_str_eq(h->user, s->user)) {
		free_ring(s);
		s->octets = xmalloc(AHEAD_MAX * h->size);
		s->size = h->size;
		s->user = keep(h->user);
	}
	/* More than fit come if requests have ended that they were asked for. */
	for (unsigned i = 0; i < h->n && s->n < AHEAD_MAX; i++) {
		at = (s->first + s->n++) % AHEAD_MAX;
		memcpy(s->octets + at * s->size, h->first + i * s->size, s->size);
		s->sent_us[at] = sent_us;
	}
}

static unsigned pull(struct stock *s)
{
	unsigned at = s->first;

	s->first = (s->first + 1) % AHEAD_MAX;
	s->n--;
	return at;
}

/* The oldest one that still lives long enough; false: there is none. */
static bool take(struct stock *s, struct bw_resolver *r)
{
	uint64_t now_us = loop_now_us();

	while (s->n > 0 && now_us - s->sent_us[s->first] > HANDLE_LIFE_US - LEFT_US)
		pull(s);
	if (s->n == 0)
		return false;
	ask_set_handle(r, s->user, s->octets + pull(s) * s->size, s->size);
	return true;
}

/* ---- asking ---- */

static void on_end(struct wire_call *call, int err, const struct wire_frame *f);

/* How many to ask for now. */
static unsigned wanted(const struct stock *s)
{
	int have = (int)(s->n + s->n_asked) - (int)s->n_waiting, want = 0;

	if (s->busy && have <= (int)AHEAD_MAX / 2)
		want = (int)AHEAD_MAX - have;
	else if (have < 0)
		want = -have;
	return want < (int)AHEAD_MAX ? (unsigned)want : AHEAD_MAX;
}

/* Asks for what is wanted. Without a free place for the question BW_OK too: the next answer leads
 * here again. */
static int fetch(struct stock *s)
{
	struct fetch        *f = s->fetches, *end = f + FETCHES;
	const struct waiter *last = TAILQ_LAST(&s->line, line);
	unsigned             count = wanted(s);
	union wire_any       m;
	enum wire_id         id;
	int                  err;

	while (f < end && f->call.chan)
		f++;
	if (count == 0 || f == end)
		return BW_OK;
	*f = (struct fetch){
		.call.on_end = on_end,
		.stock = s,
		.count = count,
		.sent_us = loop_now_us(),
	};
	id = ask_handles_question(&m, s->bundle, s->subservice, count);
	err = ask_call(WIRE_AUTH, &f->call, id, last ? last->r->req->id : 0, &m.base);
	if (err == BW_OK)
		s->n_asked += count;
	return err;
}

/* ---- the line ---- */

static void leave(struct stock *s, struct waiter *w)
{
	TAILQ_REMOVE(&s->line, w, next);
	s->n_waiting--;
}

static void on_cancel(struct req_wait *wait)
{
	struct waiter *w = (struct waiter *)wait;

	leave(w->stock, w);
}

/* Up to n requests get err instead of a handle. A fiber that is woken may come back here for
 * another resolver, behind them. */
static void fail(struct stock *s, unsigned n, int err)
{
	struct waiter *w;

	while (n-- > 0 && (w = TAILQ_FIRST(&s->line)) != NULL) {
		leave(s, w);
		w->err = err;
		request_wake(w->r->req);
	}
}

static void serve(struct stock *s)
{
	struct waiter *w;

	while ((w = TAILQ_FIRST(&s->line)) != NULL && take(s, w->r)) {
		leave(s, w);
		w->err = BW_OK;
		request_wake(w->r->req);
	}
}

static void on_end(struct wire_call *call, int err, const struct wire_frame *f)
{
	struct fetch      *fetched = (struct fetch *)call;
	struct stock      *s = fetched->stock;
	unsigned           count = fetched->count;
	struct ask_handles h;

	s->n_asked -= count;
	if (err == BW_OK) {
		ask_take_handles(f, count, &h);
		put(s, &h, fetched->sent_us);
		serve(s);
	} else {
		s->busy = false; /* nothing ahead until it has been used often once more */
		s->uses = 0;
		if (err == BW_ELOGIN)
			empty(s); /* it may not log in any more */
		fail(s, count, err);
	}
	err = fetch(s);
	if (err != BW_OK && s->n_asked == 0)
		fail(s, s->n_waiting, err);
}

static int wait_in_line(struct stock *s, struct bw_resolver *r)
{
	struct waiter w = { .wait.cancel = on_cancel, .stock = s, .r = r };
	int           err;

	TAILQ_INSERT_TAIL(&s->line, &w, next);
	s->n_waiting++;
	err = fetch(s);
	if (err != BW_OK && s->n_asked == 0) {
		leave(s, &w);
		return err;
	}
	err = request_park(r->req, &w.wait);
	return err == BW_OK ? w.err : err;
}

/* ---- identities ---- */

static bool is_idle(const struct stock *s)
{
	return s->n_asked == 0 && s->n_waiting == 0;
}

static void forget(struct stock *s)
{
	free_ring(s);
	free((char *)s->bundle.p);
	free((char *)s->subservice.p);
	*s = (struct stock){ 0 };
}

/* The stock of that service user; else one not in use or, if all are, the one whose last use is
 * the longest ago. NULL: requests wait at each of them. */
static struct stock *service_stock(struct bw_str bundle, struct bw_str subservice)
{
	struct stock *oldest = NULL;

	for (struct stock *s = ahead.services; s < ahead.services + SERVICES; s++) {
		if (s->bundle.p && bw_str_eq(s->bundle, bundle) &&
		    bw_str_eq(s->subservice, subservice))
			return s;
		if (is_idle(s) && (!oldest || s->window_us < oldest->window_us))
			oldest = s;
	}
	if (!oldest)
		return NULL;
	forget(oldest);
	oldest->bundle = keep(bundle);
	oldest->subservice = keep(subservice);
	return oldest;
}

static struct stock *stock_of(const struct bw_resolver *r)
{
	struct stock *s = &ahead.guest;

	if (r->kind == RESOLVER_SERVICE)
		s = service_stock(r->bundle, r->subservice);
	if (s && !s->line.tqh_last)
		TAILQ_INIT(&s->line);
	return s;
}

static void count_use(struct stock *s)
{
	uint64_t age_us = loop_now_us() - s->window_us;

	if (age_us >= WINDOW_US) {
		s->busy = s->uses >= BUSY_USES && age_us < 2 * WINDOW_US;
		s->window_us += age_us;
		s->uses = 0;
	}
	if (++s->uses >= BUSY_USES)
		s->busy = true;
}

int ahead_take(struct bw_resolver *r)
{
	struct stock *s = stock_of(r);
	int           err = request_check(r->req);

	if (err != BW_OK)
		return err;
	if (!s)
		return ask_handle(r);
	count_use(s);
	if (s->n_waiting > 0 || !take(s, r))
		return wait_in_line(s, r);
	r->ahead = true;
	fetch(s); /* if that fails, so does a later one, and then somebody waits for it */
	return BW_OK;
}

void ahead_drop(void)
{
	empty(&ahead.guest);
	for (unsigned i = 0; i < SERVICES; i++)
		empty(&ahead.services[i]);
}

void ahead_done(void)
{
	forget(&ahead.guest);
	for (unsigned i = 0; i < SERVICES; i++)
		forget(&ahead.services[i]);
}
