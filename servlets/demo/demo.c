/* demo.c - the smallest whole bundle: three servlets, each reachable in three ways.
 *
 *   /test/hello        by pattern, in a context of its own: the fast way
 *   /bin/test/hello    by path, through the engine
 *   /content/test/...  by the type of a resource stored there (demo.repoinit)
 *
 * hello says a line. serviceuser reads a resource as the service user that the operator mapped to
 * this bundle. auth reads as the user who asks. An error of any call is simply returned: returning it
 * is answering it. Read bottom to top: the descriptor, start, the servlets. */
#include <boardwalk/boardwalk.h>

#define TEXT "text/plain;charset=utf-8"

/* ---- hello ---- */

static int get_hello(void *self, struct bw_req *req)
{
	(void)self;
	bw_res_content_type(req, TEXT);
	return bw_res_puts(req, "Hello World");
}

static const struct bw_servlet hello = { .size = sizeof(hello),
	                                 .get = get_hello,
	                                 .info = "the demonstration: says hello" };

/* ---- serviceuser ---- */

static int get_serviceuser(void *self, struct bw_req *req)
{
	struct bw_bundle   *bundle = self;
	struct bw_resolver *resolver;
	struct bw_resource *res;
	struct bw_str       message;
	int                 err;

	if ((err = bw_service_resolver(req, bundle, NULL, &resolver)) != BW_OK ||
	    (err = bw_resolver_get(resolver, BW_STR("/var/test/serviceuser"), &res)) != BW_OK ||
	    (err = bw_resource_property(res, "message", 0, NULL, &message)) != BW_OK)
		return err;
	bw_res_content_type(req, TEXT);
	return bw_res_printf(req, "Hello %s the message is %s", bw_resolver_user(resolver).p,
	                     message.p);
}

static const struct bw_servlet serviceuser = {
	.size = sizeof(serviceuser),
	.get = get_serviceuser,
	.info = "the demonstration: reads as a service user"
};

/* ---- auth ---- */

/* The children that the resolver's user may read, page by page. */
static int count_children(struct bw_resolver *resolver, struct bw_str path, size_t *ret_count)
{
	struct bw_resource **page;
	struct bw_str        after = BW_ABSENT;
	size_t               n, count = 0;
	bool                 more;

	do {
		int err = bw_resolver_children(resolver, path, after, 256, &page, &n, &more);

		if (err != BW_OK)
			return err;
		count += n;
		if (n > 0)
			after = bw_resource_get(page[n - 1], BW_RESOURCE_NAME);
	} while (more && n > 0);
	*ret_count = count;
	return BW_OK;
}

static int get_auth(void *self, struct bw_req *req)
{
	struct bw_resolver *resolver;
	size_t              count;
	int                 err;

	(void)self;
	if ((err = bw_req_resolver(req, &resolver)) != BW_OK ||
	    (err = count_children(resolver, BW_STR("/content/dam"), &count)) != BW_OK)
		return err;
	bw_res_content_type(req, TEXT);
	return bw_res_printf(req, "Hello %s the dam count is %zu", bw_resolver_user(resolver).p,
	                     count);
}

static const struct bw_servlet auth = { .size = sizeof(auth),
	                                .get = get_auth,
	                                .info = "the demonstration: counts as the user" };

/* ---- the bundle ---- */

/* The context of the fast way: who enters is authenticated as the requirement rules say. */
static int authenticate(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_authenticate(req);
}

static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = authenticate };

/* Where a servlet is found; open: the rules that let anybody in, "" where there are none. */
struct place {
	const struct bw_servlet *servlet;
	const char              *pattern, *path, *type;
	const char              *open_pattern, *open_path, *open_type;
};

static int offer(struct bw_bundle *self, const struct place *p)
{
	int err =
		bw_register_servlet(self, p->servlet, self, BW_P_STRING(BW_CONTEXT_SELECT, "demo"),
	                            BW_P_STRING(BW_SERVLET_PATTERN, p->pattern),
	                            BW_P_STRING(BW_AUTH_REQUIREMENTS, p->open_pattern));

	if (err == BW_OK)
		err = bw_register_servlet(self, p->servlet, self,
		                          BW_P_STRING(BW_SLING_PATHS, p->path),
		                          BW_P_STRING(BW_AUTH_REQUIREMENTS, p->open_path));
	if (err == BW_OK)
		err = bw_register_servlet(self, p->servlet, self,
		                          BW_P_STRING(BW_SLING_TYPES, p->type),
		                          BW_P_STRING(BW_AUTH_REQUIREMENTS, p->open_type));
	return err;
}

static int start(struct bw_bundle *self)
{
	static const struct place places[] = {
		{ &hello, "/hello/*", "/bin/test/hello", "demo/test/hello", "-/test/hello",
		  "-/bin/test/hello", "-/content/test/hello" },
		{ &serviceuser, "/serviceuser/*", "/bin/test/serviceuser", "demo/test/serviceuser",
		  "-/test/serviceuser", "-/bin/test/serviceuser", "-/content/test/serviceuser" },
		{ &auth, "/auth/*", "/bin/test/auth", "demo/test/auth", "", "", "" },
	};
	int err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "demo"),
	                              BW_P_STRING(BW_CONTEXT_PATH, "/test"));

	for (size_t i = 0; err == BW_OK && i < sizeof(places) / sizeof(*places); i++)
		err = offer(self, &places[i]);
	return err;
}

BW_BUNDLE("boardwalk.demo", "1.0.0", start, NULL);
