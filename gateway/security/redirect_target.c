/* redirect_target.c - where a request's client asks to be sent (redirect.h), out of its parameters.
 *
 * Owns: nothing. Runs in: a request's fiber; (waits) for a form's parts, and to learn whether a path with a
 * quote exists. Fails with: nothing; a parameter that cannot be read is not there.
 * Tests: tests/conformance/redirect, tests/conformance/login. */
#include "forms/params.h"
#include "peers/resolver.h"
#include "request.h"
#include "security/handler.h"
#include "security/redirect.h"
#include "whiteboard/attr.h"

/* As this request's user reads. A failure is no answer, and so no. */
static bool exists_for(void *arg, struct bw_str path)
{
	struct bw_req      *req = arg;
	struct bw_resource *res;

	return req->resolver != NULL && resolver_get(req->resolver, path, &res) == BW_OK;
}

static struct bw_str parameter(struct bw_req *req, const char *name)
{
	struct bw_str value;

	/* A login's password is left in no other memory than its own. */
	if (form_is_login(req))
		return form_param(req, name);
	return params_get(req, name, &value) == BW_OK ? value : BW_ABSENT;
}

/* Without a login suffix: that is answered with 403 when it comes again. */
static struct bw_str own_uri(const struct bw_req *req)
{
	static const struct bw_str suffix = BW_STR("/j_security_check");
	struct bw_str              uri = req->uri;

	if (uri.n >= suffix.n && memcmp(uri.p + uri.n - suffix.n, suffix.p, suffix.n) == 0)
		uri.n -= suffix.n;
	return uri.n > 0 ? uri : BW_STR("/");
}

static struct bw_str wish(struct bw_req *req, const char *otherwise)
{
	struct bw_str text = parameter(req, "sling.auth.redirect");

	if (text.p != NULL)
		return text.n == 0 || bw_str_eq(text, BW_STR("true")) ? own_uri(req) : text;
	text = attr_get(req, "resource");
	if (text.n == 0)
		text = parameter(req, "resource");
	return text.n > 0 ? text : bw_str(otherwise);
}

static struct bw_str root_of(struct bw_req *req)
{
	return bw_str(
		arena_printf(&req->arena, "%.*s/", (int)req->context_path.n, req->context_path.p));
}

struct bw_str redirect_target(struct bw_req *req, const char *otherwise)
{
	struct redirect_site site = { req->context_path, exists_for, req };
	struct bw_str        found = wish(req, otherwise);

	found = redirect_resolve(&req->arena, &site, req->uri, found);
	found = redirect_check(&req->arena, &site, found);
	return found.p != NULL ? found : root_of(req);
}

void redirect_send(struct bw_req *req, struct bw_str location)
{
	response_reset_body(req);
	response_status(req, 302);
	response_header(req, "location", location, true);
	response_header(req, "cache-control", BW_STR("no-store"), true);
	req->closed = true;
}
