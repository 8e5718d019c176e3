/* errors.c - error handlers of the resource tree, and the answers of last resort.
 *
 *    send_error(404)            404, then default         at the resource's type, its super types, and
 *    bw.error.io.timeout        the name, its parents,    sling/servlet/errorhandler
 *                               bw.error, then default
 *
 * A handler finds the status set, the standard jakarta.servlet.error.* attributes, and the method GET.
 * One error per request: a handler that fails itself gets the built-in page with the first status.
 * Where nothing is mounted the whiteboard goes on with its own error pages and the built-in one.
 *
 * Owns: nothing. Runs in: a request's fiber; waits where the handler does. Fails with: what it was
 * given. Tests: tests/unit/engine/engine_test.c, tests/conformance/engine/errh.rows. */
#include <base/log.h>
#include <stdio.h>
#include "engine/errors.h"
#include "engine/location.h"
#include "engine/mount.h"
#include "engine/select.h"
#include "request.h"
#include "whiteboard/fault.h"
#include "whiteboard/whiteboard.h"

/* ---- nobody is registered ---- */

static struct select_query query_of(const struct bw_req *req, const struct record *record)
{
	return (struct select_query){ req->method, req->selectors, req->extension, record,
		                      0,           req->id };
}

/* The methods that have a servlet here, as the value of Allow. */
static struct bw_str allowed_methods(struct bw_req *req, const struct record *record,
                                     uint64_t types)
{
	static const char *const methods[] = { "GET", "HEAD", "PATCH", "POST", "PUT", "DELETE" };
	struct select_query      q = query_of(req, record);
	struct mount_servlet    *servlet;
	char                     text[64] = "";
	size_t                   n = 0;

	q.types = types;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		q.method = bw_str(methods[i]);
		if (select_servlet(&q, &req->arena, &servlet) == SELECT_FOUND)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s, ", methods[i]);
	}
	n += (size_t)snprintf(text + n, sizeof(text) - n, "OPTIONS");
	return request_dup(req, (struct bw_str){ text, n });
}

int errors_refuse_method(struct bw_req *req, const char *allow)
{
	response_header(req, "allow", bw_str(allow), true);
	response_send_error(req, 405, NULL);
	return BW_OK;
}

int errors_no_servlet(struct bw_req *req, const struct record *record, uint64_t types)
{
	struct bw_str allow;

	if (bw_str_eq(req->method, BW_STR("GET")) || bw_str_eq(req->method, BW_STR("HEAD"))) {
		/* Also for a resource that is there: it has no representation (RFC 9110 15.5.5), which is
		 * the same to a client, and nothing that an operator should be woken for. */
		response_send_error(req, 404, NULL);
		return BW_OK;
	}
	allow = allowed_methods(req, record, types);
	if (!bw_str_eq(req->method, BW_STR("OPTIONS")))
		return errors_refuse_method(req, allow.p);
	response_header(req, "allow", allow, true);
	return BW_OK;
}

/* ---- which handler ---- */

/* acme.billing.declined -> acme.billing -> acme -> bw.error; false behind the last. */
static bool to_parent(struct bw_str *name)
{
	static const struct bw_str root = BW_STR("bw.error");
	const char                *dot = memrchr(name->p, '.', name->n);

	if (bw_str_eq(*name, root))
		return false;
	if (dot != NULL)
		name->n = (size_t)(dot - name->p);
	else
		*name = root;
	return true;
}

static struct mount_servlet *find_handler(struct bw_req *req, const struct fault *e,
                                          const struct record *record, uint64_t types)
{
	static const struct record none = { .resource_type = BW_STR(BASE_TYPE_ERROR) };
	struct select_query        q = query_of(req, record != NULL ? record : &none);
	struct bw_str              name = e->name;
	struct mount_servlet      *m = NULL;
	char                       status[16];

	q.types = types;
	if (name.p == NULL) {
		snprintf(status, sizeof(status), "%d", e->status);
		m = select_error_handler(&q, &req->arena, bw_str(status));
	} else {
		do
			m = select_error_handler(&q, &req->arena, name);
		while (m == NULL && to_parent(&name));
	}
	return m != NULL ? m : select_error_handler(&q, &req->arena, BW_STR("default"));
}

/* ---- calling it ---- */

/* Headers that RFC 9110 ties to a status outlive the reset: a 405 without Allow would be wrong, and
 * a 503 here always says when to come again. Those kept move up in the same array, behind the reader. */
static void reset_response(struct bw_req *req, int status)
{
	static const char *const kept[] = { "allow", "www-authenticate", "retry-after" };
	size_t                   n = req->n_res_headers;
	struct bw_res_header    *old = req->res_headers;
	bool                     says_when = false;

	response_reset(req);
	req->error_status = 0;
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++) {
			if (!bw_str_eq(old[i].name, bw_str(kept[k])))
				continue;
			says_when |= k == 2;
			response_header(req, kept[k], old[i].value, false);
			break;
		}
	}
	if (status == 503 && !says_when)
		response_header(req, "retry-after", BW_STR("1"), true);
	response_status(req, status);
}

static int call_handler(struct bw_req *req, struct mount_servlet *m)
{
	struct bw_str      method = req->method;
	enum bw_dispatcher dispatcher = req->dispatcher;
	int                rc;

	req->sent_method = method;
	req->method = BW_STR("GET");
	req->dispatcher = BW_ERROR;
	mount_servlet_ref(m);
	rc = servlet_call(m->type, m->object, req);
	mount_servlet_unref(m);
	req->method = method;
	req->sent_method = BW_ABSENT;
	req->dispatcher = dispatcher;
	return rc;
}

int errors_finish(struct bw_req *req, int rc, const struct record *record, uint64_t types)
{
	struct mount_servlet *m;
	struct fault          e;

	if ((rc >= 0 && req->error_status == 0) || req->committed || request_check(req) != BW_OK)
		return rc;
	if (req->nested > 0)
		return rc; /* for whoever forwarded or included, and at last for the outermost */
	e = fault_of(req, rc < 0 ? rc : BW_OK);
	m = find_handler(req, &e, record, types);
	if (m == NULL)
		return rc;
	if (rc < 0 && e.status < 500)
		log_info(req->id, "refused: %.*s", (int)e.name.n,
		         e.name.p); /* the client's mistake */
	else if (rc < 0)
		log_error(req->id, "%.*s: %.*s", (int)e.name.n, e.name.p, (int)e.text.n,
		          e.text.p != NULL ? e.text.p : "");
	reset_response(req, e.status);
	fault_set_attributes(req, &e, req->servlet_name);
	rc = call_handler(req, m);
	if (rc < 0 || req->error_status != 0) {
		log_error(req->id, "the error handler for status %d failed itself", e.status);
		reset_response(req, e.status);
		response_builtin_page(req, e.status);
	}
	return BW_OK;
}
