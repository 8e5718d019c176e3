/* resolver.c - a bundle for system tests of resolvers: POST /rows/steps runs the steps in its body, of
 * tests/conformance/resolver/steps.h, as the service user of this bundle, and answers with what they say.
 * POST /rows/leave?PATH changes a property there, says so, and waits for its client to go. */
#include <conformance/resolver/steps.h>

#define ROOT "/content/rows"

static struct bw_bundle *bundle;

static int answer(struct bw_req *req, char *steps)
{
	char *said = bw_req_alloc(req, 65536);
	int   err = steps_run(req, bundle, ROOT, steps, said, 65536);

	if (err != BW_OK)
		return err;
	bw_res_content_type(req, "text/plain;charset=utf-8");
	return bw_res_puts(req, said);
}

static int post_steps(void *self, struct bw_req *req)
{
	size_t size = (size_t)bw_req_body_length(req), n = 0, got;
	char  *steps = bw_req_alloc(req, size + 1);
	int    err = BW_OK;

	(void)self;
	for (; err == BW_OK && n < size; n += got)
		err = bw_req_body_read(req, n, steps + n, size - n, &got);
	steps[n] = '\0';
	return err == BW_OK ? answer(req, steps) : err;
}

/* A pending change that nobody will commit. */
static int post_leave(void *self, struct bw_req *req)
{
	struct bw_str       path = bw_req_get(req, BW_REQ_QUERY);
	struct bw_resolver *r;
	int                 err = bw_service_resolver(req, bundle, NULL, &r);

	(void)self;
	if (err == BW_OK)
		err = bw_resolver_set_string(r, path, "left", BW_STR("behind"));
	if (err == BW_OK)
		err = bw_res_puts(req, "waiting\n");
	if (err == BW_OK)
		err = bw_res_flush(req);
	while (err == BW_OK)
		err = bw_sleep_ms(req, 20);
	/* It is over, and nothing that waits works any more. */
	bw_log(bundle, req, BW_LOG_INFO, "left with %d, commit %d, %s", err, bw_resolver_commit(r),
	       bw_resolver_has_changes(r) ? "still pending" : "gone");
	return err;
}

static const struct bw_servlet steps = { .size = sizeof(steps), .post = post_steps };
static const struct bw_servlet leave = { .size = sizeof(leave), .post = post_leave };

static int authenticate(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_authenticate(req);
}

static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = authenticate };

static int start(struct bw_bundle *self)
{
	int err;

	bundle = self;
	err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "rows"),
	                          BW_P_STRING(BW_CONTEXT_PATH, "/rows"));
	if (err == BW_OK)
		err = bw_register_servlet(self, &steps, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "rows"),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/steps"),
		                          BW_P_STRING(BW_AUTH_REQUIREMENTS, "-/rows"));
	if (err == BW_OK)
		err = bw_register_servlet(self, &leave, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "rows"),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/leave"));
	return err;
}

BW_BUNDLE("test.resolver", "1.0.0", start, NULL);
