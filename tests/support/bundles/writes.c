/* writes.c - a bundle for system tests of commits, below /content/w, as whom its credentials name.
 *
 *   GET  /writes/slot?slot=I         the number of slot I
 *   POST /writes/slot?slot=I&n=K     from K-1 to K, in one commit: it stands at aI and at mI/k, and m goes
 *                                    from one folder to another, leftI for even numbers  204, 409
 *   POST /writes/stir?path=P         deletes P                                           204, 404, 409
 *   POST /writes/stir?to=P&name=N    makes N there
 *   POST /writes/stir?path=P&to=Q&name=N    moves P there */
#include <boardwalk/boardwalk.h>
#include <boardwalk/edit.h>
#include <boardwalk/form.h>
#include <stdio.h>
#include <stdlib.h>

static int commit(struct bw_req *req, struct bw_resolver *r, int err)
{
	if (err == BW_OK)
		err = bw_resolver_commit(r);
	return err == BW_OK ? bw_res_status(req, 204) : bw_resolver_send_error(req, r, err);
}

static int number_param(struct bw_req *req, const char *name, unsigned *ret)
{
	struct bw_str text;
	int           err = bw_req_param(req, name, &text);

	*ret = err == BW_OK && text.p != NULL ? (unsigned)strtoul(text.p, NULL, 10) : 0;
	return err;
}

__attribute__((format(printf, 2, 3))) static struct bw_str path_of(struct bw_req *req,
                                                                   const char    *format, ...)
{
	char   *path = bw_req_alloc(req, 128);
	va_list args;
	int     n;

	va_start(args, format);
	n = vsnprintf(path, 128, format, args);
	va_end(args);
	return (struct bw_str){ path, (size_t)n };
}

static int number_of(struct bw_resolver *r, struct bw_str path, int64_t *ret)
{
	struct bw_resource *res;
	int                 err = bw_resolver_get(r, path, &res);

	return err == BW_OK ? bw_resource_long(res, "n", ret) : err;
}

static int set_number(struct bw_resolver *r, struct bw_str path, unsigned n)
{
	const struct bw_value value = BW_V_LONG(n);

	return bw_resolver_set(r, path, "n", &value);
}

static int get_slot(void *self, struct bw_req *req)
{
	struct bw_resolver *r;
	unsigned            slot;
	int64_t             held;
	int                 err = bw_req_resolver(req, &r);

	(void)self;
	if (err == BW_OK)
		err = number_param(req, "slot", &slot);
	if (err == BW_OK)
		err = number_of(r, path_of(req, "/content/w/a%u", slot), &held);
	if (err != BW_OK)
		return err;
	bw_res_content_type(req, "text/plain;charset=utf-8");
	return bw_res_printf(req, "%lld", (long long)held);
}

static int post_slot(void *self, struct bw_req *req)
{
	static const char *const side[] = { "left", "right" };
	struct bw_resolver      *r;
	struct bw_str            a;
	unsigned                 slot, n;
	int64_t                  held;
	int                      err = bw_req_resolver(req, &r);

	(void)self;
	if (err != BW_OK || (err = number_param(req, "slot", &slot)) != BW_OK ||
	    (err = number_param(req, "n", &n)) != BW_OK)
		return err;
	a = path_of(req, "/content/w/a%u", slot);
	err = number_of(r, a, &held);
	if (err == BW_OK && held + 1 != n)
		return bw_res_send_error(req, 409, "it has another number");
	if (err == BW_OK)
		err = set_number(r, a, n);
	if (err == BW_OK)
		err = bw_resolver_move(
			r, path_of(req, "/content/w/%s%u/m", side[(n + 1) % 2], slot),
			path_of(req, "/content/w/%s%u", side[n % 2], slot), BW_ABSENT, NULL);
	if (err == BW_OK)
		err = set_number(r, path_of(req, "/content/w/%s%u/m/k", side[n % 2], slot), n);
	return commit(req, r, err);
}

static int post_stir(void *self, struct bw_req *req)
{
	struct bw_resolver *r;
	struct bw_str       path, to, name;
	int                 err = bw_req_resolver(req, &r);

	(void)self;
	if (err != BW_OK || (err = bw_req_param(req, "path", &path)) != BW_OK ||
	    (err = bw_req_param(req, "to", &to)) != BW_OK ||
	    (err = bw_req_param(req, "name", &name)) != BW_OK)
		return err;
	if (to.p == NULL)
		err = bw_resolver_delete(r, path);
	else if (path.p == NULL)
		err = bw_resolver_create(r, to, name, NULL, 0, NULL);
	else
		err = bw_resolver_move(r, path, to, name, NULL);
	return commit(req, r, err);
}

static const struct bw_servlet slot = { .size = sizeof(slot), .get = get_slot, .post = post_slot };
static const struct bw_servlet stir = { .size = sizeof(stir), .post = post_stir };

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

	err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "writes"),
	                          BW_P_STRING(BW_CONTEXT_PATH, "/writes"));
	if (err == BW_OK)
		err = bw_register_servlet(self, &slot, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "writes"),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/slot"));
	if (err == BW_OK)
		err = bw_register_servlet(self, &stir, NULL,
		                          BW_P_STRING(BW_CONTEXT_SELECT, "writes"),
		                          BW_P_STRING(BW_SERVLET_PATTERN, "/stir"));
	return err;
}

BW_BUNDLE("test.writes", "1.0.0", start, NULL);
