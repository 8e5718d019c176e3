/* gateway.c - the server of a row as a real one: a gateway process with the test bundle
 * (bundle/rows.c), asked over HTTP.
 *
 * A connection stays with the worker that accepted it, so each worker is spoken to on connections of its
 * own, found by trying. With one worker, steps are orders to the running gateway; with several, a
 * gateway is started whose bundle takes them in its start, and only what comes after a request that
 * blocks is ordered from each worker.
 *
 * An order is answered before the request that carried it is over, and until then it holds the
 * whiteboard's state as it was; the next order on the same connection comes later than that.
 *
 * Owns: the gateway and the connections. Fails with: exit status 2 if the gateway does not do as it is
 * told. Tests: every row file. */
#include "ask.h"
#include "gateway_impl.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <support/gateway.h>
#include <support/http.h>

#define MAX_WORKERS 8
#define MAX_TRIES   1000 /* connections, until each worker has accepted one */

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
};

static struct worker {
	struct link    *control, *idle;
	struct blocked *oldest;
	unsigned        n_blocked;
} workers[MAX_WORKERS];

static struct test_gateway gateway;
static bool                running;
static unsigned            n_workers, looked_at;
static char                settings[512]; /* of the gateway: settings_of */
static struct words        taken; /* several workers: all steps of this server, with "mark" */

void gateway_give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	if (running)
		test_gateway_print_log(&gateway);
	exit(2);
}

/* ---- connections ---- */

static void close_link(struct link *l)
{
	http_close(&l->http);
	free(l);
}

static void keep_link(struct link *l)
{
	l->next = workers[l->worker].idle;
	workers[l->worker].idle = l;
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

	if (!l || !http_try_open(&l->http, gateway.port))
		gateway_give_up("the gateway accepts no connection");
	post(l, "worker", "", &r);
	if (r.status != 200 || sscanf(r.body, "gateway/%u", &l->worker) != 1 ||
	    l->worker >= n_workers)
		gateway_give_up("a worker that has no number: %d %s", r.status, r.body);
	http_response_done(&r);
	return l;
}

static struct link *take_link(unsigned worker)
{
	struct link *l;

	for (unsigned tries = 0; !workers[worker].idle; tries++) {
		if (tries == MAX_TRIES)
			gateway_give_up("worker %u accepts no connection", worker);
		keep_link(open_link());
	}
	l = workers[worker].idle;
	workers[worker].idle = l->next;
	return l;
}

/* ---- orders ---- */

/* Returns the status. ret_text: may be NULL. */
static int order(unsigned worker, const char *name, const char *argument, char **ret_text)
{
	struct worker       *w = &workers[worker];
	struct http_response r;
	int                  status;

	if (!w->control)
		w->control = take_link(worker);
	post(w->control, name, argument, &r);
	status = r.status;
	if (ret_text)
		*ret_text = text_dup(r.body, r.size);
	http_response_done(&r);
	return status;
}

static void must(unsigned worker, const char *name, const char *argument)
{
	char *text;
	int   status = order(worker, name, argument, &text);

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

static void start_request(unsigned worker, const char *text)
{
	struct worker  *w = &workers[worker];
	struct blocked *b = text_alloc(sizeof(*b)), **at = &w->oldest;

	b->answer = text_alloc(sizeof(*b->answer));
	b->link = send_request(worker, text, &b->no_body);
	while (*at)
		at = &(*at)->next;
	*at = b;
	w->n_blocked++;
	must(worker, "blocked", text_printf("%u", w->n_blocked));
}

static struct answer *resume(unsigned worker)
{
	struct worker  *w = &workers[worker];
	struct blocked *b = w->oldest;

	if (!b)
		gateway_give_up("nothing to resume");
	w->oldest = b->next;
	w->n_blocked--;
	must(worker, "resume", "");
	read_answer(b->answer, b->link, b->no_body);
	return b->answer;
}

static struct answer *ask(unsigned worker, const char *text)
{
	struct answer *a = text_alloc(sizeof(*a));
	bool           no_body;
	struct link   *l = send_request(worker, text, &no_body);

	read_answer(a, l, no_body);
	return a;
}

struct answer *world_request(const char *text)
{
	struct answer *first = NULL, **at = &first;

	records_forget();
	for (unsigned i = 0; i < n_workers; i++, at = &(*at)->other)
		*at = strcmp(text, "resume") == 0 ? resume(i) : ask(i, text);
	return first;
}

/* ---- the server ---- */

static void end_blocked(void)
{
	for (unsigned i = 0; i < n_workers; i++)
		while (workers[i].oldest)
			resume(i);
}

static void close_all(void)
{
	for (unsigned i = 0; i < n_workers; i++) {
		while (workers[i].idle)
			close_link(take_link(i));
		if (workers[i].control)
			close_link(workers[i].control);
		workers[i].control = NULL;
	}
}

static void stop(void)
{
	if (!running)
		return;
	end_blocked();
	close_all();
	records_forget();
	running = false;
	if (!test_gateway_stop(&gateway))
		gateway_give_up("the gateway did not end well");
}

/* "setting NAME=value" of the steps becomes a variable of the environment, which goes before the file:
 * BOARDWALK_GATEWAY_NAME=value, a line each. */
static char *settings_of(struct words before, struct words steps)
{
	char *text = text_printf("%s", "");

	for (size_t i = 0; i < before.n + steps.n; i++) {
		const char *step = i < before.n ? before.items[i] : steps.items[i - before.n];
		char       *line;

		if (!text_begins(step, "setting "))
			continue;
		line = text_printf("BOARDWALK_GATEWAY_%s\n", step + strlen("setting "));
		for (char *c = line; *c && *c != '='; c++)
			*c = (char)toupper((unsigned char)*c);
		text = text_printf("%s%s", text, line);
	}
	return text;
}

static void start(const char *steps_file)
{
	static const char *const bundles[] = { "rows_a", "rows_b", "rows", NULL };
	struct words             environment = text_split(settings, "\n");

	if (steps_file)
		words_add(&environment, text_printf("BOARDWALK_ROWS_STEPS=%s", steps_file));
	words_add(&environment, NULL);
	test_gateway_start(&gateway, &(struct test_gateway_options){
					     .workers = n_workers,
					     .bundles = bundles,
					     .settings = "  engine: false\n",
					     .environment = (const char *const *)environment.items,
				     });
	running = true;
}

/* Are they those of the running gateway? */
static bool use_settings(const char *text)
{
	bool same = strcmp(settings, text) == 0;

	if (!same && (size_t)snprintf(settings, sizeof(settings), "%s", text) >= sizeof(settings))
		gateway_give_up("too many settings: %s", text);
	return same;
}

void world_start(unsigned n)
{
	if (n == 0 || n > MAX_WORKERS)
		gateway_give_up("1 to %d workers", MAX_WORKERS);
	n_workers = n;
	use_settings(settings_of((struct words){ NULL, 0 }, (struct words){ NULL, 0 }));
	if (n == 1)
		start(NULL);
}

/* The whiteboard of a gateway ends with its worker. */
bool world_can(const char *step)
{
	return strcmp(step, "restart") != 0;
}

static void take(const char *step)
{
	records_forget();
	for (unsigned i = 0; i < n_workers && !text_begins(step, "setting "); i++)
		if (text_begins(step, "start "))
			start_request(i, step + strlen("start "));
		else if (strcmp(step, "mark") == 0)
			must(i, "mark", "");
		else
			must(i, "step", step);
}

static void take_all(struct words steps)
{
	for (size_t i = 0; i < steps.n; i++)
		take(steps.items[i]);
}

/* A gateway whose bundle takes them in its start, up to the first request. */
static void start_with(struct words steps)
{
	char   file[] = "/tmp/boardwalk-rows-XXXXXX";
	int    fd = mkstemp(file);
	FILE  *out = fd >= 0 ? fdopen(fd, "w") : NULL;
	size_t n = 0;

	if (!out)
		gateway_give_up("%s", file);
	for (; n < steps.n && !text_begins(steps.items[n], "start "); n++)
		if (!text_begins(steps.items[n], "setting "))
			fprintf(out, "%s\n", steps.items[n]);
	fclose(out);
	start(file);
	for (unsigned i = 0; i < n_workers; i++)
		workers[i].control = take_link(i); /* its start is over then */
	remove(file);
	take_all((struct words){ steps.items + n, steps.n - n });
}

static void add_steps(struct words steps)
{
	words_add(&taken, text_printf("mark"));
	for (size_t i = 0; i < steps.n; i++)
		words_add(&taken, steps.items[i]);
}

static bool are_same(struct words a, struct words b)
{
	size_t i = 0;

	while (i < a.n && i < b.n && strcmp(a.items[i], b.items[i]) == 0)
		i++;
	return a.n == b.n && i == a.n;
}

static void begin_anew(struct words before, struct words steps)
{
	struct words old = taken;

	taken = (struct words){ NULL, 0 };
	for (size_t i = 0; i < before.n; i++)
		words_add(&taken, before.items[i]);
	add_steps(steps);
	if (running && steps.n == 0 && are_same(old, taken)) {
		take("mark"); /* a row with requests only: the server is as it was for the last one */
		return;
	}
	stop();
	start_with(taken);
}

void world_begin(struct words before, struct words steps)
{
	bool same = use_settings(settings_of(before, steps));

	if (n_workers > 1) {
		begin_anew(before, steps);
		return;
	}
	if (!same) {
		stop();
		start(NULL);
	}
	end_blocked();
	must(0, "end", "");
	must(0, "forget", "");
	take_all(before);
	world_go_on(steps);
}

void world_go_on(struct words steps)
{
	if (n_workers > 1) {
		add_steps(steps);
		stop();
		start_with(taken);
		return;
	}
	take("mark");
	records_mark();
	take_all(steps);
}

void world_done(void)
{
	stop();
	records_done();
	text_free_all();
}

unsigned world_workers(void)
{
	return n_workers;
}

void world_look_at(unsigned worker)
{
	looked_at = worker;
}

bool world_ask(const char *question, const char **ret)
{
	char *text;
	int   status = order(looked_at, "ask", question, &text);

	*ret = status == 204 ? NULL : text;
	return status == 200 || status == 204;
}

/* ---- for the records ---- */

struct json_t *gateway_order(const char *request)
{
	struct json_t *all = test_gateway_order(&gateway, request);

	if (!all)
		gateway_give_up("the gateway does not answer %s", request);
	return all;
}

unsigned gateway_worker(void)
{
	return looked_at;
}
