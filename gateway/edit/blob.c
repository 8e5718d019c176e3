/* blob.c - binary values: octets collected and sent to repo in pieces, ranges asked of it.
 *
 * A handle lives for a minute and a value may take longer: when repo says that it has expired, a clone
 * of the resolver, which auth has looked at again, takes its place.
 *
 * Owns: nothing beyond the request's arena; a writer has 192 KiB of it. Runs in: a request's fiber.
 * Fails with: what repo says, BW_ESTATE, BW_EINVAL. Tests: tests/system/blob_test.c. */
#include "blob.h"
#include "commit.h"
#include "edit.h"
#include "peers/ask.h"
#include "request.h"

#define PIECE     65536u /* repo takes multiples of it, but at the end */
#define MOST      ASK_BLOB_MOST
#define HASH_TEXT 64u

struct bw_blob_writer {
	struct bw_resolver *r, *through; /* through: r, or a clone of it */
	struct bw_str       upload;      /* absent: nothing has been sent */
	uint64_t            sent;
	size_t              n; /* octets in buffer */
	int                 err;
	bool                finished;
	uint8_t            *buffer;
};

struct bw_blob_reader {
	struct bw_resolver  *r, *through;
	struct bw_str        path, name, value;
	const struct frozen *frozen; /* of the resource that it was opened with */
	uint64_t             length;
};

/* Another handle for the same identity; what is pending in the original stays there. */
static int go_on(struct bw_resolver *r, struct bw_resolver **through)
{
	struct bw_resolver *clone;
	int                 err = security_clone(r, NULL, &clone);

	if (err != BW_OK)
		return err;
	if (*through != r)
		(void)commit_close(*through);
	*through = clone;
	return BW_OK;
}

/* ---- writing ---- */

static int create(struct bw_resolver *r, struct bw_blob_writer **ret)
{
	struct bw_blob_writer *w;

	if (!commit_is_live(r))
		return BW_ESTATE;
	w = arena_zalloc(&r->req->arena, sizeof(*w));
	w->r = w->through = r;
	w->buffer = arena_alloc(&r->req->arena, MOST);
	*ret = w;
	return BW_OK;
}

static int send_piece(struct bw_blob_writer *w)
{
	struct bw_str data = { (const char *)w->buffer, w->n };
	int           err = ask_blob_write(w->through, &w->upload, w->sent, data);

	if (err == BW_EEXPIRED && (err = go_on(w->r, &w->through)) == BW_OK)
		err = ask_blob_write(w->through, &w->upload, w->sent, data);
	w->err = err;
	w->sent += w->n;
	w->n = 0;
	return err;
}

static int write_octets(struct bw_blob_writer *w, const void *p, size_t n)
{
	const uint8_t *from = p;

	if (w->finished)
		return BW_ESTATE;
	while (w->err == BW_OK && n > 0) {
		size_t part = n < MOST - w->n ? n : MOST - w->n;

		memcpy(w->buffer + w->n, from, part);
		w->n += part;
		from += part;
		n -= part;
		if (w->n == MOST)
			(void)send_piece(w);
	}
	return w->err;
}

static int finish(struct bw_blob_writer *w, struct bw_value *ret)
{
	if (!w->finished && w->err == BW_OK && (w->n > 0 || !w->upload.p))
		(void)send_piece(w);
	w->finished = true;
	if (w->err == BW_OK)
		*ret = (struct bw_value){ .type = BW_VALUE_BINARY, .u.string = w->upload };
	return w->err;
}

/* ---- reading ---- */

/* "HASH LENGTH"; an upload's id, which has no blank in it, is a value that is pending. */
static bool length_of(struct bw_str value, uint64_t *ret)
{
	*ret = 0;
	if (value.n <= HASH_TEXT + 1 || value.p[HASH_TEXT] != ' ')
		return false;
	for (size_t i = HASH_TEXT + 1; i < value.n; i++) {
		if (value.p[i] < '0' || value.p[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(value.p[i] - '0');
	}
	return true;
}

static int open_value(struct bw_resource *res, const char *name, size_t index,
                      struct bw_blob_reader **ret)
{
	struct bw_resolver    *r = res->resolver;
	struct bw_blob_reader *reader;
	enum bw_value_type     type;
	struct bw_str          value;
	uint64_t               length;
	int                    err = resource_property(res, name, index, &type, &value);

	if (err != BW_OK)
		return err;
	if (type != BW_VALUE_BINARY)
		return BW_EINVAL;
	if (!length_of(value, &length))
		return BW_ESTATE;
	reader = arena_zalloc(&r->req->arena, sizeof(*reader));
	reader->r = reader->through = r;
	reader->path = request_dup(r->req, res->record.path);
	reader->name = request_dup(r->req, bw_str(name));
	reader->value = request_dup(r->req, value);
	reader->frozen = res->frozen;
	reader->length = length;
	*ret = reader;
	return BW_OK;
}

static uint64_t length(const struct bw_blob_reader *reader)
{
	return reader->length;
}

static int read_octets(struct bw_blob_reader *reader, uint64_t offset, void *p, size_t n,
                       size_t *ret_n)
{
	struct ask_blob_range range = {
		reader->path,        reader->name, reader->value, reader->frozen, offset, p,
		n < MOST ? n : MOST,
	};
	int err;

	*ret_n = 0;
	if (n == 0 || offset >= reader->length)
		return BW_OK;
	err = ask_blob_read(reader->through, &range, ret_n);
	if (err == BW_EEXPIRED && (err = go_on(reader->r, &reader->through)) == BW_OK)
		err = ask_blob_read(reader->through, &range, ret_n);
	return err;
}

const struct bw_blobs resolver_blobs = {
	.size = sizeof(resolver_blobs),
	.create = create,
	.write = write_octets,
	.finish = finish,
	.open = open_value,
	.length = length,
	.read = read_octets,
};
