/* Calling a servlet: the raw call, or its method table with the defaults of HttpServlet (Jakarta
 * Servlet, HttpServlet; RFC 9110 9.3, 13.1.3 and 15.5.6).
 *
 * Runs in: the request's fiber. Fails with: what the servlet returns.
 * Tests: tests/unit/whiteboard/dispatch_test.c, tests/conformance (M). */
#include "whiteboard.h"

#include <base/clock.h>
#include <base/httpdate.h>
#include <request.h>
#include <strings.h>

#define ALLOW_MAX 64

/* Tables of bundles that were built for an older version end before this member. */
#define HAS(table, member) \
	((table)->size >= offsetof(struct bw_servlet, member) + sizeof((table)->member) && \
	 (table)->member != NULL)

typedef int (*method_cb)(void *self, struct bw_req *req);

static bool trace_is_on;

void servlet_init(bool trace)
{
	trace_is_on = trace;
}

static bool is(struct bw_str method, const char *name)
{
	return bw_str_eq(method, bw_str(name));
}

/* In the order of the standard's Allow; GET implies HEAD. */
static int set_allow(const struct bw_servlet *t, struct bw_req *req)
{
	char  text[ALLOW_MAX] = "";
	char *at = text;
	const struct {
		const char *name;
		bool        is_there;
	} methods[] = {
		{ "GET, ", t->get != NULL },     { "HEAD, ", t->get || t->head },
		{ "PATCH, ", t->patch != NULL }, { "POST, ", t->post != NULL },
		{ "PUT, ", t->put != NULL },     { "DELETE, ", t->delete != NULL },
		{ "TRACE, ", trace_is_on },
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (methods[i].is_there)
			at = stpcpy(at, methods[i].name);
	stpcpy(at, "OPTIONS");
	return response_header(req, "allow", bw_str(text), true);
}

static int not_allowed(const struct bw_servlet *t, struct bw_req *req)
{
	int err = set_allow(t, req);

	return err != BW_OK ? err : response_send_error(req, 405, NULL);
}

/* ---- TRACE ---- */

/* What says who the client is, or is somebody else's business (Jakarta Servlet,
 * HttpServlet.doTrace). */
static bool is_kept_back(struct bw_str name)
{
	static const char *const begins[] = { "authorization", "cookie", "forwarded", "x-forwarded",
		                              "proxy-authorization" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		size_t n = strlen(begins[i]);

		if (name.n >= n && strncasecmp(name.p, begins[i], n) == 0)
			return true;
	}
	return false;
}

static int write_all(struct bw_req *req, const struct bw_str *pieces, size_t n)
{
	int err = BW_OK;

	for (size_t i = 0; err == BW_OK && i < n; i++)
		err = response_write(req, pieces[i].p, pieces[i].n);
	return err;
}

/* RFC 9110 9.3.8: the request as it arrived. */
static int echo(void *self, struct bw_req *req)
{
	const struct bw_str first[] = { BW_STR("TRACE "), req->uri,
		                        req->query.p ? BW_STR("?") : BW_STR(""), req->query,
		                        req->http10 ? BW_STR(" HTTP/1.0\r\n")
		                                    : BW_STR(" HTTP/1.1\r\n") };
	int                 err;

	(void)self;
	if ((err = response_header(req, "content-type", BW_STR("message/http"), true)) != BW_OK)
		return err;
	err = write_all(req, first, sizeof(first) / sizeof(*first));
	for (size_t i = 0; err == BW_OK && i < req->n_headers; i++) {
		const struct bw_res_header *h = &req->headers[i];
		const struct bw_str line[] = { h->name, BW_STR(": "), h->value, BW_STR("\r\n") };

		if (!is_kept_back(h->name))
			err = write_all(req, line, sizeof(line) / sizeof(*line));
	}
	return err != BW_OK ? err : response_write(req, "\r\n", 2);
}

/* The entry for a method; *ret_known: the method is one the table could hold. */
static method_cb find_method(const struct bw_servlet *t, struct bw_str method, bool *ret_known)
{
	*ret_known = true;
	if (is(method, "GET"))
		return t->get;
	if (is(method, "HEAD"))
		return t->head ? t->head : t->get;
	if (is(method, "POST"))
		return t->post;
	if (is(method, "PUT"))
		return t->put;
	if (is(method, "PATCH"))
		return t->patch;
	if (is(method, "DELETE"))
		return t->delete;
	if (is(method, "OPTIONS"))
		return t->options;
	*ret_known = is(method, "TRACE");
	if (*ret_known && trace_is_on)
		return HAS(t, trace) ? t->trace : echo;
	return NULL;
}

/* ---- conditional requests ---- */

/* RFC 9110 13.1.3: the date counts only without If-None-Match, of whose tags none but "*" can
 * match, as we have none; and only if it is a date. */
bool servlet_is_unchanged(const struct bw_req *req, int64_t modified_s, int64_t now_s)
{
	struct bw_str tags = request_header(req, "if-none-match");
	struct bw_str since = request_header(req, "if-modified-since");
	int64_t       since_s;

	if (tags.p)
		return bw_str_eq(tags, BW_STR("*"));
	return since.p && httpdate_read(since.p, since.n, now_s, &since_s) && modified_s <= since_s;
}

static bool has_last_modified(const struct bw_req *req)
{
	for (size_t i = 0; i < req->n_res_headers; i++)
		if (is(req->res_headers[i].name, "last-modified"))
			return true;
	return false;
}

/* GET or HEAD of a servlet that can tell when its answer changed. */
static int call_unless_unchanged(const struct bw_servlet *t, void *self, struct bw_req *req,
                                 method_cb fn)
{
	int64_t modified_ms = t->last_modified(self, req), modified_s = modified_ms / 1000;
	int64_t now_s = (int64_t)(clock_real_us() / 1000000);
	char    text[HTTPDATE_SIZE];

	if (modified_ms < 0)
		return fn(self, req);
	if (modified_s > now_s)
		modified_s = now_s; /* RFC 9110 8.8.2.1: never ahead of Date */
	if (servlet_is_unchanged(req, modified_s, now_s))
		return response_status(req, 304);
	httpdate_write(modified_s, text);
	if (!has_last_modified(req))
		response_header(req, "last-modified", bw_str(text), true);
	return fn(self, req);
}

static bool is_read(struct bw_str method)
{
	return is(method, "GET") || is(method, "HEAD");
}

int servlet_call(const struct bw_servlet *type, void *self, struct bw_req *req)
{
	bool      known;
	method_cb fn;

	if (type->service)
		return type->service(self, req);
	fn = find_method(type, req->method, &known);
	if (fn && HAS(type, last_modified) && is_read(req->method))
		return call_unless_unchanged(type, self, req, fn);
	if (fn)
		return fn(self, req);
	if (!known)
		return response_send_error(req, 501, NULL);
	if (is(req->method, "OPTIONS"))
		return set_allow(type, req);
	return not_allowed(type, req);
}

int servlet_refuses(const struct bw_servlet *type, struct bw_str method)
{
	bool known;

	if (type->service || find_method(type, method, &known) || is(method, "OPTIONS"))
		return 0;
	return known ? 405 : 501;
}

struct bw_str servlet_info(const struct bw_servlet *type)
{
	return HAS(type, info) ? bw_str(type->info) : BW_ABSENT;
}
