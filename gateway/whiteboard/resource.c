/* The resource sender: the servlet that stands for every resource service. The name looked up is the
 * service's prefix and the request's path info; the context helper for the service's bundle finds the
 * file. What a method table does by default (servlet.c) is all that is wanted beside GET.
 *
 * Owns: nothing; the file is closed before it returns. Runs in: the request's fiber.
 * Fails with: BW_EIO, what the helper returned. Tests: tests/conformance (I, F31, E34),
 * tests/unit/whiteboard/resource_test.c. */
#include "resource.h"

#include "attr.h"
#include "helper.h"
#include "snapshot.h"
#include "whiteboard.h"

#include <base/clock.h>
#include <base/httpdate.h>
#include <base/httprange.h>
#include <boardwalk/dispatcher.h>
#include <files.h>
#include <inttypes.h>

/* Prefix and path info, joined by one slash. The context's root ("") has the path info "/" in name only. */
static struct bw_str file_name(struct bw_req *req, struct bw_str prefix)
{
	struct bw_str info = req->path_info, pattern = req->pattern;
	char         *name;

	/* An include shows the includer's path values. */
	if (req->included) {
		info = attr_get(req, BW_ATTR_INCLUDE "path_info");
		pattern = attr_get(req, BW_ATTR_INCLUDE "mapping");
	}
	if (pattern.n == 0)
		info.n = 0;
	if (info.n == 0)
		return prefix;
	if (prefix.n == 1 && prefix.p[0] == '/')
		return info;
	name = arena_alloc(&req->arena, prefix.n + info.n + 1);
	memcpy(name, prefix.p, prefix.n);
	memcpy(name + prefix.n, info.p, info.n);
	name[prefix.n + info.n] = '\0';
	return (struct bw_str){ name, prefix.n + info.n };
}

/* In seconds since 1970. */
struct times {
	int64_t now, modified; /* modified: 0 if nobody knows it */
};

static struct times times_of(const struct bw_file *file)
{
	struct times t = { (int64_t)(clock_real_us() / 1000000), file->modified_ms / 1000 };

	if (t.modified > t.now)
		t.modified = t.now; /* RFC 9110 8.8.2.1: never ahead of Date */
	return t;
}

static int set_head(struct bw_req *req, const struct helper *h, struct bw_str name,
                    int64_t modified)
{
	struct bw_str type = helper_mime_type(h, name);
	char          date[HTTPDATE_SIZE];
	int           err = response_header(req, "accept-ranges", BW_STR("bytes"), true);

	if (err == BW_OK && type.p)
		err = response_header(req, "content-type", type, true);
	if (err == BW_OK && modified > 0) {
		httpdate_write(modified, date);
		err = response_header(req, "last-modified", bw_str(date), true);
	}
	return err;
}

/* What of the file is sent. */
struct part {
	uint64_t first, n;
};

/* Is what the client has a part of still that (RFC 9110 13.1.5)? The date has to be the very one, and old
 * enough that no other state of the file had it. */
static bool is_same(const struct bw_req *req, struct times t)
{
	struct bw_str have = request_header(req, "if-range");
	int64_t       at;

	return !have.p || (t.modified > 0 && httpdate_read(have.p, have.n, t.now, &at) &&
	                   at == t.modified && t.modified < t.now);
}

/* Looks for a part that is asked for, and sets status and header for it. BW_DECLINED: it is answered, since
 * there is no such part. */
static int choose_part(struct bw_req *req, struct times t, uint64_t size, struct part *ret)
{
	struct bw_str  range = request_header(req, "range");
	enum httprange kind = HTTPRANGE_NONE;
	const char    *text;
	int            err;

	if (range.p && !req->head_only && is_same(req, t))
		kind = httprange_read(range.p, range.n, size, &ret->first, &ret->n);
	if (kind == HTTPRANGE_NONE)
		return BW_OK;
	text = kind == HTTPRANGE_OUTSIDE
	               ? arena_printf(&req->arena, "bytes */%" PRIu64, size)
	               : arena_printf(&req->arena, "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64,
	                              ret->first, ret->first + ret->n - 1, size);
	err = response_header(req, "content-range", bw_str(text), true);
	if (err == BW_OK && kind == HTTPRANGE_PART)
		return response_status(req, 206);
	if (err == BW_OK)
		err = response_send_error(req, 416, NULL);
	return err == BW_OK ? BW_DECLINED : err;
}

/* Not inside an include, nor behind a filter that has sent it. */
static bool is_head_ours(const struct bw_req *req)
{
	return !req->body_only && !req->committed;
}

static int send_descriptor(struct bw_req *req, const struct bw_file *file, struct part part)
{
	size_t size = part.n < RESPONSE_BUFFER ? (size_t)part.n : RESPONSE_BUFFER, n = 0;
	void  *buf = arena_alloc(&req->arena, size);
	int    err = BW_OK;

	for (; err == BW_OK && part.n > 0; part.first += n, part.n -= n) {
		err = file_read(req, file, part.first, buf, part.n < size ? part.n : size, &n);
		if (err == BW_OK && n == 0)
			err = BW_EIO; /* it was cut meanwhile, and its length may be out already */
		if (err == BW_OK)
			err = response_write(req, buf, n);
	}
	return err;
}

static int send_body(struct bw_req *req, const struct bw_file *file, struct part part)
{
	int err;

	if (is_head_ours(req))
		response_length(req, part.n);
	if (req->head_only || part.n == 0)
		err = response_write(req, NULL, part.n); /* HEAD: only counted */
	else if (file->data)
		err = response_write(req, (const char *)file->data + part.first, part.n);
	else
		err = send_descriptor(req, file, part);
	/* All that was promised is out: a filter has nothing to add any more. */
	if (err == BW_OK && req->committed && req->has_length)
		req->closed = true;
	return err;
}

static int answer(struct bw_req *req, const struct helper *h, struct bw_str name,
                  const struct bw_file *file)
{
	struct part part = { 0, file->n };
	int         err = BW_OK;

	if (is_head_ours(req)) {
		struct times t = times_of(file);

		if (servlet_is_unchanged(req, t.modified > 0 ? t.modified : INT64_MAX, t.now))
			return response_status(req, 304);
		err = choose_part(req, t, file->n, &part);
		if (err == BW_OK)
			err = set_head(req, h, name, t.modified);
	}
	if (err == BW_OK)
		err = send_body(req, file, part);
	return err < 0 ? err : BW_OK;
}

static int get(void *self, struct bw_req *req)
{
	const struct snapshot_servlet *s = self;
	struct bw_str                  name = file_name(req, s->reading->resource_prefix);
	struct bw_file                 file;
	int err = helper_resource(s->helper, s->reading->bundle, name, &file);

	if (err == BW_ENOTFOUND)
		return response_send_error(req, 404, NULL);
	if (err != BW_OK)
		return err;
	err = answer(req, s->helper, name, &file);
	file_close(&file);
	return err;
}

const struct bw_servlet resource_servlet = { .size = sizeof(resource_servlet), .get = get };
