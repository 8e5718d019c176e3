/* The whole whiteboard without sockets: requests served by the real whiteboard on real fibers, with a
 * transport that only remembers. The one worker is this process. Tests: every row file. */
#include "world.h"

#include "ask.h"
#include "stage.h"
#include "things.h"

#include <base/fatal.h>
#include <ctype.h>
#include <gateway/bundle/bundles.h>
#include <gateway/fiber.h>
#include <gateway/forms/params.h>
#include <gateway/path.h>
#include <gateway/request.h>
#include <gateway/whiteboard/async.h>
#include <gateway/whiteboard/registry.h>
#include <gateway/whiteboard/runtime.h>
#include <gateway/whiteboard/snapshot.h>
#include <gateway/whiteboard/upload.h>
#include <gateway/whiteboard/whiteboard.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <tests/support/fake_loop.h>
#include <unistd.h>

const struct bw_host *bw_host; /* as BW_BUNDLE defines it */

static char spool[] = "/tmp/boardwalk-parts-XXXXXX"; /* parts of requests */

#define MAX_PARAMETERS 10000
#define MAX_FORM       (2u << 20)

static struct registry *registry;
static struct answer   *serving; /* answers whose request is not complete; newest first */
static uint64_t         count_before, state_before;

/* ---- what the things need ---- */

/* The files of the bundles that a row may name: tests/conformance/files. */
extern const struct bw_embedded rows_embedded_test, rows_embedded_a, rows_embedded_b;

struct bw_bundle *stage_bundle(const char *name)
{
	static const struct {
		const char                 *name;
		struct bw_bundle_descriptor descriptor;
	} with_files[] = {
		{ "test",
		  { .size = sizeof(struct bw_bundle_descriptor),
		    .embedded = &rows_embedded_test } },
		{ "a",
		  { .size = sizeof(struct bw_bundle_descriptor), .embedded = &rows_embedded_a } },
		{ "b",
		  { .size = sizeof(struct bw_bundle_descriptor), .embedded = &rows_embedded_b } },
	};
	struct bw_bundle *b = bundles_builtin(name);

	for (size_t i = 0; i < sizeof(with_files) / sizeof(*with_files); i++)
		if (strcmp(with_files[i].name, name) == 0)
			b->descriptor = &with_files[i].descriptor;
	return b;
}

int stage_block(struct bw_req *req, unsigned ms)
{
	struct req_wait wait = { .cancel = NULL };

	(void)ms;
	return request_park(req, &wait);
}

bool stage_is_own(const struct bw_req *req)
{
	(void)req; /* nobody asks but the rows */
	return false;
}

void stage_fail(const char *format, ...)
{
	char    text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fatalx("%s", text);
}

/* ---- requests ---- */

static struct answer *answer_of(const struct bw_req *req)
{
	struct answer *a = serving;

	while (a && a->req != req)
		a = a->next;
	if (!a)
		fatalx("a request that nobody asked");
	return a;
}

static void append_body(struct answer *a)
{
	struct bw_req *req = a->req;

	if (response_has_body(req))
		a->body = text_printf("%s%.*s", a->body, (int)buf_size(&req->body),
		                      buf_size(&req->body) ? (char *)buf_data(&req->body) : "");
}

static void keep_headers(struct answer *a)
{
	const struct bw_req *req = a->req;

	a->n_headers = req->n_res_headers;
	a->headers = text_alloc((a->n_headers + 1) * sizeof(*a->headers));
	for (size_t i = 0; i < a->n_headers; i++) {
		struct bw_res_header h = req->res_headers[i];

		a->headers[i].name = text_dup(h.name.p, h.name.n);
		a->headers[i].value = text_dup(h.value.p, h.value.n);
	}
}

/* The transport: remembers what it is given. */
static void on_stop(struct bw_req *req)
{
	struct answer *a = answer_of(req), **at = &serving;

	if (req->state != REQ_RESPONDING)
		return;
	append_body(a);
	keep_headers(a);
	a->status = req->status;
	a->truncated = req->truncated;
	a->complete = true;
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	a->req = NULL;
	request_release(req); /* the transport's share */
	request_release(req); /* the fiber's */
}

/* Takes what a flush waits for, and turns the loop for what is asynchronous, until the request is complete
 * or blocked. */
static void pump(struct answer *a)
{
	while (a->req && a->req->state == REQ_PARKED && (a->req->flush || a->req->unhurried)) {
		if (a->req->unhurried) {
			fake_loop_turn(1000);
			continue;
		}
		append_body(a);
		request_wake(a->req);
	}
}

static struct answer *resume(void)
{
	struct answer *a = serving;

	while (a && a->next)
		a = a->next;
	if (!a)
		fatalx("nothing to resume");
	request_wake(a->req);
	pump(a);
	return a;
}

static void fill_headers(struct bw_req *req, const struct ask *a)
{
	req->headers = arena_alloc(&req->arena, (a->n_headers + 1) * sizeof(*req->headers));
	req->n_headers = a->n_headers;
	for (size_t i = 0; i < a->n_headers; i++) {
		for (char *c = a->headers[i].name; *c; c++)
			*c = (char)tolower((unsigned char)*c); /* as http has them */
		req->headers[i] = (struct bw_res_header){ bw_str(a->headers[i].name),
			                                  bw_str(a->headers[i].value) };
	}
}

static bool fill(struct bw_req *req, struct ask a)
{
	static uint64_t    last_id;
	struct path_target t;

	req->id = ++last_id;
	snprintf(req->id_text, sizeof(req->id_text), "%016llx", (unsigned long long)req->id);
	req->method = request_dup(req, bw_str(a.method));
	req->http10 = a.http10;
	req->scheme = BW_STR("http");
	req->body_in = (const uint8_t *)a.body;
	req->body_length = a.n_body;
	if (path_canonical(&req->arena, bw_str(a.target), &t) != BW_OK)
		return false;
	req->uri = request_dup(req, t.uri);
	req->query = request_dup(req, t.query);
	req->path = request_dup(req, t.path);
	fill_headers(req, &a);
	return true;
}

static void refuse(struct answer *a)
{
	request_set_state(a->req, REQ_RESPONDING);
	request_release(a->req);
	request_release(a->req);
	a->req = NULL;
	a->status = 400;
	a->complete = true;
}

struct answer *world_request(const char *text)
{
	struct answer *a;

	if (strcmp(text, "resume") == 0)
		return resume();
	a = text_alloc(sizeof(*a));
	a->body = text_printf("%s", "");
	a->req = request_new();
	if (!fill(a->req, ask_read(text))) {
		refuse(a);
		return a;
	}
	memcpy(a->id, a->req->id_text, sizeof(a->id));
	a->next = serving;
	serving = a;
	if (!request_start(a->req, whiteboard_serve))
		fatalx("no fiber");
	pump(a);
	return a;
}

/* ---- the server ---- */

/* "setting NAME=value": of the gateway's section of the configuration. */
static void set(const char *setting)
{
	if (text_begins(setting, "trace="))
		servlet_init(strcmp(setting, "trace=true") == 0);
	else if (text_begins(setting, "max_parameters="))
		params_init(strtoull(strchr(setting, '=') + 1, NULL, 10), MAX_FORM);
	else if (text_begins(setting, "spool="))
		upload_init(strchr(setting, '=') + 1);
	else
		fatalx("no such setting here: %s", setting);
}

static void set_defaults(void)
{
	servlet_init(false);
	params_init(MAX_PARAMETERS, MAX_FORM);
	upload_init(spool);
}

/* The whiteboard stops and starts, while the registrations stand and requests run. */
static void restart(void)
{
	whiteboard_done();
	whiteboard_init(registry);
}

static void wait_until_told(const char *label)
{
	for (int turns = 0; !things_is_told(label); turns++) {
		if (turns == 1000)
			fatalx("%s is not told", label);
		fake_loop_turn(10);
	}
}

static void take(struct words steps)
{
	for (size_t i = 0; i < steps.n; i++)
		if (text_begins(steps.items[i], "setting "))
			set(steps.items[i] + strlen("setting "));
		else if (text_begins(steps.items[i], "start "))
			world_request(steps.items[i] + strlen("start "));
		else if (text_begins(steps.items[i], "told "))
			wait_until_told(steps.items[i] + strlen("told "));
		else if (text_begins(steps.items[i], "restart"))
			restart();
		else
			things_step(steps.items[i]);
}

bool world_can(const char *step)
{
	return !text_begins(step, "load ") && !text_begins(step, "unload ");
}

char *world_process(const char *question, const char *want)
{
	(void)want;
	return text_printf("%s is not asked of this server", question);
}

static void end_server(void)
{
	while (serving)
		resume();
	if (registry) {
		whiteboard_done();
		registry_free(registry);
	}
	registry = NULL;
	things.list = NULL;
	if (things.alive > 0)
		fatalx("the server has ended, and %u objects are still alive", things.alive);
}

static void start_server(void)
{
	end_server();
	set_defaults();
	runtime_init("127.0.0.1:8080");
	registry = registry_new();
	bundles_use(registry);
	whiteboard_init(registry);
}

void world_start(unsigned n_workers)
{
	if (n_workers != 1)
		fatalx("this process is one worker");
	if (!mkdtemp(spool))
		fatal("%s", spool);
	fiber_pool_init(64);
	request_on_stop(on_stop);
	async_init();
	bw_host = bundles_host();
}

void world_begin(struct words before, struct words steps)
{
	start_server();
	things_mark();
	take(before);
	world_go_on(steps);
}

void world_go_on(struct words steps)
{
	things_mark();
	count_before = world_count();
	state_before = snapshot_current()->signature;
	take(steps);
}

void world_done(void)
{
	end_server();
	async_done();
	upload_done();
	runtime_done();
	request_pool_done();
	fiber_pool_done();
	rmdir(text_printf("%s/up", spool)); /* which a row has had made */
	if (rmdir(spool) != 0)
		fatal("something is left in %s", spool);
	things_forget();
}

unsigned world_workers(void)
{
	return 1;
}

void world_look_at(unsigned worker)
{
	(void)worker;
}

bool world_ask(const char *question, const char **ret)
{
	return things_answer(question, ret);
}

const char *world_spool(void)
{
	return spool;
}

uint64_t world_count_before(void)
{
	return count_before;
}

bool world_is_as_before(void)
{
	return snapshot_current()->signature == state_before;
}
