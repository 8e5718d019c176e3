/* What a request gets that failed: the error page its context has for the error's name or the status,
 * else the built-in page (OSGi 140.4.2, Jakarta Servlet 10.9).
 *
 * The page runs after the whole chain has unwound, on the same request, as GET and with the type
 * ERROR; handle_security is not asked again. A page that fails itself is replaced by the built-in
 * one, with the original status, and that is the end; so is, for a while, one that crashed a worker.
 *
 * Owns: nothing. Runs in: the request's fiber. Logs: errors that were returned, once; of those that
 * mean "try again" a few a second.
 * Tests: tests/conformance (G), tests/unit/whiteboard/dispatch_test.c. */
#include "attr.h"
#include "dispatch.h"
#include "fault.h"
#include "pages.h"

#include <base/clock.h>
#include <base/log.h>
#include <bundle/crash_limits.h>
#include <fiber.h>

#define MAX_AWAY_LINES 10u /* a second and worker */

static struct fault from_map(int err)
{
	static const struct {
		int         err, status;
		const char *name, *text;
	} map[] = {
#define X(constant, value, name, status, text) { value, status, name, text },
		BW_ERRORS(X)
#undef X
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(*map); i++)
		if (map[i].err == err)
			return (struct fault){ .status = map[i].status,
				               .name = bw_str(map[i].name),
				               .text = bw_str(map[i].text) };
	return from_map(BW_ESERVLET); /* a number that is none of ours */
}

struct fault fault_of(const struct bw_req *req, int err)
{
	struct fault f;

	if (err == BW_OK)
		return (struct fault){ .status = req->error_status, .text = req->error_text };
	f = from_map(err);
	if (err == BW_ESERVLET && req->error_name.p) {
		f.name = req->error_name;
		f.text = req->error_text;
		f.cause = req->error_cause;
	}
	return f;
}

void fault_set_attributes(struct bw_req *req, const struct fault *f, struct bw_str servlet_name)
{
	attr_set(req, BW_ATTR_ERROR_STATUS, bw_str(arena_printf(&req->arena, "%d", f->status)));
	attr_set(req, BW_ATTR_ERROR_MESSAGE, f->text);
	attr_set(req, BW_ATTR_ERROR_REQUEST_URI, req->uri);
	attr_set(req, BW_ATTR_ERROR_QUERY_STRING, req->query);
	attr_set(req, BW_ATTR_ERROR_METHOD, req->method);
	attr_set(req, BW_ATTR_ERROR_SERVLET_NAME, servlet_name);
	attr_set(req, BW_ATTR_ERROR_EXCEPTION, f->name.p ? f->text : BW_ABSENT);
	attr_set(req, BW_ATTR_ERROR_TYPE, f->name);
}

/* The helper is not asked again. */
static int run_page(struct bw_req *req, const struct snapshot_servlet *page)
{
	struct dispatch      d = dispatch_of(page, BW_ERROR, req->path_info);
	struct fiber_subject outer = { NULL, NULL };
	int                  err;

	d.sync = true; /* nobody would wait */
	req->whiteboard = &d;
	if (req->fiber) {
		outer = fiber_subject(req->fiber);
		fiber_set_subject(req->fiber,
		                  (struct fiber_subject){ page->context->context->reading->name.p,
		                                          page->page_subject });
	}
	err = dispatch_run(&d, req);
	if (req->fiber)
		fiber_set_subject(req->fiber, outer);
	req->whiteboard = NULL;
	return err;
}

/* True: the page has answered. */
static bool answer_with_page(struct bw_req *req, const struct snapshot_context *c,
                             const struct snapshot_servlet *page, const struct fault *f,
                             const struct bw_str *servlet_name)
{
	struct bw_str method = req->method, rest = req->path;
	int           err;

	snapshot_contains(c, req->path, &rest);
	fault_set_attributes(req, f, servlet_name ? *servlet_name : BW_ABSENT);
	req->dispatcher = BW_ERROR;
	req->sent_method = method;
	req->method = BW_STR("GET");
	req->context = c->context;
	req->context_path = c->path;
	req->servlet_path = BW_STR("");
	req->path_info = dispatch_path(rest);
	req->pattern = req->match_value = BW_ABSENT;
	req->servlet_name = page->name;
	req->error_status = 0;
	req->status = f->status;
	if (f->status == 503)
		response_header(req, "retry-after", BW_STR("1"), true);
	err = run_page(req, page);
	req->method = method;
	req->sent_method = BW_ABSENT;
	if (err == BW_OK && req->error_status == 0)
		return true;
	if (req->committed)
		req->truncated = true;
	return req->committed;
}

/* While a peer is away every request fails alike, thousands in a second: each has its access line, so
 * a few of these are enough. */
static bool is_worth_a_line(const struct fault *f)
{
	static uint64_t second;
	static unsigned lines;
	uint64_t        now = clock_mono_us() / 1000000;

	if (f->status != 503)
		return true;
	if (now != second) {
		if (lines > MAX_AWAY_LINES)
			log_warning(0, "%u more requests failed like these",
			            lines - MAX_AWAY_LINES);
		second = now;
		lines = 0;
	}
	return ++lines <= MAX_AWAY_LINES;
}

static void log_fault(const struct bw_req *req, const struct snapshot_servlet *servlet,
                      const struct fault *f)
{
	const char *who = servlet ? servlet->note : "whiteboard";
	const char *text = f->text.p ? f->text.p : "";

	if (f->status < 500) /* the client's mistake, which it can make as often as it likes */
		log_info(req->id, "%s refused: %s: %s", who, f->name.p, text);
	else if (is_worth_a_line(f))
		log_warning(req->id, "%s failed: %s%s%s", who, f->name.p, f->text.p ? ": " : "",
		            text);
}

static void answer(struct bw_req *req, const struct snapshot_context *c,
                   const struct snapshot_servlet *page, const struct fault *f,
                   const struct snapshot_servlet *servlet)
{
	response_reset_body(req);
	if (page && page->page_limit && limits_hold(page->page_limit))
		page = NULL;
	if (page && answer_with_page(req, c, page, f, servlet ? &servlet->name : NULL))
		return;
	req->error_status = f->name.p ? 0 : f->status; /* only what sendError said is shown */
	req->error_text = f->text;
	response_builtin_page(req, f->status);
}

void fault_answer(struct bw_req *req, const struct snapshot_context *c,
                  const struct snapshot_servlet *servlet, int err)
{
	const struct snapshot_servlet *page = NULL;
	struct fault                   f = fault_of(req, err);

	if (request_check(req) != BW_OK)
		return; /* nobody listens any more */
	if (err != BW_OK)
		log_fault(req, servlet, &f);
	if (req->committed) {
		req->truncated = err != BW_OK;
		return;
	}
	if (c && f.name.p)
		page = pages_for_name(c, f.name);
	if (c && !page && f.cause.p)
		page = pages_for_name(c, f.cause);
	if (c && !page)
		page = pages_for_status(c, f.status);
	answer(req, c, page, &f, servlet);
}

void fault_not_found(struct bw_req *req, const struct snapshot *s)
{
	const struct fault f = { .status = 404, .name = BW_ABSENT, .text = BW_ABSENT };
	struct bw_str      rest;

	for (size_t i = 0; i < s->n_contexts; i++) {
		const struct snapshot_context *c = s->contexts[i];

		if (snapshot_contains(c, req->path, &rest) && pages_for_status(c, 404)) {
			answer(req, c, pages_for_status(c, 404), &f, NULL);
			return;
		}
	}
	answer(req, NULL, NULL, &f, NULL);
}
