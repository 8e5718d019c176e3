/* gateway_http.c - how the runner speaks with a real gateway: requests of the rows, and orders to the test
 * bundle (bundle/rows.c).
 *
 * A connection stays with the worker that accepted it, so each worker is spoken to on connections of its
 * own, found by trying. An order is answered before the request that carried it is over, and until then
 * it holds the whiteboard's state as it was; the next order on the same connection comes later than that.
 *
 * Owns: the connections. Fails with: exit status 2 if the gateway does not answer.
 * Tests: every row file. */
#include "ask.h"
#include "gateway_impl.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/http.h>
#include <support/instance.h>

#define MAX_IDLE    4     /* connections kept for each worker */
#define PATIENCE_MS 10000 /* while one worker starts, the others accept what is for it */

struct link {
	struct link *next; /* of the idle ones */
	unsigned     worker;
	struct http  http;
};

struct blocked {
	struct blocked *next;
	struct link    *link;
	struct answer  *answer;
	bool            no_body;
	bool            is_over; /* answered while the gateway ended */
};

static struct worker {
	struct link    *control, *idle;
	unsigned        n_idle;
	struct blocked *oldest;
	unsigned        n_blocked;
} workers[GATEWAY_MAX_WORKERS];

/* ---- connections ---- */

static void close_link(struct link *l)
{
	http_close(&l->http);
	free(l);
}

/* Unless there are enough. */
static void keep_link(struct link *l)
{
	struct worker *w = &workers[l->worker];

	if (w->n_idle == MAX_IDLE) {
		close_link(l);
		return;
	}
	l->next = w->idle;
	w->idle = l;
	w->n_idle++;
}

static void post(struct link *l, const char *order, const char *argument, struct http_response *ret)
{
	char *request = NULL;
	int   n = asprintf(&request,
	                   "POST /rows-control/%s HTTP/1.1\r\nHost: rows\r\n"
	                     "Content-Length: %zu\r\n\r\n%s",
	                   order, strlen(argument), argument);

	if (n < 0)
		gateway_give_up("out of memory");
	http_send(&l->http, request, (size_t)n);
	free(request);
	http_read(&l->http, false, ret);
	if (ret->status == 0)
		gateway_give_up("the gateway does not answer the order %s %s", order, argument);
}

static struct link *open_link(void)
{
	struct link         *l = calloc(1, sizeof(*l));
	struct http_response r;

	if (!l || !http_try_open(&l->http, gateway_port()))
		gateway_give_up("the gateway accepts no connection");
	post(l, "worker", "", &r);
	if (r.status != 200 || sscanf(r.body, "gateway/%u", &l->worker) != 1 ||
	    l->worker >= world_workers())
		gateway_give_up("a worker that has no number: %d %s", r.status, r.body);
	http_response_done(&r);
	return l;
}

static struct link *take_link(unsigned worker)
{
	unsigned long long limit = test_now_ms() + PATIENCE_MS;
	struct worker     *w = &workers[worker];
	struct link       *l;

	while (!w->idle) {
		if (test_now_ms() > limit)
			gateway_give_up("worker %u accepts no connection", worker);
		keep_link(open_link());
	}
	l = w->idle;
	w->idle = l->next;
	w->n_idle--;
	return l;
}

/* ---- orders ---- */

/* Returns the status. ret_text: may be NULL. */
int gateway_tell(unsigned worker, const char *name, const char *argument, char **ret_text)
{
	struct worker       *w = &workers[worker];
	struct http_response r;
	int                  status;

	post(w->control, name, argument, &r);
	status = r.status;
	if (ret_text)
		*ret_text = text_dup(r.body, r.size);
	http_response_done(&r);
	return status;
}

void gateway_must(unsigned worker, const char *name, const char *argument)
{
	char *text;
	int   status = gateway_tell(worker, name, argument, &text);

	if (status != 200)
		gateway_give_up("the order %s %s: %d %s", name, argument, status, text);
}

/* ---- requests ---- */

static void fill_headers(struct answer *a, const char *head)
{
	struct words lines = text_split(head, "\r\n");

	a->headers = text_alloc((lines.n + 1) * sizeof(*a->headers));
	for (size_t i = 1; i < lines.n; i++) {
		char *colon = strchr(lines.items[i], ':');

		if (!colon)
			gateway_give_up("no header: %s", lines.items[i]);
		*colon = '\0';
		a->headers[a->n_headers++] =
			(struct header){ lines.items[i], colon + 1 + strspn(colon + 1, " ") };
	}
}

/* A connection that ended before the body did is what a row calls truncated. */
static void fill_answer(struct answer *a, struct http_response *r)
{
	const char *id;

	a->status = r->status;
	if (r->status == 0) {
		a->truncated = true;
		sscanf(r->head, "HTTP/1.%*1[01] %3d", &a->status);
	}
	a->body = text_dup(r->body, r->size);
	a->complete = true;
	id = http_field(r, "X-Request-Id");
	snprintf(a->id, sizeof(a->id), "%s", id ? id : "");
	fill_headers(a, r->head);
	http_response_done(r);
}

static bool is_left_open(const struct answer *a, const struct http_response *r)
{
	const char *connection = http_field(r, "Connection");

	return !a->truncated && (!connection || strcasecmp(connection, "close") != 0);
}

static void read_answer(struct answer *a, struct link *l, bool no_body)
{
	struct http_response r;

	http_read(&l->http, no_body, &r);
	fill_answer(a, &r);
	if (is_left_open(a, &r))
		keep_link(l);
	else
		close_link(l);
}

static char *head_of(const struct ask *a)
{
	char *head = text_printf("%s %s HTTP/1.%d\r\nHost: localhost\r\n", a->method, a->target,
	                         a->http10 ? 0 : 1);

	for (size_t i = 0; i < a->n_headers; i++)
		head = text_printf("%s%s: %s\r\n", head, a->headers[i].name, a->headers[i].value);
	if (a->body || strcmp(a->method, "POST") == 0 || strcmp(a->method, "PUT") == 0 ||
	    strcmp(a->method, "PATCH") == 0)
		head = text_printf("%sContent-Length: %zu\r\n", head, a->n_body);
	return text_printf("%s\r\n", head);
}

static struct link *send_request(unsigned worker, const char *text, bool *ret_no_body)
{
	struct link *l = take_link(worker);
	struct ask   a = ask_read(text);
	char        *head = head_of(&a);

	*ret_no_body = strcmp(a.method, "HEAD") == 0;
	if (!http_send(&l->http, head, strlen(head)) ||
	    (a.n_body > 0 && !http_send(&l->http, a.body, a.n_body)))
		gateway_give_up("the gateway does not take %s", text);
	return l;
}

/* It will be answered when it is resumed. */
static void enqueue(unsigned worker, struct answer *a, struct link *l, bool no_body)
{
	struct worker  *w = &workers[worker];
	struct blocked *b = text_alloc(sizeof(*b)), **at = &w->oldest;

	*b = (struct blocked){ .link = l, .answer = a, .no_body = no_body };
	while (*at)
		at = &(*at)->next;
	*at = b;
	w->n_blocked++;
}

void gateway_start_request(unsigned worker, const char *text)
{
	bool         no_body;
	struct link *l = send_request(worker, text, &no_body);

	enqueue(worker, text_alloc(sizeof(struct answer)), l, no_body);
	gateway_must(worker, "blocked", text_printf("%u", workers[worker].n_blocked));
}

static struct answer *resume(unsigned worker)
{
	struct worker  *w = &workers[worker];
	struct blocked *b = w->oldest;

	if (!b)
		gateway_give_up("nothing to resume");
	w->oldest = b->next;
	w->n_blocked--;
	if (b->is_over)
		return b->answer;
	gateway_must(worker, "resume", "");
	read_answer(b->answer, b->link, b->no_body);
	return b->answer;
}

/* A request that was not said to block has this long. */
static bool is_answered(const struct link *l)
{
	struct pollfd p = { .fd = l->http.fd, .events = POLLIN };

	return l->http.have > 0 || poll(&p, 1, PATIENCE_MS) > 0;
}

static struct answer *ask(unsigned worker, const char *text)
{
	struct answer *a = text_alloc(sizeof(*a));
	bool           no_body;
	struct link   *l = send_request(worker, text, &no_body);

	if (is_answered(l))
		read_answer(a, l, no_body);
	else
		enqueue(worker, a, l, no_body);
	return a;
}

struct answer *world_request(const char *text)
{
	struct answer *first = NULL, **at = &first;

	records_forget();
	for (unsigned i = 0; i < world_workers(); i++, at = &(*at)->other)
		*at = strcmp(text, "resume") == 0 ? resume(i) : ask(i, text);
	return first;
}

/* ---- the end ---- */

void gateway_await_blocked(void)
{
	for (unsigned i = 0; i < world_workers(); i++)
		for (struct blocked *b = workers[i].oldest; b; b = b->next) {
			read_answer(b->answer, b->link, b->no_body);
			b->is_over = true;
		}
}

void gateway_end_blocked(void)
{
	for (unsigned i = 0; i < world_workers(); i++)
		while (workers[i].oldest && !workers[i].oldest->is_over)
			resume(i);
}

void gateway_greet(void)
{
	for (unsigned i = 0; i < world_workers(); i++)
		if (!workers[i].control)
			workers[i].control = take_link(i);
}

void gateway_close_all(void)
{
	for (unsigned i = 0; i < world_workers(); i++) {
		while (workers[i].idle)
			close_link(take_link(i));
		if (workers[i].control)
			close_link(workers[i].control);
		workers[i].control = NULL;
	}
}
