/* blobs.c - a bundle for system tests of binary values: /blobs/NAME is the property data of
 * /content/NAME, for whom its credentials name.
 *
 *   POST     the body becomes the value
 *   GET ?from=N&octets=N    octets of it; without them all, streamed */
#include <boardwalk/blob.h>
#include <boardwalk/boardwalk.h>
#include <boardwalk/edit.h>
#include <boardwalk/form.h>
#include <stdlib.h>

#define PIECE 65536u

static struct bw_str path_of(struct bw_req *req)
{
	struct bw_str info = bw_req_get(req, BW_REQ_PATH_INFO);
	size_t        n = sizeof("/content") - 1;
	char         *path = bw_req_alloc(req, n + info.n + 1);

	memcpy(path, "/content", n);
	memcpy(path + n, info.p, info.n + 1);
	return (struct bw_str){ path, n + info.n };
}

static int copy_body(struct bw_req *req, struct bw_blob_writer *out)
{
	char    *piece = bw_req_alloc(req, PIECE);
	uint64_t at = 0;
	size_t   n;
	int      err;

	while ((err = bw_req_body_read(req, at, piece, PIECE, &n)) == BW_OK && n > 0) {
		err = bw_blob_write(out, piece, n);
		if (err != BW_OK)
			return err;
		at += n;
	}
	return err;
}

static int post(void *self, struct bw_req *req)
{
	struct bw_resolver    *r, *fresh; /* fresh: the body may have taken longer than r lives */
	struct bw_blob_writer *out;
	struct bw_value        value;
	int                    err;

	(void)self;
	if ((err = bw_req_resolver(req, &r)) != BW_OK || (err = bw_blob_create(r, &out)) != BW_OK ||
	    (err = copy_body(req, out)) != BW_OK || (err = bw_blob_finish(out, &value)) != BW_OK ||
	    (err = bw_resolver_clone(r, NULL, &fresh)) != BW_OK)
		return err;
	err = bw_resolver_set(fresh, path_of(req), "data", &value);
	if (err == BW_OK)
		err = bw_resolver_commit(fresh);
	(void)bw_resolver_close(fresh);
	return err == BW_OK ? bw_res_puts(req, "stored\n") : err;
}

static uint64_t number(struct bw_req *req, const char *name, uint64_t otherwise)
{
	struct bw_str text;

	return bw_req_param(req, name, &text) == BW_OK && text.p ? strtoull(text.p, NULL, 10)
	                                                         : otherwise;
}

static int get(void *self, struct bw_req *req)
{
	uint64_t               at, end;
	struct bw_resolver    *r;
	struct bw_resource    *res;
	struct bw_blob_reader *in;
	char                  *piece = bw_req_alloc(req, PIECE);
	size_t                 n;
	int                    err;

	(void)self;
	if ((err = bw_req_resolver(req, &r)) != BW_OK ||
	    (err = bw_resolver_get(r, path_of(req), &res)) != BW_OK ||
	    (err = bw_blob_open(res, "data", 0, &in)) != BW_OK)
		return err;
	at = number(req, "from", 0);
	end = at + number(req, "octets", bw_blob_length(in));
	if (end > bw_blob_length(in))
		end = bw_blob_length(in);
	for (; at < end; at += n) {
		size_t most = end - at < PIECE ? (size_t)(end - at) : PIECE;

		if ((err = bw_blob_read(in, at, piece, most, &n)) != BW_OK ||
		    (err = bw_res_write(req, piece, n)) != BW_OK)
			return err;
	}
	return BW_OK;
}

static const struct bw_servlet servlet = { .size = sizeof(servlet), .get = get, .post = post };

static int authenticate(void *self, struct bw_req *req)
{
	(void)self;
	return bw_req_authenticate(req);
}

static const struct bw_context_helper context = { .size = sizeof(context),
	                                          .handle_security = authenticate };

static int start(struct bw_bundle *self)
{
	int err = bw_register_context(self, &context, NULL, BW_P_STRING(BW_CONTEXT_NAME, "blobs"),
	                              BW_P_STRING(BW_CONTEXT_PATH, "/blobs"));

	return err != BW_OK ? err
	                    : bw_register_servlet(self, &servlet, NULL,
	                                          BW_P_STRING(BW_CONTEXT_SELECT, "blobs"),
	                                          BW_P_STRING(BW_SERVLET_PATTERN, "/*"));
}

BW_BUNDLE("test.blobs", "1.0.0", start, NULL);
