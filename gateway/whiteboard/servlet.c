/* Calling a servlet: the raw call, or its method table with the defaults of HttpServlet (Jakarta
 * Servlet, HttpServlet; RFC 9110 9.3 and 15.5.6).
 *
 * Runs in: the request's fiber. Fails with: what the servlet returns.
 * Tests: tests/unit/whiteboard/dispatch_test.c. */
#include "whiteboard.h"

#include <request.h>

#define ALLOW_MAX 64

typedef int (*method_cb)(void *self, struct bw_req *req);

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
	*ret_known = is(method, "TRACE"); /* never echoed: it would hand out cookies */
	return NULL;
}

int servlet_call(const struct bw_servlet *type, void *self, struct bw_req *req)
{
	bool      known;
	method_cb fn;

	if (type->service)
		return type->service(self, req);
	fn = find_method(type, req->method, &known);
	if (fn)
		return fn(self, req);
	if (!known)
		return response_send_error(req, 501, NULL);
	if (is(req->method, "OPTIONS"))
		return set_allow(type, req);
	return not_allowed(type, req);
}
